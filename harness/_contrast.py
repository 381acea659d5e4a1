"""One metric of two sides: its table, difference, interval and test, what so many cases could have shown, and which
cases went which way. Numbers of `harness._stats` over the pairs of `harness._pairs`; no ledger is read here.

Where each case counts once, a rate is tested with exact McNemar. Where cases were repeated, in epochs or as twins of
one input, a case with all its repeats is one cluster, and no p is computed: repeats of a case aren't independent. An
interval that spans zero is inconclusive, never "no difference".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness._clusters import interval_by_case
from harness._pairs import Answer, MetricPairs, Pair
from harness._stats import (
    ALPHA,
    Bootstrap,
    SmallestDifference,
    case_difference,
    mcnemar_exact,
    paired_bootstrap,
    settled,
    smallest_difference,
    smallest_mean_difference,
    spans_zero,
    wilson,
)

__all__ = ["CaseFlip", "Contrast", "Figure", "contrast", "shown_difference", "shown_p", "shown_range"]

_REPEATED = "repeats of a case aren't independent"
_GRADED = "it is a test of rates, and this is a mean"
_FEWEST_APART = 6
"""So many cases must differ before an interval alone decides: fewer can't reach 5% in a two-sided exact sign test."""
Verdict = Literal["a_higher", "b_higher", "inconclusive", "no_data"]


@dataclass(frozen=True)
class Figure:
    """One side's figure over the paired cases: `k` of `n` (a mean has no k), its 95% interval, and how many of the n
    are unmeasured cells that a policy counts. `marks` says how its answers came about, where that has to be said, and
    `short` the same in a few words."""

    k: int | None
    n: int
    rate: float | None
    low: float | None
    high: float | None
    counted: int
    marks: str = ""
    short: str = ""

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "k": self.k, "n": self.n, "rate": self.rate, "low": self.low, "high": self.high, "unmeasured": self.counted,
            "marks": self.marks,
        }  # fmt: skip

    def text(self) -> str:
        """`12/12`, or a mean; with the unmeasured that a policy counts among them."""
        if self.rate is None:
            return "no data"
        shown = f"{self.k}/{self.n}" if self.k is not None else f"{self.rate:.3f}"
        said = [f"{self.counted} unmeasured" if self.counted else "", self.short]
        return shown + "".join(f" ({each})" for each in said if each)


@dataclass(frozen=True)
class CaseFlip:
    """A case whose figures differ: what either side has of it, a figure and an outcome a cell, and which cells."""

    case: str
    other_name: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    outcomes_a: tuple[str, ...]
    outcomes_b: tuple[str, ...]
    cells_a: tuple[int, ...]
    cells_b: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "case": self.case, "case_in_b": self.other_name or self.case, "a": list(self.a), "b": list(self.b),
            "outcomes_a": list(self.outcomes_a), "outcomes_b": list(self.outcomes_b),
            "cells_a": list(self.cells_a), "cells_b": list(self.cells_b),
        }  # fmt: skip


