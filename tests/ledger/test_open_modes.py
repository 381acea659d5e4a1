"""Opening: what a writer makes sure of, what it refuses, and what can be read where nothing can be written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

import ledger._connect
from ledger import AppendFailed, Ledger, NotALedger, Refused, upgrade, verify
from ledger._compress import compress
from ledger._connect import connect_reader, connect_writer
from tests.ledger.ledgers import drop_guards
from tests.ledger.test_store import as_nobody, note, open_folder, texts  # pyright: ignore[reportUnusedImport]

__all__ = ["open_folder"]

MODES = {
    "journal_mode": "wal", "synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1, "secure_delete": 1,
    "trusted_schema": 0, "temp_store": 2, "locking_mode": "normal", "mmap_size": 0, "cell_size_check": 1,
    "encoding": "UTF-8", "query_only": 0, "writable_schema": 0, "ignore_check_constraints": 0,
}  # fmt: skip


def test_a_writer_is_in_every_mode_that_durability_rests_on(path: Path) -> None:
    with closing(connect_writer(path)) as writer:
        got = {name: (writer.execute(f"PRAGMA {name}").fetchone() or (0,))[0] for name in MODES}
    assert got == MODES


@pytest.mark.parametrize("name", [mode[0] for mode in ledger._connect._MODES if mode[1] is not None])
def test_a_mode_that_does_not_take_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Stubborn(sqlite3.Connection):
        def execute(self, statement: str, *given: object) -> sqlite3.Cursor:
            if statement.lower() == f"pragma {name}":
                statement = "SELECT 'other'"
            return super().execute(statement, *given)

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: real(*given, factory=Stubborn, **more))
    with pytest.raises(AppendFailed, match=f"expected {name} .*, got other; refusing to append"):
        connect_writer(path)


def test_a_database_of_somebody_elses_is_never_put_into_other_modes_first(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    before = other.read_bytes()
    with pytest.raises(NotALedger, match="application_id"):
        connect_writer(other)
    assert other.read_bytes() == before


# A journal that isn't ours


@pytest.fixture
def planted(path: Path, tmp_path: Path) -> Path:
    """A ledger beside which lies a rollback journal that SQLite would play into it."""
    other = tmp_path / "other.db"
    shutil.copyfile(path, other)
    with closing(sqlite3.connect(other, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA cache_size=1")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE evil (x)")
        connection.executemany("INSERT INTO evil VALUES (zeroblob(?))", [(3000,)] * 200)
        shutil.copyfile(tmp_path / "other.db-journal", path.with_name(path.name + "-journal"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return path


def test_sqlite_itself_would_write_such_a_journal_into_the_file(planted: Path) -> None:
    before = planted.read_bytes()
    with closing(sqlite3.connect(planted)) as connection:
        connection.execute("SELECT count(*) FROM events").fetchone()
    assert planted.read_bytes() != before


def test_beside_a_foreign_journal_nothing_is_opened_and_nothing_changes(planted: Path) -> None:
    before = planted.read_bytes()
    for act in (connect_writer, connect_reader, Ledger.open, verify, upgrade, compress):
        with pytest.raises(NotALedger, match=r"ledger\.db-journal, which no ledger ever has.*move that away"):
            act(planted)
    assert planted.read_bytes() == before
    journal = planted.with_name("ledger.db-journal")
    journal.rename(planted.with_name("kept"))
    assert verify(planted).verdict == "CONSISTENT"
    # One that holds nothing, or whose header was wiped, is played into nothing.
    for harmless in (b"", bytes(512)):
        journal.write_bytes(harmless)
        assert verify(planted).verdict == "CONSISTENT"


def test_a_pipe_that_is_called_a_journal_keeps_nobody_waiting(path: Path) -> None:
    os.mkfifo(path.with_name("ledger.db-journal"))
    for act in (connect_writer, connect_reader, Ledger.open, verify):
        with pytest.raises(NotALedger, match=r"ledger\.db-journal, which no ledger ever has"):
            act(path)


# Guards


def test_a_ledger_whose_guards_a_tool_has_dropped_is_read_and_never_written(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        Database(connection)["events"].transform(rename={"at": "at"})  # type: ignore[union-attr]
        assert not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'events_delete'").fetchone()
    before = verify(path)
    assert before.verdict == "TAMPERED"
    for act in (Ledger.open, connect_writer, upgrade, compress):
        with pytest.raises(Refused, match=r"tables or guards aren't those of the format \(.*`ledger verify` says"):
            act(path)
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.head()[0] == 2
    assert verify(path) == before


def test_guards_that_are_dropped_while_a_ledger_is_open_stop_the_next_append(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(note("before"))
        with closing(sqlite3.connect(path)) as connection, connection:
            guards = drop_guards(connection)
        with pytest.raises(Refused, match="tables or guards"):
            ledger.append(note("unguarded"))
        with closing(sqlite3.connect(path)) as connection, connection:
            for guard in guards:
                connection.execute(guard)
        ledger.append(note("after"))
    assert texts(path) == ["before", "after"]
    assert verify(path).verdict == "CONSISTENT"


# Where nothing can be written

READ = """
for path in sys.argv[1:]:
    try:
        with Ledger.open(path, read_only=True) as ledger: print(ledger.head()[0], verify(ledger.path).verdict)
    except LedgerError as refused: print(type(refused).__name__, refused)
