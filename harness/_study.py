"""What a suite's companion says of a run beside its figures: tables over its cells, as of one event of the chain.

    studies      every table of the rule sets and candidates of a run whose suite has some
    contrasted   what it says of two candidates, or of one under two rule sets

The score that counts is the last of its cell, with the confirm event that it rests on and the frozen case's gold. A
suite whose companion has no study has no tables, and nothing is read for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from harness._errors import HarnessError
from harness._json import JSON
from harness._rules import RuleSet
from harness._suite import Case
from harness._thaw import thaw_cases
from harness.suites._companion import Record, StudyTable, companion
from ledger import Ledger
from ledger.kinds import Plan

__all__ = ["Rows", "contrasted", "has_contrast", "read_records", "studies"]

Rows = Callable[[str, Sequence[Any]], list[dict[str, Any]]]
"""Runs a query over the views and over `events`, as of some event of the chain."""

_GRADED = "graded"
_PLAIN = (
    "cell", "case", "fixture", "candidate", "arm", "epoch", "twin", "input", "outcome", "status", "reason", "value",
    "verdict",
)  # fmt: skip
_CELLS = (
    "SELECT cells.cell AS cell, coalesce(cells.\"case\", '') AS \"case\", coalesce(cells.fixture, '') AS fixture,"
    " cells.candidate AS candidate, coalesce(cells.arm, '') AS arm, coalesce(cells.epoch, 0) AS epoch,"
    " coalesce(cells.twin, 0) AS twin, coalesce(planned.body ->> '$.input', '') AS input, cells.outcome AS outcome,"
    " cells.status AS status, cells.reason AS reason, cells.value AS value, cells.verdict AS verdict,"
    " cells.metrics AS metrics, score.body -> '$.classes' AS classes, score.body -> '$.blocked_by' AS blocked_by,"
    " score.causes AS causes"
    " FROM cells JOIN events AS planned ON planned.seq = cells.seq"
    " LEFT JOIN events AS score ON score.seq = cells.score"
    " WHERE cells.run = ? AND cells.rules = ? ORDER BY cells.cell"
)
_CONFIRMS = "SELECT seq, body FROM events WHERE run = ? AND kind = 'confirm' AND body ->> '$.rules' = ?"
# A grade that joined rests on the judge's own score, and that on what was confirmed of the judge's reply.
_JUDGED = (
    "SELECT score.seq AS seq, confirm.body AS body FROM events AS score CROSS JOIN json_each(score.causes) AS cause"
    " CROSS JOIN events AS confirm ON confirm.seq = cause.value AND confirm.kind = 'confirm'"
    " WHERE score.run = ? AND score.kind = 'score' AND score.body ->> '$.rules' = ? AND confirm.body IS NOT NULL"
)
_JUDGED_CELLS = (
    "SELECT score.seq AS seq, coalesce(cell.body ->> '$.fixture', '') AS fixture,"
    " coalesce(cell.body ->> '$.case', '') AS \"case\" FROM events AS score"
    " JOIN events AS cell ON cell.run = score.run AND cell.kind = 'cell' AND cell.cell = score.cell"
    " WHERE score.run = ? AND score.kind = 'score' AND score.body ->> '$.rules' = ?"
)
_PLAN = "SELECT body FROM events WHERE run = ? AND kind = 'plan'"


def studies(
    ledger: Ledger, rows: Rows, run: str, rules: Mapping[str, RuleSet], candidates: Sequence[str]
) -> list[dict[str, Any]]:
    """The tables of a run by rule set and candidate, in their order, as JSON data; empty where its suite has none."""
    found: list[dict[str, Any]] = []
    for label, rule_set in rules.items():
        study = companion(rule_set.stages).study
        if study is None:
            continue
        records = read_records(ledger, rows, run, rule_set)
        for candidate in candidates:
            tables = study([each for each in records if each.candidate == candidate], rule_set.score)
            if tables:
                given = [each.as_json() for each in tables]
                found.append({"rules": label, "candidate": candidate, "tables": given})
    return found


def has_contrast(ours: RuleSet, theirs: RuleSet) -> bool:
    """Whether a suite has tables that hold two sides against each other under these rule sets."""
    return ours.stages == theirs.stages and companion(ours.stages).contrast is not None


def contrasted(
    a: Sequence[Record], b: Sequence[Record], ours: RuleSet, theirs: RuleSet
) -> tuple[StudyTable, ...]:  # fmt: skip
    """The tables that hold two sides against each other; none where their suites aren't of one kind."""
    contrast = companion(ours.stages).contrast if ours.stages == theirs.stages else None
    return () if contrast is None else contrast(a, b, ours.score)


