"""The committed ledger.db: the project's own history verifies, and the real b3sum agrees with every hash."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from harness._report import read_report
from harness._report_document import between
from ledger import Ledger, export_lines, verify

ROOT = Path(__file__).resolve().parents[1]
DB = ROOT / "ledger.db"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    # A copy, so that reading leaves no -shm beside the committed file.
    return Path(shutil.copy(DB, tmp_path / "ledger.db"))


def test_the_committed_history_is_whole_and_verifies(history: Path) -> None:
    assert not DB.with_name("ledger.db-wal").exists() or DB.with_name("ledger.db-wal").stat().st_size == 0
    verdict = verify(history)
    assert (verdict.verdict, verdict.problems) == ("CONSISTENT", ())
    assert verdict.events > 100


@pytest.mark.skipif(shutil.which("b3sum") is None, reason="b3sum is not installed; `apt-get install b3sum`")
def test_b3sum_agrees_with_every_hash_of_the_history(history: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    with Ledger.open(history, read_only=True) as ledger:
        hashes = [event.hash for event in ledger.events()]
        for number, line in enumerate(export_lines(ledger), start=1):
            (folder / f"{number:08}").write_bytes(line)
    command = ["b3sum", "--no-names", *sorted(folder.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == hashes


def test_the_history_was_recorded_from_live_servers_and_no_run_was_taken_out(history: Path) -> None:
    connection = sqlite3.connect(history)
    try:
        runs = connection.execute("SELECT run, via, planned FROM runs WHERE purpose = 'evaluation'").fetchall()
        planned = connection.execute("SELECT count(*) FROM events WHERE kind = 'plan'").fetchone()[0]
        probes = connection.execute("SELECT count(*) FROM runs WHERE purpose = 'probe'").fetchone()[0]
    finally:
        connection.close()
    assert len(runs) + probes == planned
    assert {via for _, via, _ in runs} == {"live"}


def test_the_figures_of_the_referee_s_page_are_those_of_its_runs(history: Path) -> None:
    page = (ROOT / "fixtures/referee/README.md").read_text("utf-8")
    runs = re.findall(r"^\| run \| `(\w+)` \| `(\w+)` \|$", page, re.MULTILINE)[0]
    told = re.findall(r"^\| `(\w+)` \| (\d.*) \| (\d.*) \|$", page, re.MULTILINE)
    assert len(told) == 8
    with Ledger.open(history, read_only=True) as ledger:
        boards = [{row["metric"]: row for row in read_report(ledger, run).scoreboard} for run in runs]
    for metric, *figures in told:
        for figure, board in zip(figures, boards, strict=True):
            row = board[metric]
            of = "" if metric == "readable" or row["n"] == row["planned"] else f" of {row['planned']}"
            assert figure == f"{row['k']}/{row['n']}{of}, {between(row['interval_low'], row['interval_high'])}", metric
