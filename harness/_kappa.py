"""Agreement of two who labelled the same things: how often they agree, and Cohen's kappa, which takes off what two who
label at random, each with their own habits, would agree on anyway.

Sources: Cohen 1960 (kappa); Cohen 1968 and Cicchetti and Allison 1971 (linear weights); Fleiss, Cohen and Everitt 1969
(the large-sample variance that the interval is made of). Kappa and its variance are computed by statsmodels, which is
imported where it is used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from harness._errors import UsageError
from harness._stats import wilson

__all__ = ["Agreement", "agreement", "agreement_of_scores", "need_kappa"]

Undefined = Literal["", "no_data", "one_label", "not_computed"]
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

    @classmethod
    def uncorrected(cls, n: int, agreed: int) -> Agreement:
        """The share alone, where nobody computes kappa."""
        low, high = wilson(agreed, n) or (None, None)
        return cls(n, agreed, low, high, None, None, None, "not_computed")

    @property
    def share(self) -> float | None:
        """The share of labels alike."""
        return self.agreed / self.n if self.n else None


def agreement(pairs: Sequence[tuple[str, str]]) -> Agreement:
    """Of labels without an order, each pair being what the two said of one thing.

    Raises UsageError where statsmodels isn't installed.
    """
    return _agreement(pairs, sorted({label for pair in pairs for label in pair}), weights=None)


def agreement_of_scores(pairs: Sequence[tuple[int, int]]) -> Agreement:
    """Of whole numbers on one scale, the further apart the worse: kappa with linear weights.

    `agreed` counts the scores that are the same. Raises UsageError where statsmodels isn't installed.
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
    """Kappa and its variance, of a table of counts in which more than one label stands."""
    library, numpy = _libraries()
    # It also computes roots and quotients that aren't used here, and would warn of those.
    with numpy.errstate(all="ignore"):
        found: Any = library.cohens_kappa(table, weights=weights, wt=None if weights is None else "linear")
    return float(found.kappa), float(found.var_kappa)


def need_kappa() -> None:
    """Raises UsageError where kappa can't be computed, with what to install."""
    _libraries()


def _libraries() -> tuple[Any, Any]:
    try:
        return import_module("statsmodels.stats.inter_rater"), import_module("numpy")
    except ImportError:
        raise UsageError(
            "statsmodels isn't installed, and agreement needs it: pip install 'eval-ledger[stats]'"
        ) from None
