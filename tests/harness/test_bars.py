"""Bars are about shares, and one that the unmeasured could still decide is no pass."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._bars import is_judged, judge_bar, parse_bar, read_bars
from harness._errors import RulesError

METRICS = ("exact", "direction", "false_fire")


def row(k: int, n: int, planned: int, **more: Any) -> dict[str, Any]:
    rate = k / n if n else None
    return {"candidate": "a/b", "kind": "rate", "k": k, "n": n, "planned": planned, "rate": rate, **more}


@pytest.mark.parametrize(
    ("text", "op", "share"),
    [
        ("direction >= 9/12", ">=", Fraction(3, 4)),
        ("direction>=0.75", ">=", Fraction(3, 4)),
        (" false_fire <= 1 / 6 ", "<=", Fraction(1, 6)),
        ("exact > 12.5%", ">", Fraction(1, 8)),
        ("exact < 1", "<", Fraction(1)),
    ],
)
def test_a_bar_is_a_metric_a_comparison_and_a_share(text: str, op: str, share: Fraction) -> None:
    bar = parse_bar(text, METRICS)
    assert (bar.op, bar.threshold) == (op, share)


@pytest.mark.parametrize(
    "text",
    ["", "direction", "direction >= ", "direction => 1/2", "direction >= 9/0", "direction >= 13/12", "direction >= 75",
     "direction == 1", "direction >= -1", "nothing >= 1/2", "exact > 1", "exact < 0", "exact >= 1e-3", "exact >= nan",
     "exact >= 1/2 or so", "exact >= ١/٢"],
)  # fmt: skip
def test_what_is_no_bar_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(RulesError) as caught:
        parse_bar(text, METRICS)
    assert "bar" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nine_of_twelve_is_met_by_any_share_as_good() -> None:
    bar = parse_bar("direction >= 9/12", METRICS)
    assert judge_bar(bar, row(9, 12, 12)).status == "met"
    assert judge_bar(bar, row(3, 4, 4)).status == "met"
    assert judge_bar(bar, row(8, 12, 12)).status == "failed"


def test_a_bar_that_the_unmeasured_could_turn_is_undecided_and_does_not_hold() -> None:
    bar = parse_bar("direction >= 9/12", METRICS)
    judged = judge_bar(bar, row(1, 1, 12))
    assert (judged.status, judged.holds) == ("undecided", False)
    assert "11 of 12" in judged.why
    assert judge_bar(bar, row(9, 9, 12)).status == "met"
    assert judge_bar(bar, row(2, 6, 12)).status == "failed"
    upper = parse_bar("false_fire <= 1/6", METRICS)
    assert judge_bar(upper, row(0, 3, 6)).status == "undecided"
    assert judge_bar(upper, row(0, 5, 6)).status == "met"


def test_a_bar_without_data_does_not_hold() -> None:
    bar = parse_bar("direction >= 0", METRICS)
    for judged in (judge_bar(bar, None, "a/b"), judge_bar(bar, row(0, 0, 12)), judge_bar(bar, row(0, 0, 0))):
        assert (judged.status, judged.holds, judged.figure) == ("undecided", False, "no data")


def test_what_a_policy_counts_is_no_longer_open() -> None:
    bar = parse_bar("exact >= 1/2", METRICS)
    assert judge_bar(bar, row(0, 4, 4, unmeasured=4)).status == "failed"


def test_a_bar_that_is_met_by_what_a_policy_counts_says_how_many_cells_that_is() -> None:
    bar = parse_bar("exact >= 1/2", METRICS)
    met = judge_bar(bar, row(4, 4, 4, unmeasured=3))
    assert (met.status, met.figure) == ("met", "4/4 (3 of them unmeasured)")
    assert "3 of the 4 are unmeasured" in met.why
    open_ = judge_bar(bar, row(2, 4, 8, unmeasured=1))
    assert (open_.status, open_.figure) == ("undecided", "2/4 (1 of them unmeasured)")
    assert "measured, but" not in open_.why
    assert judge_bar(bar, row(4, 4, 4)).figure == "4/4"


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(1, 30))
def test_a_verdict_holds_for_every_way_in_which_the_unmeasured_could_have_ended(
    k: int, wrong: int, left: int, num: int, den: int
) -> None:
    if num > den or k + wrong == 0:
        return
    bar = parse_bar(f"exact >= {num}/{den}", METRICS)
    planned = k + wrong + left
    ways = {Fraction(k + more, planned) >= Fraction(num, den) for more in range(left + 1)}
    expected = "undecided" if len(ways) == 2 else "met" if ways == {True} else "failed"
    assert judge_bar(bar, row(k, k + wrong, planned)).status == expected


def test_a_mean_is_held_against_a_bar_too() -> None:
    bar = parse_bar("exact >= 0.5", METRICS)
    mean = {"candidate": "a/b", "kind": "mean", "k": None, "n": 4, "planned": 4, "rate": 0.5}
    assert judge_bar(bar, mean).status == "met"


@pytest.mark.parametrize(
    "listed",
    [{}, "x", [1], [{}], [{"bar": 1}], [{"bar": "exact >= 1/2", "fails": 3}],
     [{"bar": "exact >= 1/2", "when": "x"}], [{"bar": "exact >= 1/2", "when_planned": 1}],
     [{"bar": "exact >= 1/2"}, {"bar": "exact >= 2/4"}]],
)  # fmt: skip
def test_a_list_of_bars_that_is_none_is_refused(listed: Any) -> None:
    with pytest.raises(RulesError):
        read_bars(listed, METRICS)


def test_a_bar_without_a_conclusion_may_be_written_as_text_alone() -> None:
    assert [bar.text for bar in read_bars(["direction >= 1/2", {"bar": "exact < 1"}], METRICS)] == [
        "direction >= 1/2", "exact < 1",
    ]  # fmt: skip


def test_a_bar_that_asks_for_planned_cells_speaks_of_no_run_without_any() -> None:
    (asks,) = read_bars([{"bar": "exact >= 1/2", "when_planned": True}], METRICS)
    (plain,) = read_bars(["exact >= 1/2"], METRICS)
    assert not is_judged(asks, row(0, 0, 0))
    assert is_judged(plain, row(0, 0, 0))
    assert is_judged(asks, row(0, 0, 3))
    assert is_judged(asks, row(1, 3, 3))
    # Nobody knows what was planned: it isn't passed over.
    assert is_judged(asks, None)
    assert judge_bar(asks, None).status == "undecided"
