"""The table of answers in docs/scorers: every row is run, from the bytes of a reply to the outcome of its cell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.harness.suites.manifest.asked import comes_to

PAGE = Path(__file__).resolve().parents[3] / "docs" / "scorers" / "answers.md"


@dataclass(frozen=True)
class Row:
    """One answer under the lines of a [score] table, in a language, and what a person says that it comes to."""

    scorer: str
    score: str
    language: str
    case_input: Any
    answer: Any
    gold: Any
    comes_to: str
    line: int


def rows() -> Iterator[Row]:
    lines = PAGE.read_text("utf-8").splitlines()
    scorer = score = ""
    columns: list[str] = []
    for at, line in enumerate(lines):
        if line.startswith("## "):
            scorer = line[3:]
        elif line == "```toml":
            assert lines[at + 1] == "[score]"
            score = "\n".join(lines[at + 2 : lines.index("```", at)])
            assert f'scorer = "{scorer}"' in score, f"line {at}: a table of another scorer than its heading's"
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells(line)
        elif not line.startswith("|-"):
            found = dict(zip(columns, cells(line), strict=True))
            values = {
                name: json.loads(found.get(name, '"?"').strip("`"), parse_float=Decimal)
                for name in ("input", "answer", "gold")
            }
            yield Row(
                scorer, score, found["language"], values["input"], values["answer"], values["gold"],
                found["comes to"], at + 1,
            )  # fmt: skip


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r" \| ", line.removeprefix("| ").removesuffix(" |"))]


ROWS = list(rows())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.line}-{row.scorer}: {str(row.answer)[:40]!a}")
def test_an_answer_comes_to_what_the_table_says(row: Row) -> None:
    assert str(comes_to(row.score, row.answer, row.gold, row.case_input)) == row.comes_to


def test_the_table_has_enough_answers_languages_and_scorers_and_no_row_twice() -> None:
    assert len(ROWS) >= 200
    assert len({row.language for row in ROWS}) >= 12
    assert {row.scorer for row in ROWS} >= {"number", "exact", "choice", "includes"}
    said = [(row.score, json.dumps(row.case_input), json.dumps(row.answer), str(row.gold)) for row in ROWS]
    assert len(set(said)) == len(said)
