"""`ledger verify`: the verdict, what it rests on, and what it can't tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger._verify_words import CANNOT, CHECKED, KEEP, MEND
from ledger.cli._options import DEFAULT_DB, AsJson, Db
from ledger.cli._output import Words, emit_json

if TYPE_CHECKING:
    from pathlib import Path

    from ledger._deep import DeepCheck
    from ledger._verify import Verdict

__all__ = ["verify"]


def verify(
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
    problems: Annotated[int, typer.Option(min=0, help="How many problems to print; 0 for all of them.")] = 20,
    deep: Annotated[
        bool, typer.Option("--deep", help="Then derive every recorded result again from its bytes, and compare.")
    ] = False,
) -> int:
    """Check the whole ledger; exit 0, or 1 when it was tampered with, or --deep can't reproduce it. Never writes."""
    from ledger._verify import verify as check

    verdict = check(db)
    deeper = _deeper(db) if deep and verdict.verdict != "TAMPERED" else {}
    if as_json:
        found = {"deep": [each.as_json(name) for name, each in deeper.items()]} if deep else {}
        emit_json({**verdict.as_json(), **found})
    words = Words(as_json=as_json)
    _say(verdict, words, problems)
    if deep and verdict.verdict == "TAMPERED":
        words("Not checked any deeper: what is derived from a file that was tampered with says nothing.")
    for each in deeper.values():
        for line in each.lines:
            words(f"  {line}")
        words(f"{verdict.verdict}, and {each.sentence}.")
    return 1 if verdict.verdict == "TAMPERED" or not all(each.ok for each in deeper.values()) else 0


def _deeper(db: Path) -> dict[str, DeepCheck]:
    from ledger._deep import run_deep
    from ledger._store import Ledger

    with Ledger.open(db, read_only=True) as ledger:
        return run_deep(ledger)


def _say(verdict: Verdict, words: Words, limit: int) -> None:
    words(f"{verdict.verdict}: {verdict.events} events, {verdict.blobs} blobs, {verdict.withheld} withheld.")
    words(f"Head: {verdict.head or 'none'}")
    words(CHECKED)
    for each in verdict.withheld_by[: limit or None]:
        why = f"{each.category}: {each.reason[:80]}"
        words(f"Withheld by event {each.seq}: {each.bodies} bodies, {each.blobs} blobs ({why})")
    if limit and len(verdict.withheld_by) > limit:
        words(f"… and {len(verdict.withheld_by) - limit} more redactions")
    for note in verdict.notes:
        words(f"Note: {note}")
    if verdict.verdict != "TAMPERED":
        words(CANNOT)
        words(KEEP.format(head=verdict.head))
        return
    if verdict.first_bad_seq is None:
        words("No single event is at fault; the schema or the file is.")
    else:
        words(f"First bad event: {verdict.first_bad_seq}")
    shown = verdict.problems[: limit or None]
    for problem in shown:
        place = "the file" if problem.seq is None else f"event {problem.seq}"
        words(f"  {place}: {problem.what}; expected {problem.expected}, got {problem.got}")
    if len(shown) < len(verdict.problems):
        words(f"  … and {len(verdict.problems) - len(shown)} more (--problems 0 prints all)")
    words(MEND)
