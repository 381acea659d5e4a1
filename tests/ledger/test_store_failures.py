"""What an append promises when SQLite fails: nothing acknowledged is lost, nothing is written twice."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ledger._connect
import ledger._store
from ledger import (
    AppendFailed,
    Draft,
    Ledger,
)
from ledger._reasons import advice
from ledger.kinds import Note
from tests.ledger.ledgers import settle
from tests.ledger.test_store import (
    as_nobody,
    assert_consistent,
    note,
    open_folder,  # pyright: ignore[reportUnusedImport]
    texts,
)

__all__ = ["open_folder"]


def test_a_full_disk_loses_nothing_and_later_appends_work(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(note("before"))
        assert ledger._writer is not None and ledger._writer.connection is not None
        writer = ledger._writer.connection
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(AppendFailed, match=r"full.*nothing of this append was written"):
            ledger.append(note("small"), Draft(Note(text="too much"), blobs={"file": b"x" * 100_000}))
        assert ledger.head()[0] == 3
        assert ledger.append(Draft(Note(text="after"), blobs={"file": b"x" * 100_000}))[0].seq == 4
    assert texts(path) == ["before", "after"]
    assert_consistent(path, 4)


def test_a_ledger_locked_by_another_for_too_long_loses_nothing_and_later_appends_work(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger._connect, "BUSY_SECONDS", 0.05)
    with Ledger.open(path) as ledger_, closing(sqlite3.connect(path, isolation_level=None)) as other:
        ledger_.append(note("before"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(AppendFailed, match="locked"):
            ledger_.append(note("locked out"))
        other.execute("ROLLBACK")
        ledger_.append(note("after"))
    assert texts(path) == ["before", "after"]
    assert_consistent(path, 4)


class Flaky:
    """A connection whose COMMIT fails: before SQLite made it, or after."""

    def __init__(self, connection: sqlite3.Connection, problem: BaseException, *, after: bool) -> None:
        self._connection, self._problem, self._after = connection, problem, after

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, statement: str, *parameters: Any) -> Any:
        if statement != "COMMIT":
            return self._connection.execute(statement, *parameters)
        if self._after:
            self._connection.execute(statement)
        raise self._problem

    def close(self) -> None:
        self._connection.close()


def flaky(ledger_: Ledger, problem: BaseException, *, after: bool) -> None:
    assert ledger_._writer is not None
    ledger_._writer.connection = Flaky(ledger._connect.connect_writer(ledger_.path), problem, after=after)  # type: ignore[assignment]


def test_a_commit_that_failed_without_effect_is_said_to_have_failed(path: Path) -> None:
    with Ledger.open(path) as ledger_:
        flaky(ledger_, sqlite3.OperationalError("disk I/O error"), after=False)
        with pytest.raises(AppendFailed, match="disk I/O error; nothing of this append was written"):
            ledger_.append(note("lost"), note("lost"))
        assert ledger_.append(note("after"))[0].seq == 3
    assert texts(path) == ["after"]
    assert_consistent(path, 3)


def test_a_commit_that_took_effect_although_it_reported_failure_is_acknowledged_once(path: Path) -> None:
    with Ledger.open(path) as ledger_:
        flaky(ledger_, sqlite3.OperationalError("disk I/O error"), after=True)
        events = ledger_.append(note("there"), note("too"))
        assert [event.seq for event in events] == [3, 4]
        assert ledger_.event(4) == events[1]
    assert texts(path) == ["there", "too"]
    assert_consistent(path, 4)


@pytest.mark.parametrize("after", [False, True])
def test_ctrl_c_in_a_commit_stops_whoever_commits_and_tells_the_others_the_truth(path: Path, after: bool) -> None:
    with Ledger.open(path) as ledger_:
        flaky(ledger_, KeyboardInterrupt(), after=after)
        other = ledger_._queue([note("other's")])
        with pytest.raises(KeyboardInterrupt):
            ledger_.append(note("mine"))
        if after:
            assert [event.seq for event in other.outcome.result()] == [3]
        else:
            with pytest.raises(AppendFailed, match="nothing of this append was written"):
                other.outcome.result()
        ledger_.append(note("after"))
    assert texts(path) == (["other's", "mine"] if after else []) + ["after"]


def test_a_ledger_whose_file_is_gone_acknowledges_nothing_more(path: Path) -> None:
    ledger_ = Ledger.open(path)
    flaky(ledger_, sqlite3.OperationalError("disk I/O error"), after=False)
    path.unlink()
    for act in (lambda: ledger_.append(note("x")), ledger_.close):
        with pytest.raises(AppendFailed, match=r"was moved away or removed .* nothing was acknowledged yet"):
            act()


# Each cause has its sentence


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("SQLITE_FULL", r"are free in .*make room there, then go on \(a run that was stopped: `harness resume`\)"),
        ("SQLITE_READONLY", "may not be written.*give the right to write back"),
        ("SQLITE_READONLY_DBMOVED", "moved or replaced while it was open"),
        ("SQLITE_CANTOPEN", "may not be written"),
        ("SQLITE_IOERR_WRITE", r"the disk or its file system failed \(SQLITE_IOERR_WRITE\)"),
        ("SQLITE_BUSY", "another program keeps the ledger locked"),
        ("SQLITE_CORRUPT", "damaged: keep it as it is, see what `ledger verify` says"),
        ("SQLITE_NOMEM", "no memory left"),
    ],
)
def test_a_failure_says_what_it_was_and_what_to_do(path: Path, name: str, said: str) -> None:
    problem = sqlite3.OperationalError("it failed")
    problem.sqlite_errorname = name
    with Ledger.open(path) as ledger_:
        flaky(ledger_, problem, after=False)
        with pytest.raises(AppendFailed, match=rf"it failed; nothing of this append was written; .*{said}") as failed:
            ledger_.append(note("lost"))
        assert "\n" not in str(failed.value)
        ledger_.append(note("after"))
    assert texts(path) == ["after"]


def test_a_disk_that_is_really_full_is_said_to_be(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = sqlite3.OperationalError("database or disk is full")
    problem.sqlite_errorname = "SQLITE_FULL"
    monkeypatch.setattr("shutil.disk_usage", lambda folder: shutil._ntuple_diskusage(100, 93, 7))  # type: ignore[attr-defined]
    assert advice(problem, path).startswith(f"; make room: 7 bytes are free in {path.parent}")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: open("/no such place"))  # noqa: SIM115, PTH123
    assert advice(problem, path).startswith("; make room where ledger.db is")
    assert advice(ValueError("x"), path) == advice(sqlite3.OperationalError("x"), path) == ""


def test_temporary_files_of_a_writer_need_no_room_anywhere(path: Path) -> None:
    with Ledger.open(path) as ledger_:
        ledger_.append(note("x"))
        assert ledger_._writer is not None and ledger_._writer.connection is not None
        assert ledger_._writer.connection.execute("PRAGMA temp_store").fetchone() == (2,)


LOST = """
import shutil, sqlite3
shutil.copyfile(sys.argv[1], sys.argv[2] + "/ledger.db")
path = sys.argv[2] + "/ledger.db"
with Ledger.open(path) as ledger:
    ledger.append(Draft(Note(text="mine")))
os.chmod(path, 0o444)
# SQLite would go on with a file that it has open; whoever opens it now may only read it.
with Ledger.open(path) as ledger:
    try: ledger.append(Draft(Note(text="lost")))
    except LedgerError as refused: print(type(refused).__name__, refused)
# SQLite gives its files beside the ledger the ledger's own rights.
for name in os.listdir(sys.argv[2]): os.chmod(sys.argv[2] + "/" + name, 0o644)
with Ledger.open(path) as ledger:
    print(ledger.append(Draft(Note(text="after")))[0].seq, verify(ledger.path).verdict)
"""


def test_a_right_to_write_that_was_lost_is_said_and_so_is_what_to_do(path: Path, open_folder: Path) -> None:
    settle(path)
    (open_folder / "in.db").write_bytes(path.read_bytes())
    mine = open_folder / "mine"
    mine.mkdir()
    mine.chmod(0o777)
    refused, after = as_nobody(LOST, str(open_folder / "in.db"), str(mine))
    assert refused.startswith("AppendFailed")
    assert "nothing" in refused
    assert "give the right to write back" in refused
    assert after == "4 CONSISTENT"
