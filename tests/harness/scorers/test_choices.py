"""Choices: what names an option, what names two, and where it stands."""

from __future__ import annotations

import time
import unicodedata

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


CITIES = [OptionText(letter, text) for letter, text in zip("ABCD", ["London", "Paris", "Rome", "Oslo"], strict=True)]
LETTERS = [OptionText(letter) for letter in "ABCD"]

# How people and models write that it is B, in one line of the end of an answer.
GIVEN = [
    "B", "b", "(b)", "b)", "[b]", "{b}", "**b**", "`b`", '"b"', "\u201cb\u201d", "\u3010b\u3011",
    "\u300cb\u300d", "Ｂ", "ｂ", "\u24b7", "\U0001d401", "\\boxed{b}", "$\\boxed{\\text{B}}$",
    "<answer>b</answer>", "- b", "> B", "#### b", "So b.", "So (B).", "Therefore b", "Hence, (b)",
    "The answer is b.", "Answer: b", "answer=b", "My choice: b", "It is b", "I choose b", "I'd go with b.",
    "b is correct", "b would be the answer", "B it is", "B's the one.", "=> b", "\u2192 b", "答案是b", "选b",
    "所以选B\u3002", "答えはbです", "정답은 b입니다", "คำตอบคือ b", "Die Antwort ist b", "La réponse est b.",
    "La respuesta es b", "A resposta é b", "La risposta è b", "Ответ: b", "Odpowiedź: b", "Cevap: b",
    "Jawabannya b", "Đáp án là b", "الإجابة هي b", "उत्तर: b", "Ответ: В",
]  # fmt: skip
# And how they talk of A first.
TALK = [
    "A) London is in England.", "A. London is in the UK.", "A is tempting, but wrong.", "Option A looks right.",
    "A looks right.", "At first I thought of A.", "A?", "Not A.", "A: 10%.", "I rule out A.",
    "Between A and C:", "(A) is close.", "A很有诱惑力\u3002", "Aは違う\u3002", "A는 그럴듯하다.",
    "**A** seems plausible.", "Many would choose A.",
]  # fmt: skip


@pytest.mark.parametrize("options", [CITIES, LETTERS], ids=["words", "letters"])
@pytest.mark.parametrize("given_last", GIVEN)
def test_a_letter_that_is_talked_about_never_silences_one_that_is_given_later(
    given_last: str, options: list[OptionText]
) -> None:
    for talk in TALK:
        for between in (" ", "\n", "\n\n"):
            found = find_choice(talk + between + given_last, options)
            assert found.option in (1, None), talk + between + given_last
            whole = read_choice(talk + between + given_last, options)
            assert whole.option in (1, None), talk + between + given_last


@pytest.mark.parametrize(
    "last", ["Paris", "PARIS.", "**Paris**", "It's the second option.", "so the latter", "\u201cParis\u201d"]
)
def test_words_given_later_are_not_silenced_either(last: str) -> None:
    for talk in TALK:
        assert find_choice(f"{talk} {last}", CITIES).option in (1, None), talk


@given(
    st.sampled_from("ABCD"),
    st.sampled_from("ABCD"),
    st.sampled_from(["{} 0.5, {} 0.5", "{}: 10%, {}: 90%", "{} 40 % {} 60 %", "{} (10%) {} (90%)", "{}=0.4, {}=0.6"]),
)
def test_letters_with_figures_behind_them_are_letters_for_every_letter_alike(one: str, other: str, form: str) -> None:
    found = find_choice(form.format(one, other), LETTERS)
    assert (found.option is None) is (one != other)
    assert found.why == ("two_candidates" if one != other else "")


SPELLINGS = [
    "{}", "({})", "**{}**", "{}.", "`{}`", "\\boxed{{{}}}", "Answer: {}", "The answer is {}.", "答案是{}",
    "정답은 {}입니다", "答えは{}です", "\u3010{}\u3011",
]  # fmt: skip


@given(st.integers(0, 3), st.sampled_from(SPELLINGS), st.sampled_from(["plain", "wide", "circled", "small"]))
def test_one_answer_in_another_spelling_reads_the_same_and_as_no_other(index: int, form: str, style: str) -> None:
    letter = "ABCD"[index]
    shift = {"plain": 0x41, "wide": 0xFF21, "circled": 0x24B6, "small": 0x61}[style]
    said = form.format(chr(shift + index))
    for options in (CITIES, LETTERS):
        assert find_choice(said, options).option == index, (said, letter)


@given(
    st.text()
    | st.lists(
        st.sampled_from([*"ABCDabcd", "not", "is", "the answer", " ", ". ", "\n", "(", ")", "London", "5", "是"])
    ).map(" ".join)
)
def test_no_option_is_read_that_stands_nowhere_in_the_text(text: str) -> None:
    found = find_choice(text, CITIES)
    if found.option is not None:
        there = unicodedata.normalize("NFKC", text).casefold()
        assert CITIES[found.option].letter.casefold() in there or CITIES[found.option].text.casefold() in there


@pytest.mark.parametrize(
    "text",
    [
        "A man told me", "A 5-year-old boy", "I was there", "5 A", "vitamin C", "Hepatitis B", "N/A", "e.g. this",
        "44 B.C.", "T-shirts", "C# is a language", "Philip K. Dick", "d'accord", "Is it B?", "А", "x = b + c",
        "$k_B$", "B\u0301", "ABC", "B12", "P(A)",
    ],
)  # fmt: skip
def test_what_may_be_something_else_names_nothing_by_itself(text: str) -> None:
    options = [OptionText(letter) for letter in "ABCDEIK"]
    assert find_choice(text, options).option is None


@pytest.mark.parametrize(
    "text",
    [
        "不是B", "B错了, 错误", "排除B", "Bではない", "B는 아닙니다", "ไม่ใช่ B", "nicht B", "pas B", "no es B",
        "não é B", "non è B", "niet B", "не B", "nie B", "inte B", "B değil", "bukan B", "không phải B", "ليس B",
        "B नहीं", "לא B", "όχι B", "λάθος B",
    ],
)  # fmt: skip
def test_what_is_denied_in_another_language_is_not_named(text: str) -> None:
    assert find_choice(text, LETTERS).why == "no_answer"


@pytest.mark.parametrize(
    "text",
    [
        "not B. " * 50_000,
        "a cat " * 50_000,
        "((((" * 100_000,
        "the " * 100_000,
        "*" * 200_000,
        "b " * 20_000,
        "A man. " * 10_000,
        "北京" * 50_000,
    ],
)
def test_a_long_text_takes_a_time_that_grows_with_it_and_no_more(text: str) -> None:
    started = time.process_time()
    find_choice(text, OPTIONS)
    assert time.process_time() - started < 15
