"""Giving a finished file its name: all at once, never over another file, and for good. And reading a small one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from ledger._errors import LedgerExists

__all__ = ["claim_name", "read_small", "sync_file", "sync_folder"]


_NO_PLACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
"""What any other way to give the name would meet as well."""


def claim_name(made: Path, target: Path) -> None:
    """Give `made` (in a folder on the same file system) the name `target`, unless that is taken: LedgerExists."""
    taken = f"{target} exists already; name another file, or use this one as it is"
    try:
        os.link(made, target)
    except FileExistsError:
        raise LedgerExists(taken) from None
    except OSError as problem:
        if problem.errno in _NO_PLACE:
            raise
        # No hard links here: take the name with an empty file of our own, which we may then write over.
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            raise LedgerExists(taken) from None
        try:
            made.replace(target)
        except OSError:
            # An empty file would pass for somebody's, and keep the name from us for good.
            target.unlink(missing_ok=True)
            raise


def read_small(path: Path, most: int) -> bytes:
    """The bytes of a file somebody else may have put there; of more than `most`, the first `most` + 1. Raises OSError.

    Never waits for a pipe's writer, and never reads a device, however it is named.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
    handle = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is a folder, a pipe or a device, not a file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most + 1)
    finally:
        os.close(handle)


def sync_file(handle: int) -> None:
    """Make what was written to an open file durable. macOS' fsync stops at the drive's cache; F_FULLFSYNC doesn't."""
    try:
        from fcntl import F_FULLFSYNC, fcntl  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
    except ImportError:
        os.fsync(handle)
        return
    try:
        fcntl(handle, F_FULLFSYNC)  # pyright: ignore[reportUnknownArgumentType]
    except OSError:
        # Not every file system (a network's, for one) knows it.
        os.fsync(handle)


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
