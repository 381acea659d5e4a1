"""Counts with their intervals, as rows of a study's table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness._clusters import interval_by_case
from harness._stats import wilson
from harness.suites._companion import Column

__all__ = ["RATE", "Cell", "Rate", "mean_of", "rate_of", "shown_range"]

Cell = str | int | float | None

RATE = (
    Column("k", "count"), Column("n", "count"), Column("share", "percent"), Column("95% low", "percent"),
    Column("95% high", "percent"),
)  # fmt: skip
"""The columns that a rate fills: k of n, and the 95% interval of the share."""


@dataclass(frozen=True, slots=True)
class Rate:
    """k of n with a 95% interval: Wilson's where each text counts once, else over the texts, each with all its
    repeats. None of it where n is 0."""

    k: int
    n: int
    low: float | None
    high: float | None

    @property
    def share(self) -> float | None:
        """k / n."""
        return self.k / self.n if self.n else None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """What stands in the columns of `RATE`."""
        return (self.k, self.n, self.share, self.low, self.high)


def rate_of(hits: Iterable[tuple[str, bool]]) -> Rate:
    """Of (text, whether it holds): a text that comes more than once is one cluster."""
    clusters = _clusters((text, float(hit)) for text, hit in hits)
    k, n = round(math.fsum(total for total, _ in clusters)), sum(count for _, count in clusters)
    if all(count == 1 for _, count in clusters):
        low, high = wilson(k, n) or (None, None)
    else:
        found = interval_by_case(clusters)
        low, high = (found.low, found.high) if found else (None, None)
    return Rate(k, n, low, high)


def mean_of(values: Iterable[tuple[str, float]]) -> tuple[float | None, float | None, float | None]:
    """The mean of figures in [0, 1] with its 95% interval over the texts; None of the three without one."""
    clusters = _clusters(values)
    found = interval_by_case(clusters)
    if found is None:
        return None, None, None
    return math.fsum(total for total, _ in clusters) / sum(count for _, count in clusters), found.low, found.high


def _clusters(values: Iterable[tuple[str, float]]) -> Sequence[tuple[float, int]]:
    found: dict[str, list[float]] = {}
    for text, value in values:
        found.setdefault(text, []).append(value)
    return [(math.fsum(some), len(some)) for some in found.values()]


def shown_range(low: float | None, high: float | None) -> str:
    """An interval of shares in words."""
    return "no interval" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}%"
