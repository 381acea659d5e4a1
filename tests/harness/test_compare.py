"""Comparisons over real ledgers: who is paired with whom, what is said, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness._compare import Comparison, compare
from harness._errors import UsageError
from harness._rules import ruleset_from_frozen
from harness.cli import app
from harness.cli._compare_lines import compare_lines
from ledger import Draft, Ledger, NotFound
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.cli import run_app
from ledger.kinds import Plan, Supersede, Taint, Target
from tests.harness.scored import NEGATIVE, POSITIVE, case_line, rule_set, scored_run, suite_here

TWELVE = [f"c{number}" for number in range(12)]


def text(found: Comparison) -> str:
    return "\n".join(compare_lines(found))


def only(found: Comparison, metric: str = "exact") -> Any:
    (pair,) = found.pairs
    return next(each for each in pair.metrics if each.metric == metric)


def outcomes(names: Sequence[str], right: int, word: str = "wrong") -> dict[str, str]:
    return {name: "right" if at < right else word for at, name in enumerate(names)}


# The table, the test and the words


def test_twelve_against_four_of_twelve_is_what_was_published(ledger: Ledger) -> None:
    run = scored_run(ledger, {"anthropic/s": outcomes(TWELVE, 12), "ollama/l": outcomes(TWELVE, 4)})
    found = only(compare(ledger, run))
    assert (found.both, found.only_a, found.only_b, found.neither) == (4, 8, 0, 0)
    assert (found.a.k, found.a.n, found.b.k, found.b.n) == (12, 12, 4, 12)
    assert found.p == pytest.approx(0.0078125, abs=1e-9)
    assert found.verdict == "a_higher"
    assert [flip.case for flip in found.flips] == [f"one/c{number}" for number in range(4, 12)]
    said = text(compare(ledger, run))
    assert "exact: A is higher; exact McNemar p = 0.0078; higher is better" in said
    assert "With 12 paired cases, a true difference under about 58 points may well go unnoticed" in said
    assert "+66.7pp" in said and "0.667" not in said, "people read points; fractions are for JSON"


def test_the_same_two_candidates_the_other_way_round_mirror_each_other(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 11), "b/y": outcomes(TWELVE[::-1], 5)})
    there, back = only(compare(ledger, run)), only(compare(ledger, f"{run}@b/y", f"{run}@a/x"))
    assert (there.only_a, there.only_b, there.p) == (back.only_b, back.only_a, back.p)
    assert there.difference == -back.difference
    assert there.interval.low == pytest.approx(-back.interval.high, abs=0.05)


def test_d6_what_one_side_lacks_is_listed_and_never_filled(ledger: Ledger, shared: Path) -> None:
    lines = (shared / "cases" / "others.jsonl").read_text("utf-8").splitlines()
    case = next(each for each in map(json.loads, lines) if each["id"] == "D6.6")
    words = {1: "right", 0: "wrong"}
    every = sorted({*case["input"]["A"], *case["input"]["B"]})
    sides = {name: {each: words.get(case["input"][name].get(each), "error") for each in every} for name in ("A", "B")}
    found = compare(ledger, scored_run(ledger, {f"e/{name}": told for name, told in sides.items()}))
    exact, expected = only(found), case["expected"]
    assert (exact.only_a, exact.only_b) == (expected["only_A_right"], expected["only_B_right"])
    assert exact.pairs == len(expected["paired_items"])
    lacks = {side: [each.case for each in found.pairs[0].missing if each.side == side] for side in "ab"}
    # What A alone has is missing in B.
    assert lacks["b"] == [f"one/{each}" for each in expected["unpaired"]["A"]]
    assert lacks["a"] == [f"one/{each}" for each in expected["unpaired"]["B"]]
    assert {(each.why, each.status, each.reason) for each in found.pairs[0].missing} == {
        ("unmeasured", "error", "timeout")
    }
    assert "Missing in B (1), never filled in:\n  unmeasured: error, timeout (1): one/q1" in text(found)


def test_d6_a_limited_run_against_a_whole_one_is_comparable_and_lists_what_it_never_planned(ledger: Ledger) -> None:
    whole = scored_run(ledger, {"a/x": outcomes(TWELVE, 9)})
    few = scored_run(ledger, {"b/y": outcomes(TWELVE, 2)}, limit=3)
    found = compare(ledger, whole, few)
    assert not found.refused
    (pair,) = found.pairs
    assert (only(found).pairs, only(found).planned, pair.cases) == (3, 12, 3)
    assert {(each.side, each.why, each.cell) for each in pair.missing} == {("b", "not planned", None)}
    assert len(pair.missing) == 9
    assert "B: only the first 3 cases were planned (--limit)" in pair.warnings


def test_pairs_go_by_input_and_a_renamed_case_is_the_same_case(ledger: Ledger) -> None:
    before = [case_line(name, text=f"- {at} one\n- {at} two\n") for at, name in enumerate(("p", "q"))]
    after = [case_line(name, text=f"- {at} one\n- {at} two\n") for at, name in enumerate(("q", "p"))]
    a = scored_run(ledger, {"a/x": {"p": "right", "q": "wrong"}}, lines=before)
    b = scored_run(ledger, {"b/y": {"q": "wrong", "p": "right"}}, lines=after, fixture="two")
    found = compare(ledger, a, b)
    assert not found.refused, "labels never decide"
    exact = only(found)
    assert (exact.both, exact.only_a, exact.only_b, exact.neither) == (0, 1, 1, 0)
    assert [(flip.case, flip.other_name) for flip in exact.flips] == [("one/p", "two/q"), ("one/q", "two/p")]
    assert "one/p (B: two/q): A 1, B 0" in text(found)


def test_twins_are_paired_each_with_its_own_and_count_as_one_case_with_its_repeats(ledger: Ledger) -> None:
    lines = [case_line("first", text="- one\n- two\n"), case_line("again", text="- one\n- two\n")]
    run = scored_run(
        ledger, {"a/x": {"first": "right", "again": "wrong"}, "b/y": {"first": "wrong", "again": "wrong"}}, lines=lines
    )
    found = only(compare(ledger, run))
    assert [flip.case for flip in found.flips] == ["one/first"]
    assert "A - B weighs each case alike, however often it was asked" in text(compare(ledger, run))
    assert (found.a.text(), found.b.text()) == ("1/2", "0/2")
    assert (found.planned, found.pairs, found.difference) == (1, 1, 0.5)
    assert (found.only_a, found.p, found.no_p) == (None, None, "repeats of a case aren't independent")


def test_twins_give_the_interval_and_the_verdict_that_epochs_would_give(ledger: Ledger) -> None:
    """Eight inputs asked three times over: 24 pairs would be significant, eight cases of which two differ aren't."""
    names = [f"c{at}/{twin}" for at in range(8) for twin in range(3)]
    lines = [case_line(each, text=f"- {each[:2]}\n- two\n") for each in names]
    ours = {each: "right" if each[1] in "0123" else "wrong" for each in names}
    theirs = {each: "right" if each[1] in "01" else "wrong" for each in names}
    twins = only(compare(ledger, scored_run(ledger, {"a/x": ours, "b/y": theirs}, lines=lines)))
    thrice = ({each: [side[f"{each}/0"]] * 3 for each in dict.fromkeys(name[:2] for name in names)}
              for side in (ours, theirs))  # fmt: skip
    epochs = only(compare(ledger, scored_run(ledger, dict(zip(("a/x", "b/y"), thrice, strict=True)), epochs=3)))
    assert (twins.a, twins.b, twins.interval, twins.smallest) == (epochs.a, epochs.b, epochs.interval, epochs.smallest)
    assert (twins.pairs, twins.verdict, twins.p, twins.a.text()) == (8, "inconclusive", None, "12/24")


