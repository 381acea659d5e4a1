"""Every kind has its row, and what a row doesn't say about is looked into."""

from __future__ import annotations

import json

import pytest

from ledger.bundle._holds import HIDEABLE, HOLDS, free_texts, hidden_by
from ledger.kinds import KINDS
from tests.ledger.ledgers import EXAMPLES

ALL = frozenset(HIDEABLE)


def body(kind: str) -> dict[str, object]:
    return json.loads(EXAMPLES[kind].model_dump_json(by_alias=True))


def test_every_kind_has_a_row_and_no_row_is_of_another() -> None:
    assert set(HOLDS) == set(KINDS)


@pytest.mark.parametrize("kind", ["response", "fault", "parse", "confirm", "execute", "import"])
def test_what_holds_a_reply_is_hidden_with_any_word_as_a_reply_may_echo_a_prompt_and_be_the_gold(kind: str) -> None:
    assert all(hidden_by(kind, body(kind), frozenset({word})) == {word} for word in HIDEABLE)


@pytest.mark.parametrize("kind", ["score", "tally", "close", "redact", "publish", "anchor", "schema", "reuse", "wait"])
def test_what_counts_are_made_of_is_shown_unless_its_texts_say_too_much(kind: str) -> None:
    assert hidden_by(kind, body(kind), ALL) == frozenset()


def test_a_kind_that_this_release_does_not_know_is_hidden_with_any_word() -> None:
    assert hidden_by("vision", {}, frozenset({"replies"})) == {"replies"}


@pytest.mark.parametrize(
    ("what", "hidden"),
    [("fixture", {"gold", "prompts"}), ("prompt", {"gold", "prompts"}), ("rules", set()), ("prices", set())],
)
def test_of_freezes_those_that_hold_cases_and_templates_are_hidden(what: str, hidden: set[str]) -> None:
    assert hidden_by("freeze", {"what": what}, ALL) == hidden


def test_a_finding_about_a_candidate_is_hidden_as_its_target_may_be_a_digest_of_the_template() -> None:
    about = {"target": {"what": "candidate", "id": "ab" * 32}, "by": None}
    assert hidden_by("taint", about, ALL) == {"prompts"}
    assert hidden_by("supersede", {"target": {"what": "run", "id": "x"}, "by": None}, ALL) == frozenset()


def test_words_of_fixed_lists_are_no_free_texts_and_everything_else_that_is_said_is() -> None:
    score = free_texts("score", {**body("score"), "verdict": "pass", "outcome": "correct", "blocked_by": ["a flag"]})
    assert {"pass", "a flag", "strict@0123456789ab"} <= set(score.values)
    assert "correct" not in score.values
    plan = free_texts("plan", body("plan"))
    assert "evaluation" not in plan.values
    note = free_texts("import", {"claimed": {"the key": "the value"}, "blobs": {"a name": {"hash": "ab" * 32}}})
    assert note.values == ["the value"]
    assert {"the key", "a name"} <= set(note.keys)
