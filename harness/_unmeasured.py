"""The policy of a rule set for cells that have no measurement: leave them out, or a named legacy policy.

    [unmeasured]
    policy = "NAME"                         what it is called wherever it counted something
    [[unmeasured.count]]
    metric = "METRIC"
    as = 0                                  what an unmeasured cell counts as: 0 or 1, and for a mean a number between
    statuses = ["malformed", …]             which cells: those that ended in one of these statuses,
    reasons = ["billing", …]                or for one of these reasons; with neither, every unmeasured cell

Without the table nothing is counted. A counted cell keeps its outcome, `unmeasured`, and its reason; only its figures
are filled in, its score names the policy, and every number says how many of its n are such cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast, get_args

from harness._errors import RulesError
from harness._outcomes import REASONS, Status
from harness.suites._registry import Metric

__all__ = ["Count", "Policy", "read_policy"]

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_KEYS = frozenset({"metric", "as", "statuses", "reasons"})
_STATUSES = tuple(status for status in get_args(Status) if status != "parsed")
_REASONS = frozenset(name for _, name in REASONS if name)
_REASON = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Count:
    """One clause: an unmeasured cell of these statuses or reasons counts as `value` for `metric`."""

    metric: str
    value: float
    statuses: frozenset[str]
    reasons: frozenset[str]

    def fits(self, status: str, reason: str) -> bool:
        """Whether a cell that ended so is one of those."""
        return status in self.statuses or reason in self.reasons or not (self.statuses or self.reasons)


@dataclass(frozen=True, slots=True)
class Policy:
    """A named policy and its clauses, in the file's order; for one metric the first that fits decides."""

    name: str
    counts: tuple[Count, ...]

    def figures(self, status: str, reason: str, applies: Sequence[str]) -> dict[str, float]:
        """What an unmeasured cell counts as, by metric; empty when the policy leaves it out."""
        found: dict[str, float] = {}
        for count in self.counts:
            if count.metric in applies and count.fits(status, reason):
                found.setdefault(count.metric, count.value)
        return found


def read_policy(table: Mapping[str, Any], metrics: Sequence[Metric]) -> Policy | None:
    """The [unmeasured] table of a rule file; None for one that leaves out. Raises RulesError with one sentence."""
    unknown = set(table) - {"policy", "count"}
    if unknown:
        raise RulesError(f"[unmeasured] unknown key {min(unknown)!a}; expected policy and count")
    name, counts = table.get("policy"), table.get("count")
    if name == "leave-out":
        if counts is None:
            return None
        raise RulesError('[unmeasured] policy: "leave-out" counts nothing; give a policy that counts a name of its own')
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RulesError(f"[unmeasured] policy: expected a name in lower-case letters, digits, _ . and -, got {name!a}")
    if not isinstance(counts, list) or not counts:
        raise RulesError('[[unmeasured.count]]: a policy that counts nothing is "leave-out"; expected metric and as')
    by_name = {metric.name: metric for metric in metrics}
    return Policy(name, tuple(_count(item, by_name) for item in cast("list[Any]", counts)))


def _count(item: Any, metrics: Mapping[str, Metric]) -> Count:
    where = "[[unmeasured.count]]"
    given = cast("dict[str, Any]", item if isinstance(item, dict) else {})
    if not {"metric", "as"} <= set(given) <= _KEYS:
        raise RulesError(f"{where}: expected metric, as, and if need be statuses and reasons, got {ascii(given)[:200]}")
    name, value = given["metric"], given["as"]
    if not isinstance(name, str) or name not in metrics:
        raise RulesError(f"{where} metric: expected one of {', '.join(metrics)}, got {name!a}")
    number = isinstance(value, int | Decimal) and not isinstance(value, bool) and Decimal(value).is_finite()
    between = number and 0 <= value <= 1
    if not between or (metrics[name].kind == "rate" and value not in (0, 1)):
        wanted = "0 or 1" if metrics[name].kind == "rate" else "a number from 0 to 1"
        raise RulesError(f"{where} {name}: as: expected {wanted}, got {ascii(str(value))[1:-1]}")
    statuses, reasons = _names(given, "statuses"), _names(given, "reasons")
    for status in statuses:
        if status not in _STATUSES:
            raise RulesError(f"{where} {name}: statuses: expected some of {', '.join(_STATUSES)}, got {status!a}")
    for reason in reasons:
        # A suite's own reasons, and those with a number in them, are not in the table of the taxonomy.
        if reason not in _REASONS and not _REASON.fullmatch(reason):
            raise RulesError(f"{where} {name}: reasons: expected reasons of docs/OUTCOMES.md, got {reason!a}")
    return Count(name, float(value), frozenset(statuses), frozenset(reasons))


def _names(given: Mapping[str, Any], key: str) -> list[str]:
    names: Any = given.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        raise RulesError(f"[[unmeasured.count]] {key}: expected a list of names, got {str(given[key])[:200]!a}")
    if key in given and not names:
        raise RulesError(f"[[unmeasured.count]] {key}: an empty list fits no cell; leave the key out to count all")
    return cast("list[str]", names)
