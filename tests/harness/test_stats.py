"""Statistics agree with scipy and statsmodels, with the published cases, and with brute force."""

from __future__ import annotations

import json
import math
import time
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._contrast import shown_difference, shown_range
from harness._report_study import study_text
from harness._stats import (
    ALPHA,
    POWER,
    case_difference,
    mcnemar_exact,
    mean_pass_at_k,
    paired_bootstrap,
    pass_at_k,
    settled,
    smallest_difference,
    smallest_mean_difference,
    spans_zero,
    wilson,
)
from ledger.web._figure import figure_text

GRID = [0, 1, 2, 3, 5, 8, 13, 40, 199]


def cases(shared: Path, name: str) -> list[dict[str, Any]]:
    lines = (shared / "cases" / "others.jsonl").read_text("utf-8").splitlines()
    found = [each for each in map(json.loads, lines) if each["case"] == name]
    assert found
    return found


# Wilson


@pytest.mark.parametrize("n", [each for each in [*GRID, 1000] if each])
def test_wilson_agrees_with_scipy_and_statsmodels(n: int) -> None:
    from scipy.stats import binomtest
    from statsmodels.stats.proportion import proportion_confint

    for k in sorted({0, 1, n // 3, n // 2, n - 1, n} & set(range(n + 1))):
        found = wilson(k, n)
        assert found is not None
        low, high = binomtest(k, n).proportion_ci(confidence_level=0.95, method="wilson")
        assert found == pytest.approx((low, high), abs=1e-9)
        assert found == pytest.approx(proportion_confint(k, n, alpha=0.05, method="wilson"), abs=1e-9)
        assert 0 <= found[0] <= k / n <= found[1] <= 1


def test_wilson_of_nothing_is_no_interval_and_impossible_counts_are_refused() -> None:
    assert wilson(0, 0) is None
    for k, n in ((-1, 3), (4, 3), (0, -1)):
        with pytest.raises(ValueError, match="expected 0 <= k <= n"):
            wilson(k, n)


def test_d3_wilson_of_all_and_of_none(shared: Path) -> None:
    for case in cases(shared, "D3"):
        expected = case["expected"]["wilson95"]
        found = wilson(case["input"]["correct"], case["input"]["n"])
        assert found == (None if expected is None else pytest.approx(expected, abs=5e-5)), case["id"]


# McNemar


@pytest.mark.parametrize("only_a", GRID)
def test_mcnemar_agrees_with_scipy_and_statsmodels(only_a: int) -> None:
    import numpy as np
    from scipy.stats import binomtest
    from statsmodels.stats.contingency_tables import mcnemar

    for only_b in GRID:
        found = mcnemar_exact(only_a, only_b)
        assert found == mcnemar_exact(only_b, only_a)
        assert 0 < found <= 1
        if only_a + only_b == 0:
            assert found == 1
            continue
        assert found == pytest.approx(binomtest(only_a, only_a + only_b, 0.5).pvalue, abs=1e-9)
        with np.errstate(all="ignore"):
            theirs = mcnemar(np.array([[7, only_a], [only_b, 3]]), exact=True).pvalue
        assert found == pytest.approx(min(1.0, float(theirs)), abs=1e-9)


def test_d6_exact_mcnemar(shared: Path) -> None:
    told = [case for case in cases(shared, "D6") if "only_A_right" in case["input"]]
    assert len(told) >= 3
    for case in told:
        found = mcnemar_exact(case["input"]["only_A_right"], case["input"]["only_B_right"])
        assert found == pytest.approx(case["expected"]["mcnemar_exact_p"], abs=5e-7), case["id"]


def test_the_published_eight_against_none_is_p_0_0078() -> None:
    assert mcnemar_exact(8, 0) == pytest.approx(0.0078125, abs=1e-12)


# pass@k


def test_d4_pass_at_k(shared: Path) -> None:
    for case in cases(shared, "D4"):
        asked, expected = case["input"], case["expected"]
        if "per_problem" in asked:
            found = mean_pass_at_k([(n, c) for n, c in asked["per_problem"]], asked["k"])
        else:
            found = pass_at_k(asked["n"], asked["c"], asked["k"])
        assert found.value == expected["pass_at_k"], case["id"]
        assert found.reason == expected.get("reason", ""), case["id"]


@given(st.integers(1, 8), st.data())
def test_pass_at_k_is_the_share_of_all_ways_to_draw_k_that_hold_a_right_one(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k).value == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)


def test_pass_at_k_is_exact_where_a_product_of_floats_is_not_and_holds_for_many_samples() -> None:
    assert pass_at_k(200, 1, 1).value == 0.005
    assert pass_at_k(10_000, 1, 5_000).value == 0.5
    assert pass_at_k(0, 0, 1).reason == "k_exceeds_n"
    assert mean_pass_at_k([], 1).reason == "no_data"
    assert mean_pass_at_k([(4, 1), (4, 3)], 1).value == 0.5
    assert mean_pass_at_k([(4, 1), (1, 1)], 2).value is None
    for n, c, k in ((3, 4, 1), (3, -1, 1), (3, 1, 0)):
        with pytest.raises(ValueError, match="expected 0 <= c <= n and k >= 1"):
            pass_at_k(n, c, k)


# Bootstrap


def against_nothing(values: list[list[float]]) -> list[tuple[list[float], list[float]]]:
    """Cases whose B is 0, so that the difference is A's mean."""
    return [(each, [0.0]) for each in values]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=2, max_size=8))
