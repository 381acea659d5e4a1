"""Numbers under a declared way of writing, and where in a text they stand."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import HarnessError
from harness.scorers import NumberFormat, find_numbers, number, read_number

PLAIN = NumberFormat()
ANY_TEXT = st.text() | st.text(
    st.sampled_from("0123456789.,-+e %$\u00a0\u202f\u2212\u0665\u066b\u200e()*"), max_size=12
)


@given(ANY_TEXT)
def test_what_the_normaliser_takes_for_a_number_is_that_number_here_too(text: str) -> None:
    normal = number(text)
    found = read_number(text, PLAIN)
    if normal and found.why != "number_unclear":
        assert found.value is not None
        assert number(str(found.value)) == normal


@given(ANY_TEXT, st.sampled_from([PLAIN, NumberFormat(",", "."), NumberFormat(".", " ", units=("$", "%"))]))
def test_a_number_that_was_found_reads_the_same_by_itself(text: str, form: NumberFormat) -> None:
    for each in find_numbers(text, form):
        assert 0 <= each.start < each.end <= len(text)
        assert (each.value is None) is (each.why == "number_unclear")
        if each.value is not None:
            assert read_number(text[each.start : each.end], form).value == each.value


def test_the_place_of_a_number_has_its_unit_and_no_mark_of_the_sentence() -> None:
    text = "It was **1\u202f250,50 \u20ac**, they say."
    (found,) = find_numbers(text, NumberFormat(",", " ", units=("\u20ac",)))
    assert (found.value, text[found.start : found.end]) == (Decimal("1250.50"), "1\u202f250,50 \u20ac")


@pytest.mark.parametrize(
    "given_format",
    [
        ("!", ""),
        (",", ","),
        (".", "-"),
        (".", "", True),
        (".", "", False, ("5",)),
        (".", "", False, (" ",)),
        (".", "", False, (), True),
    ],
)
def test_a_format_in_which_nothing_could_be_told_is_refused(given_format: tuple[object, ...]) -> None:
    if given_format == ("!", ""):
        with pytest.raises(HarnessError, match="decimal"):
            NumberFormat("!")  # type: ignore[arg-type]
        return
    with pytest.raises(HarnessError):
        NumberFormat(*given_format)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["1 " * 100_000, "1 000" + " 000" * 50_000, "9" * 500_000, "(" * 300_000, "1," * 100_000]
)
def test_a_long_text_takes_a_time_that_grows_with_it_and_no_more(text: str) -> None:
    started = time.process_time()
    find_numbers(text, NumberFormat(",", " ", units=("kg",)))
    read_number(text, PLAIN)
    assert time.process_time() - started < 15
