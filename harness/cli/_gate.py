"""`harness gate`: is a run at most a margin worse than another? For a pipeline, by its exit status."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json

__all__ = ["Inconclusive", "NoRecord", "gate"]

NoRecord = Annotated[bool, typer.Option("--no-record", help="Leave no event of the verdict in the ledger.")]


class Inconclusive(StrEnum):
    """What an inconclusive result comes to."""

    as_pass = "pass"  # noqa: S105 - no password
    as_fail = "fail"


def gate(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="RUN (id, start of one, name, or `latest`), or RUN@CANDIDATE.")
    ],
    against: Annotated[
        str, typer.Option("--against", metavar="RUN|TAG", help="A run, or a tag: the newest run with it that stands.")
    ],
    margin: Annotated[
        str, typer.Option("--margin", metavar="2pp", help="How much worse is still good: 2pp, or a share as in 0.02.")
    ],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="This metric; repeatable. Default: the one that decides.")
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", help="A rule set by name or label; repeatable. Default: all that both were scored by."),
    ] = None,
    inconclusive: Annotated[
        Inconclusive, typer.Option("--inconclusive", help="What an inconclusive result comes to.")
    ] = Inconclusive.as_fail,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML for CI.")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown for a PR comment.")
    ] = None,
    no_record: NoRecord = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Exit 0: not more than MARGIN worse, by the 95% interval of the paired difference. 1: worse, or it can't be told.

    3: RUN is incomplete. 4: the two can't be compared. What is unmeasured is counted against a pass. The verdict,
    whatever it is, becomes an event of the ledger.
    """
    from harness._decision import NOT_RECORDED, Decision, margin_draft, record
    from harness._gate import gate as hold
    from harness._gate_file import gate_markdown, save
    from harness._gate_file import junit as junit_xml
    from harness._gate_named import read_margin
    from harness._gate_reach import after, before
    from ledger import Ledger

    allowed = read_margin(margin)
    with Ledger.open(db, read_only=True) as ledger:
        found = hold(
            ledger, run, against, allowed, metrics=metric or (), rules=rules or (),
            lenient=inconclusive is Inconclusive.as_pass,
        )  # fmt: skip
        draft = margin_draft(ledger, found)
    if junit is not None:
        save(junit, junit_xml(found))
    if markdown is not None:
        save(markdown, gate_markdown(found).encode())
    decision = Decision(None, NOT_RECORDED) if no_record else record(db, draft)
    if as_json:
        emit_json({**found.as_json(), "event": decision.event})
    words = Words(as_json=as_json)
    planned = max((each.worst.cases for each in found.results if each.worst), default=0)
    if planned:
        words(before(planned, float(allowed)))
    for each in found.results:
        words(each.sentence())
        for said in after(found, each):
            words(f"  {said}")
        for why, count in each.missing:
            words(f"  missing: {why}: {count}")
        for command in each.mend:
            words(f"  to mend it: {command}")
    for said in found.warnings:
        words(said)
    words(found.sentence())
    words(decision.sentence)
    return found.exit_status
