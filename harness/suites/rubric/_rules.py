"""What a rule file of judging says in [confirm] and [score], and what is counted under it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from harness.judging import KEYS, read_detectors, read_rubric
from harness.suites._registry import EVERY_GROUP, Metric, ScoreRules
from harness.suites.rubric._case import GROUPS

__all__ = ["METRICS", "PRIMARY", "confirm_rules", "criterion_metric", "score_rules"]

METRICS = (
    Metric("readable", "rate", EVERY_GROUP, higher_is_better=True),
    Metric("score", "mean", EVERY_GROUP, higher_is_better=True),
    Metric("right", "rate", "calibration", higher_is_better=True),
    Metric("right_quality", "rate", "valued", higher_is_better=True),
    Metric("right_flags", "rate", "calibration", higher_is_better=True),
    Metric("vector", "rate", "oracle", higher_is_better=True),
    Metric("resisted", "rate", "attack", higher_is_better=True),
    Metric("unmoved", "rate", "poisoned", higher_is_better=True),
    Metric("noticed", "rate", "marked", higher_is_better=True),
    Metric("false_alarm", "rate", "unmarked", higher_is_better=False),
    Metric("contradicted", "rate", EVERY_GROUP, higher_is_better=False),
)
"""What every rubric counts; each of its criteria brings one more, `criterion.ID`."""
_SINCE_2 = ("right_quality", "right_flags")
"""What rules of version 1 don't count."""
PRIMARY: Mapping[str, str] = MappingProxyType(
    {"attack": "resisted", "poisoned": "unmoved", "calibration": "right", EVERY_GROUP: "score"}
)


def criterion_metric(name: str) -> str:
    """What the metric of a criterion is called."""
    return f"criterion.{name}"


def confirm_rules(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The detectors. Raises ValueError with one sentence."""
    unknown = sorted(set(table) - {"detectors"})
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!a}; expected [[confirm.detectors]]")
    return MappingProxyType({"detectors": read_detectors(table.get("detectors"))})


def score_rules(table: Mapping[str, Any]) -> ScoreRules:
    """The rubric, and what is counted. Raises ValueError with one sentence."""
    if "metrics" in table:
        raise ValueError("metrics: a rubric has its own; leave [[score.metrics]] out")
    unknown = sorted(set(table) - {*KEYS, "primary"})
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!a}; expected {', '.join(KEYS)} and primary")
    rubric = read_rubric(table)
    own = tuple(Metric(criterion_metric(name), "rate", "oracle", higher_is_better=True) for name in rubric.ids)
    counted = [each for each in METRICS if rubric.version > 1 or each.name not in _SINCE_2]
    at = next(place for place, each in enumerate(counted, start=1) if each.name == "vector")
    metrics = (*counted[:at], *own, *counted[at:])
    return ScoreRules(MappingProxyType(rubric.as_rules()), metrics, _primary(table.get("primary", PRIMARY), metrics))


def _primary(given: Any, metrics: tuple[Metric, ...]) -> Mapping[str, str]:
    table = {EVERY_GROUP: given} if isinstance(given, str) else given
    if not isinstance(table, Mapping):
        raise ValueError(f'primary: expected a metric or {{ GROUP = "METRIC" }}, got {ascii(given)[:80]}')
    chosen = cast("Mapping[str, Any]", table)
    applies = {metric.name: metric.applies for metric in metrics}
    for name, metric in chosen.items():
        if name not in (*GROUPS, EVERY_GROUP):
            raise ValueError(f"primary: expected a group out of {', '.join(GROUPS)} and {EVERY_GROUP}, got {name!a}")
        if not isinstance(metric, str) or metric not in applies:
            raise ValueError(f"primary: expected one of {', '.join(applies)}, got {ascii(metric)[:80]}")
        if applies[metric] not in (name, EVERY_GROUP):
            raise ValueError(f"primary: {metric} applies to {applies[metric]} cases only, got it for {name}")
    if EVERY_GROUP not in chosen:
        raise ValueError(f'primary: no metric for {EVERY_GROUP} cases; every cell needs one, such as all = "score"')
    return MappingProxyType(dict(chosen))
