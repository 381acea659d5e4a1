"""The stage functions of a manifest suite: each does what the scorer of the rule set does.

What `answer` hands on is wrapped, {"scorer": name, "answer": …}, so that nothing a model writes can pass for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from harness._json import JSON
from harness.suites._registry import (
    EVERY_GROUP,
    Answer,
    Confirmed,
    Kind,
    Metric,
    Scored,
    ScoreRules,
    Unscorable,
    settle,
)
from harness.suites.manifest._input import check_input
from harness.suites.manifest._quote import REJECTIONS
from harness.suites.manifest._scorer import NOTHING, SOMETHING, Scorer
from harness.suites.manifest._scorers import SCORERS

__all__ = [
    "METRICS", "REJECTIONS", "answer", "check_case", "check_gold", "confirm", "confirm_rules", "group", "schema",
    "score", "score_rules",
]  # fmt: skip

METRICS: tuple[Metric, ...] = tuple(
    {(each.name, each.applies): each for scorer in SCORERS.values() for each in scorer.metrics}.values()
)
"""Every metric of every scorer."""


def schema(value: JSON) -> tuple[str | None, JSON]:
    """Any value has the shape of an answer; which scorer can do with it is for the scorer to say."""
    return None, value


def check_case(case_input: JSON, gold: JSON) -> str | None:
    """One sentence on why this can't be a case under any scorer, or None."""
    return check_input(case_input)


def group(gold: JSON) -> frozenset[str]:
    """Whether the gold expects something: null, an empty text and an empty list expect nothing."""
    return frozenset({NOTHING if gold is None or gold == "" or gold == [] else SOMETHING})


def confirm_rules(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """A manifest suite has no [confirm] of its own: what a quote is held against stands in [score]."""
    if table:
        raise ValueError(
            f"unknown key {min(table)!r}; a manifest suite has no [confirm] table,"
            ' and what a quote is held against stands in [score] (scorer = "quote")'
        )
    return MappingProxyType({})


def score_rules(table: Mapping[str, Any]) -> ScoreRules:
    """The [score] table: the scorer, its options, and, by group, the metric that is a cell's outcome."""
    if "metrics" in table:
        raise ValueError("metrics: a scorer has its own; leave [[score.metrics]] out")
    scorer = _named(table.get("scorer"))
    options = scorer.read({key: value for key, value in table.items() if key not in ("scorer", "primary")})
    metrics = scorer.counted(options)
    there = {metric.name for metric in metrics}
    usual = {name: metric for name, metric in scorer.primary.items() if metric in there}
    chosen = _primary(table.get("primary", usual), metrics)
    return ScoreRules(MappingProxyType({"scorer": scorer.label, **options}), metrics, chosen)


def _named(given: Any) -> Scorer:
    there = ", ".join(SCORERS)
    if given is None:
        raise ValueError(f'scorer: expected one of {there}, got none; write scorer = "exact"')
    name = given.partition("/")[0] if isinstance(given, str) else ""
    scorer = SCORERS.get(name)
    if scorer is None:
        raise ValueError(f"scorer: expected one of {there}, got {given!r}")
    if given not in (scorer.name, scorer.label):
        raise ValueError(f"scorer: this release has {scorer.label}, got {given!r}")
    return scorer


def _primary(given: Any, metrics: tuple[Metric, ...]) -> Mapping[str, str]:
    table = {EVERY_GROUP: given} if isinstance(given, str) else given
    if not isinstance(table, Mapping):
        raise ValueError(f'primary: expected a metric or {{ GROUP = "METRIC" }}, got {given!r}')
    chosen = cast("Mapping[str, Any]", table)
    applies = {metric.name: metric.applies for metric in metrics}
    for name, metric in chosen.items():
        if name not in (SOMETHING, NOTHING, EVERY_GROUP):
            raise ValueError(f"primary: expected a group out of {SOMETHING}, {NOTHING}, {EVERY_GROUP}, got {name!r}")
        if not isinstance(metric, str) or metric not in applies:
            raise ValueError(f"primary: expected one of {', '.join(applies)}, got {metric!r}")
        if applies[metric] not in (name, EVERY_GROUP):
            raise ValueError(f"primary: {metric} applies to {applies[metric]} cases only, got it for {name}")
    for name in (SOMETHING, NOTHING):
        if name not in chosen and EVERY_GROUP not in chosen:
            raise ValueError(f"primary: no metric for {name} cases; every group needs one")
    return MappingProxyType(dict(chosen))


def answer(value: JSON, case_input: JSON, rules: Mapping[str, Any]) -> Answer:
    """What the rule set's scorer takes for the answer."""
    scorer = _scorer(rules)
    found = scorer.answer(value, case_input, rules)
    return replace(found, value={"scorer": scorer.name, "answer": found.value}) if found.status == "parsed" else found


def confirm(value: JSON, case_input: JSON, rules: Mapping[str, Any]) -> Confirmed:
    """What of an answer the case bears out, for a scorer that looks."""
    scorer, inner = _unwrapped(value)
    return scorer.confirm(inner, case_input) if scorer is not None and scorer.confirm is not None else Confirmed()


def score(value: JSON, confirmed: Confirmed, gold: JSON, rules: Mapping[str, Any]) -> Scored | Unscorable:
    """The metrics and the verdict of one cell, and the outcome that the rules' primary metric gives."""
    _, inner = _unwrapped(value)
    found = _scorer(rules).score(inner, confirmed, gold, rules)
    if found is None:
        return Unscorable("gold_unusable")
    if isinstance(found, str):
        return Unscorable(found, "ambiguous")
    figures, verdict = found
    kinds = cast("Mapping[str, Kind]", rules["metrics"])
    figures = {name: figure for name, figure in figures.items() if name in kinds}
    outcome, graded = settle(figures, group(gold), primary=rules["primary"], kinds=kinds)
    return Scored(outcome, graded, figures, verdict)


def check_gold(case_input: JSON, gold: JSON, rules: Mapping[str, Any]) -> str | None:
    """One sentence on why the rule set's scorer can't score a case, or None."""
    return _scorer(rules).check_gold(case_input, gold, rules)


def _scorer(rules: Mapping[str, Any]) -> Scorer:
    return SCORERS[str(rules["scorer"]).partition("/")[0]]


def _unwrapped(value: JSON) -> tuple[Scorer | None, JSON]:
    if isinstance(value, Mapping) and set(value) == {"scorer", "answer"}:
        name = value["scorer"]
        return SCORERS.get(name) if isinstance(name, str) else None, value["answer"]
    return None, None
