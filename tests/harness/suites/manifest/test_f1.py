"""The scorer f1: sets of items, and nothing expected and nothing found as an outcome of its own."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.suites.manifest.asked import MANIFEST, comes_to, score_table

F1 = 'scorer = "f1"'
LINES = f'{F1}\nsplit = "lines"\nnothing = ["none"]'
ITEMS = st.lists(st.text("abc", min_size=1, max_size=3), max_size=6)


@given(ITEMS, ITEMS)
def test_f1_and_recall_are_those_of_the_two_sets(said: list[str], gold: list[str]) -> None:
    found = comes_to(F1, said, gold)
    mine, theirs = set(said), set(gold)
    if theirs:
        f1 = 2 * len(mine & theirs) / (len(mine) + len(theirs))
        assert found.metrics == {"exact": mine == theirs, "f1": f1, "recall": len(mine & theirs) / len(theirs)}
        assert (found.outcome, found.value) == ("graded", f1)
    else:
        assert found.metrics == {"exact": not mine, "true_negative": not mine}
        assert found.verdict == ("false_positive" if mine else "true_negative")


@given(ITEMS, ITEMS, st.randoms(use_true_random=False))
def test_order_and_repetition_make_no_difference(said: list[str], gold: list[str], chance: Any) -> None:
    mixed, key = said + said[:2], gold + gold[:1]
    chance.shuffle(mixed)
    assert comes_to(F1, mixed, key).metrics == comes_to(F1, said, gold).metrics


@given(ITEMS)
def test_a_list_by_lines_by_commas_and_as_json_is_one_list(items: list[str]) -> None:
    said = {
        F1: json.dumps(items),
        LINES: "\n".join(f"{at}. {each}" for at, each in enumerate(items, start=1)) or "None.",
        f'{F1}\nsplit = "commas"\nnothing = ["-", "none"]': ", ".join(items) or "none",
        f'{F1}\nsplit = "semicolons"\nnothing = ["none"]': "; ".join(items) or "NONE",
    }
    for table, text in said.items():
        assert comes_to(table, text, items).metrics["exact"] == 1


@pytest.mark.parametrize(
    ("table", "said", "comes"),
    [
        (F1, "Rome", "malformed: no_json"),
        (F1, '"Rome"', "wrong_shape: string_not_list"),
        (F1, "3", "wrong_shape: number_not_list"),
        (F1, "true", "wrong_shape: boolean_not_list"),
        (F1, "null", "wrong_shape: null_not_list"),
        (F1, {}, "wrong_shape: object_not_list"),
        (LINES, "----\n\n***", "malformed: no_answer"),
        (LINES, " ", "empty: only_space"),
        (F1 + '\nnothing = ["none"]', '["None"]', "incorrect, false_negative"),
    ],
)
def test_what_is_no_list_is_said_to_be_none(table: str, said: Any, comes: str) -> None:
    found = str(comes_to(table, said, ["Rome"]))
    assert found == comes.replace("incorrect", "graded 0")


def test_an_item_without_a_text_counts_and_never_matches() -> None:
    found = comes_to(F1, ["rome", None, {"a": 1}], ["Rome"])
    assert found.metrics == {"exact": 0, "f1": 2 / 3, "recall": 1}


@pytest.mark.parametrize("gold", ["Rome", {"a": 1}, ["Rome", None], ["Rome", "..."], [["Rome"]], 3])
def test_a_gold_that_is_no_list_of_texts_is_refused(gold: Any) -> None:
    assert MANIFEST.check_gold is not None
    assert (MANIFEST.check_gold("?", gold, score_table(F1)) or "").startswith("gold:")
    assert (MANIFEST.check_gold("?", "none", score_table(LINES)) or "").startswith("gold:")


def test_the_items_of_a_field_or_behind_a_mark_are_those_counted() -> None:
    table = f'{F1}\nat = "field"\nfield = "cities"'
    assert comes_to(table, {"cities": ["Rome"]}, ["rome"]).metrics["exact"] == 1
    assert str(comes_to(table, {"cities": "Rome"}, ["rome"])) == "malformed: no_json"
    after = f'{LINES}\nat = "after"\nmarker = "Answer:"'
    assert comes_to(after, "Hm.\n**Answer:**\n- Rome\n- Paris", ["Paris", "Rome"]).metrics["exact"] == 1


def test_the_given_set_cases_come_out_the_same_through_the_scorer(shared: Path) -> None:
    lines = (shared / "cases" / "others.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["case"] == "D9"]
    assert cases
    for case in cases:
        found = comes_to(F1, case["input"]["pred"], case["input"]["gold"])
        expected = case["expected"]
        assert found.metrics["exact"] == expected["exact"], case["id"]
        assert found.metrics.get("recall") == expected["recall"], case["id"]
        assert found.verdict == expected.get("outcome", found.verdict), case["id"]


def test_a_mark_that_stands_often_with_the_same_list_is_one_answer_and_no_more_work() -> None:
    after = f'{LINES}\nat = "after"\nmarker = "Answer:"'
    started = time.monotonic()
    assert comes_to(after, "Answer: Rome\n" * 20_000, ["Rome"]).metrics["exact"] == 1
    assert str(comes_to(after, "Answer: Rome\nAnswer: Bonn\n", ["Rome"])) == "ambiguous: two_candidates"
    assert time.monotonic() - started < 15
