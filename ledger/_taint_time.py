"""Taint every run of a span of time: a key that leaked that week, a provider that served another model until Tuesday.

The time is the one that a run's plan claims: what its writer's clock said, in UTC. So it is said that it is a claim,
and where clocks jumped back, which plans can't be trusted to lie in the span or out of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ledger._drafts import Draft
from ledger._errors import BadBody, NotFound
from ledger._event import Event
from ledger._impact import impact_of
from ledger._lineage import given_reason
from ledger._runs import event_time
from ledger._store import Ledger
from ledger._targets import Found, find_target
from ledger._views import over_views
from ledger.kinds import Taint, Target

__all__ = ["Span", "Touched", "runs_in", "taint_runs"]

_PLANS = (
    "SELECT seq, run, at, body ->> '$.suite' AS suite FROM main.events WHERE kind = 'plan' AND at >= ? AND at < ?"
    " ORDER BY seq"
)
# A plan that claims a time before that of an event ahead of it: one of the two clocks was wrong.
_JUMPED = (
    "SELECT plan.seq AS seq, plan.run AS run, plan.at AS at, before.at AS after FROM main.events AS plan"
    " JOIN main.events AS before ON before.seq = plan.seq - 1 WHERE plan.kind = 'plan' AND before.at > plan.at"
    " ORDER BY plan.seq"
)
_TAINTED = over_views("SELECT id FROM taints_in_force WHERE what = 'run'")
_REACHED = over_views(
    "SELECT DISTINCT seq, kind, run FROM tainted_events",
    {"taints_in_force": "SELECT 0 AS seq, '' AS at, 'run' AS what, value AS id, '' AS reason FROM json_each(?1)"},
)
_FIGURES = over_views("SELECT count(*) AS n FROM run_metrics WHERE run IN (SELECT value FROM json_each(?))")
_TOLD = "SELECT count(DISTINCT body ->> '$.to') AS n FROM main.events WHERE seq IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` (None: from the first event on) until just before `end`, narrowed to a suite, to a version of the
    harness or a digest of its code, and to a model as replies named it; "" for each that doesn't narrow."""

    start: datetime | None
    end: datetime
    suite: str = ""
    harness: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Touched:
    """The runs of a span, the oldest first, and how much rests on them, other runs that do among it.

    `tainted` are those of the span that are under a taint of their own already; `runs` are the others. `jumped` are
    (seq, run, the time that its plan claims, the later one of the event ahead of it).
    """

    runs: tuple[Found, ...]
    tainted: tuple[str, ...]
    resting: int
    figures: int
    reports: int
    gates: int
    recipients: int
    jumped: tuple[tuple[int, str, str, str], ...]


def runs_in(ledger: Ledger, span: Span) -> Touched:
    """What a taint of the span would touch; nothing is written. Raises BadBody, and NotFound for what isn't there."""
    start, end = event_time(span.start), event_time(span.end)
    if start >= end:
        raise BadBody(f"expected a span that begins before it ends, got {start} to {end}")
    only: set[str] | None = None
    for what, name in (("harness", span.harness), ("model", span.model)):
        if name:
            rests = {str(row["run"]) for row in impact_of(ledger, find_target(ledger, f"{what}:{name}")).runs}
            only = rests if only is None else only & rests
    plans = [
        row
        for row in ledger.rows(_PLANS, (start, end))
        if (not span.suite or row["suite"] == span.suite) and (only is None or row["run"] in only)
    ]
    under = {str(row["id"]) for row in ledger.rows(_TAINTED)}
    found = tuple(Found(Target(what="run", id=row["run"]), (row["seq"],)) for row in plans if row["run"] not in under)
    jumped = tuple((row["seq"], row["run"], row["at"], row["after"]) for row in ledger.rows(_JUMPED))
    there = Touched(found, tuple(row["run"] for row in plans if row["run"] in under), 0, 0, 0, 0, 0, jumped)
    return _counted(ledger, there) if found else there


def _counted(ledger: Ledger, there: Touched) -> Touched:
    named = json.dumps([each.target.id for each in there.runs])
    reached = ledger.sql(_REACHED, (named,)).fetchall()
    runs = {run for _, _, run in reached if run}
    told = json.dumps([seq for seq, kind, _ in reached if kind == "publish"])
    kinds = [kind for _, kind, _ in reached]
    return replace(
        there,
        resting=len(runs - {each.target.id for each in there.runs}),
        figures=ledger.rows(_FIGURES, (json.dumps(sorted(runs)),))[0]["n"],
        reports=kinds.count("report"), gates=kinds.count("gate"), recipients=ledger.rows(_TOLD, (told,))[0]["n"],
    )  # fmt: skip


def taint_runs(ledger: Ledger, runs: Sequence[Found], *, reason: str) -> list[Event]:
    """Taint each of the runs, all or none. Raises BadBody without a reason, NotFound for no run at all."""
    reason = given_reason(reason)
    if not runs:
        raise NotFound("no run of that time is left to taint; nothing was written")
    return ledger.append(*(Draft(Taint(target=each.target, reason=reason), causes=each.events) for each in runs))
