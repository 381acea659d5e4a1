"""What a commit whose sync failed leaves in the write-ahead log, and how it goes away."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ledger._connect import connect_writer
from ledger._errors import LedgerError

__all__ = ["forget_unsynced"]

_PATIENCE_MS = 200


def forget_unsynced(path: Path, problem: BaseException) -> str:
    """After an append that failed: see that it can't come back. Empty, or the end of a sentence that says that it may.

    SQLite writes a transaction to the log, syncs it, and only then tells others of it. Where the sync fails, nobody is
    told, but the log holds it whole: whoever opens the ledger first after a crash would recover it. Cutting the log to
    nothing takes it away; the next append, which is written over it, does as well.
    """
    if getattr(problem, "sqlite_errorname", "") != "SQLITE_IOERR_FSYNC":
        return ""
    try:
        with closing(connect_writer(path)) as connection:
            connection.execute(f"PRAGMA busy_timeout={_PATIENCE_MS}").fetchall()
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return ""
    except (LedgerError, sqlite3.Error):
        pass
    return "; if this machine stops before the next append, this one may be there after all"
