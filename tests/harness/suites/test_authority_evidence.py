"""The recorded runs of another project, read, confirmed and scored here, give the figures that were computed for them.

That project kept the text its models wrote, not the bytes of HTTP; so reading begins at the text.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness._json import loads
from harness.parse import ReadRules, read_text
from harness.suites import stages

AUTHORITY = stages("authority")
READ = {
    "strict": ReadRules(list_not_object=True),
    "fence": ReadRules(list_not_object=True, fence=True, unclosed_fence=True),
}
CONFIRM = {
    "cite": AUTHORITY.confirm_rules({}),
    "span": AUTHORITY.confirm_rules({"relation_in_span": True}),
}
SCORE = {"primary": AUTHORITY.primary, "metrics": {metric.name: metric.kind for metric in AUTHORITY.metrics}}


def gold_of(case: dict[str, Any]) -> Any:
    """That project's key in the form of this suite's gold."""
    relations = case["expected_relations"]
    return {
        "expected": [
            {"type": found["type"], "source": found["source_item_id"], "target": found["target_item_id"]}
            for found in relations
        ],
        "forbidden": sorted({kind for found in case["expected_no_relations"] for kind in found["forbidden_types"]}),
        "reference": relations or case["expected_no_relations"],
    }


def figures(recorded: list[dict[str, Any]], cases: dict[str, Any], read: str, confirm: str) -> dict[str, int]:
    """What `expected.json` counts, over one engine of one run."""
    found = dict.fromkeys(
        ["planned", "measured", "positives", "exact", "direction", "negatives", "negative_pass", "false_fire",
         "false_fire_without_confirmer"], 0)  # fmt: skip
    for entry in recorded:
        found["planned"] += 1
        case = cases[entry["case_id"]]
        reading = read_text(entry["raw_output"].encode(), ask="object", stop="none", rules=READ[read])
        if reading.status != "parsed":
            continue
        assert reading.value is not None
        misfit, value = AUTHORITY.schema(loads(reading.value))
        if misfit is not None:
            continue
        found["measured"] += 1
        gold = gold_of(case)
        assert AUTHORITY.check_case({"text": case["text"]}, gold) is None
        confirmed = AUTHORITY.confirm(value, {"text": case["text"]}, CONFIRM[confirm])
        scored = AUTHORITY.score(value, confirmed, gold, SCORE)
        (group,) = AUTHORITY.group(gold)
        found[f"{group}s"] += 1
        for name, figure in scored.metrics.items():
            found[name] += int(figure)
    return found


@pytest.fixture
def evidence(shared: Path) -> Path:
    return shared / "evidence" / "memory-authority-auditor"


def test_every_figure_of_the_five_runs_comes_out_under_all_four_rule_sets(evidence: Path) -> None:
    cases = {
        case["id"]: case
        for path in sorted(evidence.glob("path_a_authority_change_*.json"))
        for case in json.loads(path.read_text())["cases"]
    }
    expected = json.loads((evidence / "expected.json").read_text())
    assert len(expected) == 5
    for run, engines in expected.items():
        recorded = json.loads((evidence / f"path_a_eval_{run}.json").read_text())["engines"]
        assert {entry["engine"] for entry in recorded} == set(engines)
        for entry in recorded:
            for name, wanted in engines[entry["engine"]].items():
                read, confirm = name.split("+")
                assert figures(entry["cases"], cases, read, confirm) == wanted, (run, entry["engine"], name)


def test_the_broken_run_reads_as_fenced_when_strict_and_is_measured_whole_with_the_fence_off(evidence: Path) -> None:
    (entry,) = json.loads((evidence / "path_a_eval_20260709T191930Z.json").read_text())["engines"]
    texts = [case["raw_output"].encode() for case in entry["cases"]]
    strict = [read_text(text, ask="object", stop="none", rules=READ["strict"]) for text in texts]
    fenced = [read_text(text, ask="object", stop="none", rules=READ["fence"]) for text in texts]
    assert [(reading.status, reading.reason) for reading in strict] == [("malformed", "fenced")] * 6
    assert [reading.status for reading in fenced] == ["parsed"] * 6


def test_terminal_control_bytes_are_named_as_such(evidence: Path) -> None:
    engines = json.loads((evidence / "path_a_eval_20260701T225629Z.json").read_text())["engines"]
    (entry,) = [found for found in engines if found["engine"] == "local_llama3.2"]
    readings = [
        read_text(case["raw_output"].encode(), ask="object", stop="none", rules=READ["fence"])
        for case in entry["cases"]
    ]
    assert sorted(reading.reason for reading in readings) == ["", *["terminal_control_bytes"] * 5]
