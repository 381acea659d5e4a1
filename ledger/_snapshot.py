"""Snapshot: a consistent copy of a ledger that may be in use, every row byte for byte as it is stored."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path

from ledger._errors import AppendFailed, LedgerExists, NotALedger
from ledger._files import claim_name, sync_file, sync_folder
from ledger._store import Ledger

__all__ = ["snapshot"]


def snapshot(ledger: Ledger, target: str | os.PathLike[str]) -> tuple[int, str]:
    """Copy the ledger to a new file through SQLite's backup; returns (seq, hash) of the copy's head.

    The copy is one moment of the ledger, though others append meanwhile. It is durable on return, and appears under
    its name whole or not at all. Raises LedgerExists (nothing is ever written over), NotALedger, AppendFailed.
    """
    path = Path(target)
    if os.path.lexists(path):
        raise LedgerExists(f"{path} exists already; a snapshot never writes over a file, so name another")
    if not path.parent.is_dir():
        raise NotALedger(f"there is no folder {path.parent}; make it first")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".ledger-") as folder:
        made = Path(folder) / "copy.db"
        copy = sqlite3.connect(made, isolation_level=None)
        try:
            copy.execute("PRAGMA synchronous=FULL")
            ledger.backup(copy)
            seq, digest = copy.execute("SELECT seq, hash FROM main.events ORDER BY seq DESC LIMIT 1").fetchone()
            # The copy carries the mode of the original; whatever its log holds must be in the one file that moves.
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as problem:
            raise AppendFailed(f"{path}: {problem}; no snapshot was made") from None
        finally:
            copy.close()
        with made.open("rb+") as file:
            sync_file(file.fileno())
        claim_name(made, path)
    sync_folder(path.parent)
    return int(seq), str(digest)
