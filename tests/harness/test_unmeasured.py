"""A policy for the unmeasured: named, never the default, and never an outcome."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from harness._derive import Reply, derive
from harness._errors import RulesError
from harness._rules import load_rules
from harness._suite import load_suite
from harness._unmeasured import read_policy
from harness.parse import Wire
from harness.suites import Metric

RATE, MEAN = Metric("exact", "rate", "all", higher_is_better=True), Metric("f1", "mean", "all", higher_is_better=True)
SUITE, (FIXTURE,) = load_suite("authority/v0", Path(__file__).resolve().parents[2] / "fixtures")


def clause(**more: Any) -> dict[str, Any]:
    return {"metric": "exact", "as": 0, **more}


def test_a_clause_counts_the_statuses_and_reasons_it_names_and_no_others() -> None:
    policy = read_policy({"policy": "old", "count": [clause(statuses=["malformed"], reasons=["billing"])]}, [RATE])
    assert policy is not None
    assert policy.figures("malformed", "no_json", ["exact"]) == {"exact": 0.0}
    assert policy.figures("error", "billing", ["exact"]) == {"exact": 0.0}
    assert policy.figures("error", "timeout", ["exact"]) == {}
    assert policy.figures("malformed", "no_json", ["other"]) == {}


def test_the_first_clause_that_fits_decides_and_one_without_names_fits_all() -> None:
    policy = read_policy({"policy": "old", "count": [clause(statuses=["refused"], **{"as": 1}), clause()]}, [RATE])
    assert policy is not None
    assert policy.figures("refused", "refusal_field", ["exact"]) == {"exact": 1.0}
    assert policy.figures("not_asked", "not_asked", ["exact"]) == {"exact": 0.0}


def test_leave_out_is_the_default_and_may_be_said() -> None:
    assert read_policy({"policy": "leave-out"}, [RATE]) is None


def test_a_mean_may_count_as_a_number_between() -> None:
    policy = read_policy({"policy": "old", "count": [clause(metric="f1", **{"as": Decimal("0.25")})]}, [RATE, MEAN])
    assert policy is not None
    assert policy.figures("error", "timeout", ["f1"]) == {"f1": 0.25}


@pytest.mark.parametrize(
    "table",
    [
        {}, {"policy": "old"}, {"policy": "old", "count": []}, {"policy": "Old one", "count": [clause()]},
        {"policy": "old", "count": [clause()], "more": 1}, {"policy": "old", "count": [{"metric": "exact"}]},
        {"policy": "old", "count": ["x"]}, {"policy": "old", "count": [clause(metric="nope")]},
        {"policy": "old", "count": [clause(**{"as": True})]}, {"policy": "old", "count": [clause(**{"as": 2})]},
        {"policy": "old", "count": [clause(**{"as": Decimal("0.5")})]},
        {"policy": "old", "count": [clause(**{"as": Decimal("NaN")})]},
        {"policy": "old", "count": [clause(statuses=["parsed"])]},
        {"policy": "old", "count": [clause(statuses="error")]},
        {"policy": "old", "count": [clause(statuses=[])]}, {"policy": "old", "count": [clause(reasons=["No Such"])]},
        {"policy": "leave-out", "count": [clause()], "x": 1}, {"policy": "leave-out", "count": [clause()]},
    ],
)  # fmt: skip
def test_a_table_that_is_no_policy_is_refused_in_one_sentence(table: dict[str, Any]) -> None:
    with pytest.raises(RulesError) as caught:
        read_policy(table, [RATE, MEAN])
    assert "\n" not in str(caught.value)


def test_a_counted_cell_stays_unmeasured_with_its_reason_and_its_score_names_the_policy() -> None:
    day, strict = load_rules(SUITE, "as-of-2026-07-01"), load_rules(SUITE, "strict-cite")
    reply = Reply(Wire(200, (), b"no answer at all"), None, "text", False)
    for case in FIXTURE.cases:
        counted = derive(reply, ask=SUITE.ask, stages=SUITE.stage_functions, case=case, rules=day).score
        left_out = derive(reply, ask=SUITE.ask, stages=SUITE.stage_functions, case=case, rules=strict).score
        positive = "positive" in SUITE.stage_functions.group(case.gold)
        wanted = {"exact": 0.0, "direction": 0.0} if positive else {
            "negative_pass": 1.0, "false_fire": 0.0, "false_fire_without_confirmer": 0.0}  # fmt: skip
        assert (counted.outcome, counted.metrics, counted.policy) == (
            "unmeasured", wanted, "unreadable-misses-or-passes")  # fmt: skip
        assert (left_out.outcome, left_out.metrics, left_out.policy) == ("unmeasured", {}, "")
        assert (counted.status, counted.reason) == (left_out.status, left_out.reason) == ("malformed", "no_json")
