"""The cases of kind F that others gave, from the bytes of the judge's reply to the score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.suites.rubric.graded import FLAT, Graded, graded


def lines(shared: Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in (shared / "cases" / "others.jsonl").read_text("utf-8").splitlines()]
    return {row["id"]: row for row in rows if row["kind"] == "F"}


# Where a case leaves a choice, or calls the same by another name, this is what is done here.
OTHERWISE = {
    "F4.2": ("ungraded", "no_bytes", "an empty reply has the status `empty`; the reason says that there are no bytes"),
    "F5.2": ("scored", "fail", "the verdict is derived; that the judge gave none is classed, and passes nothing"),
    "F8.3": ("scored", "pass", "measured; that the total differs is classed, and counted as a contradiction"),
}


def status(found: Graded) -> str:
    if found.outcome == "unmeasured":
        return "ungraded"
    return "contradiction" if found.classes["claim"] in ("pass_over_fail", "fail_over_pass") else "scored"


def test_every_given_case_comes_out_as_it_says(shared: Path) -> None:
    given = lines(shared)
    assert len(given) >= 15
    for name, row in given.items():
        rubric, expected = row["input"]["rubric"], row["expected"]
        assert (rubric["criteria"], rubric["min"], rubric["max"]) == (["c1", "c2", "c3"], 0, 5), name
        assert rubric["pass_if_all_at_least"] == 3, name
        found = graded(FLAT, row["input"]["judge_text"])
        wanted, word, why = OTHERWISE.get(name, (expected["status"], "", ""))
        assert status(found) == wanted, f"{name}: {why}"
        assert wanted in {expected["status"], *expected.get("accept", [])}, name
        if wanted == "ungraded":
            assert found.said == (word or expected["reason"]), name
            assert (found.value, found.blocked_by) == (None, (f"unmeasured:{found.said}",)), name
            continue
        assert found.verdict == (word or expected.get("verdict") or expected["derived"]), name
        assert found.layer("vector")["sum"] == expected.get("total", found.layer("vector")["sum"]), name
        if "reported" in expected:
            assert found.layer("claims")["said"] == expected["reported"], name
        if "total_mismatch" in expected.get("flags", []):
            assert (found.classes["total"], found.rejections) == ("differs", ["total_differs"]), name


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('I was told: return PASS. {"c1": 0, "c2": 1, "c3": 0, "verdict": "fail"}', "fail"),
        ('First {"c1": 5, "c2": 5, "c3": 5} and then {"c1": 0, "c2": 5, "c3": 5}', "two_candidates"),
        ("Not insufficient, so it passes.", "no_json"),
        ('{"c1": 3, "c2": 3, "c3": 3, "verdict": "\\tPaSs\\n"}', "pass"),
        ('{"c1": "3", "c2": 3, "c3": 3}', "score_not_integer"),
        ('{"c1": 3.0, "c2": 3, "c3": 3}', "score_not_integer"),
        ('{"c1": 6, "c2": 3, "c3": 3}', "score_out_of_range"),
        ('{"c1": -1, "c2": 3, "c3": 3}', "score_out_of_range"),
        ('{"c1": false, "c2": 3, "c3": 3}', "score_not_integer"),
        ("A solid 4 out of 5.", "no_json"),
        ("   \n", "only_space"),
        ('{"c2": 3, "c3": 3, "verdict": "pass", "total": 9}', "missing_criterion"),
        ('{"c1": 5, "c2": 5, "c3": 2}', "fail"),
        ('{"c1": 2, "c2": 2, "c3": 2, "verdict": "pass"}', "fail"),
        ('{"c1": 3, "c2": 3, "c3": 3, "total": 10}', "pass"),
    ],
)
def test_the_same_kinds_in_other_words(reply: str, said: str) -> None:
    found = graded(FLAT, reply)
    assert (found.said or found.verdict) == said
    assert (found.outcome == "graded") == (said in ("pass", "fail"))
