"""Flips: which cells move, at which stage, and by the smallest set of switches of the two rule files that does it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness._errors import UsageError
from harness._flips import OUTCOME, flips_between
from harness._rescore import rescore_run
from harness._rules import RuleSet, ruleset_from_frozen
from ledger import Ledger
from tests.harness.answered import FENCED, UNASKED, Answered, Down, answered_run, ask_again, rules_of
from tests.harness.test_run import perfect

BASE = """
[read]
fence = {fence}
unclosed_fence = {unclosed}
reasoning = {reasoning}
trailing_comma = {comma}
[confirm]
min_confidence = {gate}
bounded_customers = {bounded}
relation_in_span = {relation}
[score]
primary = {{ positive = "{primary}", negative = "negative_pass" }}
{more}
"""
OFF: dict[str, Any] = {
    "fence": "false", "unclosed": "false", "reasoning": "false", "comma": "false", "gate": "0.60", "bounded": "true",
    "relation": "false", "primary": "exact", "more": "",
}  # fmt: skip


def made_of(name: str = "made", **switches: Any) -> RuleSet:
    return ruleset_from_frozen(name, BASE.format(**OFF | switches).encode(), "authority")


def answer_of(made_text: str, **change: Any) -> str:
    found = json.loads(made_text)
    for proposal in found["proposals"]:
        proposal.update(change)
    return json.dumps(found)


def stages(ledger: Ledger, answers: dict[int, object], old: RuleSet, new: RuleSet) -> dict[tuple[int, str], str]:
    made = answered_run(ledger, answers, rules=[old])
    dry = rescore_run(ledger, made.run, [new], dry_run=True)
    done = rescore_run(ledger, made.run, [new])
    assert dry.flips == done.flips, "a dry run shows the very flips"
    assert list(done.flips) == flips_between(ledger, made.run, old.label, new.label), "and so do the recorded events"
    return {(flip.cell, flip.metric): flip.stage for flip in done.flips}


@pytest.fixture
def known(ledger: Ledger) -> str:
    """The perfect answer to the first case."""
    made = answered_run(ledger)
    return perfect(str(made.planned.measurements[0].case.input["text"]))  # type: ignore[index,call-overload]


def test_one_switch_of_many_that_differ_is_named_alone(ledger: Ledger, known: str) -> None:
    new = made_of("new", fence="true", unclosed="true", reasoning="true", comma="true")
    found = stages(
        ledger,
        {1: FENCED, 2: f"<think>hm</think>{known}", 3: known.replace('"confidence"', '"confidence"')[:-2] + ",]}"},
        made_of(), new,
    )  # fmt: skip
    assert found[1, "exact"] == found[1, "direction"] == "parse: fence"
    assert found[2, "exact"] == "parse: reasoning"
    assert found[3, "exact"] == "parse: trailing_comma"


def test_switches_that_only_help_together_are_named_together(ledger: Ledger, known: str) -> None:
    new = made_of("new", fence="true", unclosed="true", reasoning="true")
    found = stages(ledger, {1: f"```json\n{known}", 2: f"<think>a</think>```\n{known}\n```"}, made_of(), new)
    assert found[1, "exact"] == "parse: fence + unclosed_fence"
    assert found[2, "exact"] == "parse: fence + reasoning"


def test_a_clause_of_confirming_is_named_where_the_reading_is_the_same(ledger: Ledger, known: str) -> None:
    timid = answer_of(known, confidence=0.5)
    new = made_of("new", fence="true", gate="0.40", bounded="false")
    assert stages(ledger, {1: timid}, made_of(), new) == {
        (1, "exact"): "confirm: min_confidence", (1, "direction"): "confirm: min_confidence",
    }  # fmt: skip


def test_what_moves_at_several_stages_is_put_down_to_each_in_its_order(ledger: Ledger, known: str) -> None:
    timid = f"```\n{answer_of(known, confidence=0.5)}\n```"
    found = stages(ledger, {1: timid}, made_of(), made_of("new", fence="true", gate="0.40"))
    assert found[1, "exact"] == "parse: fence, then confirm: min_confidence"


def test_a_later_switch_that_changes_no_figure_is_not_blamed(ledger: Ledger, known: str) -> None:
    found = stages(ledger, {1: f"```\n{known}\n```"}, made_of(), made_of("new", fence="true", gate="0.40"))
    assert found[1, "exact"] == "parse: fence"


def test_a_policy_for_the_unmeasured_is_a_switch_of_scoring(ledger: Ledger) -> None:
    policy = '[unmeasured]\npolicy = "as-wrong"\n[[unmeasured.count]]\nmetric = "exact"\nas = 0\n'
    found = stages(ledger, {1: Down(), 2: UNASKED, 3: "no json"}, made_of(), made_of("new", more=policy))
    assert found == dict.fromkeys([(1, "exact"), (2, "exact"), (3, "exact")], "score: policy")


def test_another_primary_moves_outcomes_and_no_metric(ledger: Ledger, known: str) -> None:
    other = answer_of(known, type="contradicts")
    made = answered_run(ledger, {1: other}, rules=[made_of()])
    done = rescore_run(ledger, made.run, [made_of("new", primary="direction")])
    (flip,) = done.flips
    assert (flip.cell, flip.metric, flip.before, flip.after, flip.stage) == (1, OUTCOME, 0.0, 1.0, "score: primary")


def test_metrics_that_only_one_side_has_are_not_compared(ledger: Ledger) -> None:
    only = '[[score.metrics]]\nname = "{}"\nkind = "rate"\napplies = "{}"\nhigher_is_better = true\n'
    few = "".join(only.format(name, group) for name, group in (("exact", "positive"), ("negative_pass", "negative")))
    made = answered_run(ledger, {1: FENCED}, rules=[made_of("few", more=few)])
    done = rescore_run(ledger, made.run, [made_of("new", fence="true")])
    assert {flip.metric for flip in done.flips} == {"exact"}
    before = {each.metric: each.before for each in done.figures}
    assert before["direction"] is None
    assert before["exact"] is not None


def test_the_same_file_under_other_code_is_put_down_to_the_code(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness import _flips

    (strict,) = rules_of("strict-cite")
    made = answered_run(ledger, {1: FENCED}, rules=["strict-cite"])
    rescore_run(ledger, made.run, rules_of("fence-cite"))
    label = rules_of("fence-cite")[0].label
    # As if the label that allows fences had been derived by other code from the very file of strict-cite.
    other = ruleset_from_frozen(
        "strict-cite", strict.file, "authority", {**strict.sources, "harness._json": b"# old\n"}
    )
    real = _flips.Sheet.rules
    monkeypatch.setattr(_flips.Sheet, "rules", lambda sheet, wanted: other if wanted == label else real(sheet, wanted))
    flips = flips_between(ledger, made.run, strict.label, label)
    assert {flip.stage for flip in flips} == {"parse: code"}


def test_a_later_attempt_that_only_one_side_read_is_no_doing_of_the_rules(ledger: Ledger) -> None:
    made: Answered = answered_run(ledger, {1: Down()})
    rescore_run(ledger, made.run, rules_of("fence-cite"))
    ask_again(ledger, made, 1, "perfect")
    flips = flips_between(ledger, made.run, rules_of("fence-cite")[0].label, made.rules[0].label)
    assert {(flip.cell, flip.stage) for flip in flips} == {(1, "evidence: another reply")}


def test_a_label_that_was_never_applied_is_refused(ledger: Ledger) -> None:
    made = answered_run(ledger)
    with pytest.raises(UsageError, match="never scored under 'x@"):
        flips_between(ledger, made.run, made.rules[0].label, "x@123456789012")


def test_a_hostile_value_is_shown_short_and_as_text(ledger: Ledger) -> None:
    hostile = '```json\n{"proposals": [], "x": "\\ud800 ' + "y" * 5000 + '"}\n```'
    made = answered_run(ledger, {5: hostile})
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    for flip in done.flips:
        json.dumps(flip.as_json()).encode()
        assert len(flip.reading_after.value or "") <= 201
    json.dumps(done.as_json())
