"""Cases that were measured unequally often: the headline says that it weighs answers, and SQL names its interval."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness._report import read_report, render_report
from harness._report_file import render
from harness._stats import wilson, wilson_of_mean
from ledger import Ledger, over_views
from tests.harness.scored import scored_run
from tests.harness.test_repeats import run_of, told


def test_where_repeats_are_unequal_the_headline_says_that_it_isnt_the_mean_by_case(ledger: Ledger) -> None:
    run = run_of(ledger, 4, a="rrrr", b="wmmm", c="rwmm")
    report = read_report(ledger, run)
    row = next(each for each in report.scoreboard if each["metric"] == "exact")
    assert (row["k"], row["n"]) == (5, 7)
    assert row["rate_by_case"] == pytest.approx((1 + 0 + 0.5) / 3)
    for text in (told(render_report(report)), render(report.data, "md").decode(), render(report.data, "html").decode()):
        assert "With each case counting once they are" in text and "exact 50.0%" in text


def test_where_they_are_equal_nothing_is_said(ledger: Ledger) -> None:
    report = read_report(ledger, run_of(ledger, 3, a="rrw", b="www"))
    assert not any("rate_by_case" in row for row in report.scoreboard)
    assert "counting once" not in told(render_report(report))


def sql(ledger: Ledger, run: str) -> dict[tuple[str, str], dict[str, object]]:
    rows = ledger.rows(over_views("SELECT * FROM intervals WHERE run = ?"), (run,))
    return {(row["rules"], row["metric"]): row for row in rows}


@pytest.mark.parametrize(
    ("epochs", "cases", "by"),
    [
        (1, {"a": "r", "b": "w", "c": "r", "d": "m"}, "cells"),
        (3, {"a": "rrw", "b": "wrm", "c": "rrr"}, "cases, wilson"),
        (3, {f"c{at}": "rrr" for at in range(12)}, "cases, wilson"),
        (3, {f"c{at}": "rrw" if at % 2 else "wmm" for at in range(12)}, "cases"),
        (2, {"a": "rr"}, "cases, wilson"),
        (1, {"a": "w"}, "cells"),
    ],
)
def test_sql_names_the_interval_that_the_report_leads_with_and_gives_its_ends_where_sql_can(
    epochs: int, cases: dict[str, str], by: str, ledger: Ledger
) -> None:
    run = run_of(ledger, epochs, **cases)
    found = sql(ledger, run)
    board = [row for row in read_report(ledger, run).scoreboard if row["n"]]
    assert {row["interval_by"] for row in board if row["kind"] == "rate"} == {by}
    for row in board:
        mine = found[row["rules"], row["metric"]]
        assert mine["interval_by"] == row["interval_by"]
        assert mine["rate_by_case"] == pytest.approx(row.get("rate_by_case", row["rate"]))
        if row["interval_by"] == "cases":
            assert (mine["interval_low"], mine["interval_high"]) == (None, None)
        else:
            assert mine["interval_low"] == pytest.approx(row["interval_low"], abs=1e-9)
            assert mine["interval_high"] == pytest.approx(row["interval_high"], abs=1e-9)


def test_the_ends_are_wilsons(ledger: Ledger) -> None:
    once = sql(ledger, run_of(ledger, 1, a="r", b="w", c="r"))
    assert [(row["interval_low"], row["interval_high"]) for (_, name), row in once.items() if name == "exact"] == [
        pytest.approx(wilson(2, 3))
    ]
    thrice = sql(ledger, run_of(ledger, 3, a="rrw", b="wwm"))
    assert [(row["interval_low"], row["interval_high"]) for (_, name), row in thrice.items() if name == "exact"] == [
        pytest.approx(wilson_of_mean(2 / 5, 2))
    ]


def test_two_candidates_are_counted_apart(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "two.db", origin="test/unequal") as ledger:
        words = {"a/x": {"a": ["right", "wrong"]}, "b/y": {"a": ["right", "right"]}}
        run = scored_run(ledger, words, epochs=2)
        rows = ledger.rows(over_views("SELECT * FROM intervals WHERE run = ? AND metric = 'exact'"), (run,))
    assert {(row["candidate"], row["rate_by_case"], row["most"]) for row in rows} == {("a/x", 0.5, 2), ("b/y", 1.0, 2)}
