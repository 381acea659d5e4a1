"""The binomial distribution agrees with scipy, where numbers are small and where they are large."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness._binomial import Tails, at_most, critical_counts, weights

# scipy itself overflows at shares that hardly differ from nothing.
SHARES = st.floats(1e-12, 1) | st.sampled_from([0.0, 0.5, 1 - 1e-9, 1.0])


@pytest.mark.parametrize("n", [1, 2, 7, 60, 999, 20_001])
def test_heads_of_a_fair_coin_are_as_likely_as_scipy_has_them(n: int) -> None:
    for k in sorted({0, n // 4, max(0, n // 2 - math.isqrt(n)), n // 2}):
        assert at_most(k, n) == pytest.approx(stats.binom.cdf(k, n, 0.5), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.3])
def test_as_many_heads_are_critical_as_scipy_says_for_every_number_of_throws(alpha: float) -> None:
    throws = np.arange(4001)
    most = stats.binom.ppf(alpha / 2, throws, 0.5)
    theirs = np.where(2 * stats.binom.cdf(most, throws, 0.5) <= alpha, most, most - 1)
    assert critical_counts(4000, alpha) == theirs.astype(int).tolist()


@given(n=st.integers(0, 3000), share=SHARES)
@settings(deadline=None)
def test_the_weights_of_counts_are_scipy_s(n: int, share: float) -> None:
    assert weights(n, share) == pytest.approx(stats.binom.pmf(np.arange(n + 1), n, share), rel=1e-9, abs=1e-12)


@given(
    counts=st.lists(st.tuples(st.integers(-2, 20_000), st.integers(0, 20_000)), min_size=1, max_size=30),
    share=SHARES,
)
@settings(deadline=None)
def test_a_tail_is_as_likely_as_scipy_has_it(counts: list[tuple[int, int]], share: float) -> None:
    least, of = [each[0] for each in counts], [each[1] for each in counts]
    theirs = stats.binom.sf(np.array(least) - 1, np.array(of), share)
    assert Tails(least, of).at(share).tolist() == pytest.approx(theirs.tolist(), rel=1e-7, abs=1e-10)
