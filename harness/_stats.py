"""Statistics of counts and of paired measurements: pure functions over numbers.

numpy is imported where it is used, since most commands need none of this.

Sources: Wilson 1927 (interval of a proportion); McNemar 1947 (paired proportions), here exact; Chen et al. 2021,
"Evaluating Large Language Models Trained on Code" (pass@k); Field and Welsh 2007, "Bootstrapping clustered data".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

from harness._binomial import Tails, at_most, critical_counts, weights

__all__ = [
    "ALPHA",
    "POWER",
    "RESAMPLES",
    "SEED",
    "Bootstrap",
    "PassAtK",
    "SmallestDifference",
    "case_difference",
    "mcnemar_exact",
    "mean_pass_at_k",
    "paired_bootstrap",
    "pass_at_k",
    "settled",
    "smallest_difference",
    "smallest_mean_difference",
    "spans_zero",
    "wilson",
    "wilson_of_mean",
]

ALPHA = 0.05
POWER = 0.8
RESAMPLES = 10_000
SEED = 20260701
"""The seed of every bootstrap unless another is given; it is shown beside the interval."""
_Z = 1.959963984540054  # as in the view scoreboard
_AT_ONCE = 1_000_000
_FEWEST = 2
_UNLIKELY = 1e-15
_OFF = 1e-12
"""More than floats of shares and of grades miss decimal fractions by, and less than any difference of answers."""


def wilson(k: int, n: int) -> tuple[float, float] | None:
    """The 95% Wilson score interval of k of n, without continuity correction; None when n is 0.

    The same formula as the view `scoreboard`. Raises ValueError unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"expected 0 <= k <= n, got k = {k} and n = {n}")
    return wilson_of_mean(k / n, n) if n else None


def wilson_of_mean(mean: float, n: int) -> tuple[float, float]:
    """The same interval of a mean in [0, 1] of n values, n at least 1, that needn't be a whole number of hits."""
    middle = mean + _Z * _Z / (2 * n)
    half = _Z * math.sqrt(mean * (1 - mean) / n + _Z * _Z / (4 * n * n))
    scale = 1 + _Z * _Z / n
    return (0.0 if mean == 0 else (middle - half) / scale, 1.0 if mean == 1 else (middle + half) / scale)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """The two-sided p of the exact McNemar test: whether the pairs that disagree go either way alike.

    1 where no pair disagrees. It takes every pair as independent of the others.
    """
    if only_a < 0 or only_b < 0:
        raise ValueError(f"expected two counts, got {only_a} and {only_b}")
    if only_a == only_b:
        return 1.0
    return min(1.0, 2 * at_most(min(only_a, only_b), only_a + only_b))


# pass@k


@dataclass(frozen=True, slots=True)
class PassAtK:
    """The estimate, or None and the reason: k_exceeds_n (fewer samples than k), or no_data (no problem at all)."""

    value: float | None
    reason: Literal["", "k_exceeds_n", "no_data"] = ""


def pass_at_k(n: int, c: int, k: int) -> PassAtK:
    """The unbiased estimate that one of k samples is right, from c right of n: 1 - C(n-c, k) / C(n, k).

    Raises ValueError unless 0 <= c <= n and k >= 1.
    """
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"expected 0 <= c <= n and k >= 1, got n = {n}, c = {c}, k = {k}")
    if k > n:
        return PassAtK(None, "k_exceeds_n")
    every = math.comb(n, k)
    return PassAtK((every - math.comb(n - c, k)) / every)


def mean_pass_at_k(problems: Sequence[tuple[int, int]], k: int) -> PassAtK:
    """The mean of pass@k over problems, each (n samples, c right).

    None as soon as one problem has fewer samples than k: leaving it out would be another set of problems.
    """
    found = [pass_at_k(n, c, k) for n, c in problems]
    if not found:
        return PassAtK(None, "no_data")
    values = [each.value for each in found if each.value is not None]
    return PassAtK(math.fsum(values) / len(values)) if len(values) == len(found) else PassAtK(None, "k_exceeds_n")


