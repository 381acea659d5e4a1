"""What docs/SUITES.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

from harness._suite import parse_cases
from harness.suites.manifest import STAGES
from harness.suites.manifest._filters import FILTERS

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "SUITES.md").read_text("utf-8")


def block(kind: str) -> str:
    (found,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return found


def test_its_cases_are_cases_and_its_prompt_asks_what_it_says() -> None:
    cases = parse_cases(block("json").encode(), Path("page"), STAGES)
    assert [case.id for case in cases] == ["a", "b", "c", "d"]
    assert STAGES.check_prompt(block("jinja")) is None
    asked = STAGES.messages(block("jinja"), cases[1].input).messages
    assert "".join(f"{message['role']}: {message['content']}\n" for message in asked) == block("text")


def test_every_filter_is_named() -> None:
    named = set(re.findall(r"`([a-z]+)`", PAGE.split("and the filters")[1].split(". Nothing can be called")[0]))
    assert named == set(FILTERS) - {"d"}
