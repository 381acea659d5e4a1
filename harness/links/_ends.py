"""Links of what a run came to: its closes against the plan, the tallies and the scores that they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness._plan import is_partial
from harness._replies import seqs_in
from harness._session import UNFINISHED
from harness._typed import typed
from harness.links._broken import Finder
from ledger import Ledger
from ledger.kinds import Close, Plan, Tally

__all__ = ["check_closes", "check_tallies"]

_CLOSES = "SELECT seq, causes, body FROM main.events WHERE run = ? AND kind = 'close' ORDER BY seq"
_TALLIES = "SELECT seq, body FROM main.events WHERE run = ? AND kind = 'tally' ORDER BY seq"
_STATUSES = (
    "SELECT cell, status FROM (SELECT cell, body ->> '$.rules' AS rules, body ->> '$.status' AS status, max(seq)"
    " FROM main.events WHERE run = ?1 AND kind = 'score' AND seq < ?2 GROUP BY cell, body ->> '$.rules')"
    " WHERE rules IN (SELECT value FROM json_each(?3))"
)
_REUSED = "SELECT DISTINCT cell FROM main.events WHERE run = ? AND kind = 'reuse' AND seq < ?"


def check_tallies(ledger: Ledger, run: str, plan: Plan, finder: Finder) -> dict[int, Tally]:
    """The tallies of a run by seq: each counts as many cells as are planned, and no figure more than its n allows."""
    found: dict[int, Tally] = {}
    for seq, text in ledger.sql(_TALLIES, (run,)):
        body = found[seq] = typed(Tally, text, f"event {seq}")
        finder.hold("tally.outcomes", seq, "cells counted", sum(body.outcomes.values()), 0, plan.cells)
        for each in body.metrics:
            at = f"{each.metric} of {each.candidate}"
            if not each.n <= each.planned or (each.k is not None and not each.k <= each.n):
                finder.broken(
                    "tally.metrics", seq, at, f"{each.k}/{each.n} of {each.planned}", seq, "k <= n <= planned"
                )
    return found


def check_closes(
    ledger: Ledger, run: str, plan: tuple[int, Plan], tallies: Mapping[int, Tally], finder: Finder
) -> None:
    """Hold every close of a run to what stood when it was written."""
    at, planned = plan
    for seq, causes, text in ledger.sql(_CLOSES, (run,)):
        body = typed(Close, text, f"event {seq}")
        if planned.purpose == "probe":
            finder.hold("close.planned", seq, "planned and asked", (body.planned, body.asked), at, (1, 1))
            continue
        finder.hold("close.planned", seq, "planned", body.planned, at, planned.cells)
        named = [tallies[cause] for cause in seqs_in(causes) if cause in tallies]
        newest = {each.rules: each for each in _before(tallies, seq) if each.rules in body.outcomes}
        for each in named:
            newest[each.rules] = each
        for label, counts in body.outcomes.items():
            mine = newest.get(label)
            if mine is None:
                finder.broken("close.outcomes", seq, f"outcomes under {label}", dict(counts), 0, "a tally of it")
                continue
            where = next(each for each, tally in tallies.items() if tally is mine)
            finder.hold("close.outcomes", seq, f"outcomes under {label}", dict(counts), where, dict(mine.outcomes))
        missing = sorted({each.label for each in planned.rules} - {*body.outcomes})
        if missing:
            finder.broken("close.outcomes", seq, "outcomes", ", ".join(body.outcomes), at, f"also {', '.join(missing)}")
        _check_asked(ledger, run, seq, body, planned, finder)


def _before(tallies: Mapping[int, Tally], seq: int) -> Iterable[Tally]:
    return [tally for at, tally in tallies.items() if at < seq]


def _check_asked(ledger: Ledger, run: str, seq: int, body: Close, plan: Plan, finder: Finder) -> None:
    import json

    labels = json.dumps(sorted(body.outcomes))
    rows: list[tuple[int, Any]] = ledger.sql(_STATUSES, (run, seq, labels)).fetchall()
    reused = {cell for (cell,) in ledger.sql(_REUSED, (run, seq))}
    asked = {cell for cell, status in rows if status != "not_asked"} - reused
    finder.hold("close.asked", seq, "asked", body.asked, 0, len(asked))
    unfinished = sum(status in UNFINISHED for _, status in rows)
    if body.status in ("interrupted", "aborted"):
        return
    follows = "incomplete" if unfinished else "partial" if is_partial(plan) else "complete"
    finder.hold("close.status", seq, "status", body.status, 0, follows)
