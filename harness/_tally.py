"""Counting a scoring pass: the tally event's figures, made of the very scores that the views count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

from harness._plan import PlannedRun
from harness._rules import RuleSet
from harness.suites import Metric
from ledger import Draft
from ledger.kinds import Score, Tally, TallyMetric

__all__ = ["figures", "tally_draft", "tally_of"]


def tally_draft(planned: PlannedRun, rules: RuleSet, scores: Mapping[int, Score], freeze: int) -> Draft:
    """The tally of `scores` (by cell) under one rule set; every planned cell is in `scores`."""
    candidates = list(dict.fromkeys(each.candidate.label for each in planned.measurements))
    cells: dict[str, list[Score]] = {label: [] for label in candidates}
    for measurement in planned.measurements:
        cells[measurement.candidate.label].append(scores[measurement.cell])
    body = tally_of(rules.label, rules.metrics, rules.primary, freeze, cells)
    return Draft(body, run=planned.run, causes=sorted([freeze, planned.plan]))


def tally_of(
    label: str,
    metrics: Sequence[Metric],
    primary: Mapping[str, str],
    freeze: int,
    scores: Mapping[str, Sequence[Score]],
) -> Tally:
    """The tally of a run under the rule set `label`: `scores` of all its planned cells, by candidate."""
    outcomes = Counter(score.outcome for some in scores.values() for score in some)
    return Tally(
        rules=label, freeze=freeze, outcomes=dict(sorted(outcomes.items())), metrics=figures(metrics, primary, scores)
    )


def figures(
    metrics: Sequence[Metric], primary: Mapping[str, str], scores: Mapping[str, Sequence[Score]]
) -> list[TallyMetric]:
    """Every metric of every candidate, counted; `scores` by candidate."""
    chosen = set(primary.values())
    return [
        _figure(candidate, metric, some, primary=metric.name in chosen)
        for candidate, some in scores.items()
        for metric in metrics
    ]


def _figure(candidate: str, metric: Metric, scores: Sequence[Score], *, primary: bool) -> TallyMetric:
    counted = [score for score in scores if metric.name in score.applies]
    having = [score for score in counted if metric.name in score.metrics]
    values = [score.metrics[metric.name] for score in having]
    # One by one, in order: `sum` makes up for what floats lose since Python 3.12, and a tally is the same everywhere.
    total = reduce(add, values, 0)
    rate = metric.kind == "rate"
    return TallyMetric(
        candidate=candidate, metric=metric.name, kind=metric.kind, k=round(total) if rate else None,
        total=None if rate else total, n=len(values), planned=len(counted), primary=primary,
        unmeasured=sum(score.outcome == "unmeasured" for score in having),
    )  # fmt: skip