def read_records(
    ledger: Ledger, rows: Rows, run: str, rules: RuleSet, *, cells: Collection[int] | None = None
) -> list[Record]:
    """Every planned cell of a run under a rule set, in order, as the view `cells` has it; `cells` keeps only these.

    Under the rule set of a judge whose grades joined the run, the case's gold is another suite's, and none is given:
    each cell is of the arm "graded".
    """
    judge = rules.judge
    golds = _golds(ledger, rows, run if judge is None else judge["run"])
    query, of = (_CONFIRMS, (run, rules.label)) if judge is None else (_JUDGED, (judge["run"], judge["rules"]))
    confirms = {int(row["seq"]): json.loads(row["body"]) for row in rows(query, of)}
    found = [row for row in rows(_CELLS, (run, rules.label)) if cells is None or row["cell"] in cells]
    if judge is None:
        return [_record(row, confirms, golds.get((row["fixture"], row["case"]))) for row in found]
    shown = {int(row["seq"]): (row["fixture"], row["case"]) for row in rows(_JUDGED_CELLS, of)}
    return [_joined(row, confirms, shown, golds, judge["candidate"]) for row in found]


def _golds(ledger: Ledger, rows: Rows, run: str) -> Mapping[tuple[str, str], Case]:
    """A run's frozen cases, without those of a fixture that a redaction withholds."""
    found: dict[tuple[str, str], Case] = {}
    for row in rows(_PLAN, (run,)):
        plan = Plan.model_validate_json(row["body"])
        for fixture in plan.fixtures:
            with suppress(HarnessError):
                found |= thaw_cases(ledger, plan.model_copy(update={"fixtures": [fixture]}))
    return found


def _joined(
    row: Mapping[str, Any], confirms: Mapping[int, Mapping[str, Any]], shown: Mapping[int, tuple[str, str]],
    cases: Mapping[tuple[str, str], Case], judge: str,
) -> Record:  # fmt: skip
    """A cell as a judge's grade of it has it; `cases` are the judge's own, which tell what it was shown."""
    own = next((shown[seq] for seq in json.loads(row["causes"] or "[]") if seq in shown), None)
    record = _record({**row, "arm": _GRADED}, confirms, None)
    return replace(record, judge=judge, asked=own is not None, reference=_reference(cases.get(own) if own else None))


def _reference(case: Case | None) -> bool | None:
    return None if case is None else isinstance(case.input, Mapping) and "reference" in case.input


def _record(row: Mapping[str, Any], confirms: Mapping[int, Mapping[str, Any]], case: Case | None) -> Record:
    rests_on = next((confirms[seq] for seq in json.loads(row["causes"] or "[]") if seq in confirms), None) or {}
    return Record(
        **{name: row[name] for name in _PLAIN},
        metrics=json.loads(row["metrics"] or "{}"), classes=json.loads(row["classes"] or "{}"),
        blocked_by=tuple(json.loads(row["blocked_by"] or "[]")),
        findings=cast("Sequence[JSON]", rests_on.get("findings", ())),
        rejections=cast("Sequence[JSON]", rests_on.get("rejections", ())),
        gold=None if case is None else case.gold, reference=_reference(case),
    )  # fmt: skip
