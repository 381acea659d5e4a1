"""Counting a scoring pass: the tally event's figures, made of the very scores that the views count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from harness._plan import PlannedRun
from harness._rules import RuleSet
from harness.suites import Metric
from ledger import Draft
from ledger.kinds import Score, Tally, TallyMetric

__all__ = ["tally_draft"]


def tally_draft(planned: PlannedRun, rules: RuleSet, scores: Mapping[int, Score], freeze: int) -> Draft:
    """The tally of `scores` (by cell) under one rule set; every planned cell is in `scores`."""
    candidates = list(dict.fromkeys(each.candidate.label for each in planned.measurements))
    cells: dict[str, list[Score]] = {label: [] for label in candidates}
    for measurement in planned.measurements:
        cells[measurement.candidate.label].append(scores[measurement.cell])
    primary = set(rules.primary.values())
    metrics = [
        _figure(label, metric, cells[label], primary=metric.name in primary)
        for label in candidates
        for metric in rules.metrics
    ]
    outcomes = dict(sorted(Counter(score.outcome for score in scores.values()).items()))
    body = Tally(rules=rules.label, freeze=freeze, outcomes=dict(outcomes), metrics=metrics)
    return Draft(body, run=planned.run, causes=sorted([freeze, planned.plan]))


def _figure(candidate: str, metric: Metric, scores: list[Score], *, primary: bool) -> TallyMetric:
    counted = [score for score in scores if metric.name in score.applies]
    having = [score for score in counted if metric.name in score.metrics]
    values = [score.metrics[metric.name] for score in having]
    total = sum(values)
    rate = metric.kind == "rate"
    return TallyMetric(
        candidate=candidate, metric=metric.name, kind=metric.kind, k=round(total) if rate else None,
        total=None if rate else total, n=len(values), planned=len(counted), primary=primary,
        unmeasured=sum(score.outcome == "unmeasured" for score in having),
    )  # fmt: skip
