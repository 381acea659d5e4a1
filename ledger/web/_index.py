"""An index of a ledger's texts, for searching: in memory, outside the ledger file, and gone with the server.

It follows the chain by seq. The moment that a redaction is seen all of it is dropped and made anew, and nothing is
found in what was there before.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ledger._connect import uri
from ledger.web._queries import query

__all__ = ["GROUPS", "Group", "Hit", "Hits", "SearchIndex"]

Group = Literal["runs", "cells", "events"]
GROUPS: tuple[Group, ...] = get_args(Group)

_CHUNK = 10_000
_MOST = 10_000
_LEAST_INDEXED = 3
_TABLES = """
CREATE TABLE texts (id INTEGER PRIMARY KEY, seq, kind, run, cell, field, place, more, text, grouped);
CREATE UNIQUE INDEX once ON texts (run, more, text) WHERE field = 'unmeasured';
CREATE TEMP TABLE hits (grouped, place, id);
"""
_INDEXED = "CREATE VIRTUAL TABLE {} USING fts5(text, content='texts', content_rowid='id', tokenize='trigram')"
_GROUP = "CASE WHEN kind IN ('plan', 'score') THEN 'runs' WHEN cell > 0 THEN 'cells' ELSE 'events' END"


@dataclass(frozen=True, slots=True)
class Hit:
    """One text that was found: in which event, what it is of it (`field`), and the rule set (`more`) it goes for."""

    seq: int
    kind: str
    run: str
    cell: int
    field: str
    more: str
    text: str


@dataclass(frozen=True)
class Hits:
    """What was found of a group: how many places (runs, cells, events), and the texts of those asked for.

    `cut` says that so much fits that only the newest texts were looked at.
    """

    count: int
    places: Sequence[Sequence[Hit]]
    cut: bool


class SearchIndex:
    """The texts of one ledger. Safe to share between threads; `close` ends what builds it.

    `plain` does without SQLite's full-text index, as where it lacks that.
    """

    def __init__(self, path: Path, *, plain: bool = False, chunk: int = _CHUNK) -> None:
        self._path = path
        self._plain = plain
        self._chunk = chunk
        self._lock = threading.Condition(threading.RLock())
        self._connection: sqlite3.Connection | None = None
        self._redact = 0
        self._covered = 0
        self._last = 0
        self._worker: threading.Thread | None = None
        self._problem = ""
        self._closed = False

    def reach(self, size: int, *, patience: float) -> tuple[int, str]:
        """Follow the chain to `size`, waiting so many seconds for it: how far it is, and why it goes no further."""
        end = time.monotonic() + patience
        before = -1
        with self._lock:
            self._look()
            while self._covered < size and not self._problem and not self._closed:
                if self._worker is None:
                    if before == self._covered:
                        break  # there is no more of it than that
                    before = self._covered
                    self._worker = threading.Thread(target=self._follow, name="ledger-search", daemon=True)
                    self._worker.start()
                left = end - time.monotonic()
                if left <= 0 or not self._lock.wait(left):
                    break
            problem, self._problem = self._problem, ""
            return self._covered, problem

    def find(self, terms: Sequence[str], size: int, group: Group, *, skip: int = 0, most: int = 25) -> Hits:
        """Places of a group whose one text holds all of the terms, of events up to `size`, newest first."""
        with self._lock:
            self._look()
            if self._connection is None:
                return Hits(0, (), cut=False)
            return self._find(self._connection, terms, size, group, skip, most)

    def _find(
        self, connection: sqlite3.Connection, terms: Sequence[str], size: int, group: Group, skip: int, most: int
    ) -> Hits:
        indexed = [] if self._plain else [each for each in terms if len(each) >= _LEAST_INDEXED]
        conditions = ["texts.seq <= ?", "texts.grouped = ?"]
        values: list[object] = [size, group]
        for term in terms if not indexed else [each for each in terms if each not in indexed]:
            conditions.append("texts.text LIKE ? ESCAPE '\\'")
            escaped = term.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            values.append(f"%{escaped}%")
        source = "texts"
        if indexed:
            table = _table_of(group)
            source = f"{table} CROSS JOIN texts ON texts.id = {table}.rowid"
            conditions.insert(0, f"{table} MATCH ?")
            quoted = ('"' + each.replace('"', '""') + '"' for each in indexed)
            values.insert(0, " ".join(quoted))
        order = f"{_table_of(group)}.rowid" if indexed else "texts.id"
        connection.execute("DELETE FROM temp.hits")
        found = connection.execute(
            "INSERT INTO temp.hits SELECT texts.grouped, texts.place, texts.id"  # noqa: S608 - names of our own
            f" FROM {source} WHERE {' AND '.join(conditions)} ORDER BY {order} DESC LIMIT {_MOST}",
            values,
        ).rowcount
        (count,) = connection.execute("SELECT count(DISTINCT place) FROM temp.hits").fetchone()
        places = connection.execute(
            "SELECT place, json_group_array(id) FROM temp.hits GROUP BY place ORDER BY max(id) DESC LIMIT ? OFFSET ?",
            (most, skip),
        ).fetchall()
        shown = [
            [Hit(*row) for row in connection.execute(
                "SELECT seq, kind, run, cell, field, more, text FROM texts"
                " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 8", (ids,)
            )]
            for _, ids in places
        ]  # fmt: skip
        return Hits(int(count), shown, cut=found >= _MOST)

    def close(self) -> None:
        """Forget all of it."""
        with self._lock:
            self._closed = True
            self._drop()
            self._lock.notify_all()

    # Building. Whoever calls these holds the lock.

    def _look(self) -> None:
        """Drop everything where something was withheld since: checked by the file itself, at this very moment."""
        if self._connection is None:
            return
        try:
            newest = self._newest_redact(self._connection)
        except sqlite3.Error:
            self._drop()
            return
        if newest != self._redact:
            self._drop()

    def _newest_redact(self, connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT max(seq) FROM ledger.events WHERE kind = 'redact'").fetchone()
        return int(row[0] or 0)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._covered = self._last = 0

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", uri=True, isolation_level=None, check_same_thread=False)
        try:
            # No text may lie in a file, not for a moment.
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.execute("PRAGMA trusted_schema=OFF")
            self._attach(connection)
            self._redact = self._newest_redact(connection)
            connection.executescript(_TABLES)
            if not self._plain:
                try:
                    for group in ("cells", "events"):
                        connection.execute(_INDEXED.format(_table_of(group)))
                except sqlite3.Error:
                    self._plain = True
        except BaseException:
            connection.close()
            raise
        return connection

    def _attach(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("ATTACH ? AS ledger", (uri(self._path, "mode=ro"),))
            connection.execute("SELECT 1 FROM ledger.sqlite_schema").fetchone()
        except sqlite3.Error:
            # In a folder that can't be written, where no log is pending: as every reader of the ledger does it.
            real = self._path.resolve()
            log = real.with_name(real.name + "-wal")
            if log.exists() and log.stat().st_size:
                raise
            if any(row[1] == "ledger" for row in connection.execute("PRAGMA database_list")):
                connection.execute("DETACH ledger")
            connection.execute("ATTACH ? AS ledger", (uri(self._path, "mode=ro&immutable=1"),))
            connection.execute("SELECT 1 FROM ledger.sqlite_schema").fetchone()

    def _follow(self) -> None:
        more = True
        while more:
            with self._lock:
                try:
                    more = not self._closed and self._step()
                except Exception as problem:  # noqa: BLE001 - whoever waits is told
                    self._problem, more = str(problem), False
                    self._drop()
                if not more:
                    self._worker = None
                self._lock.notify_all()
            # Let those who search have the connection in between.
            time.sleep(0.001)

    def _step(self) -> bool:
        """Take the next events in; whether there are more."""
        self._look()
        if self._connection is None:
            self._connection = self._open()
        connection = self._connection
        (top,) = connection.execute("SELECT max(seq) FROM ledger.events").fetchone()
        upto = min(int(top or 0), self._covered + self._chunk)
        connection.execute("BEGIN")
        try:
            connection.execute(
                "INSERT OR IGNORE INTO texts (seq, kind, run, cell, field, place, more, text, grouped)"  # noqa: S608
                f" SELECT *, {_GROUP} FROM ({query('search_texts')})",
                (self._covered, upto),
            )
            (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM texts").fetchone()
            if not self._plain:
                for group, which in (("cells", "= 'cells'"), ("events", "<> 'cells'")):
                    connection.execute(
                        f"INSERT INTO {_table_of(group)} (rowid, text) SELECT id, text FROM texts"  # noqa: S608
                        f" WHERE id > ? AND grouped {which}",
                        (self._last,),
                    )
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        self._covered, self._last = upto, int(last)
        return upto < int(top or 0)


def _table_of(group: str) -> str:
    # Cells are many and the rest is few: looked up apart, the newest of the many don't crowd the few out.
    return "found_cells" if group == "cells" else "found_rest"
