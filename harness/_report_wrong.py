"""The wrong answers among a report's data, where somebody asks for them: it then holds questions and golds, and a file
that was handed on can't be taken back."""

from __future__ import annotations

from collections.abc import Sequence

from harness._answers import Choice, collect_answers
from harness._report_data import AsOf, Data
from harness._texts import AnswerTexts, Text
from ledger import Ledger

__all__ = ["with_answers"]

_MOST = 50
_LONGEST = 300


def with_answers(ledger: Ledger, data: Data, rules: Sequence[str] = ()) -> Data:
    """The data of a report with its run's wrong answers, as of the report's own event, ahead of the receipt.

    Under the run's first rule set, or under `rules`. Texts are cut, and the rows too: what is left out is counted.
    """
    run, size = str(data["run"]["id"]), int(data["receipt"]["size"])
    texts = AnswerTexts(ledger)
    found = collect_answers(ledger, run, Choice(wrong=True), texts, rules=rules, rows_of=AsOf(ledger, size).rows)
    rows: list[Data] = []
    for each in found.answers[:_MOST]:
        told = each.texts(texts)
        asked = told["input"] if told["input"].text is not None else told["question"]
        named = {name: each.row[name] for name in ("rules", "candidate", "case", "epoch", "cell")}
        shown = {"asked": asked, "gold": told["gold"], "answer": told["answer"], "reply": told["reply"]}
        rows.append({**named, **{name: _short(text) for name, text in shown.items()}})
    listed = {"rules": list(found.rules), "wrong": len(found.answers), "of": found.of, "rows": rows}
    last = data["receipt"]
    return {**{name: each for name, each in data.items() if name != "receipt"}, "wrong": listed, "receipt": last}


def _short(text: Text) -> str:
    said = str(text)
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