def test_all_ties_are_inconclusive_and_never_called_no_difference(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 6), "b/y": outcomes(TWELVE, 6)})
    found = only(compare(ledger, run))
    assert (found.p, found.verdict, found.difference) == (1.0, "inconclusive", 0.0)
    assert not found.interval.spread
    said = text(compare(ledger, run))
    assert "exact: inconclusive; exact McNemar p = 1.0000; the interval of the difference touches zero" in said
    assert "no paired case differs: the interval has no width" in said
    assert "no difference" not in said


def test_one_case_shows_nothing(ledger: Ledger) -> None:
    found = compare(ledger, scored_run(ledger, {"a/x": {"c": "right"}, "b/y": {"c": "wrong"}}))
    exact = only(found)
    assert (exact.pairs, exact.only_a, exact.p, exact.interval, exact.verdict) == (1, 1, 1.0, None, "inconclusive")
    assert "With 1 paired case, any true difference may well go unnoticed" in text(found)


def test_without_a_measured_pair_there_is_no_data_and_no_zero(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": {"c": "right", "d": "error"}, "b/y": {"c": "refused", "d": "wrong"}})
    found = compare(ledger, run)
    exact = only(found)
    assert (exact.pairs, exact.a.rate, exact.difference, exact.p, exact.both) == (0, None, None, None, None)
    assert exact.verdict == "no_data"
    assert json.loads(json.dumps(found.as_json()))["comparisons"][0]["metrics"][0]["verdict"] == "no_data"
    assert "exact: no data; none of the 2 cases that it applies to has figures on both sides" in text(found)


def test_a_metric_where_lower_is_better_says_so_and_counts_what_fired(ledger: Ledger) -> None:
    lines = [case_line(name, gold=NEGATIVE) for name in TWELVE]
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 12), "b/y": outcomes(TWELVE, 2)}, lines=lines)
    found = only(compare(ledger, run), "false_fire")
    assert (found.a.k, found.b.k, found.only_b) == (0, 10, 10)
    assert found.higher_is_better is False
    assert found.sentence().endswith("lower is better")
    assert found.verdict == "b_higher"


