"""`harness compare` as it is typed: exit statuses, JSON alone on stdout, and real runs of a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness._rescore import find_rule_sets, rescore_run
from harness.cli import app
from harness.imports import ImportJob, import_job
from ledger import Ledger
from ledger.cli import run_app
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.scored import scored_run
from tests.harness.test_run import perfect


class Typed:
    def __init__(self, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
        self.db, self.capsys = str(ledger.path), capsys

    def __call__(self, *arguments: str, expect: int = 0) -> tuple[str, str]:
        assert run_app(app, "harness", ["compare", *arguments, "--db", self.db]) == expect
        told = self.capsys.readouterr()
        assert "Traceback" not in told.err
        return told.out, told.err


@pytest.fixture
def typed(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> Typed:
    return Typed(ledger, capsys)


def two(ledger: Ledger, name: str, **more: Any) -> str:
    told = {"a/x": {"c": "right", "d": "wrong"}, "b/y": {"c": "right", "d": "right"}}
    return scored_run(ledger, told, name=name, **more)


def test_json_alone_is_on_stdout_and_says_what_the_text_says(ledger: Ledger, typed: Typed) -> None:
    run = two(ledger, "first")
    out, errors = typed("first", "--json")
    assert errors == ""
    found = json.loads(out)
    assert (found["comparable"], found["forced"]) == (True, False)
    (pair,) = found["comparisons"]
    assert pair["a"] == {"run": run, "candidate": "a/x", "rules": pair["b"]["rules"]}
    assert (pair["mode"], pair["moved"], pair["candidate_differs"]) == ("candidates", [], ["model"])
    exact = pair["metrics"][0]
    assert (exact["metric"], exact["both"], exact["only_a"], exact["only_b"], exact["neither"]) == ("exact", 1, 0, 1, 0)
    assert exact["interval"] | {"low": 0, "high": 0} == {
        "low": 0, "high": 0, "method": "percentile bootstrap over cases", "resamples": 10_000, "seed": 20260701,
        "spread": True,
    }  # fmt: skip
    assert [flip["case"] for flip in exact["flips"]] == ["one/d"]
    assert set(pair["fingerprints"]["a"]) == {"version", "comparable", "identical"}
    assert pair["fingerprints"]["a"]["comparable"] == pair["fingerprints"]["b"]["comparable"]
    shown, _ = typed("first")
    assert exact["sentence"] in shown


def test_what_is_not_comparable_ends_in_4_with_what_moved_and_no_number(ledger: Ledger, typed: Typed) -> None:
    two(ledger, "first")
    two(ledger, "second", arm="told")
    out, errors = typed("first", "second", expect=4)
    assert "NOT COMPARABLE:\n  arm moved from none to told\n" in out
    assert "exact*" not in out
    assert errors == "error: NOT COMPARABLE: arm moved; --force shows the numbers all the same\n"
    out, _ = typed("first", "second", "--json", expect=4)
    found = json.loads(out)
    assert found["comparable"] is False
    for pair in found["comparisons"]:
        assert [each["component"] for each in pair["moved"]] == ["arm"]
        assert pair["mend"]
        assert "metrics" not in pair
        assert pair["fingerprints"]["a"]["comparable"] != pair["fingerprints"]["b"]["comparable"]
    out, errors = typed("first", "second", "--force")
    assert (out.startswith("!!! NOT COMPARABLE"), errors) == (True, "")
    assert "exact*" in out
    assert json.loads(typed("first", "second", "--force", "--json")[0])["forced"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("nope",), ("first", "nope"), ("first@nope",), ("first", "first"), ("first", "--rules", "nope"),
        ("first", "--metric", "nope"), ("first", "second", "third"),
        ("first", "--rules", "strict-cite", "--rules", "x"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_in_2_with_one_sentence(ledger: Ledger, typed: Typed, arguments: tuple[str, ...]) -> None:
    two(ledger, "first")
    out, errors = typed(*arguments, expect=2)
    assert out == ""
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1


def test_a_ledger_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(app, "harness", ["compare", "latest", "--db", str(tmp_path / "none.db")]) == 2
    assert "error: " in capsys.readouterr().err


def test_two_real_runs_and_a_limited_one_compare_case_by_case(tmp_path: Path) -> None:
    experiment = Experiment(tmp_path / "work")
    asked: list[str] = []

    def poor(prompt: str) -> Answer:
        asked.append(prompt)
        return Answer(perfect(prompt) if len(asked) % 3 else '{"proposals": []}')

    with model_server(lambda prompt: Answer(perfect(prompt))) as good, model_server(poor) as other:
        experiment.run(good, "--name", "good", suite="authority")
        experiment.run(other, "--name", "poor", "--engine", "ollama/n", "--limit", "10", suite="authority")
    found = experiment.harness("compare", "good", "poor@ollama/n")
    (strict, fence) = found["comparisons"]
    assert strict["a"]["rules"].startswith("strict-cite@")
    assert fence["a"]["rules"].startswith("fence-cite@")
    by_name = {each["metric"]: each for each in strict["metrics"]}
    exact, fired = by_name["exact"], by_name["false_fire"]
    assert exact["a"]["k"] == exact["a"]["n"] == exact["pairs"] < exact["planned"] == 16
    assert exact["only_b"] == 0 < exact["only_a"]
    assert fired["higher_is_better"] is False
    assert {each["why"] for each in strict["missing"]} == {"not planned"}
    assert len(strict["missing"]) == 14
    assert experiment.verified() == "CONSISTENT"


def test_one_run_under_two_rule_sets_names_the_stage_that_moved_each_cell(tmp_path: Path) -> None:
    experiment = Experiment(tmp_path / "work")
    with model_server(lambda prompt: Answer(f"```json\n{perfect(prompt)}\n```")) as server:
        run = experiment.run(server)["run"]
    (pair,) = experiment.harness("compare", run, "--rules", "strict-cite", "--rules", "fence-cite")["comparisons"]
    assert (pair["mode"], pair["comparable"]) == ("rules", True)
    assert [pair[side]["rules"].partition("@")[0] for side in "ab"] == ["strict-cite", "fence-cite"]
    assert {each["stage"] for each in pair["flips"]} == {"parse: fence"}
    assert {each["cell"] for each in pair["flips"]} == set(range(1, 7))
    assert {(each["side"], each["reason"]) for each in pair["missing"]} == {("a", "fenced")}
    assert {each["verdict"] for each in pair["metrics"]} == {"no_data"}
    process = experiment.start("harness", "compare", run, "--rules", "strict-cite", "--rules", "fence-cite")
    out, _ = process.communicate(timeout=120)
    assert "What moved each cell (" in out
    assert "exact: unmeasured → 1 by parse: fence" in out


def test_the_published_comparison_of_18_cases_is_found_again(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evidence, db = shared / "evidence" / "memory-authority-auditor", tmp_path / "ledger.db"
    artifact = evidence / "path_a_eval_20260709T202859Z.json"
    fixture = evidence / "path_a_authority_change_v1_2026_07_09.json"
    done = import_job(ImportJob("memory-authority-auditor", [artifact], fixture), db)
    runs = {each.engine: each.run for each in done.runs}
    with Ledger.open(db) as ledger:
        for run in runs.values():
            rescore_run(ledger, run, find_rule_sets(ledger, run, ["fence-cite"]))
    arguments = ["compare", runs["anthropic"], runs["local_llama3.2"], "--rules", "fence-cite", "--db", str(db)]
    assert run_app(app, "harness", [*arguments, "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["comparisons"]
    found = {each["metric"]: each for each in pair["metrics"]}
    direction = found["direction"]
    assert (direction["a"]["k"], direction["a"]["n"]) == (12, 12)
    assert (direction["b"]["k"], direction["b"]["n"]) == (4, 12)
    assert [direction[name] for name in ("both", "only_a", "only_b", "neither")] == [4, 8, 0, 0]
    assert direction["mcnemar_exact_p"] == pytest.approx(0.0078125, abs=1e-9)
    assert len(direction["flips"]) == 8
    assert direction["smallest_difference"] == pytest.approx(0.578, abs=0.001)
    assert (found["exact"]["a"]["k"], found["exact"]["b"]["k"]) == (7, 0)
    assert (found["false_fire"]["a"]["k"], found["false_fire"]["b"]["k"], found["false_fire"]["pairs"]) == (0, 1, 6)
    assert any("IMPORTED" in each for each in pair["warnings"])
    assert any("POST HOC" in each for each in pair["warnings"])
    assert run_app(app, "harness", [*arguments, "--metric", "direction"]) == 0
    said = capsys.readouterr().out
    assert "direction: A is higher; exact McNemar p = 0.0078; higher is better" in said
    assert "With 12 paired cases, a true difference under about 58 points may well go unnoticed" in said


def test_runs_are_compared_and_held_to_a_margin_without_any_extra(ledger: Ledger, tmp_path: Path) -> None:
    two(ledger, "first")
    (tmp_path / "plain.py").write_text(
        "import sys\n"
        "for name in ('scipy', 'statsmodels', 'pandas', 'duckdb'):\n"
        "    sys.modules[name] = None\n"
        "from harness.cli import main\n"
        "main()\n"
    )
    gate = ("gate", "first@b/y", "--against", "first@a/x", "--margin", "5pp", "--no-record")
    for command in (("compare", "first"), gate):
        found = subprocess.run(
            [sys.executable, str(tmp_path / "plain.py"), *command, "--db", str(ledger.path), "--json"],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert found.returncode in (0, 1, 3), found.stderr
        assert json.loads(found.stdout) and "isn't installed" not in found.stderr
