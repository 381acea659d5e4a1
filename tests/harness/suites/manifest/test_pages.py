"""The pages of the scorers: each scorer has one, it says what the code says, and every example on it is run."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from harness._rules import ruleset_from_frozen
from harness.scorers import NORMALISERS
from harness.suites.manifest import SCORERS
from tests.harness.suites.manifest.asked import MANIFEST, case_of, comes_to, rules_of

PAGES = Path(__file__).resolve().parents[4] / "docs" / "scorers"
NAMES = sorted(SCORERS)


@dataclass(frozen=True)
class Example:
    """One row of a page: an answer and a gold under a [score] table."""

    page: str
    score: str
    answer: Any
    gold: Any
    case_input: Any
    comes_to: str


def page_of(name: str) -> str:
    return (PAGES / f"{name}.md").read_text("utf-8")


def rows_after(lines: list[str], start: int) -> Iterator[list[str]]:
    """The rows of the table that begins at a line."""
    for line in lines[start:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def tables(text: str, head: str) -> dict[str, list[str]]:
    """A table by its first column, without the marks of code."""
    lines = text.splitlines()
    found = next(at for at, line in enumerate(lines) if line.startswith(head))
    return {row[0].strip("` "): row for row in rows_after(lines, found + 2)}


def examples(name: str) -> list[Example]:
    lines = page_of(name).splitlines()
    found: list[Example] = []
    score = ""
    for at, line in enumerate(lines):
        if line == "```toml":
            score = "\n".join(lines[at + 2 : lines.index("```", at)])
            assert lines[at + 1] == "[score]"
        if re.match(r"\| (input|answer) \|", line):
            for row in rows_after(lines, at + 2):
                cells = [json.loads(cell.strip("`"), parse_float=Decimal) for cell in row[:-1]]
                case_input = cells[0] if len(cells) == 3 else "?"
                found.append(Example(name, score, *cells[-2:], case_input, row[-1]))
    return found


ALL = [each for name in NAMES for each in examples(name)]


def test_every_scorer_has_a_page_and_every_page_a_scorer() -> None:
    assert sorted(path.stem for path in PAGES.glob("*.md") if path.stem not in ("README", "answers")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_every_option_metric_and_verdict_and_the_version(name: str) -> None:
    scorer, text = SCORERS[name], page_of(name)
    assert list(tables(text, "| option |")) == [each.name for each in scorer.options]
    for option in scorer.options:
        assert tables(text, "| option |")[option.name][2] == option.says
    assert list(tables(text, "| metric |")) == [each.name for each in scorer.metrics]
    assert {word: row[1] for word, row in tables(text, "| verdict |").items()} == dict(scorer.verdicts)
    assert f"`{scorer.label}`" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_defaults_on_a_page_are_those_in_force(name: str) -> None:
    for option, row in tables(page_of(name), "| option |").items():
        in_force = next(each.default for each in SCORERS[name].options if each.name == option)
        if row[1] == "none":
            assert not in_force
        else:
            written = tomllib.loads(f"x = {row[1].strip('`')}", parse_float=Decimal)["x"]
            assert (tuple(written) if isinstance(written, list) else written) == in_force


@pytest.mark.parametrize("example", ALL, ids=lambda one: f"{one.page}: {str(one.answer)[:40]!a} → {one.comes_to}")
def test_an_example_comes_to_what_the_page_says(example: Example) -> None:
    if example.comes_to == "refused":
        case = case_of(example.gold, example.case_input)
        assert MANIFEST.check_gold is not None
        fault = MANIFEST.check_gold(case.input, case.gold, rules_of(example.score).score)
        assert fault is not None
        assert fault.startswith(("gold", "input"))
    else:
        found = comes_to(example.score, example.answer, example.gold, example.case_input)
        assert str(found) == example.comes_to


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_page_show_every_verdict(name: str) -> None:
    shown = {each.comes_to.rpartition(", ")[2] for each in ALL if each.page == name and ", " in each.comes_to}
    assert set(SCORERS[name].verdicts) - shown == set()
    assert any(each.comes_to == "refused" for each in ALL if each.page == name) or name == "regex"


def test_the_index_names_every_scorer_and_every_normaliser() -> None:
    text = page_of("README")
    assert {row.split("]")[0].strip("[") for row in tables(text, "| scorer |")} == set(NAMES)
    assert set(tables(text, "| name |")) == {each.label for each in NORMALISERS.values()}
    assert all(f"`{older}`" in text for older in ("label/1", "number/1"))


def test_the_rule_file_of_the_index_is_read_as_it_stands() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", page_of("README"), re.DOTALL)
    assert ruleset_from_frozen("index", block.encode(), "manifest").score["marker"] == "Answer:"


def test_every_scorer_has_tests_of_its_own_with_properties() -> None:
    here = Path(__file__).parent
    for name in NAMES:
        text = (here / f"test_{name}.py").read_text("utf-8")
        assert "@given" in text, f"test_{name}.py has no property"
