"""The first wrong answers of a run, for its page: which they are is kept, their texts are read when the page is drawn.

A text that is kept would outlive its redaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._answers import Answer, Choice, collect_answers
from harness._texts import AnswerTexts, Text
from ledger import Ledger

__all__ = ["Wrong", "read_wrong", "wrong_rows"]

_MOST = 10
_LONGEST = 400


@dataclass(frozen=True)
class Wrong:
    """The first wrong answers under the run's first rule set (empty where none was applied); `more` are left out."""

    rules: str
    answers: Sequence[Answer]
    more: bool


def read_wrong(ledger: Ledger, run: str) -> Wrong:
    """Which answers of a run are wrong."""
    found = collect_answers(ledger, run, Choice(wrong=True), AnswerTexts(ledger))
    return Wrong(next(iter(found.rules), ""), found.answers[:_MOST], len(found.answers) > _MOST)


def wrong_rows(ledger: Ledger, wrong: Wrong) -> Sequence[Mapping[str, Any]]:
    """A row an answer, each text on one line and in short."""
    texts = AnswerTexts(ledger)
    found: list[Mapping[str, Any]] = []
    for each in wrong.answers:
        told = each.texts(texts)
        # What the case gives tells cases apart; a prompt begins alike for all of them.
        asked = told["input"] if told["input"].text is not None else told["question"]
        shown = {"asked": asked, "gold": told["gold"], "answer": told["answer"], "reply": told["reply"]}
        found.append({**each.row, **{name: _short(text) for name, text in shown.items()}})
    return found


def _short(text: Text) -> str:
    said = " ".join(str(text)[: 4 * _LONGEST].split())
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
