"""The zip: its members, its bytes, and that it appears whole or not at all."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from blake3 import blake3

from ledger import Draft, LedgerError, LedgerExists, NotFound, kinds
from ledger._errors import Refused
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.bundle._write import blob_file
from ledger.tree import check_inclusion, from_base64, leaf_hash, parse_checkpoint, root_of
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.opened import Opened, made
from tests.ledger.ledgers import tamper

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    found = bundled(tmp_path_factory.mktemp("bundled"))
    (note,) = (found.folder / "ledger.db.checkpoints").glob("*.checkpoint")
    note.with_name(f"{note.stem}.beta.tsr").write_bytes(b"second")
    note.with_name(f"{note.stem}.alpha.tsr").write_bytes(b"first")
    return found


@pytest.fixture(scope="module")
def bundle(ledger: Bundled) -> Opened:
    return made(ledger)


def test_members_stand_in_their_order_deflated_and_without_a_time(bundle: Opened) -> None:
    names = list(bundle.members)
    blobs = [name for name in names if name.startswith("blobs/")]
    assert names == [
        "README.md", "verify.py", "bundle.json", "checkpoint", "timestamps/alpha.tsr", "timestamps/beta.tsr",
        "lines.txt", "events.jsonl", *blobs,
    ]  # fmt: skip
    assert blobs == sorted(blobs, key=lambda name: (int(name[6:].split("-")[0]), name))
    with zipfile.ZipFile(bundle.path) as archive:
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_DEFLATED}


def test_the_reader_is_the_shipped_one_and_the_note_the_stored_one(bundle: Opened, ledger: Bundled) -> None:
    assert bundle.members["verify.py"] == (ROOT / "ledger/bundle/verify.py").read_bytes()
    (note,) = (ledger.folder / "ledger.db.checkpoints").glob("*.checkpoint")
    assert bundle.members["checkpoint"] == note.read_bytes()


def test_every_line_is_in_the_tree_and_every_body_and_blob_is_what_its_line_commits_to(bundle: Opened) -> None:
    at = parse_checkpoint(bundle.members["checkpoint"]).checkpoint
    lines = bundle.members["lines.txt"].splitlines()
    assert root_of(map(leaf_hash, lines)) == at.root
    shown = 0
    for seq, row in bundle.events.items():
        assert row["line"].encode() == lines[seq - 1]
        check_inclusion(
            leaf_hash(row["line"].encode()), seq - 1, at.size, list(map(from_base64, row["proof"])), at.root
        )
        salt = bytes.fromhex(row["salt"])
        assert blake3(salt + row["body"].encode()).hexdigest() == row["at"]["body"]
        for name, reference in json.loads(row["body"]).get("blobs", {}).items():
            blob = row["blobs"][name]
            data = bundle.members[blob["file"]]
            assert blake3(bytes.fromhex(blob["salt"]) + data).hexdigest() == reference["hash"]
            shown += 1
    assert shown == sum(name.startswith("blobs/") for name in bundle.members) > 40


def test_the_same_question_gives_the_same_bytes_whatever_the_file_is_called(ledger: Bundled) -> None:
    asked = {"hide": "gold", "reveal": 2, "seed": "s"}
    first = made(ledger, name="a.zip", **asked)
    with ledger.ledger() as appended:
        appended.append(Draft(kinds.Note(text="later")))
    assert first.path.read_bytes() == made(ledger, name="b b.zip", **asked).path.read_bytes()


def test_lines_are_left_out_when_only_those_needed_are_asked_for(ledger: Bundled) -> None:
    needed = made(ledger, lines="needed", name="needed.zip")
    assert "lines.txt" not in needed.members
    assert needed.bundle["complete"] is False
    assert "something may have been left out" in needed.members["README.md"].decode()


@pytest.mark.parametrize(
    ("name", "file"), [("body", "blobs/7-body"), ("a/../b", "blobs/7-a%2F..%2Fb"), ("é\0%", "blobs/7-%C3%A9%00%25")]
)
def test_a_blobs_name_can_name_no_other_place(name: str, file: str) -> None:
    assert blob_file(7, name) == file


def test_what_a_redaction_withholds_is_said_to_be_and_counted(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger() as read:
        response = next(iter(read.events(kind="response", run=ledger.run)))
        request = next(iter(read.events(kind="request", run=ledger.run)))
        targets = find_targets(read, [str(response.seq), f"{response.seq}:body", f"{request.seq}:body"])
    redact(ledger.db, targets, category="personal", reason="a person's name")
    ledger.checkpoint()
    bundle = made(ledger)
    assert bundle.events[response.seq]["why"] == "redacted"
    assert bundle.events[response.seq]["blobs"] == {}
    assert bundle.events[request.seq]["blobs"] == {"body": {"salt": None, "file": None, "why": "redacted"}}
    assert bundle.made.redacted == {"response": 1}
    assert "- response: 1" in bundle.members["README.md"].decode()


def test_another_runs_report_is_named_and_its_file_left_out(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    bundle = made(ledger, ledger.other)
    (row,) = [row for row in bundle.events.values() if row["at"]["kind"] == "report"]
    assert row["body"] is not None
    assert row["blobs"] == {"file": {"salt": None, "file": None, "why": "hidden: not asked for"}}


def test_a_ledger_that_is_tampered_with_is_refused(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    with ledger.ledger():
        pass
    copy = tmp_path / "copy.db"
    found = tamper(ledger.db, copy, "UPDATE events SET at = '2026-01-01T00:00:00.000000Z' WHERE seq = 9")
    assert found.verdict == "TAMPERED"
    with pytest.raises(Refused, match=r"copy\.db is TAMPERED, and no evidence is made of it"):
        made(Bundled(copy, ledger.key, ledger.run, ledger.other, ledger.report))
    assert not (tmp_path / "evidence.zip").exists()


def test_without_a_checkpoint_or_with_a_foreign_one_nothing_is_made(tmp_path: Path) -> None:
    ledger = bundled(tmp_path)
    (note,) = (tmp_path / "ledger.db.checkpoints").glob("*.checkpoint")
    note.unlink()
    with pytest.raises(
        Refused, match="has no checkpoint, which evidence is proved against; `ledger checkpoint` makes one"
    ):
        made(ledger)


def test_a_checkpoint_that_the_given_key_did_not_sign_will_not_do(ledger: Bundled) -> None:
    from ledger.tree import SigningKey

    other = SigningKey.generate(ledger.key.name).verifier
    with pytest.raises(Refused, match=r"no checkpoint .* will do .*none of the given keys signed it"):
        made(ledger, keys=[other], name="foreign.zip")
    assert made(ledger, keys=[ledger.key.verifier], name="own.zip").made.claims == 2


def test_nothing_is_written_over_nor_where_there_is_no_folder(ledger: Bundled) -> None:
    (ledger.folder / "taken.zip").write_text("mine")
    with pytest.raises(LedgerExists, match=r"taken\.zip exists already; .* name another"):
        made(ledger, name="taken.zip")
    with pytest.raises(NotFound, match=r"there is no folder .*nowhere; make it first"):
        made(ledger, name="nowhere/evidence.zip")
    assert (ledger.folder / "taken.zip").read_text() == "mine"


def test_a_disk_that_is_full_leaves_nothing_and_says_what_to_do(ledger: Bundled) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(LedgerError, match=r"full\.zip can't be written: File too large; nothing was left of it"):
            made(ledger, name="full.zip")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not [each.name for each in ledger.folder.iterdir() if each.name.startswith((".ledger-", "full"))]
