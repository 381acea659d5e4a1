"""Agreement of two who labelled the same things: how often they agree, and Cohen's kappa, which takes off what two who
label at random, each with their own habits, would agree on anyway.

Sources: Cohen 1960 (kappa); Cohen 1968 and Cicchetti and Allison 1971 (linear weights); Fleiss, Cohen and Everitt 1969
(the large-sample variance that the interval is made of).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness._stats import wilson

__all__ = ["Agreement", "agreement", "agreement_of_scores"]

Undefined = Literal["", "no_data", "one_label"]
_Z = 1.959963984540054
_DIGITS = 9
"""So many decimals are kept: what a library's next release rounds otherwise is no other figure."""
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Agreement:
    """`agreed` of `n` labelled alike, with the Wilson interval of that share; None where n is 0.

    `kappa` is None where it is undefined, and `why` says so: `no_data`, or `one_label` (both gave one and the same
    label throughout, so there is nothing that chance could be told from). `kappa_low` and `kappa_high` are its 95%
    interval by the large-sample variance, within [-1, 1]; None where that variance is zero, as it is in full agreement:
    an interval without width would say more than was seen.
    """

    n: int
    agreed: int
    low: float | None
    high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    why: Undefined = ""

    @property
    def share(self) -> float | None:
        """The share of labels alike."""
        return self.agreed / self.n if self.n else None


def agreement(pairs: Sequence[tuple[str, str]]) -> Agreement:
    """Of labels without an order, each pair being what the two said of one thing."""
    return _agreement(pairs, sorted({label for pair in pairs for label in pair}), weights=None)


def agreement_of_scores(pairs: Sequence[tuple[int, int]]) -> Agreement:
    """Of whole numbers on one scale, the further apart the worse: kappa with linear weights.

    `agreed` counts the scores that are the same.
    """
    scale = sorted({score for pair in pairs for score in pair})
    return _agreement(pairs, scale, weights=scale)


def _agreement(
    pairs: Sequence[tuple[Any, Any]], labels: Sequence[Any], weights: Sequence[int] | None
) -> Agreement:  # fmt: skip
    n, agreed = len(pairs), sum(one == other for one, other in pairs)
    low, high = wilson(agreed, n) or (None, None)
    if len(labels) < 2:
        return Agreement(n, agreed, low, high, None, None, None, "one_label" if n else "no_data")
    counts = Counter(pairs)
    table = [[counts[one, other] for other in labels] for one in labels]
    kappa, variance = _computed(table, weights)
    if not variance > _NOTHING:  # neither where there is none, nor where rounding leaves less than none
        return Agreement(n, agreed, low, high, _kept(kappa), None, None)
    half = _Z * math.sqrt(variance)
    return Agreement(
        n, agreed, low, high, _kept(kappa), _kept(max(-1.0, kappa - half)), _kept(min(1.0, kappa + half))
    )  # fmt: skip


def _kept(value: float) -> float:
    return round(value, _DIGITS) + 0.0


def _computed(table: Sequence[Sequence[int]], weights: Sequence[int] | None) -> tuple[float, float]:
    """Kappa and its variance, of a table of counts in which more than one label stands. Linear weights are 1 less the
    distance over the largest one."""
    n, size = sum(map(sum, table)), range(len(table))
    reach = 1 if weights is None else weights[-1] - weights[0]
    alike = [
        [float(i == j) if weights is None else 1 - abs(weights[i] - weights[j]) / reach for j in size] for i in size
    ]
    shares = [[count / n for count in row] for row in table]
    rows = [math.fsum(row) for row in shares]
    columns = [math.fsum(row[j] for row in shares) for j in size]
    by_row = [math.fsum(alike[i][j] * columns[j] for j in size) for i in size]
    by_column = [math.fsum(alike[i][j] * rows[i] for i in size) for j in size]
    seen = math.fsum(alike[i][j] * shares[i][j] for i in size for j in size)
    chance = math.fsum(rows[i] * by_row[i] for i in size)
    each = math.fsum(
        shares[i][j] * (alike[i][j] * (1 - chance) - (by_row[i] + by_column[j]) * (1 - seen)) ** 2
        for i in size for j in size
    )  # fmt: skip
    variance = (each - (seen * chance - 2 * chance + seen) ** 2) / (n * (1 - chance) ** 4)
    return (seen - chance) / (1 - chance), variance
