"""How far below zero a paired difference may truly lie: intervals of the gate, over cases. Pure functions over numbers.

    Tango        each case once, a rate: the score interval of Tango 1998, "Equivalence test and confidence interval for
                 the difference in proportions for the paired-sample design"
    Student      repeats or graded figures: Student's t over the cases' mean differences, after two cases of our own
                 that differ wholly, one either way (Bonett and Price 2012, "Adjusted Wald confidence interval for a
                 difference of binomial proportions based on paired data", add the same): without them, a rare great
                 loss among many small differences passes too often
    wider        fewer than twenty of those cases differ: the wider of the two, end by end

A bootstrap won't do here: where few cases differ it is too narrow, and where none does it has no width, so that three
cases on which nothing changed would pass any gate. Tango's interval has a width then. Of differences that aren't whole,
it takes each as that share of a case, which is the most that they could vary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness._student import t_quantile

__all__ = ["PairedInterval", "paired_interval", "tango"]

_Z = 1.959963984540054
_ENOUGH_APART = 20


@dataclass(frozen=True, slots=True)
class PairedInterval:
    """A two-sided 95% interval (97.5% at either end) of a mean difference over `cases`, and the method that gave it."""

    difference: float
    low: float
    high: float
    cases: int
    method: str


def paired_interval(differences: Sequence[float], *, whole: bool) -> PairedInterval | None:
    """The interval of the mean of one difference in [-1, 1] a case; `whole` says that each is -1, 0 or 1.

    None without a case.
    """
    n = len(differences)
    if not n:
        return None
    better = math.fsum(each for each in differences if each > 0)
    worse = -math.fsum(each for each in differences if each < 0)
    mean = (better - worse) / n
    score = tango(better, worse, n)
    if whole:
        return PairedInterval(mean, *score, n, "Tango's score interval over cases")
    apart = sum(abs(each) > 1e-12 for each in differences)
    if apart < 2:
        return PairedInterval(mean, *score, n, "Tango's score interval over cases, taken as the most they could vary")
    low, high = _student(differences, mean)
    if apart >= _ENOUGH_APART:
        return PairedInterval(mean, low, high, n, "Student's t over cases, two added")
    return PairedInterval(
        mean, min(low, score[0]), max(high, score[1]), n,
        f"the wider of Student's t over cases and Tango's score interval: only {apart} cases differ",
    )  # fmt: skip


def tango(better: float, worse: float, n: int) -> tuple[float, float]:
    """Tango's 95% score interval of (better - worse) / n, where so many of n pairs went either way.

    The ends are where (better - worse - n d) / sqrt(n (2 q + d (1 - d))) is z and -z, with q the likeliest rate of the
    worse way if the difference is d; found by bisection. Counts needn't be whole. Raises ValueError for counts that
    aren't of n pairs.
    """
    if n < 1 or better < 0 or worse < 0 or better + worse > n + 1e-9:
        raise ValueError(f"expected counts of n pairs, got {better}, {worse} of {n}")
    estimate = (better - worse) / n
    return _end(better, worse, n, estimate, -1.0, above=True), _end(better, worse, n, estimate, 1.0, above=False)


def _end(better: float, worse: float, n: int, inside: float, outside: float, *, above: bool) -> float:
    """Where the score statistic reaches z, between the estimate and the end of the scale."""
    for _ in range(80):
        middle = (inside + outside) / 2
        score = _score(better, worse, n, middle)
        if (score <= _Z) if above else (score >= -_Z):
            inside = middle
        else:
            outside = middle
    return inside


def _score(better: float, worse: float, n: int, d: float) -> float:
    """(better - worse - n d) over its deviation, the likeliest one if the true difference is d."""
    excess = better - worse - n * d
    # With q = P(worse) and P(better) = q + d, the likelihood is largest at the positive root of a q^2 + b q + c.
    a, b, c = 2.0 * n, (2 * n - better + worse) * d - better - worse, -worse * d * (1 - d)
    q = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = n * max(0.0, 2 * q + d * (1 - d))
    if variance <= 1e-15:
        return 0.0 if abs(excess) < 1e-12 else math.copysign(math.inf, excess)
    return excess / math.sqrt(variance)


def _student(differences: Sequence[float], mean: float) -> tuple[float, float]:
    n = len(differences)
    shrunk = mean * n / (n + 2)
    squares = math.fsum((each - shrunk) ** 2 for each in (*differences, 1.0, -1.0))
    half = t_quantile(n + 1, 0.975) * math.sqrt(squares / (n + 1) / (n + 2))
    return max(-1.0, shrunk - half), min(1.0, shrunk + half)
