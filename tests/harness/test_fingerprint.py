"""The two fingerprints: the same for the same experiment, another one for whatever moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness._errors import UsageError
from harness._fingerprint import FINGERPRINT_VERSION, Fingerprints, case_set, fingerprints, plan_of
from ledger import Ledger
from ledger._redact import redact
from ledger._redact_targets import find_targets
from tests.harness.scored import NEGATIVE, case_line, rule_set, scored_run, suite_here

TWIN = case_line("e", text="- c holds\n- c held before\n")
TOLD = {"a/x": {"c": "right", "d": "wrong"}}


def of(ledger: Ledger, run: str, candidate: str = "a/x", rules: str = "") -> Fingerprints:
    return fingerprints(ledger, run, rules or rule_set().label, candidate)


def test_the_same_experiment_again_has_the_same_two_fingerprints(ledger: Ledger) -> None:
    first, second = (of(ledger, scored_run(ledger, TOLD, name=name)) for name in ("one", "two"))
    assert first.as_json() == second.as_json() == first.as_json() | {"version": FINGERPRINT_VERSION}
    assert first.comparable != first.identical


def test_what_a_person_calls_things_is_in_neither(ledger: Ledger) -> None:
    texts = ["- one\n- two\n", "- three\n- four\n"]
    plain = [case_line(name, text=text) for name, text in zip("cd", texts, strict=True)]
    renamed = [case_line(name, text=text) for name, text in zip("pq", texts, strict=True)]
    first = of(ledger, scored_run(ledger, TOLD, lines=plain))
    again = {"a/x": {"p": "right", "q": "wrong"}}
    second = of(ledger, scored_run(ledger, again, lines=renamed[::-1], fixture="two", name="else"))
    assert (first.comparable, first.identical) == (second.comparable, second.identical)


@pytest.mark.parametrize(
    ("changed", "comparable", "identical"),
    [
        ({}, True, True),
        ({"limit": 1}, True, False),
        ({"models": {"a/x": ["other"]}}, True, False),
        ({"candidates": {"a/x": {"base_url": "http://127.0.0.1:10"}}}, True, False),
        ({"candidates": {"a/x": {"parameters": {"temperature": 1}}}}, True, False),
        ({"servers": {"a/x": {"weights": "sha256:" + "1" * 64}}}, True, False),
        ({"arm": "told"}, False, False),
        ({"suite": replace(suite_here(), ask="array")}, False, False),
        ({"suite": replace(suite_here(), name="seniority")}, False, False),
        ({"lines": [case_line("c"), case_line("d", gold=NEGATIVE)]}, False, False),
        ({"lines": [case_line("c"), case_line("d"), case_line("e")]}, False, False),
        (
            {"lines": [case_line("c"), case_line("d"), case_line("e", text="- c holds\n- c held before\n")]},
            False,
            False,
        ),
    ],
)
def test_each_component_moves_what_it_should(
    ledger: Ledger, changed: dict[str, Any], comparable: bool, identical: bool
) -> None:
    lines = [case_line("c"), case_line("d")]
    before = of(ledger, scored_run(ledger, TOLD, lines=lines))
    told = {"a/x": {**TOLD["a/x"], "e": "right"}}
    after = of(ledger, scored_run(ledger, told, **{"lines": lines, **changed}))
    assert (before.comparable == after.comparable, before.identical == after.identical) == (comparable, identical)


def test_rules_epochs_and_candidates_move_them_too(ledger: Ledger) -> None:
    both = [rule_set("strict-cite"), rule_set("fence-cite")]
    run = scored_run(ledger, {**TOLD, "b/y": TOLD["a/x"]}, rules=both)
    strict, fence = (of(ledger, run, rules=each.label) for each in both)
    assert strict.comparable != fence.comparable
    other = of(ledger, run, "b/y")
    assert (strict.comparable == other.comparable, strict.identical == other.identical) == (True, False)
    twice = scored_run(ledger, {"a/x": {"c": ["right"] * 2, "d": ["wrong"] * 2}}, epochs=2)
    assert of(ledger, twice).comparable != of(ledger, scored_run(ledger, TOLD)).comparable


def test_another_ledger_gives_other_fingerprints_so_none_can_be_guessed(ledger: Ledger, tmp_path: Any) -> None:
    with Ledger.create(tmp_path / "other.db") as other:
        theirs = of(other, scored_run(other, TOLD))
    ours = of(ledger, scored_run(ledger, TOLD))
    assert not {ours.comparable, ours.identical} & {theirs.comparable, theirs.identical}


def test_a_withheld_list_of_cases_leaves_what_was_planned(ledger: Ledger) -> None:
    run = scored_run(ledger, TOLD)
    plan = plan_of(ledger, run)
    before = case_set(ledger, run, plan)
    assert before.whole
    seq = plan.fixtures[0].freeze
    redact(ledger.path, find_targets(ledger, [f"{seq}:cases"]), category="other", reason="a test")
    after = case_set(ledger, run, plan)
    assert not after.whole
    assert (after.golds, after.names) == (before.golds, before.names)


def test_a_candidate_or_a_rule_set_that_is_not_there_is_named(ledger: Ledger) -> None:
    run = scored_run(ledger, TOLD)
    with pytest.raises(UsageError, match="has no candidate 'b/y'"):
        of(ledger, run, "b/y")
    with pytest.raises(UsageError, match="was not scored under 'nope'"):
        of(ledger, run, rules="nope")
    with pytest.raises(UsageError, match="has no plan"):
        of(ledger, "0000000000000000")
