"""A rubric out of a rule file's tables, and what scores come to under it: exact, whatever the weights."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judging import Rubric, exact, judge, read_rubric

DIGEST = "ab" * 32
A: dict[str, Any] = {"id": "a", "weight": 1, "description": "A."}


def table(*criteria: Any, **more: Any) -> dict[str, Any]:
    return {"rubric": DIGEST, "criteria": list(criteria) or [A], "policy": {"threshold": Decimal("0.75")}, **more}


def test_what_isnt_said_has_a_default() -> None:
    rubric = read_rubric(table({"id": "a"}))
    (criterion,) = rubric.criteria
    assert (criterion.name, criterion.weight, criterion.least, criterion.most) == ("a", 1, 0, 1)
    assert (rubric.flags, rubric.reply.total, rubric.reply.passes, rubric.reply.fails) == (
        (),
        "sum",
        ("pass",),
        ("fail",),
    )
    assert Rubric.of_rules(rubric.as_rules()) == rubric


@pytest.mark.parametrize("weight", [Decimal("0.25"), "0.25"])
def test_a_weight_is_the_number_that_is_written(weight: Any) -> None:
    (criterion,) = read_rubric(table({**A, "weight": weight})).criteria
    assert (criterion.weight, criterion.weight_text) == (Fraction(1, 4), "0.25")


@pytest.mark.parametrize(
    ("said", "share"),
    [(Decimal("0.75"), "3/4"), ("2/3", "2/3"), (1, "1"), ("0.1", "1/10"),
     (Decimal("0.6666666666666666"), "6666666666666666/10000000000000000")],
)  # fmt: skip
def test_a_threshold_is_exact(said: Any, share: str) -> None:
    assert read_rubric(table(policy={"threshold": said})).policy.share == Fraction(share)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"rubric": "x"}, "rubric: expected the digest"),
        ({"criteria": []}, "[[criteria]]: expected at least one"),
        ({"criteria": {}}, "[[criteria]]: expected a list of tables"),
        ({"criteria": [A] * 65}, "[[criteria]]: expected at most 64, got 65"),
        ({"criteria": [A, A]}, "[[criteria]]: id 'a' stands twice"),
        ({"criteria": [A, {**A, "id": "A"}]}, "[[criteria]]: ids 'a' and 'A' differ in case alone"),
        *(({"criteria": [{**A, "id": name}]}, f"[[criteria]] 1: id: '{name}' is a key of every judge's reply")
          for name in ("total", "verdict", "flags", "scores")),
        *(({"criteria": [{**A, "id": name}]}, "[[criteria]] 1: id: expected a letter")
          for name in ("", "1a", "a b", "a.b", "é", "a\n", "a\u200b", 3, None)),
        ({"criteria": [{**A, "colour": 1}]}, "[[criteria]] 1: unknown key 'colour'"),
        ({"criteria": ["a"]}, "[[criteria]] 1: expected a table"),
        ({"criteria": [{**A, "min": 1}]}, "[[criteria]] 1 (a): expected min below max, got 1 and 1"),
        ({"criteria": [{**A, "max": Decimal("1.5")}]}, "[[criteria]] 1: max: expected a whole number"),
        ({"criteria": [{**A, "max": True}]}, "[[criteria]] 1: max: expected a whole number"),
        ({"criteria": [{**A, "max": 10**9}]}, "[[criteria]] 1: max: expected a whole number of at most 1000000"),
        *(({"criteria": [{**A, "weight": weight}]}, "[[criteria]] 1 (a): weight: expected a number")
          for weight in (0, -1, True, "1e3", Decimal("NaN"), Decimal("Infinity"), "x", Decimal("1e-30"), [])),
        ({"criteria": [{**A, "description": 1}]}, "[[criteria]] 1: description: expected text"),
        ({"flags": [{"id": "f"}, {"id": "f"}]}, "[[flags]]: id 'f' stands twice"),
        ({"flags": [{"id": "f", "weight": 1}]}, "[[flags]] 1: unknown key 'weight'"),
        ({"policy": None}, "[policy]: expected threshold or all_at_least, exactly one of the two, got none"),
        ({"policy": {"threshold": 1, "all_at_least": 1}}, "[policy]: expected threshold or all_at_least, exactly one"),
        ({"policy": {"threshold": 0}}, "[policy] threshold: expected a share above 0"),
        ({"policy": {"threshold": Decimal("1.01")}}, "[policy] threshold: expected a share above 0 and at most 1"),
        ({"policy": {"threshold": "3/0"}}, "[policy] threshold: expected a number"),
        ({"policy": {"all_at_least": 2}}, "[policy] all_at_least: a: expected a number of its scale, 0 to 1, got 2"),
        ({"policy": {"all_at_least": {"b": 1}}}, "[policy] all_at_least: 'b' is no criterion; there are a"),
        ({"policy": {"all_at_least": {}}}, "[policy] all_at_least: expected a number, or one a criterion"),
        ({"policy": {"all_at_least": "1"}}, "[policy] all_at_least: a: expected a whole number"),
        ({"reply": {"total": "mean"}}, "[reply] total: expected one of sum, weighted, none, got 'mean'"),
        ({"reply": {"verdicts": {"pass": ["ok"]}}}, "[reply] verdicts.fail: expected a list of words"),
        ({"reply": {"verdicts": {"pass": ["OK "], "fail": ["ok"]}}}, "[reply] verdicts: 'ok' stands under pass and"),
        ({"reply": {"verdicts": {"pass": [" "], "fail": ["no"]}}}, "[reply] verdicts.pass: expected a list of words"),
        ({"reply": {"comments": ["total"]}}, "[reply] comments: 'total' is a claim"),
        ({"reply": {"comments": "notes"}}, "[reply] comments: expected a list of keys"),
    ],
)  # fmt: skip
def test_a_rubric_that_wont_do_is_told_in_a_sentence(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_rubric({**table(), **more})
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


tenths = st.integers(1, 50)


@given(st.lists(st.tuples(tenths, st.integers(-3, 3), st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=5),
       st.integers(1, 100))  # fmt: skip
def test_a_verdict_is_what_whole_numbers_come_to(rows: list[tuple[int, int, int, int]], percent: int) -> None:
    criteria = [
        {"id": f"c{at}", "weight": Decimal(weight) / 10, "min": least, "max": least + width}
        for at, (weight, least, width, _) in enumerate(rows)
    ]
    rubric = read_rubric(table(*criteria, policy={"threshold": Decimal(percent) / 100}))
    scores = {f"c{at}": least + min(up, width) for at, (_, least, width, up) in enumerate(rows)}
    # Over the common denominator of every scale: no fraction, no float.
    common = 60
    reached = sum(weight * min(up, width) * (common // width) for weight, _, width, up in rows)
    everything = sum(weight for weight, *_ in rows) * common
    found = judge(rubric, scores, ())
    assert (found.quality == "pass") == (100 * reached >= percent * everything)
    assert found.share == Fraction(reached, everything)
    assert found.weighted == Fraction(sum(row[0] * scores[f"c{at}"] for at, row in enumerate(rows)), 10)
    assert Fraction(exact(found.weighted)) == found.weighted
    assert found.blocked_by == (() if found.quality == "pass" else ("threshold",))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0"),
        ("12", "12"),
        ("-1/2", "-0.5"),
        ("1/1000", "0.001"),
        ("-3", "-3"),
        ("2/3", "2/3"),
        ("901/100", "9.01"),
    ],
)
def test_a_number_is_written_exactly(number: str, text: str) -> None:
    assert exact(Fraction(number)) == text
