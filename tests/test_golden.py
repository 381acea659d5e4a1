"""The frozen ledgers, checkpoints and bundles of tests/golden verify, as they must for ever."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from ledger import Ledger, Outside, VerifierKey, export_lines, verify
from ledger.bundle import check_bundle
from ledger.tree import parse_proof
from tests.started import finished

GOLDEN = Path(__file__).parent / "golden"
BUNDLES = ("shown", "hidden", "drawn")


def key_of(name: str) -> VerifierKey:
    return VerifierKey.parse((GOLDEN / name / "key").read_text("ascii"))


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of one of the folders, as reading a ledger may leave SQLite's own files beside it."""
    return Path(shutil.copytree(GOLDEN / request.param, tmp_path / request.param)) / "ledger.db"


@pytest.mark.parametrize("copy", ["kinds"], indirect=True)
def test_a_ledger_with_every_kind_of_event_matches_both_its_checkpoints(copy: Path) -> None:
    verdict = verify(copy, Outside(keys=(key_of("kinds"),), require_checkpoint=True))
    assert (verdict.verdict, verdict.problems, verdict.failures) == ("MATCHES CHECKPOINT", (), ())
    assert len([each for each in verdict.checkpoints if each.holds]) == 2 and verdict.withheld == 5
    since = copy.parent / "ledger.db.checkpoints" / "000000000033.checkpoint"
    assert verify(copy, Outside(keys=(key_of("kinds"),), since=since)).since == 33


@pytest.mark.parametrize("copy", ["runs"], indirect=True)
def test_a_ledger_with_runs_is_witnessed(copy: Path) -> None:
    verdict = verify(copy, Outside(keys=(key_of("runs"),), tsa_roots=(copy.parent / "root.pem",)))
    assert (verdict.verdict, verdict.problems, verdict.failures) == ("TIMESTAMPED", (), ())
    (timestamp,) = [each for seen in verdict.checkpoints for each in seen.timestamps]
    assert timestamp.name == "CN=Golden TSA"


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_is_proved_by_the_reader_of_this_release(name: str) -> None:
    seed = "golden" if name == "drawn" else None
    found = check_bundle(GOLDEN / "runs" / f"{name}.zip", keys=(key_of("runs"),), seed=seed)
    assert found.exit_status == 0, found.lines


@pytest.mark.parametrize("whose", ["ours", "its own"])
@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_is_proved_by_the_page_that_any_release_ships_and_by_the_one_inside(
    name: str, whose: str, tmp_path: Path
) -> None:
    bundle = GOLDEN / "runs" / f"{name}.zip"
    script = GOLDEN.parents[1] / "ledger" / "bundle" / "verify.py"
    if whose == "its own":
        shutil.unpack_archive(bundle, tmp_path)
        script = tmp_path / "verify.py"
    done = subprocess.run(
        [sys.executable, str(script), str(bundle), "--key", str(key_of("runs"))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("9/11 of 12") == 2, done.stdout


@pytest.mark.parametrize("copy", ["runs"], indirect=True)
def test_a_proof_of_one_event_proves_it(copy: Path) -> None:
    proof = parse_proof((GOLDEN / "runs" / "17.tlog-proof").read_bytes())
    assert proof.signed.note.signed_by([key_of("runs")])
    with Ledger.open(copy, read_only=True) as ledger:
        proof.check(ledger.event(17).line)


@pytest.mark.parametrize("copy", ["kinds"], indirect=True)
def test_a_full_export_is_taken_in_to_the_last_hash(copy: Path, tmp_path: Path) -> None:
    arguments = ["import", GOLDEN / "kinds" / "whole.jsonl", "--db", tmp_path / "again.db"]
    done = finished("ledger", arguments, cwd=tmp_path, environ=os.environ)
    assert done.returncode == 0, done.stderr
    with Ledger.open(copy, read_only=True) as old, Ledger.open(tmp_path / "again.db", read_only=True) as new:
        assert list(export_lines(old)) == list(export_lines(new))
        assert old.rows("SELECT * FROM main.blobs ORDER BY id") == new.rows("SELECT * FROM main.blobs ORDER BY id")


def test_the_frozen_files_are_the_ones_that_were_frozen() -> None:
    sums = json.loads((GOLDEN / "sums.json").read_text("ascii"))
    files = {str(each.relative_to(GOLDEN)): each for each in GOLDEN.rglob("*") if each.is_file()}
    assert {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items() if name in sums} == sums
    assert set(files) - set(sums) == {"README.md", "sums.json"}