# Cluster bootstrap


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A 95% percentile interval over `clusters` that were drawn anew `resamples` times, from `seed`.

    `estimate` is of the data themselves. `spread` is false where every cluster has the same mean: the interval then has
    no width, which says nothing of other cases.
    """

    estimate: float
    low: float
    high: float
    clusters: int
    resamples: int
    seed: int
    spread: bool


def paired_bootstrap(
    clusters: Sequence[tuple[Sequence[float], Sequence[float]]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> Bootstrap | None:
    """The interval of the mean, over cases, of A's mean less B's. A case with both its lists is one cluster.

    Every case weighs the same, however many repeats were measured; repeats are never paired with one another. None with
    fewer than two cases that hold values of both.
    """
    if resamples < 1:
        raise ValueError(f"expected at least one resample, got {resamples}")
    # In an order of their own, so that the interval doesn't hang on the order in which cases come.
    ordered = sorted(case_difference(a, b) for a, b in clusters if a and b)
    if len(ordered) < _FEWEST:
        return None
    import numpy as np

    values = np.array(ordered, dtype=float)
    draws = np.concatenate(
        [values[drawn].sum(axis=1) / len(ordered) for drawn in _draws(np, len(ordered), resamples, seed)]
    )
    low, high = np.quantile(draws, [ALPHA / 2, 1 - ALPHA / 2])
    estimate = math.fsum(ordered) / len(ordered)
    return Bootstrap(estimate, float(low), float(high), len(ordered), resamples, seed, not _alike(ordered))


def case_difference(a: Sequence[float], b: Sequence[float]) -> float:
    """The mean of one case's values in A less their mean in B; neither is empty."""
    return math.fsum(a) / len(a) - math.fsum(b) / len(b)


def _draws(np: Any, clusters: int, resamples: int, seed: int) -> Iterator[Any]:
    """Which clusters each resample draws, some resamples at a time: memory doesn't grow with their number."""
    rng = np.random.Generator(np.random.PCG64(seed))
    most = max(1, _AT_ONCE // clusters)
    for start in range(0, resamples, most):
        yield rng.integers(0, clusters, size=(min(most, resamples - start), clusters), dtype=np.int32)


def _alike(values: Sequence[float]) -> bool:
    return max(values) - min(values) < 1e-12


def spans_zero(low: float, high: float) -> bool:
    """Whether an interval of a difference holds 0: it is then inconclusive, which is not "no difference".

    An end that misses 0 by no more than floats miss decimal fractions touches it.
    """
    return settled(low) <= 0 <= settled(high)


def settled(difference: float) -> float:
    """A difference, and 0 where it is off from 0 by the arithmetic of floats alone: (0.3 - 0.1) + (0.2 - 0.4) is 0,
    and no step below it."""
    return 0.0 if abs(difference) < _OFF else difference


# How small a difference could have been seen


@dataclass(frozen=True, slots=True)
class SmallestDifference:
    """The smallest true difference of two rates that n pairs show with `POWER` at `ALPHA`, two-sided.

    `against` is the share of pairs that was taken to go the other way. `difference` is None where not even the
    largest possible one would be shown.
    """

    n: int
    against: float
    difference: float | None


def smallest_difference(n: int, *, against: float = 0.0) -> SmallestDifference:
    """How small a difference the exact McNemar test on n independent pairs could have shown at 80% power.

    What is assumed: each pair goes A's way with probability `against` + d, B's way with probability `against`, and
    ties otherwise. The result is the smallest such d for which the test finds A ahead (p <= 0.05, two-sided) at least
    four times in five. With `against` = 0, the best case, every disagreement goes one way: then six of them are
    needed, and fewer than six pairs can show nothing. With what was observed of the other direction, more is needed.
    """
    if n < 0 or not 0 <= against <= 1:
        raise ValueError(f"expected n >= 0 and a share of pairs, got n = {n}, against = {against}")
    largest = 1 - 2 * against
    if n == 0 or largest <= 0:
        return SmallestDifference(n, against, None)
    likely = [(y, weight) for y, weight in enumerate(weights(n, against)) if weight > _UNLIKELY]
    needed = _needed(n)
    tails = Tails([needed[y] for y, _ in likely], [n - y for y, _ in likely])

    def power(difference: float) -> float:
        found = tails.at(min(1.0, (against + difference) / (1 - against)))
        return math.fsum(weight * each for (_, weight), each in zip(likely, found.tolist(), strict=True))

    if power(largest) < POWER:
        return SmallestDifference(n, against, None)
    low, high = 0.0, largest
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return SmallestDifference(n, against, high)


def _needed(n: int) -> list[int]:
    """For each number y of pairs that go B's way, how many must go A's for p <= ALPHA; n + 1 where it can't be."""
    first: dict[int, int] = {}
    for disagreeing, most in enumerate(critical_counts(n, ALPHA)):
        first.setdefault(most, disagreeing)
    return [first[y] - y if y in first else n + 1 for y in range(n + 1)]


def smallest_mean_difference(differences: Sequence[float]) -> float | None:
    """About how small a mean of paired differences so many cases show at 80% power: 2.80 s / sqrt(n).

    A normal approximation with the deviation that was observed, one difference a case; None where there is none.
    """
    n = len(differences)
    if n < _FEWEST or _alike(differences):
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((each - mean) ** 2 for each in differences) / (n - 1)
    norm = NormalDist()
    return (norm.inv_cdf(1 - ALPHA / 2) + norm.inv_cdf(POWER)) * math.sqrt(variance / n)