# Repeats


def test_repeats_of_a_case_are_one_cluster_and_no_p_is_made_of_them(ledger: Ledger) -> None:
    names = TWELVE[:8]
    a = {name: ["right", "right", "wrong"] for name in names}
    b = {name: ["wrong", "wrong", "right"] for name in names}
    found = compare(ledger, scored_run(ledger, {"a/x": a, "b/y": b}, epochs=3))
    exact = only(found)
    assert (exact.pairs, exact.a.k, exact.a.n, exact.b.k, exact.b.n) == (8, 16, 24, 8, 24)
    assert (exact.p, exact.both, exact.only_a) == (None, None, None)
    assert exact.no_p == "repeats of a case aren't independent"
    assert exact.difference == pytest.approx(1 / 3)
    assert (exact.interval.clusters, exact.interval.spread) == (8, False)
    row = {"cases": 8, "repeated": 8, "changed": 8}
    assert found.pairs[0].repeatability == {"a": row, "b": row}
    said = text(found)
    assert "exact McNemar not computed: repeats of a case aren't independent" in said
    assert "A: 8 of 8 repeated cases changed outcome between identical repeats" in said


def test_a_repeat_that_failed_is_missing_and_its_case_still_counts_once(ledger: Ledger) -> None:
    a = {"c": ["right", "error"], "d": ["wrong", "wrong"], "e": ["right", "right"]}
    b = {"c": ["wrong", "wrong"], "d": ["wrong", "wrong"], "e": ["wrong", "right"]}
    found = compare(ledger, scored_run(ledger, {"a/x": a, "b/y": b}, epochs=2))
    exact = only(found)
    assert (exact.pairs, exact.a.n, exact.b.n) == (3, 5, 6)
    assert exact.difference == pytest.approx((1 + 0 + 0.5) / 3)
    assert exact.verdict == "inconclusive"
    ((missing),) = found.pairs[0].missing
    assert (missing.side, missing.case, missing.epoch, missing.reason) == ("a", "one/c", 1, "timeout")


