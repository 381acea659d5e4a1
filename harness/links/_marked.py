"""Links of marks: what a report and a gate say of how answers came about, and a run that chose what to take over.

A mark follows from the events ahead of it, so it can be neither left out nor made up. What an older release wrote down
has none: of runs that a release read which records who answered, every figure has one, if only an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from harness._given import read_given
from harness._typed import typed
from harness.links._broken import Finder
from ledger import Ledger, as_of, over_views
from ledger.kinds import Gate, Plan, Report

__all__ = ["check_chosen", "check_marks"]

_SAID = "SELECT seq, kind, body FROM main.events WHERE kind IN ('report', 'gate') AND body IS NOT NULL ORDER BY seq"
_BOARD = "SELECT candidate, rules, metric, marks FROM scoreboard WHERE run = ?"
_WITHHELD = "SELECT EXISTS (SELECT 1 FROM main.events WHERE run = ? AND body IS NULL)"
_TELLS = (
    "SELECT EXISTS (SELECT 1 FROM main.events WHERE run = ? AND kind = 'parse' AND +seq <= ?"
    " AND body ->> '$.schema' > 1)"
)
_LAST = (
    "SELECT max(+seq) FROM main.events WHERE run = ?1 AND +seq <= ?2"
    " AND kind IN ('request', 'response', 'reuse', 'parse', 'score')"
)
_REUSED = "SELECT EXISTS (SELECT 1 FROM main.events WHERE run = ? AND kind = 'reuse')"
_SET_ASIDE = "SELECT EXISTS (SELECT 1 FROM main.events WHERE kind IN ('taint', 'supersede', 'redact') AND seq < ?)"
_ASKED = (
    "SELECT cell.body ->> '$.identity', cell.cell, min(asked.seq) FROM main.events AS cell"
    " CROSS JOIN main.events AS asked ON asked.run = cell.run AND asked.kind = 'request' AND asked.cell = cell.cell"
    " WHERE cell.run = ? AND cell.kind = 'cell' AND NOT EXISTS (SELECT 1 FROM main.events AS taken"
    " WHERE taken.run = cell.run AND taken.kind = 'reuse' AND taken.cell = cell.cell) GROUP BY cell.cell"
)
_HAD = (
    "SELECT cell.body ->> '$.identity', response.seq FROM main.events AS cell"
    " CROSS JOIN main.events AS plan ON plan.run = cell.run AND plan.kind = 'plan'"
    " CROSS JOIN main.events AS response ON response.run = cell.run AND response.kind = 'response'"
    " AND response.cell = cell.cell AND +response.seq < ?1"
    " WHERE cell.kind = 'cell' AND cell.seq < ?1 AND cell.run <> ?2"
    " AND cell.body ->> '$.identity' IN (SELECT value FROM json_each(?3))"
    " AND plan.body ->> '$.via' = 'live' AND plan.body ->> '$.purpose' = 'evaluation'"
    " AND EXISTS (SELECT 1 FROM main.events AS score WHERE score.run = cell.run AND score.kind = 'score'"
    " AND score.cell = cell.cell AND +score.seq BETWEEN response.seq AND ?1"
    " AND score.body ->> '$.status' NOT IN ('error', 'not_asked', 'fate_unknown'))"
    " AND NOT EXISTS (SELECT 1 FROM main.events AS later WHERE later.run = cell.run AND later.kind = 'request'"
    " AND later.cell = cell.cell AND +later.seq BETWEEN response.seq AND ?1)"
)


def check_marks(ledger: Ledger, finder: Finder) -> None:
    """Every figure of a report and of a gate has the mark that the events ahead of it give."""
    known: dict[tuple[str, int], dict[tuple[str, str, str], str] | None] = {}
    for seq, kind, text in ledger.sql(_SAID).fetchall():
        if kind == "report":
            report = typed(Report, text, f"event {seq}")
            for figure in _objects(report.figures):
                if figure.get("kind") in ("rate", "mean"):
                    place = (report.run, min(report.size, seq - 1))
                    _hold(ledger, finder, known, ("report.marks", seq, ""), place, figure, "candidate")
            continue
        gate = typed(Gate, text, f"event {seq}")
        for result in _objects(gate.results):
            for prefix, run, name in (("", gate.run, "candidate"), ("against_", gate.against, "against")):
                if result.get(f"{prefix}tally") is not None:
                    _hold(ledger, finder, known, ("gate.marks", seq, prefix), (run, seq - 1), result, name)


def _hold(
    ledger: Ledger, finder: Finder, known: dict[tuple[str, int], dict[tuple[str, str, str], str] | None],
    where: tuple[str, int, str], place: tuple[str, int], said: Mapping[str, Any], name: str,
) -> None:  # fmt: skip
    (link, seq, prefix), (run, size) = where, place
    if place not in known:
        known[place] = _marks(ledger, run, size)
    follows = known[place]
    if follows is None:
        finder.skip("how answers came about, in runs of which something is withheld")
        return
    metric = tuple(str(said.get(each)) for each in (name, "rules", "metric"))
    key = f"{prefix}marks"
    if key not in said and not ledger.sql(_TELLS, (run, size)).fetchone()[0]:
        return  # an older release wrote it down
    (last,) = ledger.sql(_LAST, (run, size)).fetchone()
    mark = follows.get(cast("tuple[str, str, str]", metric))
    if mark is not None:
        what = f"how the answers of {metric[2]} of {metric[0]} came about"
        finder.hold(link, seq, what, said.get(key), last or size, mark)


def _marks(ledger: Ledger, run: str, size: int) -> dict[tuple[str, str, str], str] | None:
    """The marks of a run's figures as of event `size`; None where a withheld body may have told otherwise."""
    if ledger.sql(_WITHHELD, (run,)).fetchone()[0]:
        return None
    rows = ledger.rows(over_views(_BOARD, as_of(size)), (run,))
    return {(row["candidate"], row["rules"], row["metric"]): row["marks"] for row in rows}


def check_chosen(ledger: Ledger, run: str, plan: tuple[int, Plan], finder: Finder) -> None:
    """A run that takes answers over takes all that fit, unless its plan says which outcomes it chose.

    Not held where something was set aside or withheld before it, or a server's weights are known: those decide too.
    """
    seq, body = plan
    given = read_given(body.given)
    if body.via != "live" or given is None or given.reuse_outcomes or any(each.server for each in body.candidates):
        return
    if not ledger.sql(_REUSED, (run,)).fetchone()[0] or ledger.sql(_SET_ASIDE, (seq,)).fetchone()[0]:
        return
    asked = {identity: (cell, at) for identity, cell, at in ledger.sql(_ASKED, (run,)).fetchall()}
    for identity, response in ledger.sql(_HAD, (seq, run, json.dumps(list(asked)))).fetchall():
        cell, at = asked[identity]
        (request, *_) = ledger.event(response).causes
        if ledger.blob(at, "body") == ledger.blob(request, "body"):
            finder.broken(
                "reuse.all", seq, "given", "no outcomes of what it takes over", response,
                f"the answer to what event {at} asks again, which it would have taken over", cell=cell,
            )  # fmt: skip


def _objects(values: Sequence[Any]) -> list[Mapping[str, Any]]:
    return [cast("Mapping[str, Any]", each) for each in values if isinstance(each, dict)]
