"""Redaction: the one path that removes anything. Bodies and blobs are withheld; lines, hashes and the chain stay.

The redact event and the nulling of exactly what it names are one transaction, and the guards allow no other. It has
succeeded only once the write-ahead log, in which the old pages may still lie, was emptied.
"""

from __future__ import annotations

import re
import sqlite3
import time
import zlib
from pathlib import Path

from ledger._append import append_within
from ledger._connect import connect_reader, connect_writer
from ledger._drafts import Draft, prepare
from ledger._errors import AppendFailed, LedgerError, NotErased, Refused
from ledger._event import MAX_CAUSES, Event
from ledger._redact_targets import Targets
from ledger._rows import event_by_body
from ledger.kinds import Redact

__all__ = ["CATEGORIES", "WAIT_SECONDS", "finish_redaction", "redact"]

CATEGORIES = {
    "secret": "a key, a token, a password",
    "personal": "somebody's data",
    "rights": "text that may not be kept",
    "other": "the reason says what",
}
WAIT_SECONDS = 5.0
# SQLite waits longer and longer between two tries, up to 100 ms, and a writer that appends without a pause leaves gaps
# far shorter than that: so many short waits in place of a long one.
_PATIENCE_MS = 20
_MOST = 64 << 20

_HIDE_BODY = "UPDATE main.events SET body = NULL, salt = NULL WHERE seq = ? AND body IS NOT NULL"
_HIDE_BLOB = "UPDATE main.blobs SET data = NULL, salt = NULL WHERE hash = ? AND data IS NOT NULL"
_BODY = "SELECT '', body FROM main.events WHERE seq = ?"
_BLOB = "SELECT encoding, data FROM main.blobs WHERE hash = ?"
_PLANNED = "SELECT 1 FROM main.events WHERE kind = 'plan' AND instr(body, ?) LIMIT 1"
_REDACTIONS = "SELECT count(*) FROM main.events WHERE kind = 'redact'"
# What could be the very secret: long, and not a plain word.
_TELLING = re.compile(r"""(?=[^\s"'<>(),;]*[0-9@])[^\s"'<>(),;]{12,}""")


def redact(path: Path, targets: Targets, *, category: str, reason: str, wait: float = WAIT_SECONDS) -> Event | None:
    """Withhold `targets`, and return the redact event once no byte of them is left in the file or its log.

    None when all of them were withheld already and only the erasing was left to do. `wait` is how many seconds to wait
    for others who read the ledger.

    Raises Refused (nothing was written: too many targets, or one that was withheld meanwhile, or a reason that repeats
    what it hides), AppendFailed (nothing was written), and NotErased: the redaction stands, but somebody still reads an
    older state of the ledger; `finish_redaction` completes it later.
    """
    if targets.count == 0:
        finish_redaction(path, wait=wait)
        return None
    _refuse_too_many(targets)
    event = _append(path, targets, category, reason)
    try:
        finish_redaction(path, wait=wait)
    except NotErased as problem:
        raise NotErased(str(problem), (event.seq, event.hash)) from None
    return event


def finish_redaction(path: Path, *, wait: float = WAIT_SECONDS) -> int:
    """Empty the write-ahead log, so that what redactions withheld is gone from it and from the file's old pages.

    Returns the number of redactions that the ledger holds. Raises NotErased when others kept that from happening.
    """
    connection = connect_writer(path)
    try:
        (count,) = connection.execute(_REDACTIONS).fetchone()
        connection.execute(f"PRAGMA busy_timeout={_PATIENCE_MS}").fetchall()
        until = time.monotonic() + wait
        while not _emptied(connection, path):
            if time.monotonic() >= until:
                raise NotErased(
                    f"{path}: not yet erased: the redaction stands, but another process still reads (or writes) the"
                    " ledger as it was before, so the old bytes are still in its files; end that process, then"
                    " `ledger redact --finish`"
                )
        return int(count)
    finally:
        connection.close()


def _emptied(connection: sqlite3.Connection, path: Path) -> bool:
    # Not busy means that the log was cut to nothing at that moment. What others have appended since is no older than
    # the redaction, so the log's size says nothing.
    try:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return False
        raise NotErased(f"{path}: not yet erased: {problem}; `ledger redact --finish` completes it") from None
    except sqlite3.Error as problem:
        raise NotErased(f"{path}: not yet erased: {problem}; `ledger redact --finish` completes it") from None
    return not busy


def _refuse_too_many(targets: Targets) -> None:
    if targets.count > MAX_CAUSES:
        parts = -(-targets.count // MAX_CAUSES)
        raise Refused(
            f"expected at most {MAX_CAUSES} bodies and blobs in one redaction (an event has no more causes), got"
            f" {targets.count}; split them into {parts} redactions, by cell (--run RUN --cell N) or by seq"
        )


def _append(path: Path, targets: Targets, category: str, reason: str) -> Event:
    body = Redact(
        bodies=list(targets.bodies),
        blobs_withheld=[blob.hash for blob in targets.blobs],
        category=category,
        reason=reason,
    )
    item = prepare(Draft(body, causes=targets.causes))
    connection = connect_writer(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        _refuse_telling(connection, targets, reason)
        (result,) = append_within(connection, [[item]], apart=False)
        assert not isinstance(result, LedgerError), "without `apart`, a refusal is raised"
        for seq in targets.bodies:
            _hide(connection, _HIDE_BODY, seq, f"the body of event {seq}")
        for blob in targets.blobs:
            _hide(connection, _HIDE_BLOB, blob.hash, f"the blob {blob.hash}")
        connection.execute("COMMIT")
        return result[0]
    except sqlite3.Error as problem:
        # The failure may have come out of COMMIT: look, as every append does.
        connection.close()
        reader = connect_reader(path)
        try:
            found = event_by_body(reader, item.body_hash)
        finally:
            reader.close()
        if found:
            return found
        raise AppendFailed(f"{path}: {problem}; nothing was withheld") from None
    finally:
        connection.close()


def _hide(connection: sqlite3.Connection, statement: str, target: int | str, what: str) -> None:
    if connection.execute(statement, (target,)).rowcount != 1:
        raise Refused(f"{what} is gone already: another redaction was quicker; nothing was written, ask again")


def _refuse_telling(connection: sqlite3.Connection, targets: Targets, reason: str) -> None:
    """A reason stands for ever; one that repeats the secret would make the redaction void.

    What a plan says too (a model's name, an address) is no secret: plans are never withheld.
    """
    words = [word for word in _TELLING.findall(reason) if not connection.execute(_PLANNED, (word,)).fetchone()]
    if not words:
        return
    wanted: list[tuple[str, int | str]] = [(_BODY, seq) for seq in targets.bodies]
    wanted += [(_BLOB, blob.hash) for blob in targets.blobs]
    for statement, key in wanted:
        row = connection.execute(statement, (key,)).fetchone()
        text = _plain(*row) if row else b""
        if any(word.encode("utf-8") in text for word in words):
            raise Refused(
                "the reason repeats something that stands in what it withholds, and a reason is never withheld;"
                " say it without"
            )


def _plain(encoding: str, stored: str | bytes | None) -> bytes:
    if stored is None:
        return b""
    if isinstance(stored, str):
        return stored.encode("utf-8")
    if encoding == "zlib":
        try:
            return zlib.decompressobj().decompress(stored, _MOST)
        except zlib.error:
            return b""
    return stored
