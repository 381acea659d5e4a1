"""`harness publish`: write down who was given a report."""

from __future__ import annotations

from typing import Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json, tell

__all__ = ["publish"]


def publish(
    report: Annotated[
        str, typer.Argument(metavar="REPORT", help="Its file, the seq of its event, or the start of its digest.")
    ],
    to: Annotated[list[str], typer.Option("--to", metavar="WHOM", help="Who was given it; repeatable.")],
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Record that a report was handed to somebody. A file must be byte for byte the recorded one."""
    from harness._publish import publish_report
    from ledger import Ledger

    with Ledger.open(db) as ledger:
        done = publish_report(ledger, report, to)
    if as_json:
        emit_json(done.as_json())
    words = Words(as_json=as_json)
    for warning in done.warnings:
        tell(f"WARNING: {warning}")
    for seq, recipient in done.events:
        words(f"report {done.report} to {recipient}: event {seq} of {db}")
    for recipient in done.again:
        words(f"{recipient} had been given it before; both stay on record.")
    if done.warnings:
        tell(f"WARNING: report {done.report} was recorded as published although it can't stand as it is.")
    return 0
