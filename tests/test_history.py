"""The committed ledger.db: the project's own history verifies, and the real b3sum agrees with every hash."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness._report import read_report
from harness._report_document import between
from ledger import Ledger, Outside, export_lines, verify
from ledger._prefix import tree_of
from ledger.checkpoints._files import checkpoint_folder
from ledger.tree import VerifierKey, parse_checkpoint

ROOT = Path(__file__).resolve().parents[1]
DB = ROOT / "ledger.db"
KEY = VerifierKey.parse((ROOT / "docs" / "ledger.db.vkey").read_text("ascii"))

PARTED = {(667, "fcd3e844ccb932901025e793b0792eee5384cfe98d5b0c7e11e9cbd2518931c6")}
"""Heads that were committed and aren't in the chain. One: on 30 November 2026, before there were checkpoints, the event
that put release 5's views in force was taken back with the commit after it, and appended anew (docs/CHECKPOINTS.md)."""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    # A copy, so that reading leaves no -shm beside the committed file.
    shutil.copytree(checkpoint_folder(DB), checkpoint_folder(tmp_path / "ledger.db"))
    return Path(shutil.copy(DB, tmp_path / "ledger.db"))


def test_the_committed_history_is_whole_and_verifies(history: Path) -> None:
    assert not DB.with_name("ledger.db-wal").exists() or DB.with_name("ledger.db-wal").stat().st_size == 0
    verdict = verify(history, Outside(keys=(KEY,), require_checkpoint=True))
    assert (verdict.verdict, verdict.problems, verdict.failures) == ("MATCHES CHECKPOINT", (), ())
    assert verdict.events > 100


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout


def committed(path: str) -> Iterator[tuple[str, str]]:
    """(name, blob id) of every version of a file, or of a folder's files, in the commits that this clone has."""
    seen: set[tuple[str, str]] = set()
    for commit in git("rev-list", "HEAD", "--", path).decode().split():
        for line in git("ls-tree", "-r", "-z", commit, "--", path).decode().split("\0")[:-1]:
            kept, _, name = line.partition("\t")
            seen.add((name, kept.split()[2]))
    yield from sorted(seen)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone: there is no history to look at")
def test_each_commit_s_ledger_extends_the_one_before_and_no_checkpoint_was_taken_back(
    history: Path, tmp_path: Path
) -> None:
    with Ledger.open(history, read_only=True) as ledger:
        hashes = {event.seq: event.hash for event in ledger.events()}
        tree = tree_of(ledger)
    versions = list(committed("ledger.db"))
    assert versions
    parted: set[tuple[int, str]] = set()
    for _, blob in versions:
        (tmp_path / "then.db").write_bytes(git("cat-file", "blob", blob))
        with closing(sqlite3.connect(f"file:{tmp_path / 'then.db'}?immutable=1", uri=True)) as then:
            parted |= {each for each in then.execute("SELECT seq, hash FROM events") if hashes.get(each[0]) != each[1]}
    assert parted <= PARTED, "an event that was committed isn't in the ledger as it is now"
    for name, blob in committed("ledger.db.checkpoints"):
        data = git("cat-file", "blob", blob)
        assert (ROOT / name).read_bytes() == data, f"{name} was there once, with other bytes"
        if name.endswith(".checkpoint"):
            signed = parse_checkpoint(data)
            assert signed.note.signed_by([KEY]) == (KEY,)
            assert tree.root(signed.checkpoint.size) == signed.checkpoint.root


def test_the_public_key_in_the_docs_is_the_one_that_the_history_is_checked_with() -> None:
    assert f"```text\n{KEY}\n```" in (ROOT / "docs" / "CHECKPOINTS.md").read_text("utf-8")
    assert "docs/ledger.db.vkey" in (ROOT / ".ci" / "run").read_text("utf-8")


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
