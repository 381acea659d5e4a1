"""docs/SECURITY.md: every promise names tests that there are, and the table of attacks is the one that is tested."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.ledger.test_attacks import TABLE

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "SECURITY.md"
TEST = re.compile(r"`(tests/[a-z_/0-9]+\.py)::([A-Za-z_0-9]+)`")
START, END = "<!-- attacks -->\n", "<!-- end of attacks -->\n"


def attacks() -> str:
    """The table of attacks, as the page shows it."""
    rows = [("Attack", "Alone", "Beside", "With the key"), ("---",) * 4, *TABLE]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def promises() -> list[str]:
    section = PAGE.read_text("utf-8").split("\n## Promises\n")[1].split("\n## ")[0]
    return re.split(r"\n(?=[0-9]+\. )", section.strip("\n"))


def test_the_table_of_attacks_is_the_one_that_is_tested() -> None:
    shown = PAGE.read_text("utf-8").split(START)[1].split(END)[0]
    assert shown == attacks(), f"the table should read\n{attacks()}"


def test_promises_are_numbered_and_each_names_a_test() -> None:
    found = promises()
    assert [int(each.split(".")[0]) for each in found] == list(range(1, len(found) + 1))
    assert len(found) >= 10
    assert [each for each in found if not TEST.search(each)] == []


@pytest.mark.parametrize(("module", "name"), sorted(set(TEST.findall(PAGE.read_text("utf-8")))))
def test_the_tests_that_are_named_are_there(module: str, name: str) -> None:
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_module_that_the_page_speaks_of_is_there() -> None:
    named = set(re.findall(r"`(tests/[a-z_/0-9]+\.py)`", PAGE.read_text("utf-8")))
    assert named and [each for each in named if not (ROOT / each).is_file()] == []