def test_few_cases_decide_nothing_however_alike_they_moved(ledger: Ledger) -> None:
    names = TWELVE[:5]
    a, b = ({name: [word, word] for name in names} for word in ("right", "wrong"))
    found = only(compare(ledger, scored_run(ledger, {"a/x": a, "b/y": b}, epochs=2)))
    assert (found.interval.low, found.interval.high, found.verdict) == (1, 1, "inconclusive")
    assert "only 5 cases differ" in found.why


# What may be named


def test_two_runs_compare_their_single_candidates_or_their_common_labels(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)}, name="first")
    b = scored_run(ledger, {"b/y": outcomes(TWELVE, 5)}, name="second")
    (pair,) = compare(ledger, "first", "second").pairs
    assert (pair.duel.a.run, pair.duel.a.candidate, pair.duel.b.run, pair.duel.b.candidate) == (a, "a/x", b, "b/y")
    for name in ("third", "fourth"):
        scored_run(ledger, {label: outcomes(TWELVE, 4) for label in ("a/x", "b/y", "c/z")}, name=name)
    found = compare(ledger, "third", "fourth")
    assert [(each.duel.a.candidate, each.duel.b.candidate) for each in found.pairs] == [
        (label, label) for label in ("a/x", "b/y", "c/z")
    ]


def test_a_label_may_hold_at_signs_slashes_and_colons_and_so_may_a_runs_name(ledger: Ledger) -> None:
    labels = ["ollama/llama3.2:3b@q4/x", "a/b@c:d"]
    run = scored_run(ledger, {label: outcomes(TWELVE, 3) for label in labels}, name="mine@home")
    for a in (run, "mine@home", "latest"):
        (pair,) = compare(ledger, f"{a}@{labels[1]}", f"{a}@{labels[0]}").pairs
        assert [pair.duel.a.candidate, pair.duel.b.candidate] == labels[::-1]
    assert [each.duel.a.candidate for each in compare(ledger, "mine@home").pairs] == [labels[0]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("three",), "has 3 candidates; name two: "),
        (("single",), "alone can't be compared"),
        (("single", "single"), "A and B name the same numbers"),
        (("single@a/x", "single"), "A and B name the same numbers"),
        (("single@nobody", "three"), "has no candidate 'nobody'"),
        (("single", "three@nobody"), "it has "),
        (("single@z", "three@a/x"), "single"),
        (("other", "three"), "it isn't clear which candidates"),
        (("three", "three"), "A and B name the same numbers"),
    ],
)
def test_what_can_not_be_compared_is_refused_with_what_can_be_named(
    ledger: Ledger, arguments: tuple[str, ...], said: str
) -> None:
    scored_run(ledger, {label: outcomes(TWELVE, 3) for label in ("a/x", "b/y", "c/z")}, name="three")
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)}, name="single")
    scored_run(ledger, {"q/q": outcomes(TWELVE, 3)}, name="other")
    with pytest.raises(UsageError) as problem:
        compare(ledger, *arguments)
    assert said.replace("single", run) in str(problem.value)


def test_runs_rules_and_metrics_that_are_not_there_are_named_beside_what_is(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 3), "b/y": outcomes(TWELVE, 3)})
    with pytest.raises(NotFound, match="no run fits 'nope@x'"):
        compare(ledger, "nope@x", run)
    label = rule_set().label
    with pytest.raises(UsageError, match=f"was not scored under 'fence-cite'; it has {label}"):
        compare(ledger, run, rules=["fence-cite"])
    with pytest.raises(UsageError, match=r"--metric: expected one of .*exact.*, got 'wit'"):
        compare(ledger, run, metrics=["wit"])
    with pytest.raises(UsageError, match="both --rules name"):
        compare(ledger, run, rules=["strict-cite", label])
    assert [each.metric for each in compare(ledger, run, metrics=["direction"]).pairs[0].metrics] == ["direction"]


