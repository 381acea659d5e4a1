"""What margin so many cases can show, and how many a margin takes: held against the gate itself."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._gate import Gate, GateResult
from harness._gate_reach import after, before, least_margin, needed
from harness._noninferior import PairedInterval, paired_interval


@pytest.mark.parametrize("margin", [0.5, 0.1, 0.02, 0.003])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_as_many_cases_as_a_margin_takes_pass_it_and_one_fewer_does_not(margin: float, share: float) -> None:
    takes = needed(margin, share)
    assert takes is not None
    assert least_margin(takes, share) < margin <= least_margin(takes - 1, share)


def test_where_nothing_differs_the_number_is_that_of_the_formula() -> None:
    # The lower end is -z^2/(n + z^2), so a margin m takes more than z^2 (1 - m)/m.
    assert needed(0.02) == 189 and needed(0.1) == 35
    assert needed(1e-8) is None


@given(n=st.integers(2, 400), differing=st.integers(0, 200))
def test_what_is_said_to_be_shown_is_what_the_gate_s_own_interval_shows(n: int, differing: int) -> None:
    each_way = min(differing, n) // 2
    cases = [1.0] * each_way + [-1.0] * each_way + [0.0] * (n - 2 * each_way)
    random.Random(n).shuffle(cases)
    found = paired_interval(cases, whole=True)
    assert found is not None
    assert least_margin(n, 2 * each_way / n) == pytest.approx(-found.low, abs=1e-9)


def test_before_says_at_best_and_what_the_margin_takes_only_where_it_cannot_be_shown() -> None:
    assert before(60, 0.02) == (
        "60 cases can show a margin of 6.0pp at best, where none of them differs; 2.0pp takes 189 at least."
    )
    assert before(500, 0.02) == "500 cases can show a margin of 0.8pp at best, where none of them differs."
    assert before(1) == "1 case can show a margin of 79.3pp at best, where none of them differs."
    assert "0.038pp" in before(10_000)


def judged(
    outcome: str, cases: list[float], *, margin: str = "0.02", lacking: int = 0, whole: bool = True
) -> list[str]:
    seen = paired_interval(cases, whole=whole)
    worst = paired_interval([*cases, *[-1.0] * lacking], whole=whole)
    result = GateResult(
        "a/x", "b/y", "r", "correct", outcome, "", True, "", "", seen, worst, seen, lacking,  # type: ignore[arg-type]
        sum(each != 0 for each in cases),
    )  # fmt: skip
    found = Gate("r", "s", "", "q", Decimal(margin), lenient=False, unfinished=False, results=(result,), warnings=())
    return list(after(found, result))


def test_two_runs_with_one_figure_on_every_case_are_said_to_be_the_same() -> None:
    same, reach, policy = judged("inconclusive", [0.0] * 60)
    assert same.startswith("the two have the same figure on every case")
    assert reach == "60 cases, of which 0 differ, can show a margin of about 6.0pp; 2.0pp takes about 189 such cases"
    assert policy == "a policy for so many cases: --margin 6.1pp"
    assert not any("same figure" in said for said in judged("inconclusive", [0.0] * 60, lacking=1))


def test_a_policy_that_is_named_is_met_by_so_many_cases_and_none_is_named_after_a_fail() -> None:
    cases = [1.0] * 5 + [-1.0] * 5 + [0.0] * 90
    *_, policy = judged("inconclusive", cases)
    points = Decimal(policy.rpartition(" ")[2].removesuffix("pp"))
    found = paired_interval(cases, whole=True)
    assert found is not None and -found.low < float(points) / 100
    assert not any("policy" in said for said in judged("fail", cases))
    assert not any("policy" in said for said in judged("pass", cases, margin="0.2"))


def test_what_is_unmeasured_costs_what_its_counting_against_the_run_moves_the_lower_end() -> None:
    *_, cost = judged("inconclusive", [0.0] * 50, lacking=10)
    assert cost.startswith("10 cases without a measurement cost ") and "lower end is -7.1pp" in cost


def test_graded_figures_are_told_by_their_own_spread() -> None:
    dice = random.Random(3)
    (reach,) = judged("fail", [dice.uniform(-0.1, 0.1) for _ in range(80)], margin="0.001", whole=False)
    assert isinstance(paired_interval([0.1, -0.1, 0.05], whole=False), PairedInterval)
    assert "80 cases, of which 80 differ, can show a margin of about " in reach and "0.1pp takes about " in reach
