"""Where a new file is to be made: not under a name that SQLite gives to its own files, and in a folder that can be
written. What can't be is said of the folder by its name, never of a temporary file that nobody asked for."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ledger._errors import LedgerExists, NotALedger

__all__ = ["refuse_companion", "refuse_place", "temporary_beside", "unmade"]

_COMPANIONS = ("-wal", "-shm", "-journal")


def refuse_companion(path: Path) -> None:
    """Raise LedgerExists for a name that SQLite gives, or will give, to a file beside a database.

    An empty write-ahead log passes for a file that may be replaced, and what is written over it would be read as one.
    """
    end = next((each for each in _COMPANIONS if path.name.lower().endswith(each)), "")
    if end:
        raise LedgerExists(f"{path}: SQLite keeps a file of the ledger {path.name[: -len(end)]} there; name another")


def refuse_place(path: Path) -> None:
    """Raise LedgerExists or NotALedger where no file can be made under this name, whatever is there now."""
    refuse_companion(path)
    if not path.parent.is_dir():
        raise NotALedger(f"there is no folder {path.parent}; make it first")


def unmade(path: Path, problem: OSError) -> NotALedger:
    """What is said where the folder of `path` takes no new file."""
    return NotALedger(
        f"{path} can't be made: the folder {path.parent} takes no new file ({problem.strerror or problem}); name"
        " another place, or make it one that you can write to"
    )


@contextmanager
def temporary_beside(path: Path) -> Generator[Path]:
    """A folder beside `path`, for what is to have that name once it is whole. Raises NotALedger without one."""
    try:
        made = tempfile.TemporaryDirectory(dir=path.parent, prefix=".ledger-", ignore_cleanup_errors=True)
    except OSError as problem:
        raise unmade(path, problem) from None
    with made as folder:
        yield Path(folder)