def test_the_default_is_every_rule_set_that_both_runs_have(ledger: Ledger) -> None:
    both = [rule_set("strict-cite"), rule_set("fence-cite")]
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)}, rules=both)
    b = scored_run(ledger, {"b/y": outcomes(TWELVE, 3)}, rules=[*both[::-1], rule_set("fence-span")])
    assert [each.duel.b.rules for each in compare(ledger, a, b).pairs] == [each.label for each in both]
    c = scored_run(ledger, {"b/y": outcomes(TWELVE, 3)}, rules=[rule_set("strict-span")])
    assert refused(ledger, a, c) == {"rules"}
    (pair,) = compare(ledger, a, c).pairs
    assert "strict-cite@" in pair.comparability.moved[0].where
    assert "strict-span@" in pair.comparability.moved[0].where


def test_a_probe_is_not_compared(ledger: Ledger, tmp_path: Path) -> None:
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)})
    plan = ledger.body(next(ledger.events(kind="plan")))
    assert isinstance(plan, Plan)
    probe = plan.model_copy(update={"purpose": "probe", "name": "sounding"})
    ledger.append(Draft(probe, run="probe00000000000", causes=[3]))
    with pytest.raises(UsageError, match="is a probe, which no scoreboard counts"):
        compare(ledger, "sounding", run)


# What weakens the numbers


def test_a_superseded_and_a_tainted_side_is_said_above_the_numbers(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)})
    b = scored_run(ledger, {"b/y": outcomes(TWELVE, 3)})
    target = Target(what="run", id=a)
    ledger.append(Draft(Supersede(target=target, by=None, category="parser", reason="read \x1b[31mwrongly")))
    ledger.append(Draft(Taint(target=Target(what="candidate", id="b/y"), reason="another model")))
    found = compare(ledger, a, b)
    assert not found.refused
    assert found.pairs[0].warnings[0].startswith("A: SUPERSEDED without a successor (event ")
    assert any(each.startswith("B: TAINTED by event ") for each in found.pairs[0].warnings)
    said = text(found)
    assert said.index("SUPERSEDED") < said.index("exact*")


def test_what_rests_on_withheld_evidence_is_marked_and_a_withheld_cell_is_missing_not_guessed(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 3), "b/y": outcomes(TWELVE, 3)})
    cell = next(event for event in ledger.events(kind="cell", run=run) if event.cell == 2)
    redact(ledger.path, find_targets(ledger, [str(cell.seq)]), category="other", reason="a test")
    found = compare(ledger, run)
    (pair,) = found.pairs
    assert any("A: NOT REPRODUCIBLE: 1 of the scores" in each for each in pair.warnings)
    assert only(found).pairs == 11
    told = [(each.side, each.why, each.cell) for each in pair.missing]
    assert told == [("a", "not planned", None), ("a", "withheld", 2)]


def test_an_open_run_says_that_it_did_not_end(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": {"c": "right", "d": "wrong"}})
    b = scored_run(ledger, {"b/y": {"c": "right"}}, lines=[case_line("c"), case_line("d")], closed=False)
    found = compare(ledger, a, b)
    assert "B: INTERRUPTED: the run did not end as planned" in found.pairs[0].warnings
    ((missing),) = found.pairs[0].missing
    assert (missing.side, missing.case, missing.why, missing.reason) == ("b", "one/d", "unmeasured", "not_asked")


def test_a_candidate_that_several_models_answered_is_named(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 3), "b/y": outcomes(TWELVE, 3)}, models={"a/x": ["x-1", "x-2"]})
    said = compare(ledger, run).pairs[0].warnings
    assert any(each.startswith("A: a/x: answered by 2 models: x-1 (") and "x-2 (" in each for each in said)


