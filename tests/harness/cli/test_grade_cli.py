"""The command `harness grade`: its words, its JSON and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli import app
from ledger.cli import run_app
from tests.harness.judged import JUDGE, Bench, judge
from tests.harness.models import Answer, model_server


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def command(bench: Bench, *arguments: object, suite: str = "essays") -> int:
    given = [*map(str, arguments), "--judge", str(bench.folder / suite), "--db", str(bench.db)]
    return run_app(app, "harness", ["grade", *given])


def test_people_are_shown_the_judge_s_figures_and_those_of_the_run_it_graded(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bench.run()
    with model_server(judge()) as server:
        where = ("--engine", "openai/inspector", "--base-url", server.openai)
        assert command(bench, run, *where, "--gate", "--name", "first", "--note", "a try") == 0
        said = capsys.readouterr()
        assert "have no answer to grade, and stay unmeasured: " in said.err
        assert "essays under judge@" in said.out
        assert "weather under essays.openai-inspector@" in said.out
        assert f"joined run {run} as essays.openai-inspector@" in said.out
        assert command(bench, "latest-judge", *where, "--json") == 4
        assert "a judge's own" in capsys.readouterr().err
        assert command(bench, run, *where, "--json", "--limit", 1) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (found["graded"], found["planned"], found["unread"]) == (
        run, 1, {"truncated (stop_length)": 1, "error (auth)": 1},
    )  # fmt: skip
    (joined,) = found["joined"]
    assert (joined["run"], joined["judge"], joined["outcomes"]) == (
        run, "openai/inspector", {"graded": 1, "unmeasured": 3},
    )  # fmt: skip


def test_a_judge_that_is_unreadable_fails_the_gate_and_one_that_errs_is_incomplete(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bench.run(limit=1)
    for reply, status in ((Answer("no idea"), 1), (Answer("x", status=401), 3)):
        with model_server(lambda prompt, reply=reply: reply) as server:
            where = ("--engine", "openai/inspector", "--base-url", server.openai)
            assert command(bench, run, *where, "--gate") == status
    assert "bar readable >= 100% is failed" in capsys.readouterr().err


def test_a_dry_run_says_what_would_be_asked_and_changes_nothing(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bench.run()
    with bench.ledger() as ledger:
        before = ledger.head()
    assert command(bench, run, "--engine", "openai/x", "--base-url", "http://127.0.0.1:9/v1", "--dry-run") == 0
    assert "2 cases, 2 calls. Nothing was sent" in capsys.readouterr().out
    with bench.ledger() as ledger:
        assert ledger.head() == before
    assert command(bench, "--write", "openai/x", "--engine", "openai/x", "--dry-run") == 2


def test_what_can_not_be_asked_for_is_said_in_one_sentence(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    run = bench.run(limit=1)
    for arguments, sentence in (
        ((run,), "name the judge: --engine provider/model"),
        (("--engine", "openai/x"), "name either a RUN"),
        ((run, "--write", "openai/x", "--engine", "openai/x"), "name either a RUN"),
    ):
        assert command(bench, *arguments) == 2
        assert sentence in capsys.readouterr().err
    assert command(bench, run, "--engine", "openai/x", suite="weather") == 2
    assert "is no suite of judging" in capsys.readouterr().err


def test_the_suite_s_own_judge_is_asked_where_nobody_names_one(bench: Bench) -> None:
    run = bench.run(limit=1)
    with model_server(judge()) as server:
        own = f'[judge]\nengine = "openai/own"\nbase_url = "{server.openai}"\n\n[sampling]'
        bench.manifest(JUDGE.replace("[sampling]", own))
        assert command(bench, run) == 0
    assert {row["judge"] for row in bench.rows("SELECT judge FROM grades")} == {"openai/own"}
