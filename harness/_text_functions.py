"""The texts of answers as functions of SQL, for `Ledger.frame`: an entry point of `eval_ledger.functions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness._texts import AnswerTexts, Text
from ledger import Functions, Ledger

__all__ = ["FUNCTIONS"]


def _functions(ledger: Ledger) -> Mapping[str, tuple[int, Callable[..., str | None]]]:
    texts = AnswerTexts(ledger)
    return {
        "question_text": (2, _said(texts.question)),
        "gold_text": (1, _said(texts.gold)),
        "meta_text": (1, _said(texts.meta)),
        "read_text": (1, _said(texts.read)),
        "reply_text": (2, _said(texts.reply)),
    }


def _said(read: Callable[..., Text]) -> Callable[..., str | None]:
    def text(first: Any, *rest: Any) -> str | None:
        if any(seq is not None and not isinstance(seq, int) for seq in (first, *rest)):
            return "(expected the seqs of events, as the view `answers` has them)"
        found = read(first, *rest) if first is not None else Text(None)
        # SQLite ends a text at no NUL, but others do; a lone surrogate is no UTF-8 at all.
        return str(found).encode("utf-8", "backslashreplace").decode() or (None if found.text is None else "")

    return text


FUNCTIONS = Functions(
    _functions,
    {
        "answers": {
            "question": "question_text(planned, asked)",
            "gold": "gold_text(planned)",
            "answer": "read_text(parse)",
            "reply": "reply_text(planned, replied)",
            "meta": "meta_text(planned)",
        }
    },
)
