"""Connections to a ledger file: the modes that durability rests on are set, read back and asserted."""

from __future__ import annotations

import os
import sqlite3
import stat
from functools import cache
from pathlib import Path
from urllib.parse import quote

from ledger._errors import AppendFailed, NotALedger, Refused
from ledger._files import read_small
from ledger._filesystem import network_at, refuse_network
from ledger._reasons import advice
from ledger._schema import format_objects

__all__ = ["APPLICATION_ID", "connect_reader", "connect_writer", "refuse_journal", "refuse_unguarded", "uri"]

APPLICATION_ID = 0x45564C31  # "EVL1"
BUSY_SECONDS = 60.0

_SHOWN = 3
_IMMUTABLE = "mode=ro&immutable=1"
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_FORMAT")
_MODES: tuple[tuple[str, str | None, object], ...] = (
    # First of all: a database of somebody else's is left as it is.
    ("application_id", None, APPLICATION_ID),
    ("encoding", None, "UTF-8"),
    ("locking_mode", "NORMAL", "normal"),
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", 2),
    # What macOS calls a sync stops at the drive's cache. Elsewhere these two change nothing.
    ("fullfsync", "ON", 1),
    ("checkpoint_fullfsync", "ON", 1),
    ("secure_delete", "ON", 1),
    # Each time that the log is folded in, the file is looked into (ledger._same_file), so it isn't done too often.
    ("wal_autocheckpoint", "4000", 4000),
    ("trusted_schema", "OFF", 0),
    ("temp_store", "MEMORY", 2),
    # An error of a disk under a mapped file ends the process, and a stray write into the map is in the file.
    ("mmap_size", "0", 0),
    # A damaged page is noticed when it is read, not written further.
    ("cell_size_check", "ON", 1),
)
"""What a writer sets, and reads back: a mode, what it is set to (None: it is only read), and what it must be then."""


def uri(path: Path, mode: str) -> str:
    """The SQLite URI of a path, with everything that a URI could misread quoted (a second leading slash, too)."""
    whole = path.absolute()
    if os.sep == "/":
        return f"file://{quote(os.fsencode(whole))}?{mode}"
    # A drive's letter stands behind a slash in a URI: file:///C:/folder/name.
    return f"file://{quote('/' + whole.as_posix().removeprefix('/'), safe='/:')}?{mode}"


def _beside(path: Path, suffix: str) -> Path:
    # SQLite keeps its files beside the file itself, not beside a symbolic link to it.
    real = path.resolve()
    return real.with_name(real.name + suffix)


