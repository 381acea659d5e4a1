"""Tallies: the same figures of the same scores, on every Python."""

from __future__ import annotations

from harness._tally import figures
from harness.suites import Metric
from ledger.kinds import Score


def score(value: float) -> Score:
    return Score(
        rules="r", outcome="graded", status="parsed", stage="", reason="", domain="", value=value, applies=["share"],
        metrics={"share": value},
    )  # fmt: skip


def test_a_total_is_added_one_by_one_whatever_the_python_makes_of_a_sum() -> None:
    scores = [score(each) for each in (0.1, 0.2, 0.3, 0.6)]
    (figure,) = figures([Metric("share", "mean", "all", higher_is_better=True)], {"all": "share"}, {"a": scores})
    assert (figure.total, figure.n, figure.planned, figure.k) == (1.2000000000000002, 4, 4, None)


def test_nothing_measured_comes_to_no_figure_of_any_cell() -> None:
    (figure,) = figures([Metric("share", "mean", "all", higher_is_better=True)], {"all": "share"}, {"a": []})
    assert (figure.total, figure.n) == (0, 0)
