"""Student's t distribution, as far as an interval of a mean needs it."""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["t_quantile"]

_STEPS = 400


@lru_cache(maxsize=1024)
def t_quantile(degrees: float, probability: float) -> float:
    """The value that a t variable with so many degrees of freedom (above 0) stays below with that probability, which is
    between 0.5 and 1. By bisection over the integral of the density (Abramowitz and Stegun, 26.7.1, with t = √v·tan θ).
    """
    assert degrees > 0 and 0.5 <= probability < 1
    low, high = 0.0, math.pi / 2
    for _ in range(48):
        middle = (low + high) / 2
        if _below(degrees, middle) < probability:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _below(degrees: float, angle: float) -> float:
    """The probability of less than √v·tan(angle): the density is C·cos(θ)^(v-1) in θ (Simpson's rule)."""
    constant = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)
    step = angle / _STEPS
    total = 0.0
    for at in range(_STEPS + 1):
        weight = 1 if at in (0, _STEPS) else 4 if at % 2 else 2
        total += weight * math.cos(at * step) ** (degrees - 1)
    return 0.5 + constant * total * step / 3
