"""The scorer choice: an option is named by letter or by words, and its place makes no difference."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness._errors import RulesError
from harness.scorers import OptionText, clashing, label
from tests.harness.suites.manifest.asked import MANIFEST, comes_to, rules_of, score_table

BY_TEXT = 'scorer = "choice"\noptions = "options"\ngold = "text"'
ANYWHERE = BY_TEXT + '\nat = "anywhere"'
ABCD = 'scorer = "choice"\nletters = "ABCD"'
TEXTS = st.lists(st.text(st.characters(exclude_categories=("C",)), min_size=1, max_size=12), min_size=2, max_size=8)


def fit(texts: list[str]) -> bool:
    given_letters = [OptionText(letter, text) for letter, text in zip(string.ascii_uppercase, texts, strict=False)]
    return all(map(label, texts)) and clashing(given_letters) is None


@given(TEXTS, st.data())
def test_shuffled_options_never_change_what_an_answer_comes_to(texts: list[str], data: st.DataObject) -> None:
    assume(fit(texts))
    shuffled = data.draw(st.permutations(texts))
    assume(fit(shuffled))  # a text that is the letter of another place is refused there
    gold, meant = data.draw(st.sampled_from(texts)), data.draw(st.sampled_from(texts))
    found = set()
    for order in (texts, shuffled):
        letter = string.ascii_uppercase[order.index(meant)]
        for said in (letter, f"({letter.lower()})", f"Answer: {letter}"):
            found.add(comes_to(BY_TEXT, said, gold, {"options": order}).outcome)
        # By words: what it comes to may be ambiguous, where one option's words open another's, but never by the place.
        by_words = {str(comes_to(BY_TEXT, meant, gold, {"options": each})) for each in (texts, shuffled)}
        assert len(by_words) == 1
    assert found == {"correct" if meant == gold else "incorrect"}


@given(TEXTS, st.data())
def test_an_index_a_letter_and_a_text_name_the_same_option(texts: list[str], data: st.DataObject) -> None:
    assume(fit(texts))
    index = data.draw(st.integers(0, len(texts) - 1))
    meant = data.draw(st.integers(0, len(texts) - 1))
    golds = {"index": index, "letter": string.ascii_uppercase[index], "text": texts[index]}
    found = {
        comes_to(
            f'scorer = "choice"\noptions = "options"\ngold = "{form}"',
            string.ascii_uppercase[meant],
            gold,
            {"options": texts},
        ).outcome
        for form, gold in golds.items()
    }
    assert found == {"correct" if meant == index else "incorrect"}


CITIES = {"options": ["London", "Paris", "Paris, Texas", "None of the above"]}


@pytest.mark.parametrize(
    ("said", "comes"),
    [
        ("B", "correct"),
        ("\uff22", "correct"),
        ("b)", "correct"),
        ("**B.** Paris", "correct"),
        ("The correct answer is: **(B)**", "correct"),
        ("\u0410", "malformed: no_answer"),
        ("C", "incorrect"),
        ("Paris, Texas", "incorrect"),
        ("B. Paris isn't right", "malformed: no_answer"),
        ("D. none of the above", "incorrect"),
        ("B and C", "ambiguous: two_candidates"),
        ("Either Paris or London", "ambiguous: two_candidates"),
        ("parisian", "malformed: no_answer"),
        ("B) because", "malformed: no_answer"),
        ("E", "malformed: no_answer"),
    ],
)
def test_an_answer_names_one_option_or_none(said: str, comes: str) -> None:
    assert str(comes_to(BY_TEXT, said, "Paris", CITIES)).startswith(comes)


@pytest.mark.parametrize(
    ("said", "comes"),
    [
        ("I think it is B.", "correct"),
        ("A man told me. So it's (b).", "correct"),
        ("It is not B.", "malformed"),
        ("B is wrong", "malformed"),
        ("not A but B", "ambiguous"),
        ("Paris is nice", "correct"),
        ("Parisian", "malformed"),
        ("It is Paris, Texas.", "incorrect"),
        ("I think A or B", "ambiguous"),
        ("Vitamin b", "malformed"),
        ("It isn't clear.\nAnswer: B", "correct"),
    ],
)
def test_the_one_option_that_a_text_names_is_found_and_no_denied_one(said: str, comes: str) -> None:
    assert str(comes_to(ANYWHERE, said, "Paris", CITIES)).startswith(comes)


@pytest.mark.parametrize(
    ("case_input", "gold"),
    [
        ("?", "B"),
        ({}, "B"),
        ({"options": "AB"}, "B"),
        ({"options": ["a"]}, "A"),
        ({"options": ["x", "x."]}, "A"),
        ({"options": ["B", "y"]}, "A"),
        ({"options": ["x", None]}, "A"),
        ({"options": {"AB": "x", "C": "y"}}, "C"),
        ({"options": [str(at) for at in range(27)]}, "A"),
        ({"options": ["x", "y"]}, "C"),
        ({"options": ["x", "y"]}, None),
        ({"options": ["x", "y"]}, []),
    ],
)
def test_a_case_whose_options_or_gold_will_not_do_is_refused(case_input: object, gold: object) -> None:
    assert MANIFEST.check_gold is not None
    table = score_table('scorer = "choice"\noptions = "options"')
    fault = MANIFEST.check_gold(case_input, gold, table)  # type: ignore[arg-type]
    assert fault is not None
    assert fault.startswith(("input.options: ", "gold: "))


def test_options_that_are_letters_do_where_the_rules_say_by_what_an_answer_names_them() -> None:
    letters = {"options": ["B", "A"]}
    by_text = 'scorer = "choice"\noptions = "options"\ngold = "text"\nby = "text"'
    assert comes_to(by_text, "A", "A", letters).outcome == "correct"
    by_letter = by_text.replace('by = "text"', 'by = "letter"')
    assert comes_to(by_letter, "B", "A", letters).outcome == "correct"


def test_more_options_than_letters_have_numbers_or_are_named_by_their_words() -> None:
    numbered = {"options": {str(at): f"item {at}" for at in range(1, 41)}}
    assert comes_to('scorer = "choice"\noptions = "options"', "(37)", "37", numbered).outcome == "correct"
    listed = {"options": [f"item number {at}" for at in range(1, 41)]}
    assert comes_to(BY_TEXT + '\nby = "text"', "Item number 37.", "item number 37", listed).outcome == "correct"


@pytest.mark.parametrize(
    "table",
    [
        "",
        'options = "o"\nletters = "AB"',
        'letters = "AA"',
        'letters = "A"',
        'letters = "A1"',
        'letters = "AB"\ngold = "text"',
        'letters = "AB"\nby = "text"',
        'options = "o"\ngold = "place"',
    ],
)
def test_options_of_the_scorer_that_do_not_go_together_are_refused(table: str) -> None:
    with pytest.raises(RulesError, match=r"options|letters|gold|by"):
        rules_of(f'scorer = "choice"\n{table}')


def test_letters_alone_need_no_options_in_the_case() -> None:
    assert comes_to(ABCD, "Answer: D", "d").outcome == "correct"
    assert comes_to(ABCD + '\ngold = "index"', "D", 3).outcome == "correct"
