"""Drafts become rows: the body's bytes are RFC 8785, whichever way they were made."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import BadBody, Draft
from ledger._canonical import canonical_object, why_not_canonical
from ledger._drafts import prepare
from ledger.kinds import Confirm, Note, Score, Wait

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-2, 2),
    st.integers(-(10**15), 10**15).map(lambda number: number / 1000),
    st.integers(0, 2**64 - 1)
    .map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
    .filter(math.isfinite),
).filter(lambda number: isinstance(number, int) or not 2**53 <= abs(number) < 1e21)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=5))
@settings(max_examples=400, deadline=None)
def test_a_body_is_stored_as_the_reference_writes_it(findings: list[Any]) -> None:
    stored = prepare(Draft(Confirm(rules="r", findings=findings, rejections=[]), run="a" * 16, cell=1)).body
    expected = rfc8785.dumps({"schema": 1, "rules": "r", "findings": findings, "rejections": []})
    assert stored.encode() == expected
    assert why_not_canonical(expected) is None


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not 2**53 <= abs(number) < 1e21))
@settings(max_examples=1000, deadline=None)
def test_every_finite_number_is_written_as_ecmascript_does(number: float) -> None:
    stored = prepare(Draft(Wait(attempt=0, turn=0, seconds=number, why="", asked=""), run="a" * 16, cell=1)).body
    assert f'"seconds":{rfc8785.dumps(number).decode()},'.encode() in stored.encode()


@pytest.mark.parametrize("number", [0.0001, 1e-5, 1e-6, 1e-7, 1e15, 1e21, 2.0**53 - 1, -0.0, 5e-324, 0.1 + 0.2])
def test_numbers_where_writers_part_ways_are_written_as_ecmascript_does(number: float) -> None:
    quick = canonical_object(f'{{"a":{number!r}}}', {})
    assert quick is None or quick == rfc8785.dumps({"a": number})
    stored = prepare(Draft(Wait(attempt=0, turn=0, seconds=number, why="", asked=""), run="a" * 16, cell=1)).body
    assert f'"seconds":{rfc8785.dumps(number).decode()},' in stored


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_by_its_place_and_never_stored_as_null(number: float) -> None:
    score = Score(
        rules="r", outcome="graded", status="parsed", stage="", reason="", domain="", value=0.5, applies=["m"],
        metrics={"m": number},
    )  # fmt: skip
    with pytest.raises(BadBody, match=r"metrics\.m: expected a finite number"):
        prepare(Draft(score, run="a" * 16, cell=1))
    with pytest.raises(BadBody, match=r"findings\[0\]\.deep\[1\]: expected a finite number"):
        prepare(
            Draft(Confirm(rules="r", findings=[{"deep": [0, number]}], rejections=[]), run="a" * 16, cell=1)
        )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a\x00b", "holds U\\+0000"),
        ("\ud800", "lone surrogate \\(U\\+D800\\)"),
        (2**53, "expected an integer within"),
        (-(2**70), "expected an integer within"),
        (2.0**53, "expected a number that isn't written as an integer"),
        (-1e20, "expected a number that isn't written as an integer"),
        ({"a\x00": 1}, "holds U\\+0000"),
    ],
)
def test_what_no_body_may_hold_is_refused_by_name(value: Any, reason: str) -> None:
    with pytest.raises(BadBody, match=reason):
        prepare(Draft(Confirm(rules="r", findings=[value], rejections=[]), run="a" * 16, cell=1))


def test_nesting_is_allowed_to_64_and_refused_beyond() -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return value

    # The body and its list `findings` are the first two levels.
    prepare(Draft(Confirm(rules="r", findings=[nested(62)], rejections=[]), run="a" * 16, cell=1))
    with pytest.raises(BadBody, match="nested deeper than 64"):
        prepare(Draft(Confirm(rules="r", findings=[nested(63)], rejections=[]), run="a" * 16, cell=1))


def test_a_blob_stands_under_its_name_with_hash_and_size_whatever_its_name() -> None:
    blobs = {"\U0001f600": b"late", "\ue000": b"later", "a": b""}
    prepared = prepare(Draft(Note(text="x"), blobs=blobs))
    assert why_not_canonical(prepared.body.encode()) is None
    assert [row.data for row in prepared.blobs] == [b"", b"late", b"later"]
