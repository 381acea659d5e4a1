"""`harness grade` with --against and --labels: what it prints, what it asks, and what it refuses before it asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli import app
from ledger.cli import run_app
from tests.harness.judged import Bench, judge
from tests.harness.models import Answer, ModelServer, model_server


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(tmp_path)
    for name in ("LEDGER_DB", "LEDGER_JSON", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Bench(tmp_path)


def harness(*arguments: str, status: int = 0) -> None:
    assert run_app(app, "harness", list(arguments)) == status


def asking(server: ModelServer, bench: Bench) -> list[str]:
    return ["--judge", str(bench.folder / "essays"), "--engine", "openai/inspector", "--base-url", server.openai]


def test_against_prints_the_pairs_and_its_json_has_them_too(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = bench.run(), bench.run()
    with model_server(lambda prompt: Answer('{"winner": "first"}')) as server:
        harness("grade", a, "--against", b, *asking(server, bench))
        shown = capsys.readouterr()
        said = " ".join(shown.out.split())
        assert (
            "What the suite says of openai/inspector under pair@" in said and "Pairs" in said and "inconsistent" in said
        )
        assert "2 pairs are of two identical texts" in shown.err
        harness("grade", a, "--against", b, *asking(server, bench), "--json")
    found = json.loads(capsys.readouterr().out)
    (outcomes, *_) = found["study"][0]["tables"]
    assert [row[:3] for row in outcomes["rows"]] == [
        ["A wins", 0, 2], ["B wins", 0, 2], ["tie", 0, 2], ["inconsistent", 2, 2], ["unmeasured", 0, 2],
    ]  # fmt: skip
    assert (found["pairs"], found["planned"], len(found["unpaired"])) == (2, 4, 4)


def test_labels_with_a_judge_are_on_record_ahead_and_the_agreement_is_shown(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bench.run()
    Path("human.csv").write_text("case,verdict,plain\nrain,pass,1\nsnow,fail,0\n")
    with model_server(judge(3, 1)) as server:
        harness("grade", run, "--labels", "human.csv", *asking(server, bench), "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["labels"]["labels"], found["labels"]["criteria"]) == (2, ["plain"])
    (people, *_) = found["agreement"]
    columns = [column["name"] for column in people["columns"]]
    verdict, plain = (dict(zip(columns, row, strict=True)) for row in people["rows"])
    assert (verdict["n"], verdict["alike"], verdict["kappa"]) == (2, 1, 0.0)
    assert (plain["on"], plain["n"], plain["alike"]) == ("plain", 2, 1)


def test_labels_alone_ask_nobody_and_the_same_file_again_appends_nothing(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bench.run()
    bench.grade(run)
    Path("human.csv").write_text("case,verdict\nrain,pass\nsnow,fail\n")
    harness("grade", run, "--labels", "human.csv")
    shown = capsys.readouterr()
    assert "Agreement with people: every candidate under all who judged" in " ".join(shown.out.split())
    assert "Every planned cell was measured" not in shown.out and "Spent" not in shown.out, "not the run's own report"
    assert f"2 labels by 1 person on run {run} on record as event" in shown.out + shown.err
    before = bench.rows("SELECT count(*) AS n FROM main.events")
    harness("grade", run, "--labels", "human.csv", "--json")
    assert json.loads(capsys.readouterr().out)["appended"] is False
    assert bench.rows("SELECT count(*) AS n FROM main.events") == before


def test_what_doesnt_go_together_is_refused_in_a_sentence_and_nobody_is_asked(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bench.run()
    Path("human.csv").write_text("case,verdict\nrain,perhaps\n")
    with model_server(judge()) as server:
        for arguments, said in (
            ([run, "--against", run, "--labels", "human.csv"], "leave out --against and --write"),
            (["--labels", "human.csv"], "name either a RUN"),
            (["--write", "openai/x", "--against", run], "leave out --write"),
            ([run, "--labels", "human.csv"], "line 2: verdict: expected pass or fail, got 'perhaps'"),
            ([run, "--labels", "gone.csv"], "gone.csv: there is no such file"),
        ):
            harness("grade", *arguments, *asking(server, bench), status=2)
            assert said in capsys.readouterr().err
        assert server.requests == []
    harness("grade", "--labels", "human.csv", status=2)
    assert "name the RUN whose answers were labelled" in capsys.readouterr().err


def test_every_row_that_cant_be_taken_has_a_line_of_its_own(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    run = bench.run()
    Path("human.csv").write_text("case,verdict\nrain,perhaps\nsnow,pass\nhail\\n,fail\n")
    harness("grade", run, "--labels", "human.csv", status=2)
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "error: human.csv: 2 of 3 rows can't be taken as labels, so none was:"
    assert second.startswith("  line 2: verdict: expected pass or fail") and third.startswith("  line 4: ")
