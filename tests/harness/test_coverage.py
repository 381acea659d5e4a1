"""How often each interval holds a truth that is known, and how often each test errs: by simulation, with fixed seeds.

An interval of 95% has to hold the truth about 95 times in a hundred; bounds are what the binomial noise of so many
draws allows, and what is known of each method at such sizes. A wrong formula, or repeats taken as cases, falls outside.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from harness._clusters import interval_by_case
from harness._noninferior import paired_interval
from harness._stats import mcnemar_exact, paired_bootstrap, wilson

Draw = Callable[[random.Random], bool]

FEW, MANY = 200, 2_000
EPOCHS = 5


def share(draw: Draw, draws: int) -> float:
    """How often `draw` says yes, of seeds 0, 1, 2, …"""
    return sum(draw(random.Random(seed)) for seed in range(draws)) / draws


def within(low: float, rate: float, high: float, draws: int) -> bool:
    """Whether a rate lies in the bounds, with three standard errors of 95% of so many draws to spare."""
    spare = 3 * (0.95 * 0.05 / draws) ** 0.5
    return low - spare <= rate <= high + spare


def holds_wilson(n: int, p: float) -> Draw:
    def draw(rng: random.Random) -> bool:
        found = wilson(sum(rng.random() < p for _ in range(n)), n)
        assert found is not None
        return found[0] <= p <= found[1]

    return draw


def answers(rng: random.Random, cases: int, spread: float) -> list[tuple[float, int]]:
    """So many cases, each asked five times; how easy a case is is drawn from Beta(spread, spread): 0.5 on average."""
    ease = [rng.betavariate(spread, spread) for _ in range(cases)]
    return [(float(sum(rng.random() < p for _ in range(EPOCHS))), EPOCHS) for p in ease]


def holds_by_case(cases: int, spread: float = 0.3) -> Draw:
    def draw(rng: random.Random) -> bool:
        found = interval_by_case(answers(rng, cases, spread))
        assert found is not None
        return found.low <= 0.5 <= found.high

    return draw


def holds_pooled(cases: int, spread: float = 0.3) -> Draw:
    def draw(rng: random.Random) -> bool:
        told = answers(rng, cases, spread)
        found = wilson(round(sum(total for total, _ in told)), cases * EPOCHS)
        assert found is not None
        return found[0] <= 0.5 <= found[1]

    return draw


def paired(rng: random.Random, cases: int, worse: float, better: float) -> list[tuple[list[float], list[float]]]:
    """Pairs that differ with these probabilities; the rest are ties."""
    found: list[tuple[list[float], list[float]]] = []
    for _ in range(cases):
        at = rng.random()
        found.append(([0.0], [1.0]) if at < worse else ([1.0], [0.0]) if at < worse + better else ([1.0], [1.0]))
    return found


def holds_paired(cases: int, worse: float, better: float, *, gate: bool) -> Draw:
    def draw(rng: random.Random) -> bool:
        pairs = paired(rng, cases, worse, better)
        if gate:
            found = paired_interval([a[0] - b[0] for a, b in pairs], whole=True)
        else:
            found = paired_bootstrap(pairs, resamples=1_000)
        assert found is not None
        return found.low <= better - worse <= found.high

    return draw


def holds_paired_repeats(cases: int, *, gate: bool) -> Draw:
    """Five answers a case and side; A's chance on a case is 0.8 of B's, which is 0.5 on average: -0.1."""

    def draw(rng: random.Random) -> bool:
        pairs: list[tuple[list[float], list[float]]] = []
        for _ in range(cases):
            p = rng.betavariate(0.5, 0.5)
            sides = [[float(rng.random() < chance) for _ in range(EPOCHS)] for chance in (0.8 * p, p)]
            pairs.append((sides[0], sides[1]))
        if gate:
            found = paired_interval([sum(a) / EPOCHS - sum(b) / EPOCHS for a, b in pairs], whole=False)
        else:
            found = paired_bootstrap(pairs, resamples=1_000)
        assert found is not None
        return found.low <= -0.1 <= found.high

    return draw


def errs(cases: int, apart: float) -> Draw:
    """Exact McNemar where neither side is better: that it says otherwise."""

    def draw(rng: random.Random) -> bool:
        pairs = paired(rng, cases, apart / 2, apart / 2)
        return mcnemar_exact(sum(a > b for a, b in pairs), sum(b > a for a, b in pairs)) < 0.05

    return draw


CHECKS: list[tuple[str, Draw, float, float]] = [
    ("Wilson, 10 of p = 0.5", holds_wilson(10, 0.5), 0.945, 0.985),
    ("Wilson, 40 of p = 0.8", holds_wilson(40, 0.8), 0.925, 0.975),
    ("Wilson, 100 of p = 0.1", holds_wilson(100, 0.1), 0.925, 0.975),
    ("Wilson, 500 of p = 0.9", holds_wilson(500, 0.9), 0.935, 0.965),
    ("by case, 60 cases of five repeats", holds_by_case(60), 0.93, 0.965),
    ("by case, 25 cases of five repeats", holds_by_case(25), 0.915, 0.965),
    ("by case, 8 cases (Wilson on the cases)", holds_by_case(8), 0.93, 1.0),
    ("by case, 8 cases that hardly vary", holds_by_case(8, 50.0), 0.95, 1.0),
    ("paired bootstrap, 60 pairs", holds_paired(60, 0.2, 0.1, gate=False), 0.92, 0.965),
    ("paired bootstrap, 60 cases of five repeats", holds_paired_repeats(60, gate=False), 0.92, 0.965),
    ("gate's interval, 60 pairs", holds_paired(60, 0.2, 0.1, gate=True), 0.93, 0.975),
    ("gate's interval, 60 pairs of which few differ", holds_paired(60, 0.03, 0.01, gate=True), 0.935, 1.0),
    ("gate's interval, 60 cases of five repeats", holds_paired_repeats(60, gate=True), 0.935, 0.985),
]


@pytest.mark.parametrize(("draw", "low", "high"), [row[1:] for row in CHECKS], ids=[row[0] for row in CHECKS])
def test_an_interval_holds_the_truth_as_often_as_it_says(draw: Draw, low: float, high: float) -> None:
    assert within(low, share(draw, FEW), high, FEW)


@pytest.mark.long
@pytest.mark.parametrize(("name", "draw", "low", "high"), CHECKS, ids=[row[0] for row in CHECKS])
def test_an_interval_holds_the_truth_as_often_as_it_says_in_2000_draws(
    name: str, draw: Draw, low: float, high: float
) -> None:
    rate = share(draw, MANY)
    print(f"{name}: {rate:.4f}")
    assert low - 0.005 <= rate <= high + 0.005, rate


@pytest.mark.parametrize("draws", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_repeats_taken_as_cases_give_an_interval_that_misses_the_truth_far_too_often(draws: int) -> None:
    rate = share(holds_pooled(60), draws)
    print(f"pooled Wilson, 60 cases of five repeats: {rate:.4f}")
    assert rate < 0.8
    assert rate < share(holds_by_case(60), FEW) - 0.1


@pytest.mark.parametrize("draws", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_the_paired_test_errs_at_most_one_time_in_twenty_and_does_err(draws: int) -> None:
    spare = 3 * (0.05 * 0.95 / draws) ** 0.5
    for cases, apart in ((50, 0.4), (200, 0.2)):
        rate = share(errs(cases, apart), draws)
        print(f"exact McNemar, {cases} pairs, {apart:g} apart: {rate:.4f}")
        assert 0.005 <= rate <= 0.05 + spare


@pytest.mark.parametrize("seed", range(10))
def test_on_repeated_answers_the_interval_by_case_is_wider_than_the_pooled_one(seed: int) -> None:
    told = answers(random.Random(seed), 40, 0.3)
    by_case = interval_by_case(told)
    pooled = wilson(round(sum(total for total, _ in told)), 40 * EPOCHS)
    assert by_case is not None and pooled is not None
    assert by_case.by == "cases"
    assert by_case.high - by_case.low > 1.2 * (pooled[1] - pooled[0])


def test_cases_that_all_agree_have_an_interval_with_a_width() -> None:
    for cases in (3, 40):
        found = interval_by_case([(5.0, 5)] * cases)
        assert found is not None and found.by == "cases, wilson"
        assert (found.low, found.high) == (pytest.approx((wilson(cases, cases) or (0.0, 0.0))[0]), 1.0)
    assert interval_by_case([]) is None
