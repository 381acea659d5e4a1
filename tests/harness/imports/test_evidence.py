"""The recorded runs of another project, imported and rescored at the command line, give the figures computed for them.

Needs ../shared; test_broken_runs.py tells the same story with files of our own.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness.imports.commands import Commands

RULES = ("strict-cite", "strict-span", "fence-cite", "fence-span")
FIXTURES = {"v0": "path_a_authority_change_v0_2026_07_01.json", "v1": "path_a_authority_change_v1_2026_07_09.json"}
V1_RUN = "20260709T202859Z"
FIRST = "20260701T225629Z"
FENCED = "20260709T191930Z"


@pytest.fixture(scope="module")
def evidence() -> Path:
    folder = Path(__file__).resolve().parents[4] / "shared" / "evidence" / "memory-authority-auditor"
    if not folder.is_dir():
        pytest.skip("no ../shared beside the repository")
    return folder


@pytest.fixture(scope="module")
def expected(evidence: Path) -> dict[str, Any]:
    return json.loads((evidence / "expected.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def imported(evidence: Path, expected: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """A ledger with the five artifacts in it, rescored under all rule sets. Runs are named RUN/ENGINE."""
    commands = Commands(tmp_path_factory.mktemp("evidence") / "ledger.db")
    for version, fixture in FIXTURES.items():
        runs = [run for run in expected if (run == V1_RUN) == (version == "v1")]
        found = commands.json(
            "import", "memory-authority-auditor", *(str(evidence / f"path_a_eval_{run}.json") for run in runs),
            "--fixture", str(evidence / fixture),
        )  # fmt: skip
        for each in found["runs"]:
            commands.json("rescore", each["run"], *(f"--rules={name}" for name in (*RULES, "as-of-2026-07-01")))
    return commands


def runs_of(expected: dict[str, Any]) -> list[tuple[str, str]]:
    return [(run, engine) for run, engines in expected.items() for engine in engines]


def test_every_figure_of_the_five_runs_comes_out(imported: Commands, expected: dict[str, Any]) -> None:
    compared = 0
    for run, engine in runs_of(expected):
        report = imported.json("report", f"{run}/{engine}")
        for name, figures in expected[run][engine].items():
            assert imported.figures(report, name.replace("+", "-"), engine) == figures, (run, engine, name)
            compared += 1
    assert compared == 28


def test_the_engine_is_named_as_in_the_artifact_and_the_artifact_is_kept(imported: Commands, evidence: Path) -> None:
    with imported.ledger() as ledger:
        kept = Counter(ledger.blob(event, "file") for event in ledger.events(kind="import") if event.cell == 0)
        outputs = [ledger.blob(event, "output") for event in ledger.events(kind="import") if event.cell]
    assert kept == {
        path.read_bytes(): len(json.loads(path.read_text())["engines"]) for path in evidence.glob("path_a_eval_*.json")
    }
    recorded = [
        case["raw_output"].encode()
        for path in evidence.glob("path_a_eval_*.json")
        for engine in json.loads(path.read_text())["engines"]
        for case in engine["cases"]
    ]
    assert sorted(outputs) == sorted(recorded)


@pytest.mark.parametrize(("engine", "exact_unmeasured"), [("anthropic", 4), ("local_llama3.2", 3)])
def test_as_of_its_day_the_first_run_reads_as_published_and_marks_what_it_counts(
    imported: Commands, engine: str, exact_unmeasured: int
) -> None:
    report = imported.json("report", f"{FIRST}/{engine}", "--rules", imported.label(FIRST, engine, "as-of-2026-07-01"))
    rows = {row["metric"]: row for row in report["scoreboard"]}
    assert (rows["exact"]["k"], rows["exact"]["n"], rows["exact"]["planned"]) == (0, 4, 4)
    assert (rows["negative_pass"]["k"], rows["negative_pass"]["n"], rows["negative_pass"]["planned"]) == (2, 2, 2)
    assert rows["exact"]["unmeasured"] == exact_unmeasured
    assert rows["negative_pass"]["unmeasured"] == 2
    assert (rows["exact"]["worst"], rows["negative_pass"]["worst"]) == (0.0, 0.0)


def test_under_the_fence_the_first_run_says_what_it_was(imported: Commands) -> None:
    reasons = {}
    for engine in ("anthropic", "local_llama3.2"):
        label = imported.label(FIRST, engine, "fence-cite")
        report = imported.json("report", f"{FIRST}/{engine}", "--rules", label)
        reasons[engine] = {row["reason"]: row["count"] for row in report["unmeasured"]}
    assert reasons == {"anthropic": {"billing": 6}, "local_llama3.2": {"terminal_control_bytes": 5}}


def test_the_fenced_run_is_recovered_with_nothing_asked_and_its_flips_name_the_fence(imported: Commands) -> None:
    run = f"{FENCED}/anthropic"
    found = imported.json("rescore", run, "--rules", "fence-cite", "--dry-run")
    assert found["appended"] == 0
    assert {flip["stage"] for flip in found["flips"]} == {"parse: fence"}
    assert {flip["cell"] for flip in found["flips"]} == {1, 2, 3, 4, 5, 6}
    after = {(flip["case"], flip["metric"]): flip["after"] for flip in found["flips"]}
    assert sum(value for (_, metric), value in after.items() if metric == "exact") == 1
    assert sum(value for (_, metric), value in after.items() if metric == "direction") == 3
    assert all(flip["before"] is None for flip in found["flips"])
    with imported.ledger() as ledger:
        assert not list(ledger.events(kind="request")) and not list(ledger.events(kind="response"))


def test_nothing_is_confirmatory_on_what_was_imported(imported: Commands, expected: dict[str, Any]) -> None:
    for run, engine in runs_of(expected):
        rows = imported.json("report", f"{run}/{engine}")["scoreboard"]
        assert {row["standing"] for row in rows} == {"post hoc"}


def test_the_ledger_is_consistent_and_takes_the_same_artifact_for_known(imported: Commands, evidence: Path) -> None:
    assert imported.verdict() == "CONSISTENT"
    assert imported.call("replay", "--check") == 0, imported.said
    again = imported.json(
        "import", "memory-authority-auditor", str(evidence / f"path_a_eval_{V1_RUN}.json"),
        "--fixture", str(evidence / FIXTURES["v1"]),
    )  # fmt: skip
    assert again["appended"] == 0


def test_an_artifact_is_refused_with_the_fixture_of_another(imported: Commands, evidence: Path) -> None:
    status = imported.call(
        "import", "memory-authority-auditor", str(evidence / f"path_a_eval_{V1_RUN}.json"),
        "--fixture", str(evidence / FIXTURES["v0"]),
    )  # fmt: skip
    assert status == 2
    assert "18 of 18 cases are not in the fixture" in imported.said
