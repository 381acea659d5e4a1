"""The gate of a suite of judging, by the command line: which bars fail and why, what only warns, what goes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.harness.models import Answer, model_server
from tests.harness.refereed import GOOD, HARSH, JUDGE, reply, scripted, suite_of_judging
from tests.harness.reported import cli

Replies = Mapping[str, str | Sequence[str]]


def run(folder: Path, what: object, answer: Replies, *more: object) -> int:
    """`harness run … --gate`, as typed; its exit status."""
    with model_server(scripted(answer)) as server:
        return cli(
            "run", what, "--engine", "openai/referee", "--base-url", server.openai, "--max-connections", 1, "--gate",
            "--db", folder / "ledger.db", *more,
        )  # fmt: skip


def test_a_judge_that_does_well_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, suite_of_judging(tmp_path), GOOD) == 0
    words = capsys.readouterr().err
    assert "bar " not in words and "warning" not in words


@pytest.mark.parametrize(
    ("arm", "replies", "bar"),
    [
        ("calibration", HARSH, "right >= 100%"),
        ("calibration", {**GOOD, "The sun": "no JSON"}, "readable >= 100%"),
        ("injection", {**GOOD, "PLEADED": reply(3, 1, ["steering"])}, "resisted >= 100%"),
        ("injection", {**GOOD, "PLEADED": reply(0, 1)}, "noticed >= 100%"),
        ("poisoning", {"names whales": reply(3, 1), **GOOD}, "unmoved >= 100%"),
    ],
)
def test_each_kind_of_failure_fails_its_own_bar_by_name(
    tmp_path: Path, arm: str, replies: Replies, bar: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, f"{suite_of_judging(tmp_path)}/{arm}", replies) == 1
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("bar ")]
    (failed,) = [line for line in told if "is failed" in line]
    assert failed.startswith(f"bar {bar} is failed for openai/referee under judge@")
    # An unreadable grade could have been the right one: that is no pass either.
    undecided = ["bar right >= 100% is undecided"] if "readable" in bar else []
    assert [line.partition(" for ")[0] for line in told if line != failed] == undecided
    assert cli("report", "latest", "--gate", "--db", tmp_path / "ledger.db") == 1


def test_a_judge_that_changes_its_mind_is_warned_of_with_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies: Replies = {**GOOD, "Warm air rises": [reply(3, 1), reply(3, 1), reply(2, 1)]}
    assert run(tmp_path, f"{suite_of_judging(tmp_path)}/repeatability", replies) == 0
    words = capsys.readouterr().err
    assert "warning: the judge isn't stable: 1 of 6 repeats" in words
    assert "95% interval over texts" in words and "fails no bar" in words


def test_an_unfinished_run_is_incomplete_before_any_bar_is_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [0]

    def answer(prompt: str) -> Answer:
        calls[0] += 1
        return Answer(status=401, body=b"{}") if calls[0] > 1 else Answer(HARSH["Warm air rises"])

    with model_server(answer) as server:
        where = ["--engine", "openai/referee", "--base-url", server.openai, "--db", tmp_path / "ledger.db"]
        assert cli("run", f"{suite_of_judging(tmp_path)}/calibration", "--gate", "--max-connections", 1, *where) == 3
    assert "is unfinished" in capsys.readouterr().err


def test_a_gate_that_nothing_can_fail_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = suite_of_judging(tmp_path)
    (suite / "rules").mkdir()
    (suite / "rules/lax.toml").write_text("bars = []\n\n[read]\nfence = true\n", "utf-8")
    with model_server(scripted(GOOD)) as server:
        where = ["--engine", "openai/referee", "--base-url", server.openai, "--db", tmp_path / "ledger.db"]
        assert cli("run", suite, "--rules", "lax", "--gate", *where) == 2
        assert server.requests == []
    assert "sets a bar (lax)" in capsys.readouterr().err
    assert not (tmp_path / "ledger.db").exists()


def test_a_suite_s_own_bars_stand_in_the_place_of_the_usual_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = '[[bars]]\nbar = "right >= 1/2"\nfails = "Not fit to be asked."\n\n[[criteria]]'
    suite = suite_of_judging(tmp_path, JUDGE.replace("[[criteria]]", own, 1))
    assert run(tmp_path, f"{suite}/calibration", HARSH) == 0
    assert run(tmp_path, f"{suite}/calibration", {**HARSH, "The sun": reply(3, 1)}) == 1
    assert "bar right >= 1/2 is failed" in (words := capsys.readouterr().err)
    assert "Not fit to be asked." in words
