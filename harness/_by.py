"""A run's figures over some of its cases, or group by group: the same figures as the view's, over fewer cells.

Which cases are meant, and which group each is in, is read from the labels that were frozen with the run's fixtures,
never from a file on disk; groups by `served` and `tools` are of answers, and follow from what replies tell and requests
carried. A part that is chosen when the answers are known is post hoc, whatever its rule sets are.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness._answer_marks import SPLITS, Names, part_words, server_of, servers
from harness._clusters import InputOfPlace, interval_by_case, place_of_case
from harness._errors import HarnessError
from harness._filter import Condition, check_key, filters_text, group_of, group_order, keep, known_key
from harness._fingerprint import freeze_of, plan_of
from harness._plan import applies_to
from harness._report import RunReport
from harness._report_data import lead
from harness._rules import RuleSet
from harness._stats import wilson
from harness._suite import Case
from harness._thaw import thaw_cases, thaw_rules
from harness.suites import stages
from ledger import Ledger, over_views

__all__ = ["narrow"]

_CELLS = over_views(
    'SELECT cells.rules AS rules, cells.candidate AS candidate, cells."case" AS name, cells.fixture AS fixture,'
    " cells.outcome AS outcome, cells.stage AS stage, cells.reason AS reason, cells.domain AS domain,"
    " cells.metrics AS metrics, score.body -> '$.applies' AS applies,"
    " cells.cell AS cell, planned.body ->> '$.input' AS input"
    " FROM cells"
    " JOIN main.events AS planned ON planned.seq = cells.seq"
    " LEFT JOIN main.events AS score ON score.seq = cells.score"
    " WHERE cells.run = ? ORDER BY cells.rules, cells.cell"
)


@dataclass(frozen=True)
class _Cell:
    """One planned cell under one rule set; `place` is its case, None where a redaction withholds which it was. Cells of
    one `cluster` ask one input, those of one `seat` are epochs of one case."""

    number: int
    rules: str
    candidate: str
    place: tuple[str, str] | None
    outcome: str
    why: tuple[str, str, str]
    metrics: Mapping[str, float]
    applies: frozenset[str]
    cluster: str | int
    seat: int


def narrow(ledger: Ledger, report: RunReport, conditions: Sequence[Condition] = (), by: str = "") -> RunReport:
    """The report with its figures over the cases that meet every condition, and with `groups` by the key `by`.

    Bars, predictions and a suite's own tables are of whole runs and are left out of a part. Raises UsageError for
    conditions that no case meets and for a key that no case has, RefusedError where the frozen cases were withheld.
    """
    if by and by not in SPLITS:
        check_key(by, "--by")
    cells = _read(ledger, report)
    frozen = thaw_cases(ledger, plan_of(ledger, report.run))
    planned = list(dict.fromkeys(each.place for each in cells if each.place is not None))
    placed = [(fixture, frozen[fixture, name]) for fixture, name in planned if (fixture, name) in frozen]
    kept = keep(placed, conditions)
    data = dict(report.data)
    if conditions:
        data = {name: each for name, each in data.items() if name not in ("study", "bars_not_judged")}
        names = {(fixture, case.id) for fixture, case in kept}
        cells = [each for each in cells if each.place in names]
        data |= {
            "subset": {
                "filter": [each.text for each in conditions], "text": filters_text(conditions), "cases": len(kept),
                "of": len(placed), "standing": "post hoc",
            },
            "scoreboard": [{**_row(data, row, cells), "standing": "post hoc"} for row in data["scoreboard"]],
            "unmeasured": _unmeasured(cells), "flags": [], "repeatability": [], "bars": [], "bars_unread": [],
            "predictions": [],
        }  # fmt: skip
    if by in SPLITS:
        data["groups"] = _by_server(data, cells, servers(ledger, report.run, plan_of(ledger, report.run)), by)
    elif by:
        known_key(kept, by, "--by")
        of = {(fixture, case.id): group_of(by, fixture, case) for fixture, case in kept}
        data["groups"] = _groups(data, cells, of, by)
    return replace(report, data=data)


def _groups(
    data: Mapping[str, Any], cells: Sequence[_Cell], of: Mapping[tuple[str, str], str | None], by: str
) -> dict[str, Any]:
    groups = sorted(set(of.values()), key=group_order)
    parts: dict[str | None, list[_Cell]] = {group: [] for group in groups}
    for each in cells:
        if each.place is not None and each.place in of:
            parts[of[each.place]].append(each)
    rows = [
        {"group": group, **_row(data, row, parts[group])} for row in data["scoreboard"] for group in groups
    ]  # fmt: skip
    cases = Counter(of.values())
    return {
        "by": by, "groups": [{"group": group, "cases": cases[group]} for group in groups],
        "not_placed": sum(each.place not in of for each in cells), "rows": rows,
    }  # fmt: skip


def _by_server(
    data: Mapping[str, Any], cells: Sequence[_Cell], told: Mapping[int, Names], by: str
) -> dict[str, Any]:  # fmt: skip
    """Groups of cells by who answered them; those without an answer, or of which nothing is told, are None's."""
    parts: dict[str | None, list[_Cell]] = {}
    for each in cells:
        parts.setdefault(server_of(told.get(each.number, {}), by), []).append(each)
    groups = sorted(parts, key=group_order)
    rows: list[dict[str, Any]] = []
    for row in data["scoreboard"]:
        for group in groups:
            mine = [each for each in parts[group] if (each.rules, each.candidate) == (row["rules"], row["candidate"])]
            if mine:
                marks = part_words(row, [told.get(each.number, {}) for each in mine])
                mixed = "answered by" in marks or "lists of tools" in marks
                rows.append({"group": group, **_row(data, row, parts[group]), "marks": marks, "mixed": mixed})
    return {
        "by": by,
        "groups": [{"group": group, "cases": len({each.place for each in parts[group]})} for group in groups],
        "not_placed": 0, "rows": rows,
    }  # fmt: skip


