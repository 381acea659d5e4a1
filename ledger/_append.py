"""The one function that appends. Everything that writes to a ledger goes through `append_all`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ledger._drafts import Prepared, seal
from ledger._errors import AppendFailed, LedgerError, LedgerReplaced, Refused
from ledger._event import GENESIS_PREV, Event, causes_text, now_text

__all__ = ["append_all", "append_within"]

_INSERT_EVENTS = (
    "INSERT INTO main.events (seq, v, hash, prev, at, kind, run, cell, causes, body_hash, salt, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ONE_MORE = ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_AT_ONCE = 64
"""Events in one statement at most: their values stay below the 999 that an old SQLite takes."""
_INSERT_BLOB = "INSERT INTO main.blobs (hash, seq, salt, encoding, data) VALUES (?, ?, ?, '', ?)"
_HEAD = "SELECT seq, hash FROM main.events ORDER BY seq DESC LIMIT 1"
_AT = "SELECT hash FROM main.events WHERE seq = ?"
_HAS_PLAN = "SELECT 1 FROM main.events WHERE run = ? AND kind = 'plan'"
_HAS_CELL = "SELECT seq FROM main.events WHERE run = ? AND kind = 'cell' AND cell = ?"
# A withheld request can't say what it claimed. What came of it may; else it holds as many attempts as were ever made.
_CLAIMED = (
    "WITH asked AS (SELECT seq, coalesce(body, (SELECT told.body FROM main.edges"
    " CROSS JOIN main.events AS told ON told.seq = edges.effect WHERE edges.cause = request.seq"
    " AND told.kind IN ('response', 'fault', 'wait') AND json_extract(told.body, '$.attempt') IS NOT NULL LIMIT 1))"
    " AS body FROM main.events AS request WHERE run = ?1 AND kind = 'request' AND cell = ?2)"
    " SELECT seq FROM asked WHERE json_extract(body, '$.turn') = ?3 AND json_extract(body, '$.attempt') = ?4"
    " OR body IS NULL AND ?4 < (SELECT count(*) FROM asked)"
)


_LOOKED_UP = frozenset({"plan", "cell", "request"})
"""What is refused when it stands already, in the file or earlier in the same append."""


def _refuse_if_taken(connection: sqlite3.Connection, item: Prepared) -> None:
    if item.kind == "plan" and connection.execute(_HAS_PLAN, (item.run,)).fetchone():
        raise Refused(f"run {item.run} has its plan already; a new plan is a new run")
    if item.kind == "cell":
        row = connection.execute(_HAS_CELL, (item.run, item.cell)).fetchone()
        if row:
            raise Refused(f"run {item.run} cell {item.cell} was planned by event {row[0]} already")
    if item.claim is not None:
        turn, attempt = item.claim
        row = connection.execute(_CLAIMED, (item.run, item.cell, turn, attempt)).fetchone()
        if row:
            raise Refused(
                f"run {item.run} cell {item.cell} turn {turn} attempt {attempt} was claimed by event {row[0]} already"
            )


def append_all(
    connection: sqlite3.Connection, groups: Sequence[Sequence[Prepared]], *, after: tuple[int, str] | None = None
) -> list[list[Event] | LedgerError]:
    """Append groups of events in one transaction; each group is taken whole or refused whole.

    Returns, group by group, its events or the reason why it was refused; refused groups leave no trace and don't
    stop the others. On return everything accepted is durable. Raises sqlite3.Error when SQLite could not do it; then
    nothing of it was written, except perhaps when COMMIT itself failed; settling that is the caller's part. Raises
    LedgerReplaced unless the event `after`, (seq, hash), is there.
    """
    if connection.in_transaction:
        raise AppendFailed("an append starts outside any transaction, and one is open; nothing was written")
    # Savepoints make SQLite keep a second journal, so they are only for the rare case that something is refused.
    try:
        results = _commit(connection, groups, after, apart=False)
    except LedgerReplaced:
        raise
    except LedgerError as refused:
        if len(groups) == 1:
            return [refused]
        results = _commit(connection, groups, after, apart=True)
    assert not connection.in_transaction, "an append ends outside any transaction"
    return results


def _refuse_without(connection: sqlite3.Connection, seq: int, digest: str) -> None:
    row = connection.execute(_AT, (seq,)).fetchone()
    if row is None or row[0] != digest:
        raise LedgerReplaced("lacks events that it had")


def _commit(
    connection: sqlite3.Connection, groups: Sequence[Sequence[Prepared]], after: tuple[int, str] | None, *, apart: bool
) -> list[list[Event] | LedgerError]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if after is not None:
            _refuse_without(connection, *after)
        results = append_within(connection, groups, apart=apart)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return results


def append_within(
    connection: sqlite3.Connection, groups: Sequence[Sequence[Prepared]], *, apart: bool
) -> list[list[Event] | LedgerError]:
    """`append_all` inside the caller's transaction, which must have begun as IMMEDIATE.

    Unless the groups are kept `apart`, the first refusal is raised, and the caller must roll back.
    """
    assert connection.in_transaction, "the head is read under the write lock"
    results: list[list[Event] | LedgerError] = []
    waiting: list[Event] = []
    head = connection.execute(_HEAD).fetchone()
    seq, prev = head if head else (0, GENESIS_PREV)
    for group in groups:
        if apart:
            connection.execute("SAVEPOINT one")
        events: list[Event] = []
        tip = (seq, prev)
        at = now_text()
        try:
            for item in group:
                if item.kind in _LOOKED_UP:
                    _insert(connection, waiting)
                    _refuse_if_taken(connection, item)
                event = seal(item, seq=seq + 1, prev=prev, at=at, first=tip[0] + 1)
                waiting.append(event)
                events.append(event)
                seq, prev = event.seq, event.hash
                if item.blobs:
                    # A blob belongs to the newest event, and its guard looks.
                    _insert(connection, waiting)
                    for blob in item.blobs:
                        connection.execute(_INSERT_BLOB, (blob.hash, event.seq, blob.salt, blob.data))
            _insert(connection, waiting)
        except LedgerError as refused:
            waiting.clear()
            if not apart:
                raise
            connection.execute("ROLLBACK TO one")
            seq, prev = tip
            results.append(refused)
        else:
            results.append(events)
        if apart:
            connection.execute("RELEASE one")
    return results


def _insert(connection: sqlite3.Connection, waiting: list[Event]) -> None:
    """Insert the events that wait, many in a statement, and let them wait no more.

    The interpreter's lock is free while SQLite runs a statement, so other threads get on, too. Powers of two, so that
    few statements are compiled.
    """
    start = 0
    while start < len(waiting):
        count = min(_AT_ONCE, 1 << (len(waiting) - start).bit_length() - 1)
        values: list[object] = []
        for event in waiting[start : start + count]:
            values += (
                event.seq, event.v, event.hash, event.prev, event.at, event.kind, event.run, event.cell,
                causes_text(event.causes), event.body_hash, event.salt, event.body,
            )  # fmt: skip
        connection.execute(_INSERT_EVENTS + _ONE_MORE * (count - 1), values)
        start += count
    waiting.clear()