def test_a_bootstrap_is_the_same_in_any_order_of_the_cases_and_lies_among_their_means(cases: list[list[float]]) -> None:
    found = paired_bootstrap(against_nothing(cases), resamples=200)
    assert found is not None
    assert found == paired_bootstrap(against_nothing(cases[::-1]), resamples=200)
    means = [sum(each) / len(each) for each in cases]
    assert min(means) - 1e-9 <= found.low <= found.high <= max(means) + 1e-9
    assert found.estimate == pytest.approx(sum(means) / len(means))


def test_a_bootstrap_of_single_values_agrees_with_scipy_on_the_same_data() -> None:
    import numpy as np
    from scipy.stats import bootstrap

    values = np.random.default_rng(5).random(80)
    ours = paired_bootstrap(against_nothing([[float(each)] for each in values]))
    theirs = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=1).confidence_interval
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_repeats_of_a_case_widen_nothing_less_than_the_cases_themselves() -> None:
    once = paired_bootstrap(against_nothing([[0.0], [1.0]] * 10))
    tenfold = paired_bootstrap(against_nothing([[0.0] * 10, [1.0] * 10] * 10))
    independent = paired_bootstrap(against_nothing([[0.0], [1.0]] * 100))
    assert once is not None and tenfold is not None and independent is not None
    assert (tenfold.low, tenfold.high) == (once.low, once.high), "ten identical repeats are no ten cases"
    assert independent.high - independent.low < (once.high - once.low) / 2


def test_a_case_weighs_the_same_however_many_of_its_repeats_were_measured() -> None:
    pairs = [([1.0] * 9, [0.0]), ([0.0], [1.0]), ([0.0, 1.0], [1.0])]
    found = paired_bootstrap(pairs)
    assert found is not None
    assert found.estimate == pytest.approx((1 - 1 - 0.5) / 3)
    assert case_difference([0.0, 1.0], [1.0]) == -0.5


def test_one_case_has_no_interval_and_cases_that_all_agree_say_that_there_is_no_spread() -> None:
    assert paired_bootstrap([([1.0, 0.0], [0.0])]) is None
    assert paired_bootstrap([([1.0], [0.0]), ([1.0], []), ([], [1.0])]) is None
    found = paired_bootstrap([([1.0], [0.0])] * 5)
    assert found is not None
    assert (found.low, found.high, found.spread) == (1, 1, False)
    assert paired_bootstrap(against_nothing([[0.1], [0.2]])).spread  # type: ignore[union-attr]


def test_the_seed_decides_and_another_one_gives_another_interval() -> None:
    values = against_nothing([[each / 97] for each in range(97)])
    found = paired_bootstrap(values, seed=3)
    assert found is not None
    assert found == paired_bootstrap(values, seed=3)
    other = paired_bootstrap(values, seed=4)
    assert other is not None
    assert (found.low, found.high) != (other.low, other.high)


