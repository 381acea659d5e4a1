"""Scoring: confirmed findings against the frozen key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness._json import JSON
from harness.suites._registry import Confirmed, Scored, settle
from harness.suites.authority._case import group, read_gold
from harness.suites.authority._schema import fault_of

__all__ = ["score"]


def score(value: JSON, confirmed: Confirmed, gold: JSON, rules: Mapping[str, Any]) -> Scored:
    """The metrics of one cell, and the outcome that the rules' primary metric of its group gives.

    On a positive: `exact` (every expected type, source and target is among the findings) and `direction` (every
    expected source and target is, whatever the type). On a negative: `negative_pass` (no finding has a forbidden
    type), `false_fire` (one has) and `false_fire_without_confirmer` (a proposal alone has one, confirmed or not).
    """
    key = read_gold(gold)
    found = {(item["type"], item["source"], item["target"]) for item in confirmed.findings}
    if key.expected:
        pairs = {(source, target) for _, source, target in found}
        metrics = {
            "exact": int(set(key.expected) <= found),
            "direction": int({(source, target) for _, source, target in key.expected} <= pairs),
        }
    else:
        fired = any(kind in key.forbidden for kind, _, _ in found)
        metrics = {
            "negative_pass": int(not fired),
            "false_fire": int(fired),
            "false_fire_without_confirmer": int(bool(_proposed(value) & key.forbidden)),
        }
    outcome, graded = settle(metrics, group(gold), primary=rules["primary"], kinds=rules["metrics"])
    return Scored(outcome, graded, {name: figure for name, figure in metrics.items() if name in rules["metrics"]})


def _proposed(value: JSON) -> set[str]:
    proposals = value if isinstance(value, list) else []
    return {str(item["type"]) for item in proposals if isinstance(item, Mapping) and fault_of(item) is None}
