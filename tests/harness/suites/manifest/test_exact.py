"""The scorer exact: the whole answer under a named normaliser, wherever the rules say that it stands."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.scorers import NORMALISERS, label
from tests.harness.suites.manifest.asked import MANIFEST, comes_to, rules_of, score_table

# No control characters and no half of a surrogate pair: reading takes neither for a text.
TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=30)
SPACES = st.text(" \t\n", max_size=3)
EXACT = 'scorer = "exact"'
AFTER = EXACT + '\nat = "after"\nmarker = "Answer:"'


def fenced(text: str, info: str) -> str:
    longest = max((len(run) for run in text.replace("\n", " ").split() if set(run) == {"`"}), default=0)
    run = "`" * max(3, longest + 1, text.count("`") + 1)
    return f"{run}{info}\n{text}\n{run}"


@given(TEXTS, TEXTS, SPACES, SPACES, st.sampled_from(["", "text", "json"]))
def test_white_space_case_and_a_fence_never_change_what_an_answer_comes_to(
    answer: str, gold: str, ahead: str, behind: str, info: str
) -> None:
    assume(label(gold))
    plain = comes_to(EXACT, answer, gold)
    assume(plain.outcome != "unmeasured")
    folded = answer.casefold()
    for other in (ahead + answer + behind, folded, fenced(answer, info), fenced(ahead + folded + behind, info)):
        found = comes_to(EXACT, other, gold)
        assert (found.outcome, found.verdict) == (plain.outcome, plain.verdict)


@given(TEXTS)
def test_an_answer_is_right_where_it_is_the_gold_in_other_clothes(gold: str) -> None:
    assume(label(gold))
    assert comes_to(EXACT, fenced(f" {gold.casefold()}\n", "text"), gold).outcome == "correct"


@given(st.sampled_from(sorted(NORMALISERS)), st.text(max_size=10), st.text(" .,;!?\u200b\n*", max_size=6))
def test_no_answer_matches_an_empty_gold(name: str, answer: str, gold: str) -> None:
    assume(not NORMALISERS[name].of(gold))
    table = score_table(f'scorer = "exact"\nnormalise = "{name}"')
    assert MANIFEST.check_gold is not None
    assert "no normal form" in (MANIFEST.check_gold("?", gold, table) or "")
    value = {"scorer": "exact", "answer": answer}
    assert (
        getattr(MANIFEST.score(value, MANIFEST.confirm(value, "?", {}), gold, table), "reason", "") == "gold_unusable"
    )


@pytest.mark.parametrize("gold", [None, [], {}, {"a": 1}, ["a", None], ["a", ["b"]], ["a", "..."]])
def test_a_gold_that_is_no_text_is_refused(gold: object) -> None:
    assert MANIFEST.check_gold is not None
    assert (MANIFEST.check_gold("?", gold, score_table(EXACT)) or "").startswith("gold:")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [
        "Answer: Paris",
        "answer:Paris",
        "**Answer:** Paris",
        "**Answer**: Paris",
        "**Answer: Paris**",
        "Answer : Paris",
        "Answer\uff1a Paris",
        "## Answer:\n\nParis\n\nBecause",
        "The final ANSWER: **Paris**.",
        "Answer:\n```\nParis\n```",
        "Answer: Paris\nAnswer: **paris**",
        "It's: _Answer: Paris_",
        "Answer:\n\nAnswer: Paris",
    ],
)
def test_what_follows_a_mark_is_found_however_it_is_dressed(said: str) -> None:
    assert str(comes_to(AFTER, said, "Paris")) == "correct, match"


@pytest.mark.parametrize(
    ("said", "comes"),
    [
        ("MyAnswer: Paris", "malformed: no_marker"),
        ("Answer Paris", "malformed: no_marker"),
        ("Answer: **", "incorrect, mismatch"),
        ("Answer:\n\n", "malformed: no_answer"),
        ("Answer: Rome\nAnswer: Paris", "ambiguous: two_candidates"),
        ("Answer: not Paris", "incorrect, mismatch"),
    ],
)
def test_a_mark_that_is_no_mark_or_marks_nothing_gives_no_answer(said: str, comes: str) -> None:
    assert str(comes_to(AFTER, said, "Paris")) == comes


def test_what_is_kept_of_an_answer_is_the_slice_that_was_taken() -> None:
    found = comes_to(AFTER, "Well …\n**Answer:** Paris, of course\nBye", "Paris")
    assert found.taken == "Paris, of course"
    assert comes_to(EXACT + '\nat = "last_line"', "Hm.\n\n  Paris.  \n", "paris").taken == "Paris."


@pytest.mark.parametrize(
    ("answer", "comes"),
    [
        ({"a": {"b": ["x", "Paris"]}}, "correct, match"),
        ({"a": {"b": ["x"]}}, "malformed: no_answer"),
        ({"a": {"b": ["x", None]}}, "malformed: no_answer"),
        ({"a": {"b": ["x", {}]}}, "malformed: no_answer"),
        ('```json\n{"a": {"b": ["x", "PARIS"]}}\n```', "correct, match"),
        ("Paris", "malformed: no_json"),
    ],
)
def test_a_field_of_a_json_answer_is_taken_by_its_path(answer: object, comes: str) -> None:
    assert str(comes_to(EXACT + '\nat = "field"\nfield = "a.b.1"', answer, "Paris")) == comes


def test_a_fence_that_is_not_around_all_of_it_stays_and_an_empty_one_is_empty() -> None:
    assert comes_to(EXACT, "Here:\n```\nParis\n```", "Paris").outcome == "incorrect"
    assert comes_to(EXACT, "```\nParis\n```\n```\nRome\n```", "Paris").outcome == "incorrect"
    assert comes_to(EXACT + "\nfence = false", "```text\nParis\n```", "Paris").outcome == "incorrect"
    assert str(comes_to(EXACT, "```text\n\n```", "Paris")) == "empty: empty_fence"


def test_a_reply_that_is_a_list_holds_no_text() -> None:
    assert str(comes_to(EXACT, ["Paris"], "Paris")) == "malformed: no_answer"


def test_the_version_of_a_normaliser_may_be_named_and_is_filled_in() -> None:
    assert rules_of(EXACT + '\nnormalise = "text"').score["normalise"] == "text/1"
    assert comes_to(EXACT + '\nnormalise = "label/1"', "paris", "Paris").outcome == "correct"
