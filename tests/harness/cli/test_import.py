"""`harness import`: from files to runs at the command line."""

import json
import shutil
from pathlib import Path

import pytest

from harness.cli import app
from ledger.cli import run_app
from tests.harness.imports.artifacts import CASES, FORMAT, artifact, cell, fixture, good, put, sample

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    put(tmp_path / "run.json", sample())
    put(tmp_path / "glasshouse_v0.json", fixture())
    monkeypatch.chdir(tmp_path)
    for name in ("LEDGER_DB", "LEDGER_JSON"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    assert run_app(app, "harness", ["import", *arguments]) == status
    return capsys.readouterr()


def test_json_has_one_entry_a_run_and_words_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = call(capsys, FORMAT, "run.json", "--fixture", "glasshouse_v0.json", "--json")
    found = json.loads(out)
    assert [(each["engine"], each["cells"], each["grade"]) for each in found["runs"]] == [
        ("paid one", 4, "text"), ("local_small", 4, "text"),
    ]  # fmt: skip
    assert found["appended"] > 0 and found["notes"] == []
    assert "ledger.db did not exist; it was made." in err
    again = json.loads(call(capsys, FORMAT, "run.json", "--fixture", "glasshouse_v0.json", "--json")[0])
    assert again["runs"] == found["runs"] and again["appended"] == 0


def test_people_are_told_what_came_and_where_the_two_readers_disagree(capsys: pytest.CaptureFixture[str]) -> None:
    put(Path("other.json"), artifact({"e\x1b[2J": [cell("vents", good(CASES[1], fence=True))]}, fixture="else.json"))
    out, err = call(capsys, FORMAT, "run.json", "other.json", "--fixture", "glasshouse_v0.json")
    assert "paid one, 4 cells; grade text." in out
    assert "4 cells, 3 of them not in the artifact; grade text." in out
    assert "disagree on 1 of 1 texts: 1 that theirs took are not read under strict-cite@" in out
    assert "agree on which of the 4 texts can be read" in out
    assert "warning: other.json says that its fixture is 'else.json'" in err
    assert "\x1b" not in out + err
    assert (
        "imported before, and nothing was appended"
        in call(capsys, FORMAT, "run.json", "--fixture", "glasshouse_v0.json")[0]
    )


def test_the_formats_are_listed_and_an_unknown_one_is_refused_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert FORMAT in call(capsys, "--list")[0]
    assert [each["format"] for each in json.loads(call(capsys, "--list", "--json")[0])["formats"]] == [FORMAT]
    for wrong in (["nope\x1b", "run.json", "--fixture", "x"], []):
        _, err = call(capsys, *wrong, status=2)
        assert f"expected a format out of {FORMAT}, got" in err and "\x1b" not in err


def test_what_is_missing_or_broken_is_one_sentence_and_no_ledger(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(here / "bad.json", b"{")
    for arguments, says in (
        ([FORMAT], "expected at least one artifact"),
        ([FORMAT, "run.json"], "expected --fixture FILE"),
        ([FORMAT, "bad.json", "--fixture", "glasshouse_v0.json"], "bad.json: expected one JSON value"),
        ([FORMAT, "glasshouse_v0.json", "--fixture", "run.json"], "is this the fixture, and not an artifact?"),
        ([FORMAT, "run.json", "--fixture", "nowhere.json"], "nowhere.json: there is no such file"),
    ):
        _, err = call(capsys, *arguments, status=2)
        assert says in err and err.count("\n") == 1 and err.startswith("error: ")
    assert not (here / "ledger.db").exists()


def test_without_a_suite_of_ones_own_it_is_scored_by_the_one_that_the_package_carries(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(here / "fixtures")
    assert "shows its scoreboard" in call(capsys, FORMAT, "run.json", "--fixture", "glasshouse_v0.json")[0]
