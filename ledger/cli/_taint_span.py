"""`ledger taint --before | --between`: what it touches is said before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ledger._said import aimed, counted
from ledger.cli._output import Words, emit_json

if TYPE_CHECKING:
    from ledger._taint_time import Span, Touched

__all__ = ["taint_span"]

_SHOWN = 8
_JUMP = ("seq", "run", "at", "after")


def taint_span(span: Span, *, reason: str, dry_run: bool, db: Path, as_json: bool) -> int:
    """Say what a taint of the span touches, write it unless told not to, and say what was written."""
    from ledger._store import Ledger
    from ledger._taint_time import runs_in, taint_runs

    words = Words(as_json=as_json)
    with Ledger.open(db, read_only=dry_run) as ledger:
        touched = runs_in(ledger, span)
        for line in _sentences(touched):
            words(line)
        events = [] if dry_run else taint_runs(ledger, touched.runs, reason=reason)
    if as_json:
        emit_json(
            {
                "runs": [each.target.id for each in touched.runs], "tainted_already": list(touched.tainted),
                "other_runs": touched.resting, "figures": touched.figures, "reports": touched.reports,
                "gates": touched.gates, "recipients": touched.recipients,
                "clocks_jumped": [dict(zip(_JUMP, each, strict=True)) for each in touched.jumped],
                "events": [{"seq": each.seq, "hash": each.hash} for each in events],
            }
        )  # fmt: skip
    if dry_run:
        words("Nothing was written.")
        return 0
    first, last = events[0].seq, events[-1].seq
    which = f"event {first}" if first == last else f"events {first} to {last}"
    words(f"Tainted {counted(len(events), 'run')}, as {which}.")
    words(aimed("`ledger impact RUN` names what rests on one of them; `ledger clear SEQ` withdraws one.", db))
    return 0


def _sentences(touched: Touched) -> list[str]:
    said = [
        "By the time that plans claim (UTC, and no more than what a clock said) it takes in"
        f" {counted(len(touched.runs), 'run')}; {_rests(touched)}"
    ]
    if touched.tainted:
        said.append(f"Tainted already, and left as they are: {counted(len(touched.tainted), 'run')} of that time.")
    if touched.jumped:
        more = f" and {len(touched.jumped) - _SHOWN} more" if len(touched.jumped) > _SHOWN else ""
        each = ", ".join(f"run {run} (event {seq} says {at}, after one of {after})"
                         for seq, run, at, after in touched.jumped[:_SHOWN])  # fmt: skip
        said.append(f"Clocks jumped back: {each}{more}. Look at these yourself.")
    return said


def _rests(touched: Touched) -> str:
    counts = (
        (touched.figures, "figure"), (touched.reports, "report"), (touched.gates, "release decision"),
        (touched.recipients, "recipient"), (touched.resting, "other run"),
    )  # fmt: skip
    there = [counted(number, name) for number, name in counts if number]
    return f"what rests on that: {', '.join(there)}." if there else "nothing rests on that."
