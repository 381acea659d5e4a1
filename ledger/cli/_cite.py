"""`ledger cite`: a stable locator for one value of one event, and its check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ledger._screen import printable
from ledger.cli._options import DEFAULT_DB, AsJson, Db
from ledger.cli._output import Words, emit_json, tell

__all__ = ["cite"]


def cite(
    reference: Annotated[
        str, typer.Argument(metavar="SEQ[#/json/pointer]|LOCATOR", help="What to cite; with --check, a locator.")
    ],
    check: Annotated[bool, typer.Option("--check", help="Resolve a locator, and compare what it says.")] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Print a locator for an event, or for a value in its body; exit 1 when a checked one doesn't hold."""
    from ledger._cite import check_locator
    from ledger._cite import cite as make
    from ledger._store import Ledger

    words = Words(as_json=as_json)
    with Ledger.open(db, read_only=True) as ledger:
        if not check:
            made = make(ledger, reference)
            if as_json:
                emit_json(made.as_json())
            else:
                words(made.locator)
            for why in made.not_held:
                tell(f"A figure of this run doesn't hold: {printable(why)}")
            _tell_marks(made.marks)
            return 0
        checked = check_locator(ledger, reference)
    if as_json:
        emit_json(
            {
                "locator": checked.locator, "holds": checked.holds, "withheld": checked.withheld,
                "problems": list(checked.problems), "found": checked.found, "value": checked.value,
                "marks": [{"candidate": candidate, "marks": said} for candidate, said in checked.marks],
            }
        )  # fmt: skip
    for problem in checked.problems:
        words(f"DOES NOT HOLD: {problem}")
    if checked.holds:
        words(f"HOLDS: {checked.found}")
    elif checked.found:
        words(f"There stands {checked.found}")
    _tell_marks(checked.marks)
    if checked.problems:
        return 1
    return 3 if checked.withheld else 0


def _tell_marks(marks: Sequence[tuple[str, str]]) -> None:
    for candidate, said in marks:
        tell(f"How the answers of {printable(candidate)} came about: {printable(said)}")