"""


def test_a_log_that_cannot_be_read_in_its_folder_is_never_passed_over(open_folder: Path) -> None:
    path = open_folder / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.append(note("in the log alone"))
        copy = open_folder / "sub" / "ledger.db"
        copy.parent.mkdir()
        for suffix in ("", "-wal"):
            shutil.copyfile(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
    for each in copy.parent.iterdir():
        each.chmod(0o444)
    copy.parent.chmod(0o555)
    (said,) = as_nobody(READ, str(copy))
    copy.parent.chmod(0o755)
    assert said.startswith("NotALedger")
    assert "ledger.db-wal holds events that aren't in the file yet" in said
    assert "copy ledger.db and ledger.db-wal together to a folder that can be written" in said
    # What it says is what helps.
    (open_folder / "copied").mkdir()
    for suffix in ("", "-wal"):
        shutil.copyfile(copy.with_name(copy.name + suffix), open_folder / "copied" / f"ledger.db{suffix}")
    (open_folder / "copied").chmod(0o777)
    for each in (open_folder / "copied").iterdir():
        each.chmod(0o666)
    assert as_nobody(READ, str(open_folder / "copied" / "ledger.db")) == ["3 CONSISTENT"]


def test_an_empty_log_or_none_keeps_nobody_from_reading(open_folder: Path) -> None:
    path = open_folder / "ledger.db"
    Ledger.create(path).close()
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for log in (False, True):
        if log:
            path.with_name("ledger.db-wal").touch()
        path.chmod(0o444)
        open_folder.chmod(0o555)
        assert as_nobody(READ, str(path)) == ["2 CONSISTENT"]
        open_folder.chmod(0o755)


def test_a_log_that_somebody_begins_while_the_file_is_opened_as_unchanging_is_not_passed_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    real, writers = sqlite3.connect, []

    def slow(*given: object, **more: object) -> sqlite3.Connection:
        if "immutable" in str(given[0]) and not writers:
            writers.append(real(path, isolation_level=None))
            writers[0].execute("BEGIN IMMEDIATE")
            writers[0].execute("CREATE TABLE meanwhile (x)")
            writers[0].execute("COMMIT")
        return real(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", slow)
    with closing(connect_reader(path, untouched=True)) as reader:
        assert reader.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meanwhile'").fetchone() == (1,)
    writers[0].close()


def test_a_damaged_page_is_one_sentence_and_nothing_is_written(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(*[note("x" * 500) for _ in range(60)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").fetchone()
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(path.read_bytes())
    # The rightmost pointer of the table's root leads past the end of the file.
    data[(root - 1) * size + 8 : (root - 1) * size + 12] = (0x7FFFFF).to_bytes(4, "big")
    path.write_bytes(data)
    before = path.read_bytes()
    with Ledger.open(path) as ledger, pytest.raises(AppendFailed, match=r"malformed.*`ledger verify`"):
        ledger.append(note("y"))
    assert path.read_bytes() == before
