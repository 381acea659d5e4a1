"""Compressing blobs at rest: the same hashes, smaller bytes. What a blob's hash covers is its plain bytes.

The guards forbid every update of a blob, and this is one. So in one transaction the guard `blobs_update` is dropped,
blobs are packed, and the guard is put back word for word; only then, and only if every object of the schema is what it
was, is it committed. Killed at any moment, a ledger is as it was before, or packed and guarded. Nobody else can write
meanwhile. No event is appended, because nothing that an event says has changed.

secure_delete stays on: the plain bytes that give way must not stay on free pages, where no redaction would reach them.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ledger._connect import connect_writer
from ledger._errors import AppendFailed, Refused
from ledger._lock import run_is_held
from ledger._schema import Objects, format_objects, stored_objects
from ledger._store import Ledger

__all__ = ["LEVEL", "Compression", "Progress", "compress"]

LEVEL = 6
_GUARD = "blobs_update"
_BATCH = 500
_PATIENCE_MS = 5_000
_VACUUM_FROM = 16
_OPEN_RUNS = "SELECT run FROM main.events WHERE kind = 'plan'"
_PLAIN = "SELECT id, data FROM main.blobs WHERE id > ? AND encoding = '' AND length(data) >= 64 ORDER BY id LIMIT ?"
_SUMS = "SELECT count(*), coalesce(sum(length(data)), 0) FROM main.blobs WHERE encoding = '' AND length(data) >= 64"
_STORED = "SELECT coalesce(sum(length(data)), 0) FROM main.blobs"

Progress = Callable[[str, int, int], None]
"""Called with the stage ("packing", "guarded", "committed", "shrinking", "done"), and bytes read of how many."""


@dataclass(frozen=True, slots=True)
class Compression:
    """What came of it: `packed` of the `plain` blobs became smaller, and blobs and the file take so many bytes.

    `not_shrunk` says why the file didn't give its free pages back, or is empty.
    """

    packed: int
    plain: int
    blobs_before: int
    blobs_after: int
    file_before: int
    file_after: int
    not_shrunk: str


def _silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


def compress(path: str | os.PathLike[str], *, progress: Progress = _silent) -> Compression:
    """Pack every blob that becomes smaller by it, then give the free pages back to the system.

    It needs room on the disk for as much again as the file takes; of a million events with 224,000 blobs, in a file of
    990 MB, it took 13 s of one core and 45 MB of memory. Raises NotALedger; Refused (its tables or guards
    aren't the format's, a run is being asked for, or somebody else writes); AppendFailed (no room, for one). Then
    nothing was changed.
    """
    with Ledger.open(path) as ledger:
        target = ledger.path
        for (run,) in ledger.sql(_OPEN_RUNS).fetchall():
            if run_is_held(target, str(run)):
                raise Refused(f"{target}: run {run} is being asked for, and couldn't write meanwhile; wait for its end")
    file_before = _size(target)
    connection = connect_writer(target)
    try:
        connection.execute(f"PRAGMA busy_timeout={_PATIENCE_MS}").fetchall()
        try:
            packed, plain, before, after = _pack(connection, target, progress)
        except sqlite3.Error as problem:
            if getattr(problem, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise Refused(f"{target}: another process is writing; nothing was changed, ask again later") from None
            raise AppendFailed(f"{target}: {problem}; nothing was changed") from None
        progress("committed", 1, 1)
        not_shrunk = _shrink(connection, progress, packed)
    finally:
        # Leaving by an exception inside the transaction rolls it back.
        connection.close()
    progress("done", 1, 1)
    return Compression(packed, plain, before, after, file_before, _size(target), not_shrunk)


def _size(path: Path) -> int:
    log = path.with_name(path.name + "-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _pack(connection: sqlite3.Connection, path: Path, progress: Progress) -> tuple[int, int, int, int]:
    connection.execute("BEGIN EXCLUSIVE")
    before = stored_objects(connection)
    guard = _guard_of(before, path)
    plain, total = connection.execute(_SUMS).fetchone()
    (stored_before,) = connection.execute(_STORED).fetchone()
    connection.execute(f"DROP TRIGGER main.{_GUARD}")
    packed, done, last = 0, 0, 0
    while rows := connection.execute(_PLAIN, (last, _BATCH)).fetchall():
        smaller: list[tuple[bytes, int]] = []
        for number, data in rows:
            last = int(number)
            done += len(data)
            small = zlib.compress(data, LEVEL)
            if len(small) < len(data):
                smaller.append((small, last))
        connection.executemany("UPDATE main.blobs SET encoding = 'zlib', data = ? WHERE id = ?", smaller)
        packed += len(smaller)
        progress("packing", done, total)
    connection.execute(guard)
    progress("guarded", done, total)
    if stored_objects(connection) != before:
        connection.execute("ROLLBACK")
        raise Refused(f"{path}: its guards couldn't be put back as they were; nothing was changed")
    (stored_after,) = connection.execute(_STORED).fetchone()
    connection.execute("COMMIT")
    return packed, int(plain), int(stored_before), int(stored_after)


def _guard_of(stored: Objects, path: Path) -> str:
    """The text of the guard, which must be the format's, as must everything else of it."""
    if not set(stored.rows) >= set(format_objects().rows):
        raise Refused(f"{path}: its tables or guards aren't those of the format; `ledger verify` says what differs")
    # More than the format's and a release's triggers could act on our updates.
    strange = [row[1] for row in stored.rows if row[0] == "trigger" and row not in format_objects().rows]
    if strange:
        raise Refused(f"{path} holds the trigger {strange[0]!r}, which isn't the ledger's; `ledger verify` says more")
    (guard,) = [sql for kind, name, _, sql in stored.rows if (kind, name) == ("trigger", _GUARD)]
    assert guard is not None
    return guard


def _shrink(connection: sqlite3.Connection, progress: Progress, packed: int) -> str:
    """Give free pages back; why not, or nothing. What is left undone costs room and nothing else."""
    again = "; the free pages are used by what is appended, and running this again gives them back"
    try:
        if not _emptied(connection):
            return f"somebody else reads the ledger, so its log can't be folded in{again}"
        (free,) = connection.execute("PRAGMA main.freelist_count").fetchone()
        if not packed and free < _VACUUM_FROM:
            return ""
        progress("shrinking", 0, 1)
        # In memory it would need as much as the file.
        connection.execute("PRAGMA temp_store=FILE").fetchall()
        connection.execute("VACUUM")
        if not _emptied(connection):
            return f"somebody began to read the ledger meanwhile, so its log can't be folded in yet{again}"
    except sqlite3.Error as problem:
        return f"{problem}{again}"
    return ""


def _emptied(connection: sqlite3.Connection) -> bool:
    (busy, _, _) = connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchone()
    return not busy