@dataclass(frozen=True)
class Contrast:
    """A metric on both sides.

    `planned` counts the cases that it applies to, `pairs` those that both sides have figures of. The table (`both`,
    `only_a`, `only_b`, `neither` have a 1) is None for a mean and where cases were repeated. `difference` is A's rate
    or mean less B's, over the paired cases, each weighing the same. `p` is exact McNemar's, or None and `no_p` why.
    `smallest` is in the best case, `smallest_seen` with the disagreement the other way that was observed.
    """

    metric: str
    kind: str
    primary: bool
    higher_is_better: bool | None
    planned: int
    pairs: int
    repeated: bool
    a: Figure
    b: Figure
    both: int | None
    only_a: int | None
    only_b: int | None
    neither: int | None
    difference: float | None
    interval: Bootstrap | None
    p: float | None
    no_p: str
    smallest: float | None
    smallest_seen: SmallestDifference | None
    verdict: Verdict
    why: str
    flips: tuple[CaseFlip, ...]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        interval = self.interval
        seen = self.smallest_seen
        return {
            "metric": self.metric, "kind": self.kind, "primary": self.primary,
            "higher_is_better": self.higher_is_better, "planned": self.planned, "pairs": self.pairs,
            "repeated": self.repeated, "a": self.a.as_json(), "b": self.b.as_json(), "both": self.both,
            "only_a": self.only_a, "only_b": self.only_b, "neither": self.neither, "difference": self.difference,
            "interval": None if interval is None else {
                "low": interval.low, "high": interval.high, "method": "percentile bootstrap over cases",
                "resamples": interval.resamples, "seed": interval.seed, "spread": interval.spread,
            },
            "mcnemar_exact_p": self.p, "mcnemar_not_computed": self.no_p,
            "smallest_difference": self.smallest,
            "smallest_difference_as_seen": None if seen is None else {
                "against": seen.against, "difference": seen.difference
            },
            "verdict": self.verdict, "why": self.why, "sentence": self.sentence(), "power": self.power(),
            "flips": [flip.as_json() for flip in self.flips],
        }  # fmt: skip

    def sentence(self) -> str:
        """What the numbers say, in careful words."""
        if self.verdict == "no_data":
            return f"{self.metric}: no data; {self.why}"
        if self.verdict == "inconclusive":
            return f"{self.metric}: inconclusive; {self.why}"
        better = {True: "; higher is better", False: "; lower is better", None: ""}[self.higher_is_better]
        return f"{self.metric}: {'A' if self.verdict == 'a_higher' else 'B'} is higher; {self.why}{better}"

    def power(self) -> str:
        """How small a difference so many cases could have shown."""
        if not self.pairs:
            return f"{self.metric}: without a paired case nothing could have been noticed"
        head = f"{self.metric}: With {self.pairs} paired case{'' if self.pairs == 1 else 's'},"
        seen, smallest = self.smallest_seen, self.smallest
        if smallest is None and (self.kind == "mean" or self.repeated):
            return f"{head} it can't be worked out what would go unnoticed: their differences have no spread"
        if smallest is None:
            return f"{head} any true difference may well go unnoticed: exact McNemar needs six that differ, all one way"
        if seen is not None and seen.difference is None:
            return f"{head} which differ both ways so often, any true difference may well go unnoticed"
        # What went both ways makes a difference harder to see, so the figure with it is the honest one.
        smallest = seen.difference if seen is not None and seen.difference is not None else smallest
        size = f"{100 * smallest:.0f} points" if self.kind == "rate" else f"{smallest:.3f}"
        return (
            f"{head} a true difference under about {size} may well go unnoticed (one that large is noticed four times"
            " in five)"
        )


def shown_difference(value: float, kind: str) -> str:
    """A difference as people read it: of rates in percentage points, of means as it is."""
    shown = settled(value)
    return f"{100 * shown:+.1f}pp" if kind == "rate" else f"{shown:+.3f}"


def shown_range(low: float, high: float, kind: str) -> str:
    """An interval of a difference as people read it."""
    return f"{shown_difference(low, kind).removesuffix('pp')} to {shown_difference(high, kind)}"


def contrast(
    found: MetricPairs, *, kind: str, primary: bool, higher_is_better: bool | None, seed: int | None = None
) -> Contrast:
    """Everything that is said of one metric. Without a paired case there is no data: not 0."""
    values = found.values()
    rate, single = kind == "rate", kind == "rate" and not found.repeated
    given = {} if seed is None else {"seed": seed}
    interval = paired_bootstrap(values, **given)
    differences = [case_difference(a, b) for a, b in values]
    difference = math.fsum(differences) / len(differences) if differences else None
    table = _table(values) if single and values else None
    p = mcnemar_exact(table[1], table[2]) if table is not None else None
    no_p = "" if p is not None else (_REPEATED if rate and found.repeated else _GRADED if not rate else "no data")
    if single:
        smallest = smallest_difference(len(values)).difference
        against = min(table[1], table[2]) / len(values) if table else 0.0
        seen = smallest_difference(len(values), against=against)
    else:
        smallest, seen = smallest_mean_difference(differences), None
    verdict, why = _judge(found, kind, differences, difference, interval, p)
    return Contrast(
        found.metric, kind, primary, higher_is_better, found.planned, len(values), found.repeated,
        _figure([a for a, _ in values], found, found.counted_a, kind),
        _figure([b for _, b in values], found, found.counted_b, kind),
        *(table or (None, None, None, None)), difference, interval, p, no_p, smallest, seen, verdict, why,
        tuple(_flip(pair, found.metric) for pair in found.pairs if _apart(case_difference(*pair.values(found.metric)))),
    )  # fmt: skip


