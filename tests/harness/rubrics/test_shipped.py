"""The judge suites that come with the project: whole, true to what they say of themselves, and no module knows them."""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness._carried import list_suites
from harness._rules import load_rules
from harness._suite import Suite, load_suite
from harness.judging import Detector, detect, read_rubric
from harness.judging import judge as verdict_of

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "fixtures"
ARMS = {
    "complaint": {"calibration": 7, "injection": 2, "repeatability": 8},
    "referee": {"calibration": 13, "injection": 8, "poisoning": 9, "repeatability": 12},
    "referee-small": {"calibration": 13, "injection": 8, "poisoning": 9, "repeatability": 12},
}
OWN = ["complaint", "referee"]
REPLY_KEYS = {"scores", "flags", "total", "verdict"}


@cache
def manifest(name: str) -> dict[str, Any]:
    return tomllib.loads((FIXTURES / name / "suite.toml").read_text("utf-8"))


@cache
def suite(name: str) -> Suite:
    return load_suite(name, FIXTURES)[0]


def text(name: str, fixture: dict[str, Any]) -> str:
    return (FIXTURES / name / fixture["file"]).read_text("utf-8")


@cache
def detectors(name: str) -> tuple[Detector, ...]:
    found = suite(name)
    return load_rules(found, found.rule_names[0]).confirm["detectors"]


def fixtures(name: str) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in manifest(name)["fixtures"]}


def objects(text: str) -> Iterator[Any]:
    """Every JSON object that begins somewhere in a text."""
    for found in re.finditer(r"\{", text):
        try:
            yield json.JSONDecoder().raw_decode(text, found.start())[0]
        except ValueError:
            continue


def test_every_judge_suite_that_is_shipped_is_looked_at_here() -> None:
    made = [name for name in list_suites(FIXTURES) if suite(name).made is not None]
    assert made == sorted(ARMS)


@pytest.mark.parametrize("name", ARMS)
def test_it_loads_with_the_arms_and_the_cells_that_it_says(name: str) -> None:
    found, arms = load_suite(name, FIXTURES)
    assert {each.name: len(each.cases) for each in arms} == ARMS[name]
    assert found.made is not None and found.made.engine.startswith("openai/") and found.parameters["max_tokens"] == 300
    assert set(found.rule_names) < set(found.own_rules)


def test_the_main_corpus_holds_the_kinds_of_text_over_two_tasks() -> None:
    found = fixtures("referee")
    assert len(found) >= 14 and {each["task"] for each in found.values()} == set(manifest("referee")["tasks"])
    plain = {each["label"] for each in found.values() if not each["label"].startswith(("attack", "control"))}
    assert plain == {
        "plain good", "real and self-limiting", "partly good", "fabricated and fluent", "off the task",
        "self-contradictory", "over-confident",
    }  # fmt: skip
    for label in plain - {"over-confident"}:
        assert {each["task"] for each in found.values() if each["label"] == label} == {"drift", "basin"}, label


@pytest.mark.parametrize("name", OWN)
def test_texts_and_tasks_are_short(name: str) -> None:
    for key, fixture in fixtures(name).items():
        assert 40 <= len(text(name, fixture).split()) <= 180, key
    for key, task in manifest(name)["tasks"].items():
        assert len((FIXTURES / name / task["file"]).read_text("utf-8").split()) < 120, key


@pytest.mark.parametrize("name", OWN)
def test_every_oracle_is_on_the_scale_and_comes_to_the_verdict_beside_it(name: str) -> None:
    found = suite(name)
    whole = found.rule_file(found.rule_names[0])
    assert whole is not None
    rubric = read_rubric(tomllib.loads(whole.decode("utf-8"))["score"])
    for key, fixture in fixtures(name).items():
        assert set(fixture["oracle"]) == {each.id for each in rubric.criteria}, key
        assert all(each.least <= fixture["oracle"][each.id] <= each.most for each in rubric.criteria), key
        assert verdict_of(rubric, fixture["oracle"], fixture.get("flags", [])).verdict == fixture["verdict"], key


@pytest.mark.parametrize("name", OWN)
def test_right_grades_of_both_kinds_are_asked_for(name: str) -> None:
    asked = manifest(name)["arms"]["calibration"]["fixtures"]
    verdicts = [fixtures(name)[key]["verdict"] for key in asked]
    assert min(verdicts.count("pass"), verdicts.count("fail")) >= 3 and len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", OWN)
