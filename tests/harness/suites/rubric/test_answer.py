"""The normaliser: exactly one vector, or the reason why there is none; claims classed and never believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.suites import Answer
from tests.harness.suites.rubric.graded import RUBRIC, case_of, criterion, graded, rule_file, rules_of

# Weights that no float holds, scales that don't start at 0, flags, a threshold that is met exactly by 3 of 4.
WEIGHTS = {"a": "0.1", "b": "0.2", "c": "0.1"}
SCALES = {"a": (0, 1), "b": (-2, 2), "c": (1, 4)}
FILE = rule_file(
    "".join(criterion(name, weight, *SCALES[name]) for name, weight in WEIGHTS.items()), "threshold = 0.75",
    flags=("x", "y"), reply='total = "weighted"\ncomments = ["notes", "why"]',
)  # fmt: skip
GOOD: dict[str, Any] = {"a": 1, "b": 2, "c": 1, "flags": []}
CYRILLIC = "\u0430"
PLAIN = rule_file(criterion("a") + criterion("b"), "all_at_least = 1")


def answer(reply: Any, file: bytes = FILE) -> Answer:
    assert RUBRIC.answer is not None
    return RUBRIC.answer(reply, case_of().input, rules_of(file).score)


def value(reply: Any, file: bytes = FILE) -> dict[str, Any]:
    found = answer(reply, file)
    assert found.status == "parsed", found.reason
    assert isinstance(found.value, dict)
    return found.value


def without(*keys: str, **more: Any) -> dict[str, Any]:
    return {**{key: each for key, each in GOOD.items() if key not in keys}, **more}


def test_a_judgement_says_its_layers_and_its_claims_apart() -> None:
    assert value({**GOOD, "total": Decimal("0.6"), "verdict": "Pass"}) == {
        "scores": {"a": 1, "b": 2, "c": 1}, "flags": [], "total": "0.6", "total_class": "match", "said": "pass",
        "claim": "match", "sum": 4, "weighted": "0.6", "share": "3/4", "quality": "pass", "security": "clear",
        "verdict": "pass", "blocked_by": [],
    }  # fmt: skip


def test_a_vector_under_scores_is_the_same_as_one_at_the_top() -> None:
    nested = {"scores": {name: GOOD[name] for name in WEIGHTS}, "flags": []}
    assert value(nested) == value(GOOD)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({**GOOD, "scores": {"a": 1, "b": 2, "c": 1}}, "two_vectors"),
        ({"a": 1, "scores": {"a": 0, "b": 0, "c": 1}, "flags": []}, "two_vectors"),
        ({**GOOD, "notes": {"a": 0, "b": 0, "c": 1}}, "two_vectors"),
        ({**GOOD, "why": [{"deep": [{"c": 4, "b": 2, "a": 1, "z": 0}]}]}, "two_vectors"),
        ({**GOOD, "grade": {"a": 0, "b": 0, "c": 1}}, "two_vectors"),
        ({"scores": {"a": 1, "b": 2, "c": 1, "scores": {"a": 0, "b": 0, "c": 1}}, "flags": []}, "two_vectors"),
        ({"grades": {"a": 1, "b": 2, "c": 1}, "flags": []}, "missing_criterion"),
        ({"scores": {}, "notes": {"a": 1, "b": 2, "c": 1}, "flags": []}, "missing_criterion"),
        ({"scores": [1, 2, 1], "flags": []}, "missing_criterion"),
        ({"scores": {}, "flags": []}, "missing_criterion"),
        ({"flags": [], "verdict": "pass", "total": 0.6}, "missing_criterion"),
        (without("a"), "missing_criterion"),
        (without("a", A=1), "missing_criterion"),
        (without("a", **{"a\u200b": 1}), "missing_criterion"),
        (without("a", **{" a": 1}), "missing_criterion"),
        (without("a", **{CYRILLIC: 1}), "missing_criterion"),
        ({**GOOD, "A": 1}, "unexpected_criterion"),
        ({**GOOD, "a\u200b": 1}, "unexpected_criterion"),
        ({**GOOD, "Verdict": "pass"}, "unexpected_criterion"),
        ({**GOOD, "d": 1}, "unexpected_criterion"),
        ({"scores": {"a": 1, "b": 2, "c": 1, "total": 4}, "flags": []}, "unexpected_criterion"),
        ({"scores": {"a": 1, "b": 2, "c": 1, "notes": "n"}, "flags": []}, "unexpected_criterion"),
        ({**GOOD, "a": True}, "score_not_integer"),
        ({**GOOD, "a": None}, "score_not_integer"),
        ({**GOOD, "a": "1"}, "score_not_integer"),
        ({**GOOD, "b": "2/2"}, "score_not_integer"),
        ({**GOOD, "a": []}, "score_not_integer"),
        ({**GOOD, "a": {"score": 1, "why": "good"}}, "score_not_integer"),
        ({**GOOD, "a": Decimal("1.0")}, "score_not_integer"),
        ({**GOOD, "a": Decimal("1e0")}, "score_not_integer"),
        ({**GOOD, "a": Decimal("0.5")}, "score_not_integer"),
        ({**GOOD, "a": Decimal("NaN")}, "score_not_integer"),
        ({**GOOD, "a": 10**30, "b": "2"}, "score_not_integer"),
        ({**GOOD, "a": 2}, "score_out_of_range"),
        ({**GOOD, "b": -3}, "score_out_of_range"),
        ({**GOOD, "c": 0}, "score_out_of_range"),
        ({**GOOD, "a": 10**400}, "score_out_of_range"),
        ({**GOOD, "a": 2, "flags": "no"}, "score_out_of_range"),
        (without("flags"), "missing_flags"),
        ({**GOOD, "flags": {"x": False}}, "missing_flags"),
        ({**GOOD, "flags": {}}, "missing_flags"),
        ({**GOOD, "flags": None}, "bad_flags"),
        ({**GOOD, "flags": "none"}, "bad_flags"),
        ({**GOOD, "flags": False}, "bad_flags"),
        ({**GOOD, "flags": ["z"]}, "bad_flags"),
        ({**GOOD, "flags": ["X"]}, "bad_flags"),
        ({**GOOD, "flags": [["x"]]}, "bad_flags"),
        ({**GOOD, "flags": [{"id": "x"}]}, "bad_flags"),
        ({**GOOD, "flags": {"x": "false", "y": False}}, "bad_flags"),
        ({**GOOD, "flags": {"x": 0, "y": False}}, "bad_flags"),
        ({**GOOD, "flags": {"x": False, "y": False, "z": False}}, "bad_flags"),
    ],
)
def test_what_isnt_one_whole_vector_has_a_reason_and_no_value(reply: Any, reason: str) -> None:
    found = answer(reply)
    assert (found.status, found.reason) == ("ambiguous" if reason == "two_vectors" else "wrong_shape", reason)
    assert found.value is None


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ('{"a": 1, "a": 0, "b": 1}', "malformed", "duplicate_key"),
        ('{"a": 1, "b": 1, "scores": {"a": 1, "b": 0}}', "ambiguous", "two_vectors"),
        ('[{"a": 1, "b": 1}]', "wrong_shape", "list_not_object"),
        ('[{"a": 1, "b": 1}, {"a": 0, "b": 0}]', "wrong_shape", "list_not_object"),
        ('{"a": 1, "b": 1} {"a": 1, "b": 0}', "ambiguous", "two_candidates"),
        ('{"a": 1, "b": 1} {"a": 1, "b": 1}', "ambiguous", "two_candidates"),
        ('As I said: {"a": 1, "b": 1}\n```json\n{"b": 1, "a": 1}\n```', "ambiguous", "two_candidates"),
        ('{"a": 1.0, "b": 1}', "wrong_shape", "score_not_integer"),
        ('{"a": 1e0, "b": 1}', "wrong_shape", "score_not_integer"),
        ('{"a": 1e999999999999999999999, "b": 1}', "malformed", "nonfinite"),
        (f'{{"a": {"9" * 600}, "b": 1}}', "wrong_shape", "score_out_of_range"),
        (f'{{"a": {"9" * 5000}, "b": 1}}', "malformed", "number_too_long"),
        ('{"a": 1, "b": 1, "verdict"', "malformed", "unterminated"),
        ('"pass"', "wrong_shape", "string_not_object"),
        ("true", "wrong_shape", "boolean_not_object"),
        ("null", "wrong_shape", "null_not_object"),
        ("1", "wrong_shape", "number_not_object"),
    ],
)
def test_a_reply_that_cant_be_read_is_unmeasured_blocked_and_never_wrong(text: str, status: str, reason: str) -> None:
    found = graded(PLAIN, text)
    assert (found.outcome, found.status, found.said) == ("unmeasured", status, reason)
    assert (found.value, found.verdict, found.metrics) == (None, "", {})
    assert found.blocked_by == (f"unmeasured:{reason}",)


@pytest.mark.parametrize("value_of_a", [1, 0])
def test_comments_are_no_claims_whatever_they_say(value_of_a: int) -> None:
    loud = {
        "notes": 'verdict: pass {"a": 0, "b": 0, "c": 1}',
        "why": {"a": "good", "b": True, "c": 1, "verdict": "pass"},
    }
    reply = {**GOOD, "a": value_of_a}
    assert value({**reply, **loud}) == value(reply)


def test_flags_that_are_called_like_criteria_are_no_second_vector() -> None:
    file = rule_file(criterion("a") + criterion("b"), "all_at_least = 1", flags=("a", "b"))
    found = value({"scores": {"a": 1, "b": 1}, "flags": {"a": True, "b": False}}, file)
    assert (found["flags"], found["blocked_by"], found["quality"]) == (["a"], ["flag:a"], "pass")


def test_flags_may_be_a_list_or_answered_one_by_one() -> None:
    listed = value({**GOOD, "flags": ["y", "x", "y"]})
    assert listed["flags"] == ["x", "y"]
    assert listed == value({**GOOD, "flags": {"y": True, "x": True}})
    assert (listed["verdict"], listed["quality"], listed["security"]) == ("blocked", "pass", "flagged")
    assert listed["blocked_by"] == ["flag:x", "flag:y"]


def test_where_the_rubric_has_no_flags_none_can_be_raised() -> None:
    for none in ({}, {"flags": []}, {"flags": {}}):
        assert value({"a": 1, "b": 1, **none}, PLAIN)["verdict"] == "pass"
    assert answer({"a": 1, "b": 1, "flags": ["x"]}, PLAIN).reason == "bad_flags"


@pytest.mark.parametrize(
    ("total", "kind", "written"),
    [
        (Decimal("0.6"), "match", "0.6"),
        (Decimal("0.60000"), "match", "0.60000"),
        (Decimal("6e-1"), "match", "0.6"),
        (Decimal("0.6000000000000001"), "differs", "0.6000000000000001"),
        (Decimal("0.59999999999999997779"), "differs", "0.59999999999999997779"),
        (4, "differs", "4"),
        (-1, "differs", "-1"),
        (10**400, "differs", None),
        (Decimal("1e999999999"), "differs", "1E+999999999"),
        ("0.6", "invalid", None),
        ("six", "invalid", None),
        (True, "invalid", None),
        ([0.6], "invalid", None),
        ({"sum": 1}, "invalid", None),
        (Decimal("NaN"), "invalid", None),
        (None, "missing", None),
    ],
)
def test_a_total_is_held_exactly_against_the_scores(total: Any, kind: str, written: str | None) -> None:
    found = value({**GOOD, "total": total})
    assert (found["total_class"], found["total"]) == (kind, written)
    assert found["verdict"] == "pass"


def test_a_total_is_a_plain_sum_unless_the_rubric_says_otherwise() -> None:
    by = {kind: rule_file(criterion("a", "2", 0, 5) + criterion("b"), "threshold = 1", reply=f'total = "{kind}"')
          for kind in ("sum", "weighted", "none")}  # fmt: skip
    classes = {
        kind: [value({"a": 3, "b": 1, "total": n}, file)["total_class"] for n in (4, 7)] for kind, file in by.items()
    }
    assert classes == {"sum": ["match", "differs"], "weighted": ["differs", "match"], "none": ["missing", "missing"]}


@pytest.mark.parametrize(
    ("verdict", "said", "claim"),
    [
        ("pass", "pass", "match"),
        (" PASS\n", "pass", "match"),
        ("\u00a0Accept\u2003", "pass", "match"),
        ("reject", "fail", "fail_over_pass"),
        ("FAIL", "fail", "fail_over_pass"),
        ("pass.", None, "invalid"),
        ("**pass**", None, "invalid"),
        ("not pass", None, "invalid"),
        ("pa\u200bss", None, "invalid"),
        ("\uff30\uff21\uff33\uff33", None, "invalid"),
        ("blocked", None, "invalid"),
        ("", None, "invalid"),
        (["pass"], None, "invalid"),
        ({"pass": True}, None, "invalid"),
        (True, None, "invalid"),
        (1, None, "invalid"),
        (None, None, "missing"),
    ],
)
def test_a_verdict_is_one_of_the_words_of_the_rubric_or_no_verdict(verdict: Any, said: str | None, claim: str) -> None:
    words = 'verdicts = { pass = ["pass", "Accept"], fail = ["fail", "reject"] }'
    file = rule_file(criterion("a"), "threshold = 1", reply=words)
    found = value({"a": 1, "verdict": verdict}, file)
    assert (found["said"], found["claim"], found["verdict"]) == (said, claim, "pass")


def test_saying_pass_over_a_raised_flag_is_a_contradiction_too() -> None:
    found = value({**GOOD, "flags": ["x"], "verdict": "pass"})
    assert (found["claim"], found["verdict"], found["quality"]) == ("pass_over_fail", "blocked", "pass")
    assert value({**GOOD, "flags": ["x"], "verdict": "fail"})["claim"] == "match"


def test_a_megabyte_of_reply_is_read_like_any_other() -> None:
    padding = {"notes": [{"a": "x" * 1000, "b": [[]] * 20, "c": {}}] * 990}
    assert len(json.dumps(padding)) > 1_000_000
    found = graded(FILE, {**GOOD, **padding, "verdict": "x" * 1000})
    assert (found.outcome, found.verdict, found.classes["claim"]) == ("graded", "pass", "invalid")


numbers = st.one_of(st.integers(-5, 5), st.integers(), st.decimals(allow_nan=True), st.booleans())
json_values = st.recursive(
    st.one_of(st.none(), numbers, st.sampled_from(["pass", "fail", "x", "1", "a"]), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["a", "b", "c", "flags", "scores", "total", "verdict", "notes", "x", "y", "z"]),
                        inner, max_size=9),
    ),
    max_leaves=15,
)  # fmt: skip


@settings(max_examples=60)
@given(json_values)
@example({"scores": {"a": 1, "b": 2, "c": 4}, "flags": ["x"], "total": 7, "verdict": "pass"})
def test_no_json_makes_it_raise_and_none_measures_a_score_off_its_scale(reply: Any) -> None:
    misfit, shaped = RUBRIC.schema(reply)
    found = answer(shaped)
    assert misfit is None or found.status != "parsed"
    if found.status != "parsed":
        assert found.reason
        return
    assert isinstance(found.value, Mapping)
    scores = found.value["scores"]
    assert isinstance(scores, Mapping)
    assert set(scores) == set(WEIGHTS)
    for name, score in scores.items():
        assert type(score) is int
        assert SCALES[name][0] <= score <= SCALES[name][1]
    RUBRIC.confirm(found.value, case_of().input, rules_of(FILE).confirm)


@st.composite
def judgements(draw: st.DrawFn) -> dict[str, Any]:
    """Whole vectors on their scales, with flags."""
    scores = {name: draw(st.integers(*scale)) for name, scale in SCALES.items()}
    return {**scores, "flags": draw(st.lists(st.sampled_from(["x", "y"]), unique=True))}


def oracle(reply: Mapping[str, Any], threshold: Fraction) -> str:
    """Worked out anew, in whole numbers: weights in tenths over a common denominator of the scales (1, 4, 3)."""
    points = 1 * 12 * (reply["a"] - 0) + 2 * 3 * (reply["b"] + 2) + 1 * 4 * (reply["c"] - 1)
    passes = Fraction(points, 4 * 12) >= threshold
    return "blocked" if reply["flags"] else "pass" if passes else "fail"


@given(judgements())
@example({"a": 1, "b": 2, "c": 1, "flags": []})
def test_the_verdict_is_what_whole_numbers_come_to(reply: dict[str, Any]) -> None:
    assert value(reply)["verdict"] == oracle(reply, Fraction(3, 4))


@settings(max_examples=40)
@given(judgements(), json_values, json_values)
def test_what_the_judge_says_of_total_and_verdict_changes_nothing_but_their_classes(
    reply: dict[str, Any], total: Any, verdict: Any
) -> None:
    said = answer({**reply, "total": total, "verdict": verdict})
    plain = value(reply)
    if said.reason == "two_vectors":
        return  # a total that is a vector is a vector too many
    assert isinstance(said.value, dict)
    claims = {"total", "total_class", "said", "claim"}
    assert {key: each for key, each in said.value.items() if key not in claims} == {
        key: each for key, each in plain.items() if key not in claims
    }
