"""RFC 8785 bytes: the fast path writes what the reference library writes, and the door refuses by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import BadBody, Draft, Ledger, kinds, verify
from ledger._canonical import MAX_BODY, MAX_DEPTH, MAX_INT, canonical, load, why_not_canonical

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
# Around the border where UTF-16 order and UTF-8 order part.
BORDER = st.text(
    st.sampled_from('aZ\u00e9\ud7ff\ue000\uf8ff\uffff\U00010000\U0001f600\U0010ffff"\\\n\u2028\x7f'), max_size=4
)
NUMBERS = st.one_of(
    st.integers(-MAX_INT, MAX_INT),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: abs(x) <= MAX_INT or abs(x) >= 1e21),
    st.sampled_from([0.0, -0.0, 1.0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 0.1, 100.0, 1e15]),
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXT, BORDER)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(TEXT, BORDER), inner, max_size=4)),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.one_of(TEXT, BORDER), VALUES, max_size=5)


@settings(max_examples=500)
@given(VALUES)
def test_our_bytes_are_the_reference_librarys_bytes(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@settings(max_examples=500)
@given(OBJECTS)
def test_what_was_written_is_accepted_and_read_back(value: dict[str, Any]) -> None:
    data = canonical(value)
    assert why_not_canonical(data) is None
    assert load(data) == json.loads(data)
    assert canonical(load(data)) == data


@settings(max_examples=500)
@given(OBJECTS, st.data())
def test_the_quick_check_agrees_with_the_exact_one_on_any_other_text(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(
        value, ensure_ascii=data.draw(st.booleans()), sort_keys=data.draw(st.booleans()),
        separators=data.draw(st.sampled_from([(",", ":"), (", ", ": ")])),
    ).encode("utf-8")  # fmt: skip
    assert (why_not_canonical(text) is None) == (rfc8785.dumps(json.loads(text)) == text)


@settings(max_examples=500)
@given(OBJECTS, st.data())
def test_a_flipped_bit_leaves_a_canonical_text_only_if_the_exact_check_says_so(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = bytearray(canonical(value))
    bit = data.draw(st.integers(0, 8 * len(text) - 1))
    text[bit // 8] ^= 1 << bit % 8
    try:
        exact = canonical(load(bytes(text))) == text and text[:1] == b"{"
    except BadBody:
        exact = False
    assert (why_not_canonical(bytes(text)) is None) == exact


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1.0}', b'{"a":1e2}', b'{"a":1E400}', b'{"a":-0}', b'{"a":9007199254740992}', b'{"a":"\\u0000"}',
        b'{"a":"\\ud800"}', b'{"a":1,"a":1}', b'{"b":1,"a":1}', b'{"a":1} ', b' {"a":1}', b'{"a":1}\n', b"[]", b"1",
        b"", b"\xef\xbb\xbf{}", b'{"a":"\\u00e9"}', b'{"a":"\\/"}', b'{"a":NaN}', b'{"a":Infinity}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", b"{" * 100_000, b'{"a":"' + b"x" * MAX_BODY + b'"}',
    ],
)  # fmt: skip
def test_text_that_is_no_body_in_its_own_form_is_refused_with_a_reason(text: bytes) -> None:
    assert why_not_canonical(text)


def test_nesting_up_to_the_limit_is_taken() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = {"a": value}
    assert why_not_canonical(canonical(value)) is None
    with pytest.raises(BadBody, match="nested deeper than 64"):
        canonical({"a": value})


OUTSIDE: list[tuple[Any, str]] = [
    (float("nan"), "finite"),
    (float("inf"), "finite"),
    (float("-inf"), "finite"),
    (2**53, "integer within"),
    (-(2**53), "integer within"),
    (10**400, "integer within"),
    (2.0**53, "written as an integer"),
    (-1e20, "written as an integer"),
    ("a\ud800", "lone surrogate"),
    ("\udfff\ud800", "lone surrogate"),
    ("a\0", r"U\+0000"),
    ({"a\0": 1}, r"U\+0000"),
    ({"\ud800": 1}, "lone surrogate"),
    ({1: 1}, "text as a key"),
    (b"bytes", "JSON value"),
    ({1, 2}, "JSON value"),
    (object(), "JSON value"),
]


@pytest.mark.parametrize(("value", "reason"), OUTSIDE)
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"deep": [1, {"er": value}]}])
def test_what_no_body_may_hold_is_refused_by_name(value: Any, reason: str, wrap: Any) -> None:
    with pytest.raises(BadBody, match=reason):
        canonical(wrap(value))


def test_the_place_of_a_refused_value_is_named() -> None:
    with pytest.raises(BadBody, match=r"deep\[1\]\.er"):
        canonical({"deep": [1, {"er": float("nan")}]})


FORBIDDEN = st.one_of(
    st.sampled_from([float("nan"), float("inf"), -float("inf"), "\ud800", "x\0y", 2**53, -(2**60)]),
    st.integers(min_value=2**53),
    TEXT.map(lambda text: text + "\udc00"),
    st.just([[[]]]).map(lambda value: _nest(value, 70)),
)


def _nest(value: Any, times: int) -> Any:
    for _ in range(times):
        value = [value]
    return value


@settings(max_examples=60, deadline=None)
@given(FORBIDDEN)
def test_a_body_outside_the_allowed_json_is_refused_and_nothing_is_written(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    path = tmp_path_factory.mktemp("refused") / "a.db"
    with Ledger.create(path) as ledger:
        before = ledger.head()
        try:
            body = kinds.Confirm(rules="r", findings=[{"value": value}], rejections=[])
        except ValueError:
            body = None  # the model refused it even before the door
        if body is not None:
            with pytest.raises(BadBody):
                ledger.append(Draft(kinds.Note(text="goes with it")), Draft(body, run="abcdefghijklmnop", cell=1))
        assert ledger.head() == before
    verdict = verify(path)
    assert (verdict.verdict, verdict.events) == ("CONSISTENT", 2)