def test_hostile_labels_and_case_ids_reach_no_terminal_unescaped(
    ledger: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    label, case = "a/\x1b[31mx\u202e\n", "one\u202etwo [b]x[/b]"
    run = scored_run(ledger, {label: {case: "right"}, "b/y": {case: "error"}})
    assert run_app(app, "harness", ["compare", run, "--db", str(ledger.path)]) == 0
    out = capsys.readouterr().out
    assert not set(out) & {"\x1b", "\u202e"}
    assert f"{run}@a/\\x1b[31mx\\u202e\\n under" in out
    assert "one\\u202etwo [b]x[/b]" in out
    assert run_app(app, "harness", ["compare", run, "--db", str(ledger.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["a"]["candidate"] == label


# What isn't comparable


def refused(ledger: Ledger, *arguments: str, **more: Any) -> set[str]:
    found = compare(ledger, *arguments, **more)
    assert found.refused
    assert all(not each.shown and not each.metrics for each in found.pairs)
    assert "NOT COMPARABLE" in text(found)
    forced = compare(ledger, *arguments, force=True, **more)
    assert not forced.refused
    assert text(forced).startswith("!!! NOT COMPARABLE")
    assert any(each.metrics for each in forced.pairs)
    return {each.component for pair in found.pairs for each in pair.comparability.moved}


def test_other_cases_another_gold_other_epochs_and_another_arm_are_each_named(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": {"c": "right", "d": "wrong"}})
    other = scored_run(ledger, {"b/y": {"c": "right", "e": "wrong"}})
    assert refused(ledger, a, other) == {"cases"}
    gold = {**POSITIVE, "expected": [{"type": "supersedes", "source": "M002", "target": "M001"}]}
    moved = scored_run(ledger, {"b/y": {"c": "right", "d": "wrong"}}, lines=[case_line("c", gold=gold), case_line("d")])
    assert refused(ledger, a, moved) == {"gold"}
    twice = scored_run(ledger, {"b/y": {"c": ["right"] * 2, "d": ["wrong"] * 2}}, epochs=2)
    assert refused(ledger, a, twice) == {"epochs"}
    armed = scored_run(ledger, {"b/y": {"c": "right", "d": "wrong"}}, arm="told")
    assert refused(ledger, a, armed) == {"arm"}
    everything = scored_run(
        ledger, {"b/y": {"c": ["right"] * 2}}, lines=[case_line("c", gold=gold)], epochs=2, arm="told"
    )
    assert refused(ledger, a, everything) == {"cases", "gold", "epochs", "arm"}
    assert only(compare(ledger, a, armed, force=True)).pairs == 2, "forced, a case is the same in either arm"


def test_the_moved_cases_are_named_by_what_people_call_them(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": {"c": "right", "d": "wrong"}})
    b = scored_run(ledger, {"b/y": {"c": "right", "e": "wrong"}}, fixture="two")
    (moved,) = compare(ledger, a, b).pairs[0].comparability.moved
    assert moved.paths == ("one/d", "two/e")
    assert "2 cases (1 of them not in B)" in moved.sentence()


def test_an_ask_of_another_suite_is_refused_even_where_the_cases_are_the_same(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)})
    b = scored_run(ledger, {"b/y": outcomes(TWELVE, 3)}, suite=replace(suite_here(), name="seniority", ask="array"))
    assert refused(ledger, a, b) == {"suite", "ask"}
    found = compare(ledger, a, b)
    assert "A is of the suite authority and B of seniority" in text(found) and "no rescore mends that" in text(found)
    assert found.pairs[0].comparability.mend == () and "harness rescore" not in text(found)


def test_with_repeats_the_table_has_no_empty_columns_and_no_legend_of_them(ledger: Ledger) -> None:
    several = {name: ["right", "wrong"] for name in TWELVE}
    run = scored_run(ledger, {"a/x": several, "b/y": several}, epochs=2)  # type: ignore[arg-type]
    said = text(compare(ledger, run))
    assert "A - B" in said and "only A" not in said and "neither" not in said and "McNemar p " not in said
    once = scored_run(ledger, {"a/x": outcomes(TWELVE, 2), "b/y": outcomes(TWELVE, 5)})
    assert "only A" in text(compare(ledger, once))


def test_the_same_candidate_must_be_answered_by_the_same_model(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)}, models={"a/x": ["x-2024"]})
    b = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)}, models={"a/x": ["x-2025"]})
    assert refused(ledger, a, b) == {"model"}
    sentence = compare(ledger, a, b).pairs[0].comparability.moved[0].sentence()
    assert "as the server resolved it) moved from x-2024 to x-2025" in sentence
    c = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)}, models={"a/x": ["x-2024"]})
    assert not compare(ledger, a, c).refused
    told = {"a/x": {"weights": "sha256:" + "1" * 64}}, {"a/x": {"weights": "sha256:" + "2" * 64}}
    d, e = (scored_run(ledger, {"a/x": outcomes(TWELVE, 3)}, servers=each) for each in told)
    assert refused(ledger, d, e) == {"model"}


