"""The scoring cases D7, D9 and D11 that were handed out with the project."""

import json
from pathlib import Path
from typing import Any

from harness.scorers import NORMALISERS, compare_sets, find_quote, matches
from tests.harness.suites.manifest.asked import comes_to

RULES = {"label": "label", "number": "number", "choice letter": "choice"}


def given(shared: Path, kind: str) -> list[dict[str, Any]]:
    lines = (shared / "cases" / "others.jsonl").read_text("utf-8").splitlines()
    found = [case for case in map(json.loads, lines) if case["case"] == kind]
    assert found
    return found


def test_normal_forms_match_as_d7_says(shared: Path) -> None:
    for case in given(shared, "D7"):
        rule = NORMALISERS[RULES[case["input"]["rule"].partition(":")[0]]]
        found = matches(rule, case["input"]["pred"], case["input"]["gold"])
        assert found is case["expected"]["match"], case["id"]


def test_sets_compare_as_d9_says(shared: Path) -> None:
    for case in given(shared, "D9"):
        found = compare_sets(case["input"]["pred"], case["input"]["gold"])
        for name, value in case["expected"].items():
            assert getattr(found, name) == value, (case["id"], name)


def test_quotes_reach_the_tiers_that_d11_says(shared: Path) -> None:
    for case in given(shared, "D11"):
        source = case["input"]["source"]
        found = find_quote(source, case["input"]["quote"])
        assert found.tier == case["expected"]["tier"], case["id"]
        assert [source[start:end] for start, end in found.spans] == list(found.texts)


SCORED = {
    "label": 'scorer = "exact"',
    "number": 'scorer = "number"',
    "choice letter": 'scorer = "choice"\nletters = "ABCD"',
}


def test_the_scorers_of_a_manifest_judge_as_d7_says(shared: Path) -> None:
    for case in given(shared, "D7"):
        table = SCORED[case["input"]["rule"].partition(":")[0]]
        found = comes_to(table, case["input"]["pred"], case["input"]["gold"])
        assert (found.outcome == "correct") is case["expected"]["match"], case["id"]
