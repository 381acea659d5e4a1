"""What an append promises when SQLite fails: nothing acknowledged is lost, nothing is written twice."""

from __future__ import annotations

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
from ledger.kinds import Note
from tests.ledger.test_store import assert_consistent, note, texts


def test_a_full_disk_loses_nothing_and_later_appends_work(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(note("before"))
        writer = ledger._writer
        assert writer is not None
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
    ledger_._writer = Flaky(ledger._connect.connect_writer(ledger_.path), problem, after=after)  # type: ignore[assignment]


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


def test_a_ledger_whose_file_is_gone_says_that_it_cannot_know(path: Path) -> None:
    with Ledger.open(path) as ledger_:
        flaky(ledger_, sqlite3.OperationalError("disk I/O error"), after=False)
        path.unlink()
        with pytest.raises(AppendFailed, match="it isn't known whether this append was written"):
            ledger_.append(note("x"))
