"""A quote is in its source as it stands, but for typesetting, with parts left out, or not at all."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scorers import find_quote, too_short, weight

SOURCE = (
    "At first the “pump” —  a\nsmall one — ran from 07–19 h. It’s\u00a0loud … said M. Höfer. Nobody did not hear it."
)
WORDS = st.lists(
    st.sampled_from(["“pump”", "ran", "Ho\u0308fer", "it’s", "…", "did", "not", "–", "\u00a0", "\n"]), max_size=12
)
ALPHABET = st.text(st.sampled_from("aeé\u0301\u0308 .…\"“”'’-–\u00a0\u00ad\n각\u1100\u1161\u11a8"), max_size=30)


@pytest.mark.parametrize(
    ("quote", "tier"),
    [
        ("a\nsmall one", "exact"),
        ("07–19 h", "exact"),
        ('the "pump"', "folded"),
        ("a small one", "folded"),
        ("07-19 h", "folded"),
        ("It's loud", "folded"),
        ("It’s loud ... said", "folded"),
        ("M. Ho\u0308fer", "folded"),
        ("pump” — a small\u200b one", "folded"),
        ("  small one  ", "folded"),
        ("the pump", "none"),
        ("the 'pump'", "none"),
        ("0719 h", "none"),
        ("Its loud", "none"),
        ("A SMALL ONE", "none"),
        ("small ran", "none"),
        ("M. Hofer", "none"),
        ("M. Höfer said", "none"),
        ("Nobody did hear it", "none"),
        ("", "none"),
        (" \n", "none"),
        ("...", "none"),
        ("…", "none"),
        ("—", "none"),
        ("\u200b", "none"),
    ],
)
def test_a_quote_reaches_its_tier(quote: str, tier: str) -> None:
    assert find_quote(SOURCE, quote).tier == tier


@pytest.mark.parametrize(
    "quote",
    ["a small one ... 07-19", "At first […] ran", "At first [...] ran", "At first (…) ran", "At first . . . ran",
     "At first … It's loud … Höfer", "... Nobody", "ran from ...", "“pump” ... ... loud", "Nobody ... hear it."],
)  # fmt: skip
def test_parts_in_their_order_are_elided_and_never_more(quote: str) -> None:
    found = find_quote(SOURCE, quote)
    assert found.tier == "elided"
    assert [SOURCE[start:end] for start, end in found.spans] == list(found.texts)
    assert all(one[1] <= other[0] for one, other in zip(found.spans, found.spans[1:], strict=False))


@pytest.mark.parametrize(
    "quote",
    ["ran ... At first", "ran ... ran", "pu ... ran", "ran ... oud", "At first ... the pump", "At ... first the",
     "At first ... hear them", "... and ...", "\u201d ... \u2014"],
)  # fmt: skip
def test_parts_out_of_order_twice_used_cut_or_rewritten_are_no_quote(quote: str) -> None:
    if quote == "At ... first the":
        assert find_quote(SOURCE, quote).texts == ("At", "first the")
    else:
        assert find_quote(SOURCE, quote).tier == "none"


def test_what_is_kept_is_the_slice_of_the_source() -> None:
    found = find_quote(SOURCE, 'the "pump" - a small one')
    assert found.texts == ("the “pump” —  a\nsmall one",)
    assert [SOURCE[start:end] for start, end in found.spans] == ["the “pump” —  a\nsmall one"]


def test_a_quote_never_cuts_a_letter_from_its_accent() -> None:
    source = "Ho\u0308fer"
    assert find_quote(source, "Ho").tier == "none"
    assert find_quote(source, "H").tier == "exact"
    assert find_quote(source, "\u0308fer").tier == "none"
    assert find_quote("Ho Ho\u0308", "Ho").spans == ((0, 2),)
    assert find_quote("\u1100\u1161\u11a8", "가").tier == "none"
    assert find_quote("\u1100\u1161\u11a8", "각").tier == "folded"


def test_marks_in_any_canonical_order_are_the_same_letter() -> None:
    assert find_quote("a\u0323\u0302x", "a\u0302\u0323x").tier == "folded"


def test_a_long_text_of_spaces_and_points_takes_no_time() -> None:
    assert find_quote("x" + " " * 200_000 + "y", " ." * 100_000 + "z").tier == "none"
    assert find_quote("a" * 100_000, "a " * 2_000 + "b").tier == "none"


@given(ALPHABET, st.integers(0, 30), st.integers(0, 30))
def test_every_slice_of_a_source_that_says_something_is_found_in_it(source: str, start: int, length: int) -> None:
    quote = source[start : start + length]
    found = find_quote(source, quote)
    whole = find_quote(source, source)
    if any(unicodedata.category(each)[0] in "LN" for each in source) and unicodedata.category(source[0]) != "Mn":
        assert whole.tier == "exact" or source[0] in "\u1161\u11a8"
    if found.tier == "exact":
        assert found.texts == (quote,)


@given(WORDS, WORDS)
def test_the_unicode_form_of_either_side_makes_no_difference(source: list[str], quote: list[str]) -> None:
    text, asked = " ".join(source), " ".join(quote)
    tiers = {
        find_quote(unicodedata.normalize(form, text), unicodedata.normalize(other, asked)).tier.replace(
            "exact", "folded"
        )
        for form in ("NFC", "NFD")
        for other in ("NFC", "NFD")
    }
    assert len(tiers) == 1


@given(ALPHABET, ALPHABET)
def test_whatever_is_asked_the_spans_are_slices_in_order(source: str, quote: str) -> None:
    found = find_quote(source, quote)
    assert (found.tier == "none") == (not found.spans)
    assert [source[start:end] for start, end in found.spans] == list(found.texts)
    assert all(text for text in found.texts)
    assert all(one[1] <= other[0] for one, other in zip(found.spans, found.spans[1:], strict=False))


@pytest.mark.parametrize(
    "blank", ["\u3164", "\uffa0", "\u2800", "\u115f\u1160", "\u200b", "\u00a0", "\u0301", "\ufe0f"]
)
def test_what_nobody_sees_is_no_quote_and_adds_nothing_to_one(blank: str) -> None:
    source = f"the {blank * 20} harbour"
    assert find_quote(source, blank * 20).tier == "none"
    assert find_quote(blank * 20, blank * 20).tier == "none"
    assert weight(blank * 20) == 0
    if blank == "\u0301":
        return  # An accent on a word is another word.
    padded = f"the{blank * 9}"
    assert too_short(padded + " harbour", padded, find_quote(padded + " harbour", padded), 3)


@pytest.mark.parametrize("line", ["======", "|---|---|", "= = = =", "+++", "$$$$", "| | | |", "~~~~~~"])
def test_a_line_of_signs_is_too_short_however_long_it_is(line: str) -> None:
    source = f"Costs\n{line}\nrent 400"
    assert too_short(source, line, find_quote(source, line), 3)


@pytest.mark.parametrize(
    "quote", ["F++", "x\u00b2 + y\u00b2 = z\u00b2", "5 > 3 > 1", "K=9", "\U0001f600\U0001f389\U0001f680"]
)
def test_signs_beside_letters_and_signs_that_differ_count_each(quote: str) -> None:
    source = f"It says {quote} there."
    assert not too_short(source, quote, find_quote(source, quote), 3)