# Figures


def _row(data: Mapping[str, Any], row: Mapping[str, Any], cells: Sequence[_Cell]) -> dict[str, Any]:
    """A row of the scoreboard over these cells alone: each figure as the view `scoreboard` defines it."""
    metric, rate = row["metric"], row["kind"] == "rate"
    mine = [each for each in cells if (each.rules, each.candidate) == (row["rules"], row["candidate"])]
    having = [each for each in mine if metric in each.metrics]
    values = [each.metrics[metric] for each in having]
    n, total, planned = len(values), math.fsum(values), sum(metric in each.applies for each in mine)
    unmeasured = sum(each.outcome == "unmeasured" for each in having)
    seen = math.fsum(each.metrics[metric] for each in having if each.outcome != "unmeasured")
    low, high = (wilson(round(total), n) if rate else None) or (None, None)
    mean = total / n if n else None
    spread = math.fsum((value - total / n) ** 2 for value in values) / (n - 1) if n > 1 else None
    found: dict[str, Any] = {
        **row, "k": round(total) if rate else None, "n": n, "planned": planned, "unmeasured": unmeasured, "rate": mean,
        "low": low, "high": high, "sd": None if rate or spread is None else math.sqrt(spread),
        "worst": seen / planned if planned else None,
        "best": (seen + planned - (n - unmeasured)) / planned if planned else None,
    }  # fmt: skip
    clusters: dict[str | int, dict[int, list[float]]] = {}
    for each in having:
        clusters.setdefault(each.cluster, {}).setdefault(each.seat, []).append(each.metrics[metric])
    clustered = data["run"]["epochs"] > 1
    by_case = clustered or not rate or any(len(seats) > 1 for seats in clusters.values())
    over = interval_by_case([_together(seats.values()) for seats in clusters.values()]) if by_case else None
    lead(found, {(row["rules"], metric, row["candidate"]): over} if over else {}, clustered=clustered)
    return found


def _together(seats: Collection[Sequence[float]]) -> tuple[float, int]:
    return math.fsum(sum(some) for some in seats), sum(map(len, seats))


def _unmeasured(cells: Sequence[_Cell]) -> list[dict[str, Any]]:
    counts = Counter((each.candidate, each.rules, *each.why) for each in cells if each.outcome == "unmeasured")
    rows = [
        {"candidate": candidate, "rules": rules, "stage": stage, "reason": reason, "domain": domain, "count": count}
        for (candidate, rules, stage, reason, domain), count in counts.items()
    ]
    return sorted(
        rows, key=lambda row: (row["candidate"], row["rules"], -row["count"], row["stage"], row["reason"])
    )  # fmt: skip


# Cells


def _read(ledger: Ledger, report: RunReport) -> list[_Cell]:
    labels = {row["rules"] for row in report.data["scoreboard"]}
    found: list[_Cell] = []
    told = _Applies(ledger, report.run)
    run = report.data["run"]
    shape = {"planned": run["planned"], "candidates": len(run["candidates"]), "epochs": run["epochs"]}
    rows = ledger.rows(_CELLS, (report.run,))
    inputs = InputOfPlace((place_of_case(row["cell"], **shape), row["input"]) for row in rows)
    for row in rows:
        if row["rules"] not in labels:
            continue
        place = (row["fixture"], row["name"]) if row["name"] is not None else None
        applies = told.of(row["rules"], place) if row["applies"] is None else frozenset(json.loads(row["applies"]))
        seat = place_of_case(row["cell"], **shape)
        found.append(
            _Cell(
                int(row["cell"]), row["rules"], row["candidate"], place, row["outcome"],
                (row["stage"] or "", row["reason"] or "", row["domain"] or ""), json.loads(row["metrics"] or "{}"),
                applies, inputs[seat], seat,
            )
        )  # fmt: skip
    return found


class _Applies:
    """Which metrics apply to a cell that no score speaks of: by its rule set's metrics and the group of its case."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger, self._run = ledger, run
        self._rules: dict[str, RuleSet | None] = {}
        self._cases: Mapping[tuple[str, str], Case] | None = None

    def of(self, label: str, place: tuple[str, str] | None) -> frozenset[str]:
        rules = self._thawed(label)
        if self._cases is None:
            self._cases = thaw_cases(self._ledger, plan_of(self._ledger, self._run))
        case = self._cases.get(place) if place is not None else None
        if rules is None or case is None or not rules.stages:
            return frozenset()
        groups = stages(rules.stages).group(case.gold)
        return frozenset(metric.name for metric in rules.metrics if applies_to(metric, groups))

    def _thawed(self, label: str) -> RuleSet | None:
        if label not in self._rules:
            try:
                self._rules[label] = thaw_rules(self._ledger, freeze_of(self._ledger, self._run, label))
            except HarnessError:
                self._rules[label] = None
        return self._rules[label]