def test_ten_thousand_resamples_of_a_thousand_cases_take_well_under_a_second() -> None:
    values = [([each % 3 / 2], [each % 2 / 1]) for each in range(1000)]
    paired_bootstrap(values[:10])
    started = time.process_time()
    assert paired_bootstrap(values) is not None
    assert time.process_time() - started < 0.8


@pytest.mark.parametrize(("low", "high", "spans"), [(-0.1, 0.1, True), (0, 0.2, True), (0.01, 1, False), (0, 0, True)])
def test_an_interval_that_holds_zero_spans_it_also_at_its_edge(low: float, high: float, spans: bool) -> None:
    assert spans_zero(low, high) is spans


# What could have been shown


def brute_power(n: int, a: float, b: float) -> float:
    """The chance that exact McNemar finds A ahead, summed over every outcome of the pairs."""
    total = 0.0
    for x in range(n + 1):
        for y in range(n + 1 - x):
            if x > y and mcnemar_exact(x, y) <= ALPHA:
                ways = math.factorial(n) / math.factorial(x) / math.factorial(y) / math.factorial(n - x - y)
                total += ways * a**x * b**y * max(0.0, 1 - a - b) ** (n - x - y)
    return total


@pytest.mark.parametrize(("n", "against"), [(6, 0.0), (12, 0.0), (12, 1 / 12), (18, 2 / 18), (30, 0.1)])
def test_the_smallest_difference_is_where_the_power_reaches_four_in_five(n: int, against: float) -> None:
    found = smallest_difference(n, against=against).difference
    if found is None:
        assert brute_power(n, 1 - against, against) < POWER
        return
    assert brute_power(n, against + found, against) == pytest.approx(POWER, abs=1e-4)
    assert brute_power(n, against + found - 0.02, against) < POWER


@pytest.mark.parametrize("n", [0, 1, 5])
def test_fewer_than_six_pairs_can_show_nothing(n: int) -> None:
    assert smallest_difference(n).difference is None


def test_more_pairs_show_less_and_disagreement_the_other_way_costs() -> None:
    found = [smallest_difference(n).difference for n in (6, 12, 18, 100, 1000)]
    assert all(a is not None and b is not None and a > b for a, b in pairwise(found))
    best, worse = smallest_difference(100).difference, smallest_difference(100, against=0.1).difference
    assert best is not None and worse is not None
    assert best < worse
    assert smallest_difference(100, against=0.5).difference is None
    with pytest.raises(ValueError, match="share of pairs"):
        smallest_difference(3, against=2)


def test_a_mean_shows_about_what_the_normal_approximation_says() -> None:
    from statsmodels.stats.power import TTestPower

    differences = [(-1) ** each * (each % 7) / 7 for each in range(400)]
    found = smallest_mean_difference(differences)
    mean = sum(differences) / 400
    sd = math.sqrt(sum((each - mean) ** 2 for each in differences) / 399)
    theirs = TTestPower().solve_power(nobs=400, alpha=0.05, power=0.8) * sd
    assert found == pytest.approx(theirs, rel=0.01)
    assert smallest_mean_difference([0.2]) is None
    assert smallest_mean_difference([0.2, 0.2, 0.2]) is None


def test_a_difference_that_floats_alone_keep_from_zero_is_shown_without_a_sign_and_touches_zero() -> None:
    off = ((0.3 - 0.1) + (0.2 - 0.4)) / 2
    assert off < 0 and settled(off) == 0
    assert shown_difference(off, "rate") == shown_difference(0.0, "rate") == "+0.0pp"
    assert shown_difference(off, "mean") == shown_difference(0.0, "mean") == "+0.000"
    assert shown_range(off, 0.5, "mean") == "+0.000 to +0.500"
    assert study_text(off, "percent") == "0.0%" and study_text(off, "decimal") == "0.000"
    assert figure_text(off, "points") == "+0.0 points" and figure_text(off, "signed") == "+0.000"
    assert spans_zero(-off, 0.5) and spans_zero(-0.5, off) and not spans_zero(1e-6, 0.5)


def test_a_small_difference_that_is_one_stays_one() -> None:
    assert settled(-1 / 100_000) == -1 / 100_000
    assert shown_difference(-0.001, "rate") == "-0.1pp"
