"""Cases that were asked more than once: what most answers say, where a tie is no hit, and the interval that leads."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness._repeats import majority_text, passes, passes_text
from harness._report import read_report, read_standing, render_report, render_standing
from ledger import Ledger
from tests.harness.scored import scored_run


def told(report: object) -> str:
    console = Console(file=io.StringIO(), width=400)
    for part in report:  # type: ignore[attr-defined]
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined]


def run_of(ledger: Ledger, epochs: int, **cases: str) -> str:
    """A run whose cases were answered as the letters say: r right, w wrong, m malformed."""
    words = {"r": "right", "w": "wrong", "m": "malformed"}
    outcomes = {name: [words[letter] for letter in letters] for name, letters in cases.items()}
    return scored_run(ledger, {"a/x": outcomes}, epochs=epochs)


def test_half_is_a_tie_and_no_hit_and_what_the_unmeasured_could_turn_is_open(ledger: Ledger) -> None:
    run = run_of(ledger, 4, a="rrrr", b="rrrw", c="rrww", d="rwww", e="rrmm", f="rrrm", g="rwwm")
    report = read_report(ledger, run)
    (row,) = report.data["repeatability"]
    assert row["majority"] == {"of": 4, "right": 3, "ties": 1, "wrong": 1, "open": 2}
    assert "majority of 4: 3 right, 1 tie, 1 wrong, 2 open" in told(render_report(report))


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_a_majority_holds_whatever_the_unmeasured_would_have_said(right: int, wrong: int, unmeasured: int) -> None:
    from harness._repeats import _majority

    epochs = right + wrong + unmeasured
    if not epochs:
        return
    ends = {_majority(right + more, wrong + unmeasured - more, epochs) for more in range(unmeasured + 1)}
    found = _majority(right, wrong, epochs)
    assert ends == {found} if found != "open" else len(ends) > 1


def test_of_graded_answers_no_pass_at_k_is_given_and_no_want_of_samples_is_claimed() -> None:
    measured = {"candidate": "a/x", "rules": "r", "n": 2, "c": 1, "graded": 0}
    graded = {**measured, "rules": "g", "n": 0, "c": 0, "graded": 2}
    found = passes(lambda query, parameters: [measured, graded], "run", 2)
    assert [each["value"] for each in found["a/x", "r"]] == [0.5, 1.0]
    assert {each["reason"] for each in found["a/x", "g"]} == {"graded"}
    assert passes_text(found["a/x", "g"]) == "no pass@k (the answers are graded)"
    assert passes_text([{"k": 3, "value": None, "reason": "k_exceeds_n"}]).startswith("pass@3 none (a case has fewer")


def test_an_odd_number_of_epochs_has_no_ties() -> None:
    assert majority_text({"of": 5, "right": 31, "ties": 0, "wrong": 19, "open": 0}) == (
        "majority of 5: 31 right, 0 ties, 19 wrong"
    )


def test_terminal_json_and_the_list_of_all_runs_lead_with_the_interval_by_case(ledger: Ledger) -> None:
    run = run_of(ledger, 5, **{f"c{at}": "rrrrr" if at % 2 else "wwwww" for at in range(20)})
    report = read_report(ledger, run)
    row = next(each for each in report.scoreboard if each["metric"] == "exact")
    assert row["interval_by"] == "cases"
    assert row["interval_high"] - row["interval_low"] > 1.5 * (row["high"] - row["low"])
    shown = f"{100 * row['interval_low']:.1f}–{100 * row['interval_high']:.1f}%"
    pooled = f"{100 * row['low']:.1f}–{100 * row['high']:.1f}%"
    standing = read_standing(ledger)
    for text in (told(render_report(report)), told(render_standing(standing))):
        assert shown in text and pooled not in text
    again = next(each for each in standing.as_json()["scoreboard"] if each["metric"] == "exact")
    assert (again["interval_low"], again["interval_by"]) == (row["interval_low"], "cases")


def test_where_each_case_was_asked_once_the_interval_is_wilsons(ledger: Ledger) -> None:
    run = run_of(ledger, 1, a="r", b="w", c="r")
    row = next(each for each in read_report(ledger, run).scoreboard if each["metric"] == "exact")
    assert (row["interval_low"], row["interval_high"], row["interval_by"]) == (row["low"], row["high"], "cells")
