"""Nobody calls an honest ledger false: neither verify nor a report and its check nor the readers of a bundle.

A bundle of what was redacted is proved in part (exit 3); everything else is proved whole.
"""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest

from tests.forgeries.bases import BASES, base
from tests.forgeries.holders import ask, commands
from tests.forgeries.honest import HONEST, honest
from tests.forgeries.lab import Lab, ferryman, rows_of
from tests.harness.imports.artifacts import CASES, fixture, put, sample
from tests.harness.models import model_server
from tests.ledger.ledgers import settle

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
BEFORE = sorted(each.name.partition(".")[0] for each in GOLDEN.glob("before-links/*.xz"))
WITHHELD = ("redacted", "compressed", "frozen_files_withheld", "prompt_withheld")


def called_false(db: Path, *, withheld: bool = False, runs: int = 2) -> list[str]:
    """Who says of a ledger, of its newest runs, and of reports of them, that something is false: a sentence each."""
    settle(db)
    found = ask(db, "verify", "deep")
    wrong = [f"{who}: exit {said.status}\n{said.text}" for who, said in found.items() if said.status]
    plans = rows_of(db, "SELECT run, body ->> '$.purpose' FROM events WHERE kind = 'plan' ORDER BY seq DESC")
    for run, purpose in plans[:runs]:
        for who, said in ask(db, "reader", "verify.py", run=str(run)).items():
            if said.status not in ({0, 3} if withheld else {0}):
                wrong.append(f"{who} of {run}: exit {said.status}\n{said.text}")
        if purpose == "probe":
            continue
        report = db.parent / f"{run}.md"
        for said in (
            commands("harness", "report", run, "-o", report, "--db", db),
            commands("harness", "check", report, "--db", db),
        ):
            if said.status not in ({0, 1} if withheld else {0}):
                wrong.append(f"the report of {run}: exit {said.status}\n{said.text}")
    return wrong


@pytest.mark.parametrize("name", HONEST)
def test_whatever_was_done_honestly_is_called_so(name: str, tmp_path: Path) -> None:
    if name in BASES:
        db = Path(shutil.copyfile(base(name) / "ledger.db", tmp_path / "ledger.db"))
    else:
        db = honest(name, tmp_path / "lab").db
    assert called_false(db, withheld=name in WITHHELD) == []


def thawed(name: str, folder: Path) -> Path:
    """One of the ledgers that the code of before wrote."""
    db = folder / "ledger.db"
    db.write_bytes(lzma.decompress((GOLDEN / "before-links" / f"{name}.db.xz").read_bytes()))
    return db


@pytest.mark.parametrize("name", BEFORE)
def test_runs_that_were_recorded_before_the_links_are_honest_still(name: str, tmp_path: Path) -> None:
    assert called_false(thawed(name, tmp_path), withheld=name in WITHHELD, runs=9) == []


@pytest.mark.parametrize("name", ["gone-on-with", "redacted"])
def test_so_they_are_once_they_were_upgraded_and_exported_and_imported(name: str, tmp_path: Path) -> None:
    old, text, db = thawed(name, tmp_path), tmp_path / "whole.jsonl", tmp_path / "again.db"
    for arguments in (
        ("upgrade", "--db", old),
        ("export", "--full", "-o", text, "--db", old),
        ("import", text, "--db", db),
    ):
        done = commands("ledger", *arguments)
        assert done.status == 0, done.text
    for each in (old, db):
        assert called_false(each, withheld=name in WITHHELD, runs=1) == []


def test_so_is_one_that_was_begun_before_and_is_resumed_now(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    thawed("unfinished", tmp_path)
    moved = ("--accept", "endpoint", "--accept", "code", "--reason", "a release later")
    with model_server(ferryman) as server:
        more = ("--suite", lab.suite, "--base-url", server.openai, "--retry-outcomes", "truncated")
        lab.call("harness", "resume", "latest", *moved, *more)
    assert rows_of(lab.db, "SELECT body ->> '$.status' FROM events WHERE kind = 'close'")[-1] == ("complete",)
    assert called_false(lab.db) == []


@pytest.mark.parametrize("name", ["runs", "kinds"])
def test_the_frozen_ledgers_are_honest(name: str, tmp_path: Path) -> None:
    db = Path(shutil.copyfile(GOLDEN / name / "ledger.db", tmp_path / "ledger.db"))
    if name == "kinds":
        # Made up from beginning to end: what it says of a run rests on nothing, so it isn't held, and not proved.
        assert ask(db, "verify")["verify"].status == 0
        assert ask(db, "deep")["deep"].status in (0, 3)
    else:
        assert called_false(db) == []


def test_the_projects_own_history_is_honest(tmp_path: Path) -> None:
    db = Path(shutil.copyfile(ROOT / "ledger.db", tmp_path / "ledger.db"))
    assert called_false(db, runs=2) == []


def test_another_projects_recorded_runs_are_honest(tmp_path: Path) -> None:
    cases, runs, db = put(tmp_path / "v0.json", fixture(CASES)), put(tmp_path / "a.json", sample()), tmp_path / "l.db"
    done = commands("harness", "import", "memory-authority-auditor", runs, "--fixture", cases, "--db", db)
    assert done.status == 0, done.text
    assert called_false(db) == []


def test_the_evidence_of_another_project_is_honest(shared: Path, tmp_path: Path) -> None:
    folder = shared / "evidence" / "memory-authority-auditor"
    if not folder.is_dir():
        pytest.skip("no evidence of memory-authority-auditor there")
    db = tmp_path / "ledger.db"
    for version, date in (("v0", "2026_07_01"), ("v1", "2026_07_09")):
        runs = [
            each
            for each in sorted(folder.glob("path_a_eval_*.json"))
            if ("20260709T20" in each.name) == (version == "v1")
        ]
        cases = folder / f"path_a_authority_change_{version}_{date}.json"
        done = commands("harness", "import", "memory-authority-auditor", *runs, "--fixture", cases, "--db", db)
        assert done.status == 0, done.text
    assert called_false(db, runs=3) == []
