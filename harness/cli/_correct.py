"""`harness correct`: the corrected report beside the old one, and a notice to those who have the old one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json

__all__ = ["correct"]

# As in ledger._lineage, which loads pydantic: `harness --help` must not.
_Category = Literal["transport", "capture", "parser", "harness", "fixture", "provider", "operator", "other"]


def correct(
    report: Annotated[
        str, typer.Argument(metavar="REPORT", help="Its file, the seq of its event, or the start of its digest.")
    ],
    rules: Annotated[str, typer.Option("--rules", help="The rule set to read the run under.")],
    reason: Annotated[str, typer.Option(help="Why, for those who were given the old report.")],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where the corrected report goes.")],
    category: Annotated[_Category, typer.Option(help="What was wrong with the old one.")] = "parser",
    form: Annotated[str | None, typer.Option("--format", help="md, html or json; default: as the old one.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is no report.")] = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Write a corrected report, supersede the old one, and say who was given it. Both stay on record."""
    from harness._correct import correct_report
    from ledger import Ledger

    with Ledger.open(db) as ledger:
        done = correct_report(
            ledger, report, rules, out, reason=reason, category=category, form=form, force=force
        )  # fmt: skip
    if as_json:
        emit_json(done.as_json())
    words = Words(as_json=as_json)
    words(f"Report {done.old} is superseded by report {done.new.seq} (event {done.supersession}), in {done.new.path}")
    words(f"Recorded in {db}.")
    if done.appended:
        words(f"The run had not been read under these rules: {done.appended} derived events were appended first.")
    for recipient in done.recipients:
        words(f"was given the old one: {recipient}")
    for seq in done.resting:
        words(f"rests on the old one: report {seq}")
    words()
    words("A notice, ready to send:" if done.recipients else "Nobody was given the old one; a notice all the same:")
    words()
    for line in done.notice.rstrip("\n").split("\n"):
        words(line)
    return 0
