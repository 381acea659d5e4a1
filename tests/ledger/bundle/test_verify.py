"""What our reader says of a bundle: the verdict, what it rests on, who timestamped it, and what it can't tell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ledger.bundle import BundleVerdict, check_bundle
from ledger.bundle._make import Wanted, make_bundle, words_of
from ledger.bundle._read import BundleFile
from ledger.bundle._scratch import scratch_ledger
from ledger.checkpoints._timestamp import make_query
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.edited import READERS, Parts
from tests.ledger.checkpoints.authority import Certificates


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    return bundled(tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def hidden(of: Bundled) -> Path:
    return make_bundle(of.db, Wanted((of.run,), hide=words_of("prompts,gold")), of.folder / "hidden.zip").path


@pytest.fixture(scope="module")
def shown(of: Bundled) -> Path:
    return make_bundle(of.db, Wanted((of.run,)), of.folder / "shown.zip").path


def look(path: Path, of: Bundled, **how: Any) -> BundleVerdict:
    return check_bundle(path, keys=[of.key.verifier], **how)


def test_the_json_says_what_the_lines_say(hidden: Path, of: Bundled) -> None:
    found = look(hidden, of)
    said = json.loads(json.dumps(found.as_json()))
    assert (said["verdict"], said["problems"], said["signed_by"]) == ("PROVED", [], [of.key.verifier.label])
    assert (said["size"], said["origin"]) == (226, of.key.name)
    assert {each["kind"] for each in said["hidden"]} >= {"genesis", "cell", "request", "response", "parse"}
    lines = "\n".join(found.lines)
    assert lines.startswith("PROVED.\n")
    assert all(each in lines for each in (said["root"], *said["proved"], *said["told"]))


def test_what_is_hidden_is_counted_by_kind_and_place(hidden: Path, of: Bundled) -> None:
    rows = {each["kind"]: each["seqs"] for each in look(hidden, of).as_json()["hidden"]}
    with of.ledger() as ledger:
        cells = [event.seq for event in ledger.events(kind="cell", run=of.run)]
    assert rows["cell"] == cells
    assert f"24 cell (hidden: gold, prompts), at {cells[0]}-{cells[-1]}" in "\n".join(look(hidden, of).lines)


def test_every_run_on_the_fixture_is_listed_with_what_came_of_it(hidden: Path, of: Bundled) -> None:
    (line,) = [each for each in look(hidden, of).proved if "runs stand on it" in each]
    asked = "UNKNOWN whether asked live or a replay (its plan is hidden), incomplete"
    assert f"{of.other} (12 cells, {asked}, 12 of 12 asked, not reported, superseded by 226)" in line
    assert f"{of.run} (24 cells, {asked}, 24 of 24 asked, reported by" in line


@pytest.mark.parametrize("field", ["superseded_by", "tainted_by", "purpose", "status", "cells"])
def test_a_run_that_is_listed_otherwise_than_it_is_is_found_by_us(
    shown: Path, of: Bundled, field: str, tmp_path: Path
) -> None:
    parts = Parts.of(shown)
    other = next(each for each in parts.about["fixtures"][0]["runs"] if each["run"] == of.other)
    changes = {"superseded_by": [], "tainted_by": [226], "purpose": "probe", "status": "aborted", "cells": 11}
    other[field] = changes[field]
    found = look(parts.write(tmp_path / "edited.zip"), of)
    assert found.exit_status == 1
    assert any(of.other in each for each in found.problems)


def test_the_scratch_ledger_holds_what_is_shown_and_nothing_else(of: Bundled, shown: Path) -> None:
    rows = Parts.of(shown).rows
    with BundleFile.open(shown) as bundle, scratch_ledger(bundle) as scratch, of.ledger() as ledger:
        assert [event.line.decode() for event in scratch.events()] == [row["line"] for row in rows]
        seq = next(ledger.events(kind="response", run=of.run)).seq
        assert scratch.blob(seq, "body") == ledger.blob(seq, "body")
        folder = scratch.path.parent
    assert not folder.exists()


def test_a_timestamp_is_a_witness_where_its_root_is_given(of: Bundled, tmp_path: Path) -> None:
    folder = tmp_path / "certificates"
    folder.mkdir()
    (folder / "serial").write_text("01\n")
    certificates = Certificates(folder)
    authority = certificates.issue("clock", subject="/CN=Loopback Clock")
    copy = Bundled(Path(shutil.copy(of.db, tmp_path / "ledger.db")), of.key, of.run, of.other, of.report)
    note = copy.checkpoint()
    note.with_name(f"{note.stem}.clock.tsr").write_bytes(authority.answer(make_query(note.read_bytes()).data))
    path = make_bundle(copy.db, Wanted(("9",)), tmp_path / "stamped.zip").path
    root = certificates.root

    found = look(path, of, tsa_roots=[root])
    assert found.exit_status == 0
    assert len(found.timestamps) == 1 and "Loopback Clock" in found.timestamps[0]

    unasked = look(path, of)
    assert (unasked.exit_status, unasked.timestamps) == (0, ())
    assert any("--tsa-root" in each for each in unasked.told)

    (tmp_path / "other").mkdir()
    other = Certificates(tmp_path / "other", "Another Root")
    assert look(path, of, tsa_roots=[other.root]).verdict == "NOT PROVED"

    parts = Parts.of(path)
    (name,) = [each for each in parts.members if each.startswith("timestamps/")]
    data = parts.members[name]
    parts.members[name] = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
    edited = parts.write(tmp_path / "edited.zip")
    assert look(edited, of, tsa_roots=[root]).exit_status == 1
    assert READERS["verify.py"](edited, of.key.verifier).status == 0, "it checks none, and says so"
    assert "timestamps" in READERS["verify.py"](edited, of.key.verifier).text


def test_a_root_asked_for_and_no_timestamp_is_a_failure(hidden: Path, of: Bundled, tmp_path: Path) -> None:
    found = look(hidden, of, tsa_roots=[tmp_path / "none.pem"])
    assert (found.verdict, found.exit_status) == ("NOT PROVED", 1)
    assert any("none.pem" in each for each in found.failures)


def test_a_key_in_the_bundle_is_never_trusted(hidden: Path, of: Bundled, tmp_path: Path) -> None:
    parts = Parts.of(hidden)
    parts.members["README.md"] += f"\nThe key is {of.key.verifier}\n".encode()
    path = parts.write(tmp_path / "edited.zip")
    assert [reader(path).status for reader in READERS.values()] == [1, 1]
