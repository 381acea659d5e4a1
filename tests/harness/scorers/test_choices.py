"""Choices: what names an option, what names two, and where it stands."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scorers import OptionText, clashing, find_choice, read_choice

OPTIONS = [OptionText("A", "a dog"), OptionText("B", "a cat"), OptionText("C", "a cat and a dog")]


@given(st.text() | st.text(st.sampled_from("ABC ().*adogct,\n"), max_size=20))
def test_what_is_a_choice_as_a_whole_is_the_one_that_is_found_in_it(text: str) -> None:
    whole, found = read_choice(text, OPTIONS), find_choice(text, OPTIONS)
    if whole.option is not None:
        assert found == whole
    for each in (whole, found):
        assert (each.option is None) is (each.why != "")
        assert 0 <= each.start <= each.end <= len(text)


def test_the_longest_option_that_stands_there_is_the_one_that_is_named() -> None:
    text = "I see a cat and a dog."
    found = find_choice(text, OPTIONS)
    assert (found.option, text[found.start : found.end]) == (2, "a cat and a dog")
    assert find_choice("a cat, a dog", OPTIONS).why == "two_candidates"


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{B}", "$\\boxed{\\text{B}}$", "The answer is \\boxed{B}.", "#### B", "### Answer: B",
        "Option B is correct.", "B is the correct answer", "a cat is right", "I believe the correct answer is B.",
        "I'd go with B.", "I think it's B",
        "**B** is the best option", "So I would choose (B) a cat.", "\\(B\\)",
    ],
)  # fmt: skip
def test_what_only_announces_an_answer_is_let_be(text: str) -> None:
    assert read_choice(text, OPTIONS).option == 1


@pytest.mark.parametrize(
    "text",
    [
        "B is not correct", "The answer isn't B", "I think it is a", "I don't think it's B is right", "B is wrong",
        "The answer is a dog or a cat", "I would not go with B", "B, or so I think", "Is B correct",
    ],
)  # fmt: skip
def test_more_than_an_announcement_is_no_answer_as_a_whole(text: str) -> None:
    assert read_choice(text, OPTIONS).option != 1


def test_words_of_an_option_are_never_taken_for_an_announcement() -> None:
    options = [OptionText("A", "correct"), OptionText("B", "wrong")]
    assert read_choice("B is correct", options).option is None
    assert find_choice("B is correct", options).why == "two_candidates"


@pytest.mark.parametrize(
    "text",
    ["anything but B", "All but B", "other than B", "I rule out B", "instead of B", "~~B~~", "It was ~~B~~.",
     "\u274c B", "B \u2717", "B\u2717"],
)  # fmt: skip
def test_what_is_ruled_out_is_not_named(text: str) -> None:
    assert find_choice(text, OPTIONS).why == "no_answer"


def test_what_is_struck_out_stays_one_of_two() -> None:
    assert find_choice("~~A~~ B", OPTIONS).why == "two_candidates"


def test_a_letter_in_a_tag_is_found() -> None:
    for text in ("<answer>B</answer>", "So:\n<final_answer> B </final_answer>", "B</s>", "B<|im_end|>"):
        assert find_choice(text, OPTIONS).option == 1


def test_by_letter_or_by_words_alone_the_other_names_nothing() -> None:
    assert read_choice("B", OPTIONS, "text").why == "no_answer"
    assert read_choice("a cat", OPTIONS, "letter").why == "no_answer"
    assert find_choice("It's B: a dog", OPTIONS, "letter").option == 1


@pytest.mark.parametrize(
    ("options", "by", "clash"),
    [
        (["x", "y"], "both", None),
        (["x", "X."], "both", (0, 1)),
        (["B", "y"], "both", (0, 1)),
        (["A", "y"], "both", None),
        (["B", "y"], "letter", None),
        (["B", "A"], "text", None),
        (["x", "x"], "letter", None),
    ],
)
def test_options_that_an_answer_could_not_tell_apart_clash(options: list[str], by: str, clash: object) -> None:
    listed = [OptionText(letter, text) for letter, text in zip("AB", options, strict=True)]
    assert clashing(listed, by) == clash  # type: ignore[arg-type]


def test_two_options_under_one_letter_clash() -> None:
    assert clashing([OptionText("a", "x"), OptionText("A", "y")]) == (0, 1)
    assert clashing([OptionText("a", "x"), OptionText("A", "y")], "text") is None


@pytest.mark.parametrize(
    "text", ["not B. " * 50_000, "a cat " * 50_000, "((((" * 100_000, "the " * 100_000, "*" * 200_000]
)
def test_a_long_text_takes_a_time_that_grows_with_it_and_no_more(text: str) -> None:
    started = time.process_time()
    find_choice(text, OPTIONS)
    assert time.process_time() - started < 15
