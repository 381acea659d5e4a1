"""Conditions on cases: a small grammar, read whole, and a sentence for whatever fits nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import UsageError
from harness._filter import filters_text, group_of, keep, read_filters
from harness._suite import Case


def case(name: str, meta: Any = None, *, text: str = "") -> tuple[str, Case]:
    return "v0", Case(name, '"?"', '"!"', text or json.dumps(meta if meta is not None else {}), 1)


CASES = [
    case("a", {"topic": "law", "level": 1, "tags": ["eu", "old"], "by": {"who": "ann"}, "ok": True}),
    case("b", {"topic": "tax", "level": 2.5, "tags": ["eu"], "by": {"who": "bob"}, "ok": False}),
    case("c", {"topic": "law and tax", "level": 10, "x.y": "dotted", "none": None}),
    case("d"),
]


def kept(*texts: str) -> str:
    return "".join(found.id for _, found in keep(CASES, read_filters(texts)))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("meta.topic=law", "a"),
        (" meta.topic = law ", "a"),
        ('meta.topic="law"', "a"),
        ("meta.topic!=law", "bcd"),
        ("meta.topic~law", "ac"),
        ("meta.level=1", "a"),
        ("meta.level=1.0", "a"),
        ("meta.level=2.50", "b"),
        ("meta.level<10", "ab"),
        ("meta.level<=10", "abc"),
        ("meta.level>2.4", "bc"),
        ("meta.level>=1e1", "c"),
        ("meta.tags=eu", "ab"),
        ("meta.tags!=old", "bcd"),
        ("meta.by.who=bob", "b"),
        ("meta.x.y=dotted", "c"),
        ("meta.ok=true", "a"),
        ("meta.none=null", "c"),
        ("id=d", "d"),
        ("fixture=v0", "abcd"),
    ],
)
def test_a_condition_keeps_the_cases_that_meet_it(text: str, ids: str) -> None:
    assert kept(text) == ids


def test_several_conditions_are_all_to_be_met() -> None:
    assert kept("meta.tags=eu", "meta.level>1") == "b"
    assert filters_text(read_filters(["meta.tags=eu", "meta.level>1"])) == "meta.tags=eu and meta.level>1"


def test_a_number_is_never_below_a_text_and_a_text_never_below_a_number() -> None:
    cases = [case("a", {"level": "3"}), case("b", {"level": 2})]
    assert [found.id for _, found in keep(cases, read_filters(["meta.level<9"]))] == ["b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("meta.topic", "expected KEY=VALUE"),
        ("=law", "expected KEY=VALUE"),
        ("topic=law", "expected id, fixture or meta.NAME, got 'topic'; a case's own label is meta.topic"),
        ("meta.=law", "expected id, fixture or meta.NAME"),
        ("meta.topic==law", "expected one ="),
        ("meta.level<many", "compares numbers, and 'many'"),
        ("meta.topic~", "expected something that the text must hold"),
        ('meta.topic="a\\"', "expected a JSON string"),
    ],
)
def test_what_is_no_condition_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_filters([text])
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_a_condition_that_no_case_meets_lists_the_values_there_are() -> None:
    with pytest.raises(UsageError, match=r"no case fits; meta.topic is law, law and tax, tax"):
        kept("meta.topic=lww")


def test_a_key_that_no_case_has_lists_the_keys_there_are_and_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"no case has 'meta.topik'; did you mean meta.topic. there are id, fixture, m"
    ):
        kept("meta.topik=law")


def test_conditions_that_are_met_alone_and_never_together_say_so() -> None:
    with pytest.raises(UsageError, match=r"no case fits all of the conditions; alone, meta.topic=law fits 1, meta.lev"):
        kept("meta.topic=law", "meta.level>2")


def test_groups_are_values_as_text_and_a_case_without_the_key_has_none() -> None:
    assert [group_of("meta.level", *each) for each in CASES] == ["1", "2.5", "10", None]
    assert [group_of("meta.ok", *each) for each in CASES] == ["true", "false", None, None]
    assert group_of("meta.tags", *CASES[0]) == '["eu", "old"]'
    assert group_of("meta.none", *CASES[2]) == "null"


def test_numbers_of_one_value_are_one_group_however_they_are_written() -> None:
    texts = ("100", "1e2", "100.0", "1.00E+2")
    assert {group_of("meta.n", *case("a", text=f'{{"n": {text}}}')) for text in texts} == {"100"}


@given(st.text(min_size=1).filter(lambda text: text == text.strip() and not text.startswith(("=", '"'))))
def test_any_text_is_found_by_its_own_value_and_left_out_by_its_negation(value: str) -> None:
    cases = [case("mine", {"k": value}), case("other", {"k": value + "x"})]
    assert [found.id for _, found in keep(cases, read_filters([f"meta.k={value}"]))] == ["mine"]
    assert [found.id for _, found in keep(cases, read_filters([f"meta.k!={value}"]))] == ["other"]


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_below_and_not_below_part_the_numbers(value: int, limit: int) -> None:
    below, above = read_filters([f"meta.n<{limit}", f"meta.n>={limit}"])
    place = case("a", {"n": value})
    assert below.fits(*place) == (value < limit) != above.fits(*place)


@pytest.mark.parametrize("text", ["meta.k= law", "meta.k=law ", "meta.k!=\u00a0law", "meta.k~ law", "meta.k=\tlaw"])
def test_white_space_that_a_value_may_have_is_never_trimmed_without_a_word(text: str) -> None:
    with pytest.raises(UsageError, match="begins or ends with white space") as caught:
        read_filters([text])
    advised = re.findall(r"meta\.k(?:!=|=|~)(?:\"[^\"]*\"|\w+)", str(caught.value).partition(";")[2])
    kept, bare = (read_filters([each])[0].value for each in advised)
    assert (kept.strip(), bare) == ("law", "law") and kept != bare


def test_white_space_on_both_sides_of_the_operator_is_layout() -> None:
    assert [each.value for each in read_filters(["meta.k = law", " meta.k  != law "])] == ["law", "law"]
