"""JSON read exactly."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._json import JSONError, loads, members

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)


def test_a_number_is_never_rounded() -> None:
    assert loads("0.59999999999999999999") < Decimal("0.6")  # type: ignore[operator]
    assert loads("0.60") == Decimal("0.6")
    assert loads("1e2") == 100
    assert loads("9007199254740993") == 9007199254740993
    assert loads("7" * 5000) == Decimal("7" * 5000)


def test_an_exponent_past_every_decimal_is_no_number() -> None:
    found = loads("1e" + "9" * 30)
    assert isinstance(found, Decimal) and not found.is_finite()


@pytest.mark.parametrize("text", ["", "NaN", "[1,]", '{"a":1,"a":1}', "1 2", "'a'", "\ufeff1", "[" * 100_000])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(JSONError):
        loads(text)


def test_members_are_slices_of_the_text_as_it_stands() -> None:
    text = ' {"a" : [1.0, "}"] ,\t"b\\n":"\\u00e9", "":{ "a":2 }}\r'
    assert members(text) == {"a": '[1.0, "}"]', "b\n": '"\\u00e9"', "": '{ "a":2 }'}
    assert members(" { } ") == {}


@pytest.mark.parametrize("text", ["[]", "1", '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '{"a":NaN}', '{"a":1} x', "{"])
def test_members_of_anything_but_one_sound_object_are_refused(text: str) -> None:
    with pytest.raises(JSONError):
        members(text)


@given(st.dictionaries(WORDS, VALUES, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_members_hold_the_same_values_as_the_object(
    value: dict[str, object], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = members(text)
    assert {key: json.loads(part) for key, part in found.items()} == value
    assert all(part in text for part in found.values())
