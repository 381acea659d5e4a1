"""The binomial distribution, as far as paired tests need it: exact whole numbers where they are small, else floats.

Sources: NIST Digital Library of Mathematical Functions, 8.17.5 (the tail as an incomplete beta function) and 8.17.22
(the continued fraction of that), evaluated by Lentz's method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["Tails", "at_most", "critical_counts", "weights"]

_TINY = 1e-300
_NEAR = 1e-15
_MOST_STEPS = 20_000


def at_most(k: int, n: int) -> float:
    """The probability of at most k heads in n throws of a fair coin, for k at most half of n.

    The largest term is exact before the one division; the others follow from it by their ratios, and fall fast.
    """
    if k < 0:
        return 0.0
    term = math.comb(n, k) / 2**n
    total = term
    for i in range(k, 0, -1):
        term *= i / (n - i + 1)
        if term < total * 1e-18:
            break
        total += term
    return total


def critical_counts(n: int, alpha: float) -> list[int]:
    """For 0 to n throws of a fair coin, the most heads of which twice the probability of so many or fewer is at most
    `alpha`; -1 where even none is too many.

    It never falls and rises by one at most, so one walk finds all: P(k; m+1) = P(k; m) - p(k; m)/2.
    """
    most, found = -1, [-1]
    # below = P(most; m), following = p(most + 1; m).
    below, following = 0.0, 1.0
    for m in range(n):
        here = following * (most + 1) / (m - most) if most >= 0 else 0.0
        below -= here / 2
        following = following * (m + 1) / (2 * (m - most)) if m > most else 0.0
        if 2 * (below + following) <= alpha:
            below += following
            most += 1
            following *= (m + 1 - most) / (most + 1)
        found.append(most)
    return found


def weights(n: int, share: float) -> list[float]:
    """The probability of each count 0 to n of n independent events of this share."""
    if share in (0.0, 1.0):
        return [float(count == (n if share else 0)) for count in range(n + 1)]
    ahead, behind = math.log(share), math.log1p(-share)
    whole = math.lgamma(n + 1)
    return [
        math.exp(whole - math.lgamma(y + 1) - math.lgamma(n - y + 1) + y * ahead + (n - y) * behind)
        for y in range(n + 1)
    ]


class Tails:
    """The probabilities that at least `least[i]` of `of[i]` independent events happen, all of one share.

    What doesn't hang on the share is worked out once. Arrays of floats; needs numpy.
    """

    def __init__(self, least: Sequence[int], of: Sequence[int]) -> None:
        import numpy as np

        self._np: Any = np
        self._sure = np.array([low <= 0 for low in least], dtype=bool)
        self._never = np.array([low > n for low, n in zip(least, of, strict=True)], dtype=bool)
        odd = self._sure | self._never
        self._a = np.where(odd, 1.0, np.array(least, dtype=float))
        self._b = np.where(odd, 1.0, np.array(of, dtype=float) - self._a + 1)
        self._scale = np.array(
            [math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) for a, b in zip(self._a, self._b, strict=True)]
        )

    def at(self, share: float) -> Any:
        """One probability for each pair of counts, in their order."""
        np, a, b = self._np, self._a, self._b
        if share <= 0 or share >= 1:
            inner = np.full(a.shape, float(share >= 1))
        else:
            # The fraction converges quickly on one side of the mean; on the other its complement does.
            turned = share > (a + 1) / (a + b + 2)
            x = np.where(turned, 1 - share, share)
            first, second = np.where(turned, b, a), np.where(turned, a, b)
            front = np.exp(self._scale + first * np.log(x) + second * np.log1p(-x)) / first
            part = front * self._fraction(first, second, x)
            inner = np.where(turned, 1 - part, part)
        return np.where(self._sure, 1.0, np.where(self._never, 0.0, inner))

    def _fraction(self, a: Any, b: Any, x: Any) -> Any:
        """DLMF 8.17.22 by Lentz's method; every element is carried on until the slowest has converged."""
        np = self._np

        def held(value: Any) -> Any:
            return np.where(np.abs(value) < _TINY, _TINY, value)

        c = np.ones_like(a)
        d = 1 / held(1 - (a + b) * x / (a + 1))
        found = d
        for m in range(1, _MOST_STEPS):
            even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            d, c = 1 / held(1 + even * d), held(1 + even / c)
            found = found * d * c
            odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            d, c = 1 / held(1 + odd * d), held(1 + odd / c)
            step = d * c
            found = found * step
            if np.all(np.abs(step - 1) < _NEAR):
                break
        return found
