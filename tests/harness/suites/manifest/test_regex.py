"""The scorer regex: what a pattern finds, in linear time; several different finds are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness._errors import RulesError
from harness.scorers import label
from tests.harness.suites.manifest.asked import comes_to, rules_of

MARKED = "scorer = \"regex\"\npattern = '<<(.*?)>>'"
TEXTS = st.text(st.characters(exclude_categories=("C",), exclude_characters="<>\n"), min_size=1, max_size=15)


@given(TEXTS, TEXTS, TEXTS)
def test_what_the_group_finds_is_the_answer_and_its_slice_is_kept(before: str, said: str, after: str) -> None:
    assume(label(said))
    found = comes_to(MARKED, f"{before}<<{said}>>{after}", said)
    assert (found.outcome, found.taken) == ("correct", said)


@given(st.lists(TEXTS, min_size=2, max_size=4))
def test_several_finds_are_one_answer_only_where_they_agree(said: list[str]) -> None:
    text = " ".join(f"<<{each}>>" for each in said)
    assume(label(said[0]))
    same = len({label(each) or each for each in said}) == 1
    found = comes_to(MARKED, text, said[0])
    assert str(found) == ("correct, match" if same else "ambiguous: two_candidates")
    assert comes_to(MARKED + '\nwhich = "first"', text, said[0]).taken == said[0]
    assert comes_to(MARKED + '\nwhich = "last"', text, said[0]).taken == said[-1]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "missing )"),
        ("(?=a)b", "invalid perl operator"),
        ("a*", "empty text"),
        ("x|", "empty text"),
        ("(a)(b)", "2 groups"),
        ("^$", "empty text"),
        (r"(a)\1", "escape"),
        ("", "pattern: expected a text"),
        ("[z-a]", "range"),
    ],
)
def test_a_pattern_that_will_not_do_is_refused_with_one_sentence(pattern: str, said: str) -> None:
    with pytest.raises(RulesError, match=r"\[score\] pattern: ") as caught:
        rules_of(f"scorer = \"regex\"\npattern = '{pattern}'")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(RulesError, match="expected a pattern"):
        rules_of('scorer = "regex"')


def test_a_match_of_nothing_is_no_answer_and_a_pattern_without_a_group_is_its_match() -> None:
    assert str(comes_to("scorer = \"regex\"\npattern = 'Answer:(.*)'", "Answer:", "x")) == "malformed: no_match"
    assert comes_to("scorer = \"regex\"\npattern = '[A-Z]{3}-[0-9]+'", "see ABC-12.", "ABC-12").taken == "ABC-12"


def test_the_pattern_sees_the_place_of_the_answer_alone() -> None:
    table = 'scorer = "regex"\npattern = \'^[0-9]+$\'\nat = "last_line"'
    assert comes_to(table, "4\n7", 7).outcome == "correct"
    assert str(comes_to(table, "7\nseven", 7)) == "malformed: no_match"


def test_a_pattern_that_makes_other_engines_explode_takes_no_time() -> None:
    started = time.monotonic()
    found = comes_to("scorer = \"regex\"\npattern = '(x+x+)+y'", "x" * 20_000, "x")
    assert str(found) == "malformed: no_match"
    assert time.monotonic() - started < 2
