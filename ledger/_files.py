"""Giving a finished file its name: all at once, never over another file, and for good."""

from __future__ import annotations

import os
from pathlib import Path

from ledger._errors import LedgerExists

__all__ = ["claim_name", "sync_folder"]


def claim_name(made: Path, target: Path) -> None:
    """Give `made` (in a folder on the same file system) the name `target`, unless that is taken: LedgerExists."""
    taken = f"{target} exists already; name another file, or use this one as it is"
    try:
        os.link(made, target)
    except FileExistsError:
        raise LedgerExists(taken) from None
    except OSError:
        # No hard links here: take the name with an empty file of our own, which we may then write over.
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            raise LedgerExists(taken) from None
        made.replace(target)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable, where the system can (POSIX: a file's fsync doesn't cover its name)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
