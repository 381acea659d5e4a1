"""What to do about a failure of SQLite's: the end of the sentence that tells of it."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

__all__ = ["advice"]

_LITTLE = 8 << 20
_GO_ON = "then go on (a run that was stopped: `harness resume`)"


def advice(problem: BaseException, path: Path) -> str:
    """What to do after `problem` with the ledger at `path`, after a semicolon; empty where that isn't known."""
    if not isinstance(problem, sqlite3.Error):
        return ""
    name = str(getattr(problem, "sqlite_errorname", ""))
    if name == "SQLITE_FULL":
        return f"; {_room(path)}, {_GO_ON}"
    if name == "SQLITE_READONLY_DBMOVED":
        return f"; the file was moved or replaced while it was open: put it back where it was, {_GO_ON}"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return (
            "; the file, its -wal, its folder or its file system may not be written (any more): give the right to write"
            f" back, {_GO_ON}"
        )
    if name.startswith("SQLITE_IOERR"):
        return f"; the disk or its file system failed ({name}): see that it is mounted, sound and has room, {_GO_ON}"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"; another program keeps the ledger locked: let it end, {_GO_ON}"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return "; the file is damaged: keep it as it is, see what `ledger verify` says, and go on from a snapshot"
    if name == "SQLITE_NOMEM":
        return f"; there was no memory left: free some, {_GO_ON}"
    return ""


def _room(path: Path) -> str:
    """Where room is to be made: SQLite says "full" of a disk, a quota, a file's limit, and of temporary files."""
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return f"make room where {path.name} is"
    if free < _LITTLE:
        return f"make room: {free:,} bytes are free in {path.parent.absolute()}"
    return (
        f"{free:,} bytes are free in {path.parent.absolute()}, so it is a quota, a limit on the file, or the folder of"
        " temporary files (TMPDIR) that is full: make room there"
    )
