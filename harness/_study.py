"""What a suite's companion says of a run beside its figures: tables over its cells, as of one event of the chain.

    studies      every table of the rule sets and candidates of a run whose suite has some
    contrasted   what it says of two candidates, or of one under two rule sets

Each score that counts is the last of its cell, with the confirm event that it rests on and the frozen case's gold. A
suite whose companion has no study has no tables, and nothing is read for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

from harness._errors import HarnessError
from harness._json import JSON
from harness._replies import candidate_at
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
_CELLS = "SELECT cell, body FROM events WHERE run = ? AND kind = 'cell' ORDER BY cell"
_SCORES = (
    "SELECT cell, causes, body FROM events WHERE run = ? AND kind = 'score' AND body ->> '$.rules' = ? ORDER BY seq"
)
_CONFIRMS = "SELECT seq, body FROM events WHERE run = ? AND kind = 'confirm' AND body ->> '$.rules' = ?"
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
    """The cells of a run that have a score under a rule set, in order; `cells` keeps only these.

    Under the rule set of a judge whose grades joined the run, the case's gold is another suite's, and none is given:
    each cell is of the arm "graded".
    """
    label = rules.label
    plan = Plan.model_validate_json(rows(_PLAN, (run,))[0]["body"])
    golds = _golds(ledger, plan if rules.judge is None else plan.model_copy(update={"fixtures": []}))
    confirms = {int(row["seq"]): json.loads(row["body"]) for row in rows(_CONFIRMS, (run, label))}
    scores = {int(row["cell"]): row for row in rows(_SCORES, (run, label))}
    found: list[Record] = []
    for row in rows(_CELLS, (run,)):
        cell = int(row["cell"])
        if cell in scores and (cells is None or cell in cells):
            planned = json.loads(row["body"]) if row["body"] is not None else _withheld(plan, cell)
            if rules.judge is not None:
                planned["arm"] = _GRADED
            score = scores[cell]
            rests_on = (confirms[seq] for seq in json.loads(score["causes"]) if seq in confirms)
            found.append(_record(cell, planned, json.loads(score["body"]), next(rests_on, None) or {}, golds))
    return found


def _withheld(plan: Plan, cell: int) -> dict[str, Any]:
    """What is known of a cell whose own event a redaction withholds: whom it asked, by its place."""
    nothing = {"case": "", "fixture": "", "arm": "", "input": "", "epoch": 0, "twin": 0}
    return {**nothing, "candidate": candidate_at(plan, cell)}


def _golds(ledger: Ledger, plan: Plan) -> Mapping[tuple[str, str], Case]:
    """The frozen cases, without those of a fixture that a redaction withholds."""
    found: dict[tuple[str, str], Case] = {}
    for fixture in plan.fixtures:
        try:
            found |= thaw_cases(ledger, plan.model_copy(update={"fixtures": [fixture]}))
        except HarnessError:
            continue
    return found


def _record(
    cell: int, planned: Mapping[str, Any], score: Mapping[str, Any], confirm: Mapping[str, Any],
    golds: Mapping[tuple[str, str], Case],
) -> Record:  # fmt: skip
    case = golds.get((planned["fixture"], planned["case"]))
    return Record(
        cell=cell, case=planned["case"], fixture=planned["fixture"], candidate=planned["candidate"],
        arm=planned["arm"], epoch=planned["epoch"], twin=planned["twin"], input=planned["input"],
        outcome=score["outcome"], status=score["status"], reason=score["reason"], value=score["value"],
        verdict=score.get("verdict", ""), metrics=score["metrics"], classes=score.get("classes", {}),
        blocked_by=tuple(score.get("blocked_by", ())),
        findings=cast("Sequence[JSON]", confirm.get("findings", ())),
        rejections=cast("Sequence[JSON]", confirm.get("rejections", ())),
        gold=None if case is None else case.gold,
    )  # fmt: skip
