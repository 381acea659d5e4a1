"""A tie comes to the same under every scorer, by the rule in docs/scorers/README.md: ambiguous, without credit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness._derive import Reply, derive
from harness._repeats import majorities
from harness.parse import Wire
from harness.suites.manifest import SCORERS
from tests.harness.suites.manifest.asked import MANIFEST, case_of, comes_to, rules_of

PAGE = Path(__file__).resolve().parents[4] / "docs" / "scorers" / "README.md"
OPTIONS = {"question": "?", "options": ["red", "blue", "green"], "doc": "It was closed at nine. It was opened at ten."}
AFTER = 'at = "after"\nmarker = "Answer:"'
FENCED = "```json\n{}\n```\n```json\n{}\n```"
TIES: tuple[tuple[str, str, str, list[Any]], ...] = (
    ("exact", AFTER, "Answer: red\nAnswer: blue", ["red", "blue", ["red", "blue"]]),
    ("includes", 'labels = ["red", "blue", "green"]', "red or blue", ["red", "blue", ["red", "blue"], "green"]),
    ("choice", 'options = "options"\nat = "anywhere"', "A or B", ["A", "B", ["A", "B"], "C"]),
    ("choice", 'options = "options"\nat = "anywhere"', "A 0.5, B 0.5", ["A", "B", ["A", "B"], "C"]),
    ("choice", 'options = "options"\nat = "anywhere"', "A 50 %, C 50 %", ["A", "C"]),
    ("choice", 'options = "options"\nat = "anywhere"\ngold = "text"', "red, or else blue", ["red", "blue"]),
    ("choice", 'options = "options"\nat = "anywhere"\ngold = "index"', "B or C", [1, 2, [1, 2]]),
    ("choice", 'letters = "ABCD"\nat = "anywhere"', "A or B", ["A", "B"]),
    ("number", 'at = "anywhere"', "5 or 6", [5, 6, [5, 6]]),
    ("number", AFTER, "Answer: 5\nAnswer: 6", [5, 6]),
    ("regex", "pattern = 'x=(\\w+)'", "x=red x=blue", ["red", "blue", ["red", "blue"]]),
    ("json", "", FENCED.format('{"a": 1}', '{"a": 2}'), [{"a": 1}, {"a": 2}]),
    ("json", 'primary = "fields"', FENCED.format('{"a": 1, "b": 1}', '{"a": 1, "b": 2}'), [{"a": 1, "b": 1}]),
    ("f1", f'split = "commas"\n{AFTER}', "Answer: red, blue\nAnswer: red", [["red"], ["red", "blue"]]),
    ("quote", f'source = "doc"\n{AFTER}', "Answer: was closed\nAnswer: was opened", ["was closed", "was opened", None]),
)  # fmt: skip


@pytest.mark.parametrize(("scorer", "table", "said", "golds"), TIES)
def test_a_tie_is_ambiguous_and_has_no_credit_whatever_the_gold(
    scorer: str, table: str, said: str, golds: list[Any]
) -> None:
    rules = rules_of(f'scorer = "{scorer}"\n{table}', "fence = true\nprose = true")
    reply = Reply(Wire(200, (), said.encode()), None, "text", stream=False)
    for gold in golds:
        case = case_of(gold, OPTIONS)
        assert MANIFEST.check_gold is not None and MANIFEST.check_gold(case.input, case.gold, rules.score) is None
        ask = "object" if scorer == "json" else "text"
        held = derive(reply, ask=ask, stages=MANIFEST, case=case, rules=rules).score
        came = (held.outcome, held.value, dict(held.metrics), held.status, held.reason)
        assert came == ("unmeasured", None, {}, "ambiguous", "two_candidates")


def test_every_scorer_is_held_to_the_rule_and_the_page_has_it() -> None:
    assert {scorer for scorer, *_ in TIES} == set(SCORERS)
    assert "## A tie" in PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("table", "said", "gold", "comes"),
    [
        (f'scorer = "exact"\n{AFTER}', "Answer: red\nAnswer: Red.", "red", "correct, match"),
        ('scorer = "includes"\nlabels = ["red", "blue"]', "red, yes, red", "red", "correct, hit"),
        ('scorer = "includes"', "red or blue", ["red", "blue"], "correct, hit"),
        ('scorer = "choice"\noptions = "options"\nat = "anywhere"', "A, so A", ["A", "B"], "correct, right"),
        ('scorer = "number"\nat = "anywhere"', "5, that is 5.0", 5, "correct, equal"),
        ('scorer = "f1"\nsplit = "commas"', "red, blue", ["red", "green"], "graded 0.5, partial"),
    ],
)  # fmt: skip
def test_the_same_thing_twice_is_one_answer_and_parts_have_their_credit(
    table: str, said: str, gold: Any, comes: str
) -> None:
    assert str(comes_to(table, said, gold, OPTIONS)) == comes


@pytest.mark.parametrize(
    ("right", "wrong", "epochs", "counted"),
    [
        (2, 2, 4, "ties"),
        (3, 1, 4, "right"),
        (1, 3, 4, "wrong"),
        (2, 1, 4, "open"),
        (0, 0, 2, "open"),
        (1, 1, 2, "ties"),
    ],
)
def test_as_many_epochs_right_as_wrong_are_a_tie_and_nothing_else(
    right: int, wrong: int, epochs: int, counted: str
) -> None:
    row = {"candidate": "m", "rules": "r", "n": right + wrong, "c": right, "graded": 0}
    votes = majorities(lambda _sql, _values: [row], "run", epochs)["m", "r"]
    assert {name: votes[name] for name in ("right", "wrong", "ties", "open") if votes[name]} == {counted: 1}
