"""The scorer json: a schema, and fields that are compared each in a way of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness._errors import RulesError
from harness.scorers import same_json
from tests.harness.suites.manifest.asked import MANIFEST, comes_to, rules_of, score_table

JSON = 'scorer = "json"'
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab .", max_size=3)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner)
)
OBJECTS = st.dictionaries(st.text("abc.", min_size=1, max_size=3), VALUES, min_size=1, max_size=4)


@given(OBJECTS, OBJECTS)
def test_fields_counts_the_fields_of_the_gold_that_are_there_and_equal(
    gold: dict[str, Any], said: dict[str, Any]
) -> None:
    found = comes_to(JSON, said, gold)
    right = [
        key in said and json.dumps(said[key], sort_keys=True) == json.dumps(gold[key], sort_keys=True) for key in gold
    ]
    assert found.metrics == {"exact": float(all(right)), "fields": sum(right) / len(right)}
    assert found.outcome == ("correct" if all(right) else "incorrect")


@given(OBJECTS, st.permutations(range(4)))
def test_an_object_equals_itself_in_any_order_and_with_more_fields(gold: dict[str, Any], order: list[int]) -> None:
    pairs = list(gold.items())
    said = dict(pairs[at] for at in order if at < len(pairs)) | {"zz": 1}
    assert comes_to(JSON, said, gold).verdict == "exact"
    assert comes_to(JSON, f"```json\n{json.dumps(said)}\n```", gold).verdict == "exact"


# Most golds that are drawn are refused by one way or another to normalise; that is what is under test.
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.dictionaries(st.sampled_from("abc"), st.text("a1 .", max_size=3) | st.integers(0, 9) | st.none(), min_size=1),
    st.sampled_from(["label", "number", "choice", "text"]),
)
def test_no_normaliser_may_empty_a_gold_field(gold: dict[str, Any], how: str) -> None:
    table = score_table(f'{JSON}\nnormalise = "{how}"')
    assert MANIFEST.check_gold is not None
    fault = MANIFEST.check_gold("?", gold, table)
    assume(fault is None)
    # What is left is comparable: the gold is right by itself, and nothing at all is wrong in every field.
    assert comes_to(f'{JSON}\nnormalise = "{how}"', gold, gold).metrics["fields"] == 1
    blank = dict.fromkeys(gold, "")
    assert comes_to(f'{JSON}\nnormalise = "{how}"', blank, gold).metrics["fields"] == 0


@given(VALUES, VALUES)
def test_equality_is_that_of_json_and_tells_booleans_from_numbers(a: Any, b: Any) -> None:
    assert same_json(a, a)
    assert same_json(a, b) is same_json(b, a)
    assert same_json(a, b) is (json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True))


def test_numbers_are_equal_by_value() -> None:
    assert comes_to(JSON, '{"n": 1.0, "m": 1e2}', {"n": 1, "m": 100}).verdict == "exact"
    assert comes_to(JSON, '{"n": true}', {"n": 1}).verdict == "none"
    assert comes_to(JSON, '{"n": 0.1000000000000000000001}', {"n": 0.1}).verdict == "none"


def test_dotted_paths_reach_into_objects_and_lists_and_a_missing_one_is_wrong() -> None:
    table = f'{JSON}\nfields = {{ "a.b" = "label", "tags.0" = "json" }}'
    gold = {"a": {"b": ["x", "y"]}, "tags": ["t", "u"]}
    assert comes_to(table, {"a": {"b": "Y."}, "tags": ["t"]}, gold).verdict == "exact"
    assert comes_to(table, {"a": "b", "tags": []}, gold).metrics == {"exact": 0, "fields": 0}
    assert rules_of(f"{JSON}\nfields.a.b = 'label'").score["fields"] == {"a.b": "label/2"}


def test_a_list_is_compared_whole() -> None:
    assert comes_to(JSON, [1, {"a": 2}], [1.0, {"a": 2}]).verdict == "exact"
    assert comes_to(JSON, [2, 1], [1, 2]).metrics == {"exact": 0, "fields": 0}


SCHEMA = 'schema = { type = "object", required = ["n"], properties = { n = { type = "integer", maximum = 9 } } }'


@pytest.mark.parametrize(
    ("said", "comes"),
    [
        ({"n": 9}, "correct, exact"),
        ({"n": 10}, "wrong_shape: schema_violation"),
        ({"n": 9.5}, "wrong_shape: schema_violation"),
        ({}, "wrong_shape: schema_violation"),
        ("[1]", "wrong_shape: schema_violation"),
        ("{", "malformed: no_json"),
    ],
)
def test_an_answer_that_does_not_fit_the_schema_has_the_wrong_shape(said: Any, comes: str) -> None:
    for schema in (
        SCHEMA,
        'schema = \'{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":9}}}\'',
    ):
        assert str(comes_to(f"{JSON}\n{schema}", said, {"n": 9})) == comes


@pytest.mark.parametrize(
    "schema",
    [
        '{ "$ref" = "http://127.0.0.1:9/x" }',
        '{ "$ref" = "file:///etc/hosts" }',
        '{ type = "what" }',
        '{ pattern = "(?=a)b" }',
        "'{'",
        "7",
        "{ const = 2020-01-01 }",
        '{ pattern = "(a" }',
    ],
)
def test_a_schema_that_is_none_or_would_have_to_be_fetched_is_refused(schema: str) -> None:
    with pytest.raises(RulesError, match=r"\[score\] schema: expected a JSON schema") as caught:
        rules_of(f"{JSON}\nschema = {schema}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gold", [None, "x", 3, {}, '{"a": 1}'])
def test_a_gold_that_is_no_json_object_or_list_is_refused(gold: Any) -> None:
    assert MANIFEST.check_gold is not None
    assert (MANIFEST.check_gold("?", gold, score_table(JSON)) or "").startswith("gold:")


@pytest.mark.parametrize(
    "fields", ["{}", '{ a = "what" }', '{ "a..b" = "label" }', "[1]", "{ a = 1 }", '{ "" = "label" }']
)
def test_fields_that_name_nothing_are_refused(fields: str) -> None:
    with pytest.raises(RulesError, match=r"\[score\] fields"):
        rules_of(f"{JSON}\nfields = {fields}")


def test_a_json_field_of_an_answer_may_be_what_is_compared() -> None:
    table = f'{JSON}\nat = "field"\nfield = "result"'
    assert comes_to(table, {"result": {"a": 1}, "why": "…"}, {"a": 1}).verdict == "exact"
    assert str(comes_to(table, {"why": "…"}, {"a": 1})) == "malformed: no_answer"
