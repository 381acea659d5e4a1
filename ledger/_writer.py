"""The connection of an open ledger that appends: opened when first wanted, looked over, and settled after a failure.

One thread at a time; `Ledger` sees to that.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ledger._append import append_all
from ledger._connect import connect_reader, connect_writer, refuse_unguarded
from ledger._drafts import Prepared
from ledger._errors import AppendFailed, LedgerError, LedgerReplaced, NotALedger
from ledger._event import Event
from ledger._reasons import advice
from ledger._rows import event_by_body
from ledger._same_file import SameFile
from ledger._unsynced import forget_unsynced

__all__ = ["Writer"]

Results = list[list[Event] | LedgerError]


class Writer:
    """What appends to the ledger at `path`; it opens nothing before the first commit. Raises OSError without a file."""

    def __init__(self, path: Path) -> None:
        self.connection: sqlite3.Connection | None = None
        self._path = path
        self._same = SameFile(path)
        self._schema_seen: int | None = None

    def commit(self, groups: Sequence[Sequence[Prepared]]) -> Results:
        """Append groups of events in one commit, each whole or not at all (`append_all`).

        Raises LedgerReplaced where the file isn't the one that was opened: nothing of them is to be acknowledged then.
        """
        if self.connection is None:
            self.connection = connect_writer(self._path)
            self._schema_seen = None
            self._same.opened(self.connection)
        # Another process may rebuild a table (and lose its guards) or put another release's views in place meanwhile.
        (schema,) = self.connection.execute("PRAGMA main.schema_version").fetchone()
        if schema != self._schema_seen:
            refuse_unguarded(self.connection, self._path)
            self._schema_seen = schema
        self._same.look_ahead(self.connection)
        try:
            results = append_all(self.connection, groups, after=self._same.acknowledged)
        except LedgerReplaced as problem:
            self._same.refuse(str(problem), self.connection)
        self._same.look(self.connection)
        self._acknowledge(results)
        return results

    def settle(self, groups: Sequence[Sequence[Prepared]], problem: BaseException) -> Results:
        """After a failure that may have come out of COMMIT: reopen and look; never append blindly again.

        A body's commitment is salted, so it names this very append and no other.
        """
        said = str(problem) or type(problem).__name__
        try:
            if self.connection is not None:
                self._same.look(self.connection, closely=isinstance(problem, sqlite3.Error))
                self._disconnect()
            left = forget_unsynced(self._path, problem)
            with closing(connect_reader(self._path)) as reader:
                self._same.hold(reader)
                found = [_written(reader, group) for group in groups]
        except LedgerReplaced as replaced:
            return [replaced] * len(groups)
        except (LedgerError, sqlite3.Error) as blind:
            unknown = AppendFailed(
                f"{self._path}: {said}; then {blind}, so it isn't known whether this append was written"
                f"{advice(problem, self._path)}"
            )
            return [unknown] * len(groups)
        failed = AppendFailed(
            f"{self._path}: {said}; nothing of this append was written{left}{advice(problem, self._path)}"
        )
        results: Results = [failed if events is None else events for events in found]
        self._acknowledge(results)
        return results

    def close(self) -> None:
        """Close the connection in any case. Raises LedgerReplaced where the file isn't the one that was opened."""
        if self.connection is None:
            return
        try:
            self._same.look(self.connection, closely=True)
        finally:
            self._disconnect()
        try:
            with closing(connect_reader(self._path)) as reader:
                self._same.hold(reader)
        except (NotALedger, sqlite3.Error) as problem:
            self._same.refuse(f"can't be read any more ({problem})", None)

    def _disconnect(self) -> None:
        self._same.close()
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _acknowledge(self, results: Results) -> None:
        for events in results:
            if isinstance(events, list) and events:
                newest = (events[-1].seq, events[-1].hash)
                self._same.acknowledged = max(newest, self._same.acknowledged or newest)


def _written(reader: sqlite3.Connection, group: Sequence[Prepared]) -> list[Event] | None:
    """The events of a group, None unless all of them are in the file."""
    found = [event_by_body(reader, item.body_hash) for item in group]
    events = [event for event in found if event is not None]
    return events if len(events) == len(group) else None
