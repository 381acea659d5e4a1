"""Snapshot: a consistent copy of a ledger that may be in use, every row byte for byte as it is stored."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

from ledger._errors import AppendFailed, LedgerExists
from ledger._files import claim_name, sync_file, sync_folder
from ledger._place import refuse_place, temporary_beside
from ledger._reasons import advice
from ledger._store import Ledger
from ledger.checkpoints._files import checkpoint_folder

__all__ = ["snapshot"]

_OF = re.compile(r"([0-9]{12,16})\.(?:checkpoint|peaks|[^/]+\.tsr)\Z")
"""What lies in a folder of checkpoints: notes, and what belongs to one."""


def snapshot(ledger: Ledger, target: str | os.PathLike[str]) -> tuple[int, str]:
    """Copy the ledger to a new file through SQLite's backup; returns (seq, hash) of the copy's head.

    The copy is one moment of the ledger, though others append meanwhile. It is durable on return, and appears under
    its name whole or not at all. The ledger's checkpoints of that moment go along, as they are, into the folder beside
    the copy. Raises LedgerExists (nothing is ever written over), NotALedger, AppendFailed.
    """
    path = Path(target)
    refuse_place(path)
    beside = checkpoint_folder(path)
    for each in (path, beside):
        if os.path.lexists(each):
            raise LedgerExists(f"{each} exists already; a snapshot never writes over a file, so name another")
    with temporary_beside(path) as folder:
        made = folder / "copy.db"
        copy = sqlite3.connect(made, isolation_level=None)
        try:
            copy.execute("PRAGMA synchronous=FULL")
            # Nobody else knows of the copy, and without memory to share it can be made on a network file system, too.
            copy.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
            ledger.backup(copy)
            seq, digest = copy.execute("SELECT seq, hash FROM main.events ORDER BY seq DESC LIMIT 1").fetchone()
            # The copy carries the mode of the original; whatever its log holds must be in the one file that moves.
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as problem:
            raise AppendFailed(f"{path}: {problem}; no snapshot was made{advice(problem, path)}") from None
        finally:
            copy.close()
        with made.open("rb+") as file:
            sync_file(file.fileno())
        try:
            # First, so that no copy is ever seen without the checkpoints that could show what was done to it.
            took = _take_along(checkpoint_folder(ledger.path), int(seq), folder / "checkpoints", beside)
            try:
                claim_name(made, path)
            except LedgerExists:
                for each in took:
                    each.unlink()
                if took:
                    beside.rmdir()
                raise
        except OSError as problem:
            raise AppendFailed(f"{beside}: {problem.strerror or problem}; no snapshot was made") from None
    sync_folder(path.parent)
    return int(seq), str(digest)


def _take_along(source: Path, size: int, made: Path, target: Path) -> list[Path]:
    """Copy what belongs to checkpoints of at most `size` events; those that came after the copy's moment don't fit.

    Nothing is judged here: a checkpoint that doesn't hold must not get lost on the way either.
    """
    wanted = [
        each
        for each in (sorted(source.iterdir()) if source.is_dir() else ())
        if (of := _OF.match(each.name)) and int(of[1]) <= size and each.is_file()
    ]
    if not wanted:
        return []
    made.mkdir()
    for each in wanted:
        with (made / each.name).open("xb") as file:
            file.write(each.read_bytes())
            file.flush()
            sync_file(file.fileno())
    sync_folder(made)
    made.rename(target)
    return [target / each.name for each in wanted]
