"""Words: what belongs to one, what parts two, and phrases found whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scorers import find_phrases, formulas, has_words, marks_fit, words


def forms(text: str) -> list[str]:
    return [word.form for word in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(New York, USA).", ["new", "york", "usa"]),
        ("**C++** or C#?", ["c++", "or", "c#"]),
        ("1,000 and 3.5%", ["1,000", "and", "3.5%"]),
        ("yes/no", ["yes", "no"]),
        ("a\u2014b \u2013 c", ["a", "b", "c"]),
        ("don\u2019t", ["don't"]),
        ("non\u2010positive", ["non-positive"]),
        ("-5 - x", ["-5", "x"]),
        ("\uff30aris", ["paris"]),
        ("nai\u0308ve", ["na\u00efve"]),
        ("a\u200bb", ["ab"]),
        ("... --- !!!", []),
        ("-'0 0'- -.'x", ["0", "0", "x"]),
        ("<b>Paris</b>", ["<b>", "paris", "</b>"]),
        ("Paris<|im_end|>", ["paris", "<|im_end|>"]),
        ("List<int>", ["list", "<int>"]),
        ("label=positive, x->y, a => b", ["label", "positive", "x", "y", "a", "=>", "b"]),
        ("x<=5 1<2", ["x<=5", "1<2"]),
        ("so $x^{2}$ and $$y_{1}$$", ["so", "x^2", "and", "y_1"]),
        ("$5 or $6", ["$5", "or", "$6"]),
        (r"\sqrt{2} \left(3\right)", ["sqrt2", "3"]),
    ],
)
def test_a_text_falls_into_its_words(text: str, expected: list[str]) -> None:
    assert forms(text) == expected


@given(st.text())
def test_every_word_stands_where_it_says_in_order(text: str) -> None:
    at = 0
    for word in words(text):
        assert at <= word.start < word.end <= len(text)
        assert forms(text[word.start : word.end]) == [word.form]
        at = word.end


@given(
    st.lists(st.sampled_from("abc"), max_size=12),
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=4),
)
def test_phrases_are_found_wherever_they_stand_outside_longer_ones(text: list[str], phrases: list[list[str]]) -> None:
    found = find_phrases(words(" ".join(text)), [words(" ".join(phrase)) for phrase in phrases])
    every = {
        (index, first, first + len(phrase))
        for index, phrase in enumerate(phrases)
        for first in range(len(text))
        if text[first : first + len(phrase)] == phrase
    }
    inside = {
        one
        for one in every
        for other in every
        if other[1] <= one[1] and one[2] <= other[2] and other[2] - other[1] > one[2] - one[1]
    }
    assert {(each.phrase, each.first, each.last) for each in found} == every - inside


def test_a_text_of_marks_has_no_words_that_could_be_looked_for() -> None:
    assert all(map(has_words, ["Peking", "서울", "北京", "とうきょう", "กรุงเทพ"]))
    assert not any(map(has_words, ["...", ""]))


def mentioned(text: str, *wanted: str) -> list[tuple[int, bool]]:
    found, phrases = words(text), [words(each) for each in wanted]
    fits = marks_fit(text, found, wanted, phrases)
    return [(each.phrase, each.sure) for each in find_phrases(found, phrases, fits)]


# What two answers have in common is dress; what parts them decides a meaning.
TERMS = [
    "x",
    "-x",
    "x'",
    "x''",
    "A",
    "A-",
    "A+",
    "5",
    "-5",
    "5!",
    "5%",
    "1/2",
    "x^2",
    "x_1",
    "[0, 1)",
    "(0, 1)",
    "C",
    "C++",
    "C#",
]
DRESSES = [
    "{}",
    "**{}**",
    "It is {}.",
    "${}$",
    "\\({}\\)",
    "\u201c{}\u201d",
    "({})",
    "{}, surely",
    "\u200e{}\u200f",
    "so {} it is",
]


@given(st.sampled_from(TERMS), st.sampled_from(TERMS), st.sampled_from(DRESSES))
def test_in_any_dress_a_term_is_found_and_no_other_is_for_sure(term: str, other: str, dress: str) -> None:
    said = dress.format(term.replace("%", "\\%") if "$" in dress else term)
    assert (0, True) in mentioned(said, term) or list(formulas(said, term, words(term)))
    if other != term and (term, other) != ("5!", "5"):  # which may be an exclamation
        assert (0, True) not in mentioned(said, other)


@given(st.sampled_from(["Paris", "the cat", "New York", "café"]), st.sampled_from(["'s", "\u2019s", "'S"]))
def test_a_word_is_found_ahead_of_its_possessive_mark(phrase: str, mark: str) -> None:
    assert mentioned(f"It is {phrase}{mark} own.", phrase) == [(0, True)]
    assert mentioned(f"It is {phrase}{mark} own.", phrase, phrase + mark) == [(1, True)]
    assert mentioned(f"It is {phrase}s.", phrase) == []


@pytest.mark.parametrize("text", ["3/2", r"\frac{3}{2}", "2/3", "3 km/h"])
def test_a_part_of_a_fraction_is_never_sure(text: str) -> None:
    assert not any(sure for _, sure in mentioned(text, "3", "2", "3 km"))
