"""The scorer includes: whole words, never a part of one; two labels are ambiguous."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._errors import RulesError
from tests.harness.suites.manifest.asked import MANIFEST, comes_to, rules_of, score_table

INCLUDES = 'scorer = "includes"'
LABELS = INCLUDES + '\nlabels = ["positive", "negative", "neutral"]'
WORDS = st.text(st.characters(categories=["Ll", "Lu"], max_codepoint=0x24F), min_size=1, max_size=8)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, max_size=6))
def test_a_phrase_between_other_words_is_found(ahead: list[str], gold: list[str], behind: list[str]) -> None:
    said = " ".join([*ahead, *gold, *behind])
    assert comes_to(INCLUDES, f"({said}).", " ".join(gold)).verdict == "hit"


@given(WORDS, WORDS, WORDS, st.sampled_from(["", "-", "'", "_"]))
def test_a_part_of_a_word_is_never_found(before: str, gold: str, after: str, joint: str) -> None:
    said = before + joint + gold + joint + after
    assert comes_to(INCLUDES, said, gold).verdict == "miss"


@given(st.permutations(["positive", "negative"]), st.text(" ,;/\n", min_size=1, max_size=3))
def test_an_answer_that_names_two_labels_is_ambiguous_whichever_is_the_gold(order: list[str], between: str) -> None:
    for gold in order:
        assert str(comes_to(LABELS, between.join(order), gold)) == "ambiguous: two_candidates"


@pytest.mark.parametrize(
    ("said", "gold"),
    [("1,000", "1"), ("3.5", "3"), ("-5", "5"), ("50%", "50"), ("C++", "C"), ("co-op", "op"), ("10:30", "10")],
)
def test_what_is_part_of_a_meaning_is_part_of_the_word(said: str, gold: str) -> None:
    assert comes_to(INCLUDES, f"it is {said}.", gold).verdict == "miss"
    assert comes_to(INCLUDES, f"it is {said}.", said).verdict == "hit"


def test_there_is_one_metric_with_labels_and_without() -> None:
    for table in (LABELS, INCLUDES):
        assert [metric.name for metric in rules_of(table).metrics] == ["correct"]


@pytest.mark.parametrize("labels", ['["a", "A."]', '["a", "..."]', "[]", '["a", "a"]', '"a"', '["北京", "北 京"]'])
def test_labels_that_cannot_be_told_apart_are_refused(labels: str) -> None:
    with pytest.raises(RulesError, match="labels"):
        rules_of(f"{INCLUDES}\nlabels = {labels}")


def test_a_list_of_golds_means_any_of_them() -> None:
    assert comes_to(INCLUDES, "the United States", ["USA", "United States"]).verdict == "hit"
    assert MANIFEST.check_gold is not None
    assert "no words" in (MANIFEST.check_gold("?", ["USA", "!"], score_table(INCLUDES)) or "")


@pytest.mark.parametrize(
    ("said", "gold", "comes"),
    [
        ("我认为是北京。", "北京", "correct, hit"),
        ("「北京」", "北京", "correct, hit"),
        ("北京大学", "北京", "ambiguous: word_unclear"),
        ("東京都", "京都", "ambiguous: word_unclear"),
        ("首都は東京です", "東京", "correct, hit"),
        ("パリジャン", "パリ", "incorrect, miss"),
        ("赤い", "赤", "ambiguous: word_unclear"),
        ("공화국", "국", "incorrect, miss"),
        ("서울이에요", "서울", "correct, hit"),
        ("파리은", "파리", "incorrect, miss"),
        ("종이", "종", "ambiguous: word_unclear"),
        ("กรุงเทพครับ", "กรุงเทพ", "correct, hit"),
        ("กรุงเทพมหานคร", "กรุงเทพ", "ambiguous: word_unclear"),
        ("答案是Paris。", "Paris", "correct, hit"),
        ("3月", "3", "ambiguous: word_unclear"),
        ("３．５", "3.5", "correct, hit"),
        ("٣", "3", "correct, hit"),
    ],
)
def test_words_of_scripts_without_spaces_are_found_where_they_are_words(said: str, gold: str, comes: str) -> None:
    assert str(comes_to(INCLUDES, said, gold)) == comes


@pytest.mark.parametrize("one", ["[0, 1)", "(0, 1)", "{0, 1}", "[0, 1]", "f(0, 1)"])
@pytest.mark.parametrize("other", ["[0, 1)", "(0, 1)", "{0, 1}", "[0, 1]", "f(0, 1)"])
def test_brackets_of_a_formula_are_those_of_the_gold(one: str, other: str) -> None:
    for said in (one, f"It is {one}.", f"${one}$", one.replace(" ", "")):
        found = comes_to(INCLUDES, said, other).verdict
        assert found == ("hit" if other in one else "miss"), said


@pytest.mark.parametrize(
    ("said", "gold", "verdict"),
    [
        ("init", "__init__", "miss"),
        ("call `__init__`", "__init__", "hit"),
        ("\\_\\_init\\_\\_", "__init__", "hit"),
        ("5", "5!", "miss"),
        ("5! = 120", "5", "miss"),
        ("It is 5!", "5", "hit"),
        ("print", "print()", "miss"),
        ("x", "!x", "miss"),
        ("!x", "x", "miss"),
        ("_It is nice_", "It", "hit"),
        ("50 %", "50", "miss"),
        ("50\\%", "50%", "hit"),
        ("20 °C", "20°C", "hit"),
    ],
)
def test_marks_that_decide_a_meaning_stand_in_the_answer_as_in_the_gold(said: str, gold: str, verdict: str) -> None:
    assert comes_to(INCLUDES, said, gold).verdict == verdict


NOUNS = ["北京", "東京", "パリ", "서울", "กรุงเทพ", "Paris", "50%", "москва"]
FRAMES = ["{}", "「{}」", "**{}**", "({})", '"{}"', "{}。", "Answer: {}", "{}, I think", "`{}`", "\n{}\n"]


@given(st.sampled_from(NOUNS), st.sampled_from(NOUNS), st.sampled_from(FRAMES), st.booleans())
def test_a_gold_in_any_frame_is_a_hit_and_another_word_never(one: str, other: str, frame: str, wide: bool) -> None:
    said = frame.format(one)
    if wide:
        said = said.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F) if chr(code) not in "*`"})
    assert comes_to(INCLUDES, said, other).verdict == ("hit" if one == other else "miss")