def _pending(path: Path) -> bool:
    """Whether a write-ahead log with anything in it stands beside the ledger."""
    try:
        return _beside(path, "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise NotALedger(f"{path} can't be read as a ledger: {problem.strerror or problem}") from None


def refuse_journal(path: Path) -> None:
    """Raise NotALedger where a rollback journal waits, out of which SQLite would write the file anew on opening it."""
    journal = _beside(path, "-journal")
    try:
        # A pipe, which SQLite would wait for, is no better.
        hot = not stat.S_ISREG(journal.stat().st_mode) or read_small(journal, 0) not in (b"", b"\0")
    except OSError:
        return
    if hot:
        raise NotALedger(
            f"{path} isn't opened: beside it lies {journal.name}, which no ledger ever has, and SQLite would change the"
            " file out of it; move that away, keep it, and see what `ledger verify` says"
        )


def refuse_unguarded(connection: sqlite3.Connection, path: Path) -> None:
    """Raise Refused where tables or guards aren't those of the format, as after a tool that rebuilt a table."""
    try:
        stored = set(connection.execute("SELECT type, name, tbl_name, sql FROM main.sqlite_schema"))
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        raise NotALedger(f"{path} can't be read as a ledger: {problem}") from None
    lost = [row[1] for row in format_objects().rows if row not in stored]
    if lost:
        which = ", ".join(lost[:3]) + (" …" if lost[3:] else "")
        raise Refused(
            f"{path}: its tables or guards aren't those of the format ({which}), so nothing is written to it;"
            " `ledger verify` says what differs, and a snapshot from before can go on"
        )


def connect_writer(path: Path) -> sqlite3.Connection:
    """A connection that may append: WAL, synchronous=FULL, secure_delete=ON, each read back.

    Raises NotALedger; AppendFailed (it can't be written now); Refused (it lies on a network file system, or lacks its
    guards). Then nothing was written.
    """
    refuse_network(path)
    refuse_journal(path)
    try:
        connection = sqlite3.connect(
            uri(path, "mode=rw"), uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as problem:
        raise NotALedger(f"{path} can't be opened for writing: {problem}{advice(problem, path)}") from None
    try:
        for name, wanted, expected in _MODES:
            if wanted is not None:
                connection.execute(f"PRAGMA {name}={wanted}").fetchall()
            row = connection.execute(f"PRAGMA {name}").fetchone()
            # An SQLite that was built without a thing answers nothing where it is asked for that.
            got = expected if row is None and wanted == "0" else row[0] if row else None
            if got != expected:
                if name == "application_id":
                    raise NotALedger(f"{path} is an SQLite file, but not a ledger (application_id {got or 0:#x})")
                raise AppendFailed(f"{path}: expected {name} {expected}, got {got}; refusing to append")
        refuse_unguarded(connection, path)
    except sqlite3.Error as problem:
        connection.close()
        if getattr(problem, "sqlite_errorname", "").startswith(_DAMAGED):
            raise NotALedger(f"{path} can't be read as a ledger: {problem}") from None
        raise AppendFailed(f"{path}: {problem}; nothing was written{advice(problem, path)}") from None
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


def _nothing_there(path: Path) -> NotALedger:
    """What is said where there is no file: what would make one, and what lies beside it under another name."""
    if path.suffix == ".zip":
        return NotALedger(f"there is no bundle at {path}; `ledger bundle RUN -o FILE.zip` makes one")
    if not path.parent.is_dir():
        return NotALedger(f"there is no ledger at {path}: there is no folder {path.parent}")
    beside = sorted(each.name for each in path.parent.glob("*.db") if each.is_file())[:_SHOWN]
    here = f"; beside it lies {', '.join(beside)}" if beside else ""
    return NotALedger(
        f"there is no ledger at {path}: the first `harness run` makes one, --db or LEDGER_DB names another{here}"
    )


def connect_reader(path: Path, *, views: bool = False, untouched: bool = False) -> sqlite3.Connection:
    """A connection that can't write: mode=ro, query_only, trusted_schema off.

    With `views`, the ledger's own views can be read: an SQLite so old that it wouldn't let them call its JSON functions
    then trusts the schema. Nothing else is there to call: no function of ours, no extension, no way to write.

    Where the folder can't be written either (no -shm can be made), the file is opened as immutable, but only if no
    write-ahead log is pending beside it. With `untouched` that is tried first, so that no -shm is made: for a glance,
    as what is written meanwhile may be misread. On a network file system, where a -shm is shared with nobody, nothing
    else is tried. Raises NotALedger, saying what to do.
    """
    if path.is_dir():
        raise NotALedger(f"{path} is a folder, not a ledger; name the file in it")
    if not path.is_file():
        raise _nothing_there(path)
    refuse_journal(path)
    network = network_at(path)
    pending = _pending(path)
    if network is not None and pending:
        raise NotALedger(
            f"{path} is on a network file system ({network}), and {_beside(path, '-wal').name} holds events that aren't"
            " in the file yet: close whoever writes the ledger, or copy both files together to a local disk, and read"
            " that copy"
        )
    modes = [] if network is not None else ["mode=ro"]
    if not pending:
        modes.insert(0 if untouched else len(modes), _IMMUTABLE)
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
            if mode == _IMMUTABLE and _pending(path):
                connection.close()
                problem = sqlite3.OperationalError("somebody began to write it just now; try again")
                continue
            return connection
        except (sqlite3.Error, UnicodeDecodeError) as found:  # SQLite quotes the file's own bytes in its messages
            problem = found
            connection.close()
            if getattr(found, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                break  # to read a file as immutable while somebody writes it would be to misread it
    raise NotALedger(f"{path} can't be read as a ledger: {problem}{_unreadable(problem, path, pending=pending)}")


def _unreadable(problem: Exception | None, path: Path, *, pending: bool) -> str:
    """What to do where a log is pending that SQLite can't read in its folder."""
    name = str(getattr(problem, "sqlite_errorname", ""))
    if not pending or not name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR")):
        return ""
    log = _beside(path, "-wal").name
    return (
        f"; {log} holds events that aren't in the file yet, and to read them SQLite must write beside it: copy"
        f" {path.name} and {log} together to a folder that can be written, and read that copy"
    )