def _table(values: Sequence[tuple[list[float], list[float]]]) -> tuple[int, int, int, int]:
    cells = [(a[0] == 1, b[0] == 1) for a, b in values]
    return (
        cells.count((True, True)), cells.count((True, False)), cells.count((False, True)), cells.count((False, False))
    )  # fmt: skip


def _figure(clusters: Sequence[Sequence[float]], found: MetricPairs, counted: int, kind: str) -> Figure:
    every = [value for values in clusters for value in values]
    if not every:
        return Figure(None, 0, None, None, None, counted)
    k = round(math.fsum(every)) if kind == "rate" else None
    if k is not None and not found.repeated:
        low, high = wilson(k, len(every)) or (None, None)
    else:
        # The interval that a report has of it, which has a width with few cases too.
        by_case = interval_by_case([(math.fsum(values), len(values)) for values in clusters if values])
        low, high = (by_case.low, by_case.high) if by_case else (None, None)
    return Figure(k, len(every), math.fsum(every) / len(every), low, high, counted)


def _judge(
    found: MetricPairs, kind: str, differences: Sequence[float], difference: float | None,
    interval: Bootstrap | None, p: float | None,
) -> tuple[Verdict, str]:  # fmt: skip
    if difference is None:
        if not found.planned:
            return "no_data", "it applies to no case here"
        return "no_data", f"none of the {found.planned} cases that it applies to has figures on both sides"
    ahead: Verdict = "a_higher" if difference > 0 else "b_higher"
    if p is not None:
        why = f"exact McNemar p = {shown_p(p)}"
        spans = interval is not None and spans_zero(interval.low, interval.high)
        if p < ALPHA and not spans:
            return ahead, why
        holds = f"; the interval of the difference {_at_zero(interval)}" if interval is not None and spans else ""
        return "inconclusive", why + holds
    if interval is None:
        return "inconclusive", "one case says nothing of how cases differ"
    shown = f"the 95% interval of the difference is {shown_range(interval.low, interval.high, kind)}"
    if spans_zero(interval.low, interval.high):
        return "inconclusive", f"{shown}, which {_at_zero(interval)}"
    apart = sum(map(_apart, differences))
    if apart < _FEWEST_APART:
        return "inconclusive", f"{shown}, but only {apart} cases differ, and fewer than {_FEWEST_APART} decide nothing"
    return ahead, shown


def _at_zero(interval: Bootstrap) -> str:
    return "spans zero" if interval.low < 0 < interval.high else "touches zero"


def _apart(difference: float) -> bool:
    return settled(difference) != 0


def shown_p(value: float) -> str:
    """A p as people read it."""
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"


def _flip(pair: Pair, metric: str) -> CaseFlip:
    a, b = pair.values(metric)
    return CaseFlip(
        pair.name, pair.other_name, tuple(a), tuple(b), _outcomes(pair.a), _outcomes(pair.b),
        tuple(each.cell for each in pair.a), tuple(each.cell for each in pair.b),
    )  # fmt: skip


def _outcomes(answers: Sequence[Answer]) -> tuple[str, ...]:
    return tuple(
        f"unmeasured ({each.status}: {each.reason})" if each.outcome == "unmeasured" else each.outcome
        for each in answers
    )
