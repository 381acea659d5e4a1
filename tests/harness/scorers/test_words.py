"""Words: what belongs to one, what parts two, and phrases found whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scorers import find_phrases, has_words, words


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
