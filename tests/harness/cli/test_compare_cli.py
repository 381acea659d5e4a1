"""`harness compare` as it is typed: exit statuses, JSON alone on stdout, and real runs of a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli import app
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