def test_a_control_is_a_file_of_its_own_with_the_bytes_of_its_base(name: str) -> None:
    groups: list[Any] = manifest(name)["invariants"]["identical"]
    bases = dict([groups] if isinstance(groups[0], str) else groups)
    for control, _ in manifest(name)["arms"]["injection"]["pairs"]:
        one, other = fixtures(name)[control], fixtures(name)[bases[control]]
        assert one["file"] != other["file"]
        assert (FIXTURES / name / one["file"]).read_bytes() == (FIXTURES / name / other["file"]).read_bytes()
        assert (one["oracle"], one["task"]) == (other["oracle"], other["task"])


@pytest.mark.parametrize("name", OWN)
def test_an_attack_is_its_controls_text_with_something_added_and_wants_what_the_text_does_not_earn(name: str) -> None:
    for control, treatment in manifest(name)["arms"]["injection"]["pairs"]:
        calm, attack = fixtures(name)[control], fixtures(name)[treatment]
        left = iter(text(name, attack).splitlines())
        assert all(line in left for line in text(name, calm).splitlines()), treatment
        assert len(text(name, attack)) > len(text(name, calm)) + 100
        assert attack["oracle"] == calm["oracle"] and attack["aim"] != calm["verdict"]
        assert attack["marker"] is True and attack["flags"] and calm["marker"] is False and "flags" not in calm


def test_the_attacks_differ_in_kind_and_one_brings_a_grade_of_its_own() -> None:
    pairs = manifest("referee")["arms"]["injection"]["pairs"]
    attacks = [fixtures("referee")[treatment] for _, treatment in pairs]
    assert len(attacks) >= 3 and {each["aim"] for each in attacks} == {"pass", "fail"}
    assert {flag for each in attacks for flag in each["flags"]} == {each["id"] for each in manifest("referee")["flags"]}
    criteria = {each["id"] for each in manifest("referee")["criteria"]}
    grades = [
        (each["id"], found) for each in attacks for found in objects(text("referee", each)) if set(found) >= REPLY_KEYS
    ]
    assert len(grades) == 1 and set(grades[0][1]["scores"]) == criteria
    (shaped,) = [each for each in attacks if each["id"] == grades[0][0]]
    assert "</untrusted id=" in text("referee", shaped).partition("{")[0]


@pytest.mark.parametrize("name", OWN)
def test_every_attack_fires_a_detector_and_no_other_text_does(name: str) -> None:
    fired = {
        key: sorted({each.detector for each in detect(text(name, fixture), detectors(name))})
        for key, fixture in fixtures(name).items()
    }
    assert {key for key, names in fired.items() if names} == {
        key for key, fixture in fixtures(name).items() if fixture["marker"]
    }, fired


def test_attacks_on_the_grader_are_told_apart_by_the_detectors_that_they_fire() -> None:
    found = [
        frozenset(each.detector for each in detect(text("referee", fixture), detectors("referee")))
        for fixture in fixtures("referee").values()
        if fixture["marker"]
    ]
    assert len(set(found)) == len(found) == 4


def test_the_smaller_judge_grades_the_same_bytes() -> None:
    large, small = suite("referee").made, suite("referee-small").made
    assert large is not None and small is not None
    assert small.name == large.name and small.prompt == large.prompt
    assert small.fixtures == large.fixtures and small.rules == large.rules and small.parameters == large.parameters
    assert (small.engine, small.base_url) != (large.engine, large.base_url)


def test_the_second_rubric_differs_from_the_first_in_number_weights_scales_and_policy() -> None:
    second = manifest("complaint")
    assert len(second["criteria"]) == 4 and second["policy"] == {"threshold": 0.75}
    assert len({each["weight"] for each in second["criteria"]}) == 4
    assert len({(each["min"], each["max"]) for each in second["criteria"]}) > 1
    assert not {each["id"] for each in second["criteria"]} & {each["id"] for each in manifest("referee")["criteria"]}


def test_no_file_of_the_packages_names_anything_of_a_shipped_rubric() -> None:
    names = {
        each["id"] for name in OWN for key in ("criteria", "flags", "fixtures") for each in manifest(name)[key]
    } | set(manifest("referee")["references"])
    assert len(names) >= 40
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    files = [
        path
        for package in ("harness", "ledger")
        for path in sorted((ROOT / package).rglob("*"))
        if path.suffix in {".py", ".sql", ".toml", ".txt", ".html", ".js"}
    ]
    assert len(files) > 200
    assert [(path.name, found[0]) for path in files if (found := word.search(path.read_text("utf-8")))] == []
