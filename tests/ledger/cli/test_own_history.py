"""Nobody writes into the project's own history by leaving --db out; whoever names it can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HISTORY = Path(__file__).parents[3] / "ledger.db"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copyfile(HISTORY, tmp_path / "ledger.db")
    return tmp_path


def done(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    rest = {name: value for name, value in os.environ.items() if name != "LEDGER_DB"}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=60, env={**rest, **environ}
    )


@pytest.mark.parametrize(
    "words",
    [
        ("ledger", "note", "x"),
        ("ledger", "taint", "latest", "--reason", "x"),
        ("ledger", "upgrade"),
        ("harness", "freeze", "authority"),
        ("harness", "run", "authority", "--engine", "replay/ledger.db"),
        ("harness", "resume", "latest"),
        ("harness", "rescore", "latest", "--rules", "strict-cite"),
        ("harness", "gate", "latest", "--against", "latest", "--margin", "2pp"),
        ("harness", "report", "latest", "-o", "x.html"),
    ],
    ids=" ".join,
)
def test_a_command_that_writes_refuses_it_until_it_is_named(folder: Path, words: tuple[str, ...]) -> None:
    before = (folder / "ledger.db").read_bytes()
    seen = done(folder, *words)
    assert (seen.returncode, seen.stdout) == (4, "")
    assert seen.stderr.startswith(
        "error: ./ledger.db is the history that eval-ledger keeps of itself, and nobody named"
    )
    assert (folder / "ledger.db").read_bytes() == before
    assert [each.name for each in folder.iterdir()] == ["ledger.db"]


def test_it_is_read_without_being_named_and_written_where_it_is(folder: Path) -> None:
    assert done(folder, "ledger", "log").returncode == 0
    assert done(folder, "harness", "report").returncode == 0
    assert done(folder, "ledger", "note", "x", "--db", "ledger.db").returncode == 0
    assert done(folder, "ledger", "note", "x", LEDGER_DB="ledger.db").returncode == 0


def test_another_ledger_of_that_name_is_written_as_ever(tmp_path: Path) -> None:
    assert done(tmp_path, "ledger", "init").returncode == 0
    assert done(tmp_path, "ledger", "note", "x").returncode == 0
