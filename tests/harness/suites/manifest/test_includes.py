"""The scorer includes: whole words, never a part of one; two labels are a tie."""

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
def test_an_answer_that_names_two_labels_is_a_tie_whichever_is_the_gold(order: list[str], between: str) -> None:
    for gold in order:
        found = comes_to(LABELS, between.join(order), gold)
        assert (found.outcome, found.verdict, found.metrics) == ("incorrect", "tie", {"correct": 0, "tie": 1})


@pytest.mark.parametrize(
    ("said", "gold"),
    [("1,000", "1"), ("3.5", "3"), ("-5", "5"), ("50%", "50"), ("C++", "C"), ("co-op", "op"), ("10:30", "10")],
)
def test_what_is_part_of_a_meaning_is_part_of_the_word(said: str, gold: str) -> None:
    assert comes_to(INCLUDES, f"it is {said}.", gold).verdict == "miss"
    assert comes_to(INCLUDES, f"it is {said}.", said).verdict == "hit"


def test_the_metric_of_ties_is_there_with_labels_and_nowhere_else() -> None:
    assert [metric.name for metric in rules_of(LABELS).metrics] == ["correct", "tie"]
    assert [metric.name for metric in rules_of(INCLUDES).metrics] == ["correct"]


@pytest.mark.parametrize("labels", ['["a", "A."]', '["a", "..."]', "[]", '["a", "a"]', '"a"', '["北京", "北 京"]'])
def test_labels_that_cannot_be_told_apart_are_refused(labels: str) -> None:
    with pytest.raises(RulesError, match="labels"):
        rules_of(f"{INCLUDES}\nlabels = {labels}")


def test_a_list_of_golds_means_any_of_them() -> None:
    assert comes_to(INCLUDES, "the United States", ["USA", "United States"]).verdict == "hit"
    assert MANIFEST.check_gold is not None
    assert "no words" in (MANIFEST.check_gold("?", ["USA", "!"], score_table(INCLUDES)) or "")
