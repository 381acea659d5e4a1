"""A snapshot is one moment of a ledger, every row as it is stored."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Draft, Ledger, LedgerExists, NotALedger, snapshot, verify
from ledger.kinds import Note

DUMP = {
    "events": "SELECT *, rowid, typeof(body) FROM events ORDER BY seq",
    "blobs": "SELECT * FROM blobs ORDER BY id",
    "edges": "SELECT * FROM edges ORDER BY cause, effect",
    "schema": "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name",
}


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        return {name: connection.execute(statement).fetchall() for name, statement in DUMP.items()}


def test_a_snapshot_has_every_row_as_it_is_stored_in_one_file(original: Path, tmp_path: Path) -> None:
    with Ledger.open(original, read_only=True) as ledger:
        head = snapshot(ledger, tmp_path / "copy.db")
        assert head == ledger.head()
    assert [entry.name for entry in tmp_path.iterdir()] == ["copy.db"]
    assert rows(tmp_path / "copy.db") == rows(original)
    assert verify(tmp_path / "copy.db").verdict == "CONSISTENT"


def test_a_snapshot_holds_what_still_stands_in_the_write_ahead_log(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.db") as ledger:
        ledger.append(Draft(Note(text="x"), blobs={"file": b"y" * 10_000}))
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        assert snapshot(ledger, tmp_path / "copy.db") == ledger.head()
    with Ledger.open(tmp_path / "copy.db") as copy:
        assert copy.blob(3, "file") == b"y" * 10_000


@pytest.mark.parametrize("what", ["file", "folder", "dangling link", "the ledger itself"])
def test_a_snapshot_never_writes_over_anything(original: Path, tmp_path: Path, what: str) -> None:
    target = tmp_path / "taken"
    if what == "file":
        target.write_text("precious")
    elif what == "folder":
        target.mkdir()
    elif what == "dangling link":
        target.symlink_to(tmp_path / "nowhere")
    else:
        target = original
    before = original.read_bytes()
    with Ledger.open(original, read_only=True) as ledger, pytest.raises(LedgerExists, match="exists already"):
        snapshot(ledger, target)
    assert original.read_bytes() == before
    assert what != "file" or target.read_text() == "precious"


def test_a_folder_that_is_not_there_is_named(original: Path, tmp_path: Path) -> None:
    with Ledger.open(original, read_only=True) as ledger, pytest.raises(NotALedger, match="there is no folder"):
        snapshot(ledger, tmp_path / "no" / "copy.db")


def test_a_snapshot_taken_while_others_append_is_consistent(tmp_path: Path) -> None:
    stop = threading.Event()
    with Ledger.create(tmp_path / "a.db") as ledger:

        def write() -> None:
            while not stop.is_set():
                ledger.append(Draft(Note(text="x"), blobs={"file": b"y" * 5_000}))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(5):
                with Ledger.open(tmp_path / "a.db", read_only=True) as reader:
                    seq, digest = snapshot(reader, tmp_path / f"copy{number}.db")
                verdict = verify(tmp_path / f"copy{number}.db")
                assert (verdict.verdict, verdict.events, verdict.head) == ("CONSISTENT", seq, digest)
        finally:
            stop.set()
            writer.join()
        assert ledger.event(seq).hash == digest