def test_one_label_with_another_prompt_is_another_candidate_and_what_differs_is_named(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)})
    prompt = suite_here().prompt + "\nThink."
    b = scored_run(
        ledger, {"a/x": outcomes(TWELVE, 3)}, models={"a/x": ["another"]},
        candidates={"a/x": {"prompt": prompt, "prompt_digest": "0" * 64, "parameters": {"temperature": 1}}},
    )  # fmt: skip
    found = compare(ledger, a, b)
    assert not found.refused, "the candidate is what may differ, its model with it"
    assert found.pairs[0].comparability.candidate == ("prompt", "temperature")
    assert "The candidates differ in: prompt, temperature" in text(found)


def test_a_rule_file_of_the_same_name_that_says_something_else_is_refused_with_its_section(ledger: Ledger) -> None:
    strict = rule_set()
    file = strict.file.replace(b"min_confidence = 0.60", b"min_confidence = 0.70")
    assert file != strict.file
    other = ruleset_from_frozen("strict-cite", file, "authority", strict.sources)
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)})
    b = scored_run(ledger, {"b/y": outcomes(TWELVE, 3)}, rules=[other])
    assert refused(ledger, a, b) == {"rules"}
    (moved,) = compare(ledger, a, b).pairs[0].comparability.moved
    assert moved.paths == ("confirm",)
    assert "harness rescore" in compare(ledger, a, b).pairs[0].comparability.mend[0]


def test_nothing_is_written_by_a_comparison(ledger: Ledger) -> None:
    run = scored_run(ledger, {"a/x": outcomes(TWELVE, 3), "b/y": outcomes(TWELVE, 5)})
    before = ledger.head()
    with Ledger.open(ledger.path, read_only=True) as reader:
        compare(reader, run)
    assert ledger.head() == before


def test_a_side_whose_frozen_fixture_was_superseded_says_so_above_the_numbers(ledger: Ledger) -> None:
    a = scored_run(ledger, {"a/x": outcomes(TWELVE, 3)})
    b = scored_run(ledger, {"b/y": outcomes(TWELVE, 3)})
    plan = ledger.body(next(ledger.events(kind="plan", run=a)))
    assert isinstance(plan, Plan)
    target = Target(what="freeze", id=str(plan.fixtures[0].freeze))
    ledger.append(Draft(Supersede(target=target, by=None, category="fixture", reason="one gold is wrong")))
    found = compare(ledger, a, b)
    assert any("it rests on event" in each and "one gold is wrong" in each for each in found.pairs[0].warnings)
