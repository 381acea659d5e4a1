"""What a run's lineage is made of: the rows of frozen files, tallies, reports and of what was said of any of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ledger._errors import NotFound
from ledger._standing import Standing, standing_of_runs
from ledger._store import Ledger
from ledger._views import over_views
from ledger.kinds import Plan
from ledger.web._outcomes import Segment, count_outcomes, outcome_bar
from ledger.web._pages import View
from ledger.web._queries import query

__all__ = ["Facts", "RuleSet", "read_facts"]

MOST_RULE_SETS = 12
_PLAN = "SELECT seq FROM main.events WHERE run = ? AND kind = 'plan' ORDER BY seq LIMIT 1"
_FREEZES = (
    "SELECT seq, body ->> '$.what' AS what, body ->> '$.name' AS name, body ->> '$.identity' AS identity"
    " FROM main.events WHERE kind = 'freeze' AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)
_TALLIES = (
    "SELECT seq, body ->> '$.rules' AS rules, body ->> '$.freeze' AS freeze FROM main.events"
    " WHERE run = ? AND kind = 'tally' ORDER BY seq"
)
_IMPORTS = (
    "SELECT seq, body ->> '$.format' AS format, body ->> '$.grade' AS grade FROM main.events"
    " WHERE run = ? AND kind = 'import' AND cell = 0 ORDER BY seq"
)
_ACCEPTS = (
    "SELECT seq, body ->> '$.component' AS component, body ->> '$.reason' AS reason FROM main.events"
    " WHERE run = ? AND kind = 'accept' ORDER BY seq"
)
_ASKED = "SELECT count(DISTINCT cell) FROM main.events WHERE run = ? AND kind = 'request'"
_REDACTED = over_views(
    "SELECT redact AS seq, category, reason, count(DISTINCT seq) AS events FROM withheld WHERE run = ? GROUP BY redact"
)
_SAID = over_views('SELECT seq, what, id, "by", category, reason, in_force FROM supersessions ORDER BY seq')
_WITHDRAWN = over_views(
    "SELECT seq, what, id, reason, cleared_by, cleared_because FROM taints WHERE cleared_by IS NOT NULL ORDER BY seq"
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RuleSet:
    """A rule set that the run was scored under: its label, its freeze, its cells by outcome, its tallies' seqs."""

    label: str
    freeze: int | None
    planned: bool
    segments: Sequence[Segment]
    tallies: Sequence[int]


@dataclass(frozen=True)
class Facts:
    """A run's lineage as rows. `asked` and `reused` were counted as of the run's own last event."""

    run: str
    plan_seq: int
    plan: Plan
    asked: int
    reused: Sequence[Row]
    freezes: Sequence[Row]
    rule_sets: Sequence[RuleSet]
    imports: Sequence[Row]
    accepts: Sequence[Row]
    redacted: Sequence[Row]
    reports: Sequence[Row]
    published: Sequence[Row]
    standing: Standing
    said: Sequence[Row]
    withdrawn: Sequence[Row]
    stale: bool


@dataclass(frozen=True)
class _Counted:
    asked: int
    reused: Sequence[Row]


def _count(ledger: Ledger, run: str) -> _Counted:
    return _Counted(int(ledger.sql(_ASKED, (run,)).fetchone()[0]), ledger.rows(query("answers_taken_over"), (run,)))


def read_facts(view: View, run: str) -> Facts:
    """Everything that the lineage page of a run shows. Raises NotFound for a run without a plan, BadBody."""
    ledger = view.ledger
    row = ledger.sql(_PLAN, (run,)).fetchone()
    if row is None:
        raise NotFound(f"no run has the id {run[:80]!r}; the first page lists them")
    plan = ledger.body(int(row[0]))
    assert isinstance(plan, Plan)
    counted = view.memory.kept(
        ledger, view.size, run, ("lineage.counts", run), lambda later: _count(later, run), own=True
    )
    marked = view.memory.kept(ledger, view.size, "", "home.standing", standing_of_runs)
    tallies = ledger.rows(_TALLIES, (run,))
    sets, stale = _rule_sets(view, run, plan, tallies)
    freezes = _freezes(ledger, plan, sets)
    reports = ledger.rows(query("reports_of_run"), (run,))
    published = ledger.rows(query("published_reports"), (json.dumps([each["seq"] for each in reports]),))
    mine = {("run", run), *(("freeze", str(each["seq"])) for each in freezes)}
    mine |= {("report", str(each["seq"])) for each in reports} | {("rules", each.label) for each in sets}
    return Facts(
        run, int(row[0]), plan, counted.value.asked, counted.value.reused, freezes, sets,
        ledger.rows(_IMPORTS, (run,)), ledger.rows(_ACCEPTS, (run,)), ledger.rows(_REDACTED, (run,)), reports,
        published, marked.value.get(run, Standing()),
        [each for each in ledger.rows(_SAID) if (each["what"], each["id"]) in mine or _replaces(each, run)],
        [each for each in ledger.rows(_WITHDRAWN) if (each["what"], each["id"]) in mine],
        stale=stale or not counted.current or not marked.current,
    )  # fmt: skip


def _replaces(said: Row, run: str) -> bool:
    return said["what"] == "run" and said["by"] == run


def _rule_sets(view: View, run: str, plan: Plan, tallies: Sequence[Row]) -> tuple[list[RuleSet], bool]:
    """The rule sets of the plan, then those that a rescore brought, as its tallies tell."""
    freezes: dict[str, int | None] = {each.label: each.freeze for each in plan.rules}
    planned = frozenset(freezes)
    for row in tallies:
        freezes.setdefault(str(row["rules"]), row["freeze"])
    found: list[RuleSet] = []
    counted = view.memory.kept(
        view.ledger, view.size, run, ("home.outcomes", run), lambda ledger: count_outcomes(ledger, run), own=True
    )
    for label, freeze in list(freezes.items())[:MOST_RULE_SETS]:
        counts = counted.value.get(label, {})
        segments = [each for each in outcome_bar(run, label, plan.cells, counts) if each.cells.value]
        seqs = [int(row["seq"]) for row in tallies if row["rules"] == label]
        found.append(RuleSet(label, freeze, label in planned, segments, seqs))
    return found, not counted.current


def _freezes(ledger: Ledger, plan: Plan, sets: Sequence[RuleSet]) -> list[dict[str, Any]]:
    wanted = {each.freeze for each in plan.fixtures} | {each.freeze for each in sets if each.freeze}
    wanted |= {each.prompt_freeze for each in plan.candidates if each.prompt_freeze}
    if plan.prices:
        wanted.add(plan.prices)
    return ledger.rows(_FREEZES, (json.dumps(sorted(wanted)),))
