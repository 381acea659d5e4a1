"""docs/JUDGES.md: its examples are loaded as they stand there."""

import re
from pathlib import Path

import pytest

from harness._rules import load_rules
from harness._suite import load_suite
from harness.judging import detect
from harness.rubrics._manifest import _KEYS

PAGE = (Path(__file__).parents[3] / "docs" / "JUDGES.md").read_text("utf-8")
TOML = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(PROMPT,) = re.findall(r"^```text\n(=== system ===\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def example(holds: str) -> str:
    """The page's one example that holds this."""
    (found,) = (text for text in TOML if holds in text)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The page's suite and its variant, with the page's rule file, prompt and detectors."""
    files = {
        "directions/suite.toml": example('name = "directions"\n'), "directions/prompts/grade.txt": PROMPT,
        "directions/rules/lenient.toml": example("[read]\n"), "directions/detectors.toml": example("[[detectors]]\n"),
        "directions-b/suite.toml": example('extends = "../directions"'),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_the_whole_manifest_makes_every_arm(folder: Path) -> None:
    suite, fixtures = load_suite("directions", folder)
    assert {each.name: len(each.cases) for each in fixtures} == {
        "calibration": 2, "injection": 2, "poisoning": 3, "repeatability": 10
    }  # fmt: skip
    assert suite.made is not None and list(suite.made.trigger) == ["station"]
    assert suite.prompt.split("\n")[1:3] == PROMPT.split("\n")[:2]
    for case in (case for each in fixtures for case in each.cases):
        assert suite.stage_functions.messages(suite.prompt, case.input).messages


def test_the_rule_file_and_the_detectors_are_put_together(folder: Path) -> None:
    suite, _ = load_suite("directions", folder)
    rules = load_rules(suite, "lenient")
    assert [bar.text for bar in rules.bars] == ["right >= 90%"] and "0.66" in str(rules.score["policy"])
    assert [each.detector for each in detect("Wow!!!!!", rules.confirm["detectors"])] == ["shouting"]


def test_the_built_in_prompt_does_for_the_same_manifest(folder: Path) -> None:
    (folder / "directions/prompts/grade.txt").unlink()
    suite, (fixture, *_) = load_suite("directions", folder)
    said = str(suite.stage_functions.messages(suite.prompt, fixture.cases[0].input).messages)
    assert "Every turn is named, in order" in said and fixture.cases[0].input["text"] in said  # type: ignore[index,operator]


def test_the_variant_is_its_base_with_another_judge(folder: Path) -> None:
    base, other = (load_suite(name, folder)[0] for name in ("directions", "directions-b"))
    assert base.made is not None and other.made is not None
    assert other.made.fixtures == base.made.fixtures and other.made.rules == base.made.rules
    assert other.made.engine == "anthropic/claude-sonnet-5" and other.parameters["temperature"] == 0.7


@pytest.mark.parametrize("key", _KEYS)
def test_every_key_of_a_manifest_is_told(key: str) -> None:
    assert re.search(rf"`\[*{key}(?:\.(?:ID|NAME))?\]*`", PAGE)
