"""Connections to a ledger file: the modes that durability rests on are set, read back and asserted."""

from __future__ import annotations

import os
import sqlite3
from functools import cache
from pathlib import Path
from urllib.parse import quote

from ledger._errors import AppendFailed, NotALedger

__all__ = ["APPLICATION_ID", "connect_reader", "connect_writer", "uri"]

APPLICATION_ID = 0x45564C31  # "EVL1"
BUSY_SECONDS = 60.0


def uri(path: Path, mode: str) -> str:
    """The SQLite URI of a path, with everything that a URI could misread quoted (a second leading slash, too)."""
    whole = path.absolute()
    if os.sep == "/":
        return f"file://{quote(os.fsencode(whole))}?{mode}"
    # A drive's letter stands behind a slash in a URI: file:///C:/folder/name.
    return f"file://{quote('/' + whole.as_posix().removeprefix('/'), safe='/:')}?{mode}"


def connect_writer(path: Path) -> sqlite3.Connection:
    """A connection that may append: WAL, synchronous=FULL, secure_delete=ON. Raises NotALedger or AppendFailed."""
    try:
        connection = sqlite3.connect(
            uri(path, "mode=rw"), uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as problem:
        raise NotALedger(f"{path} can't be opened for writing: {problem}") from None
    try:
        asserted = {
            "journal_mode": ("WAL", "wal"),
            "synchronous": ("FULL", 2),
            # What macOS calls a sync stops at the drive's cache. Elsewhere these two change nothing.
            "fullfsync": ("ON", 1),
            "checkpoint_fullfsync": ("ON", 1),
            "secure_delete": ("ON", 1),
            "trusted_schema": ("OFF", 0),
            "temp_store": ("MEMORY", 2),
            "encoding": (None, "UTF-8"),
            "application_id": (None, APPLICATION_ID),
        }
        for name, (wanted, expected) in asserted.items():
            if wanted is not None:
                connection.execute(f"PRAGMA {name}={wanted}").fetchall()
            (got,) = connection.execute(f"PRAGMA {name}").fetchone()
            if got != expected:
                if name == "application_id":
                    raise NotALedger(f"{path} is an SQLite file, but not a ledger (application_id {got:#x})")
                raise AppendFailed(f"{path}: expected {name} {expected}, got {got}; refusing to append")
    except sqlite3.Error as problem:
        connection.close()
        raise NotALedger(f"{path} can't be read as a ledger: {problem}") from None
    except BaseException:
        connection.close()
        raise
    return connection


@cache
def _json_is_innocuous() -> bool:
    # SQLite before 3.41 counts json_extract() and ->> among the functions that an untrusted view may not call.
    probe = sqlite3.connect(":memory:")
    try:
        probe.execute("CREATE VIEW probed AS SELECT '{}' ->> '$.a' AS value")
        probe.execute("PRAGMA trusted_schema=OFF")
        probe.execute("SELECT value FROM probed").fetchone()
    except sqlite3.Error:
        return False
    finally:
        probe.close()
    return True


def connect_reader(path: Path, *, views: bool = False, untouched: bool = False) -> sqlite3.Connection:
    """A connection that can't write: mode=ro, query_only, trusted_schema off.

    With `views`, the ledger's own views can be read: an SQLite so old that it wouldn't let them call its JSON functions
    then trusts the schema. Nothing else is there to call: no function of ours, no extension, no way to write.

    Where the folder can't be written either (no -shm can be made), the file is opened as immutable, but only if no
    write-ahead log is pending beside it. With `untouched` that is tried first, so that no -shm is made: for a glance,
    as what is written meanwhile may be misread. Raises NotALedger.
    """
    if path.is_dir():
        raise NotALedger(f"{path} is a folder, not a ledger; name the file in it")
    if not path.is_file():
        raise NotALedger(f"there is no ledger at {path}; `ledger init` makes one, --db or LEDGER_DB names another")
    modes = ["mode=ro"]
    # SQLite keeps the log beside the file itself, not beside a symbolic link to it.
    real = path.resolve()
    wal = real.with_name(real.name + "-wal")
    if not wal.exists() or wal.stat().st_size == 0:
        modes.insert(0 if untouched else 1, "mode=ro&immutable=1")
    problem: Exception | None = None
    for mode in modes:
        try:
            connection = sqlite3.connect(
                uri(path, mode), uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as found:
            problem = found
            continue
        try:
            connection.execute("PRAGMA query_only=ON")
            if not views or _json_is_innocuous():
                connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("SELECT count(*) FROM main.sqlite_schema").fetchone()
            return connection
        except (sqlite3.Error, UnicodeDecodeError) as found:  # SQLite quotes the file's own bytes in its messages
            problem = found
            connection.close()
            if getattr(found, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                break  # to read a file as immutable while somebody writes it would be to misread it
    raise NotALedger(f"{path} can't be read as a ledger: {problem}")
