"""The suite of choosing that is made of a suite of grading: its criteria, its prompt, its rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness._errors import SuiteError
from harness._rules import load_rules
from harness._suite import Suite, load_suite
from harness.rubrics import pair_suite

MANIFEST = """
name = "notes"
about = "Is a note of use?"
stages = "rubric"

[sampling]
temperature = 0

[[criteria]]
id = "brief"
description = "It says nothing twice."
weight = 2

[[criteria]]
id = "kind"
name = "Kindness"
description = '''It is kind.
To everybody.'''
max = 3

[policy]
threshold = 0.5

[tasks.note]
text = "Write a note."

[[fixtures]]
id = "one"
task = "note"
label = "a note"
text = "Back at five."
oracle = { brief = 1, kind = 2 }

[arms.calibration]
fixtures = ["one"]
"""
CASE = {"task": "Write a note.", "first": "Back at five.", "second": "Away."}


def made(folder: Path, manifest: str = MANIFEST, prompt: str | None = None, name: str = "pair") -> Suite:
    suite = folder / "notes"
    (suite / "prompts").mkdir(parents=True, exist_ok=True)
    (suite / "suite.toml").write_text(manifest, "utf-8")
    if prompt is not None:
        (suite / f"prompts/{name}.txt").write_text(prompt, "utf-8")
    return pair_suite(load_suite("notes", folder)[0])


def asked(suite: Suite) -> str:
    return "\n".join(str(each["content"]) for each in suite.stage_functions.messages(suite.prompt, CASE).messages)


def test_the_built_in_prompt_shows_criteria_with_their_weights_and_nothing_that_only_grading_needs(
    tmp_path: Path,
) -> None:
    suite = made(tmp_path)
    said = asked(suite)
    assert (
        "- brief, weight 2: It says nothing twice.\n- kind (Kindness), weight 1: It is kind.\n  To everybody." in said
    )
    assert "threshold" not in said and "0.5" not in said and "{#" not in said
    assert (suite.stages, suite.name, dict(suite.arms)) == ("pairwise", "notes", {"pair": "pair"})
    assert suite.parameters == {"temperature": 0}


def test_prompt_and_rules_are_of_the_same_rubric_as_those_of_grading(tmp_path: Path) -> None:
    suite = made(tmp_path)
    rules = load_rules(suite, "pair")
    grading, _ = load_suite("notes", tmp_path)
    assert rules.score["rubric"] == load_rules(grading, "judge").score["rubric"]
    check = suite.stage_functions.check_rules
    assert check is not None and check(suite.prompt, rules.score) is None
    assert [metric.name for metric in rules.metrics] == ["readable", "first_share"]
    assert [bar.text for bar in rules.bars] == ["readable >= 100%"] and rules.confirm["detectors"]


def test_another_wording_of_a_criterion_is_another_rubric_for_pairs_too(tmp_path: Path) -> None:
    suite, other = made(tmp_path / "a"), made(tmp_path / "b", MANIFEST.replace("nothing twice", "little twice"))
    assert suite.stage_functions.check_rules is not None
    said = suite.stage_functions.check_rules(other.prompt, load_rules(suite, "pair").score)
    assert said is not None and said.startswith("the judge is shown another rubric (")


def test_a_suite_has_a_prompt_of_its_own_by_file_or_by_name(tmp_path: Path) -> None:
    own = "{{ task }}\n[[criteria]]\n{{ first }}\n{{ second }}\n"
    assert asked(made(tmp_path / "a", prompt=own)).startswith("Write a note.\n- brief")
    named = 'pairwise_prompt = "versus"\n' + MANIFEST
    suite = made(tmp_path / "b", named, own, "versus")
    assert suite.prompt_name == "versus" and asked(suite).startswith("Write a note.\n- brief")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("{{ first }}\n{{ second }}\n", r"expected \[\[criteria\]\] in the prompt"),
        (
            "[[criteria]]\n[[flags]]\n{{ first }}\n{{ second }}\n",
            r"\[\[flags\]\] is nothing that can be filled in; there are \[\[criteria\]\]",
        ),
        ("[[criteria]]\n{{ first }}\n", "doesn't show the second text"),
        ("[[criteria]]\n{{ first }}\n{{ second }}\n{{ third }}\n", "third"),
    ],
)
def test_a_prompt_that_wont_do_is_refused_with_its_file(tmp_path: Path, prompt: str, said: str) -> None:
    with pytest.raises(SuiteError, match=said) as problem:
        made(tmp_path, prompt=prompt)
    assert "prompts/pair.txt" in str(problem.value)


def test_a_named_prompt_that_isnt_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"pairwise_prompt: .*versus\.txt"):
        made(tmp_path, 'pairwise_prompt = "versus"\n' + MANIFEST)
