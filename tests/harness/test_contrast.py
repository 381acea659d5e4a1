"""One metric of two sides: means, policies that count the unmeasured, and the published cases on counting outcomes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._compare import compare
from harness._contrast import contrast
from harness._pairs import Answer, CaseKey, MetricPairs, metric_pairs, pair_up
from harness._stats import wilson
from ledger import Ledger
from tests.harness.scored import rule_set, scored_run


def answers(figures: dict[str, list[float | None]]) -> list[Answer]:
    return [
        Answer(
            cell=at, key=CaseKey(name, 0, ""), case=name, fixture="f", gold="", epoch=epoch,
            outcome="unmeasured" if value is None else "graded", status="", stage="", reason="",
            metrics={} if value is None else {"m": value}, applies=frozenset({"m"}),
        )
        for at, name in enumerate(figures) for epoch, value in enumerate(figures[name])
    ]  # fmt: skip


def paired(a: dict[str, list[float | None]], b: dict[str, list[float | None]]) -> MetricPairs:
    return metric_pairs(pair_up(answers(a), answers(b)), "m")


def mean(a: dict[str, list[float | None]], b: dict[str, list[float | None]]) -> Any:
    return contrast(paired(a, b), kind="mean", primary=True, higher_is_better=True)


def test_a_mean_has_a_paired_bootstrap_and_no_table() -> None:
    names = [f"c{at}" for at in range(30)]
    found = mean({each: [0.5 + at / 100] for at, each in enumerate(names)}, {each: [0.3] for each in names})
    assert (found.both, found.p, found.no_p) == (None, None, "it is a test of rates, and this is a mean")
    assert found.difference == pytest.approx(0.345)
    assert found.interval.low > 0
    assert (found.verdict, len(found.flips)) == ("a_higher", 30)
    assert found.a.k is None
    assert found.a.low < found.a.rate < found.a.high
    assert "a true difference under about 0." in found.power()


def test_an_interval_that_spans_zero_is_inconclusive() -> None:
    names = [f"c{at}" for at in range(20)]
    found = mean({each: [0.5 + (-1) ** at / 10] for at, each in enumerate(names)}, {each: [0.5] for each in names})
    assert found.verdict == "inconclusive"
    assert "which spans zero" in found.sentence()
    assert "no difference" not in found.sentence() + found.power()


def test_an_interval_that_ends_at_zero_touches_it() -> None:
    names = [f"c{at}" for at in range(20)]
    found = mean({each: [0.6 if at == 0 else 0.5] for at, each in enumerate(names)}, {each: [0.5] for each in names})
    assert found.interval.low == 0 < found.interval.high
    assert "which touches zero" in found.sentence() and "spans" not in found.sentence()


def test_a_case_without_a_figure_on_one_side_is_in_no_pair_and_nothing_fills_it() -> None:
    found = mean({"c": [1.0, None], "d": [None], "e": [0.0]}, {"c": [0.5], "d": [1.0]})
    assert (found.pairs, found.planned, found.a.n, found.a.rate) == (1, 3, 1, 1.0)
    assert found.interval is None
    assert found.verdict == "inconclusive"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), max_size=12))
def test_the_four_numbers_of_the_table_add_up_to_the_pairs(
    values: list[tuple[float, float]],
) -> None:
    a, b = ({f"c{at}": [each[side]] for at, each in enumerate(values)} for side in (0, 1))
    found = contrast(paired(a, b), kind="rate", primary=True, higher_is_better=None)  # type: ignore[arg-type]
    if not values:
        assert (found.verdict, found.both) == ("no_data", None)
        return
    assert None not in (found.both, found.only_a, found.only_b, found.neither)
    assert found.both + found.only_a + found.only_b + found.neither == len(values)  # type: ignore[operator]
    assert found.difference == pytest.approx((found.only_a - found.only_b) / len(values))  # type: ignore[operator]
    assert len(found.flips) == found.only_a + found.only_b  # type: ignore[operator]
    assert (found.verdict == "inconclusive") == (found.p >= 0.05)  # type: ignore[operator]
    assert json.loads(json.dumps(found.as_json()))


def test_figures_that_a_policy_counts_are_marked_and_their_cells_stay_missing(ledger: Ledger) -> None:
    rules = [rule_set("as-of-2026-07-01"), rule_set("strict-cite")]
    told = {"a/x": {"c": "right", "d": "right", "e": "wrong"}, "b/y": {"c": "malformed", "d": "wrong", "e": "error"}}
    legacy, plain = compare(ledger, scored_run(ledger, told, rules=rules)).pairs
    counted = next(each for each in legacy.metrics if each.metric == "exact")
    left_out = next(each for each in plain.metrics if each.metric == "exact")
    assert (counted.b.n, counted.b.counted, left_out.b.n, left_out.b.counted) == (3, 2, 1, 0)
    assert counted.b.text() == "0/3 (2 unmeasured)"
    assert Counter((each.case, each.reason) for each in legacy.missing) == {
        ("one/c", "no_json"): 1, ("one/e", "timeout"): 1
    }  # fmt: skip


def cases(shared: Path, name: str) -> list[dict[str, Any]]:
    lines = (shared / "cases" / "others.jsonl").read_text("utf-8").splitlines()
    found = [each for each in map(json.loads, lines) if each["case"] == name]
    assert found
    return found


def test_d1_failures_stay_in_the_denominator(ledger: Ledger, shared: Path) -> None:
    for case in cases(shared, "D1"):
        told = {f"c{at:03}": word for at, word in enumerate(case["input"]["outcomes"])}
        run, expected = scored_run(ledger, {"a/x": told}), case["expected"]
        (row,) = ledger.rows("SELECT * FROM scoreboard WHERE run = ? AND metric = 'exact'", (run,))
        assert row["n"] == expected["n_scored"]
        if expected["accuracy_of_scored"] is None:
            assert expected["status"] == "no_data"
            assert (row["k"], row["rate"], row["low"], row["high"]) == (0, None, None, None)
            continue
        assert (row["planned"], row["planned"] - row["n"]) == (expected["n_planned"], expected["n_error"])
        assert row["rate"] == pytest.approx(expected["accuracy_of_scored"], abs=5e-5)
        assert row["worst"] == pytest.approx(expected["lower_if_errors_wrong"], abs=1e-9)
        assert row["best"] == pytest.approx(expected["upper_if_errors_right"], abs=1e-9)


def test_d2_faults_of_the_model_and_of_the_harness_are_counted_apart(ledger: Ledger, shared: Path) -> None:
    (case,) = cases(shared, "D2")
    told = {f"c{at}": word for at, word in enumerate(case["input"]["outcomes"])}
    run = scored_run(ledger, {"a/x": told})
    rows = ledger.rows("SELECT outcome, status, domain FROM cells WHERE run = ?", (run,))
    names = {"correct": "right", "incorrect": "wrong"}
    found = Counter(names.get(row["outcome"], row["status"]) for row in rows)
    assert found == case["expected"]["by_outcome"]
    assert len(rows) == case["expected"]["n_planned"]
    domains = {row["status"]: row["domain"] for row in rows if row["outcome"] == "unmeasured"}
    assert domains == {"refused": "model", "truncated": "model", "malformed": "model", "error": "provider"}


def test_wilson_of_the_scoreboard_agrees_with_the_function(ledger: Ledger) -> None:
    for n in (1, 2, 7, 23):
        for k in sorted({0, 1, n // 2, n}):
            told = {f"n{n}k{k}c{at}": "right" if at < k else "wrong" for at in range(n)}
            run = scored_run(ledger, {"a/x": told})
            (row,) = ledger.rows("SELECT * FROM scoreboard WHERE run = ? AND metric = 'exact'", (run,))
            assert (row["low"], row["high"]) == pytest.approx(wilson(k, n), abs=1e-9)
