"""Writing into the folder of checkpoints: one process at a time, files whole and durable, and never over another."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ledger._errors import AppendFailed, Refused
from ledger._files import claim_name, sync_file, sync_folder
from ledger.checkpoints._files import checkpoint_folder

__all__ = ["hold_folder", "store"]

_SECONDS = 120.0
_MAKING = ".making"


@contextmanager
def hold_folder(ledger: Path) -> Generator[Path]:
    """The folder of a ledger's checkpoints, made if need be, and held for the length of the block.

    Raises Refused when another process holds it for too long, AppendFailed where there can be no such folder.
    """
    from filelock import FileLock, Timeout

    real = ledger.resolve()
    folder = checkpoint_folder(ledger)
    # Beside the locks on runs, which nobody commits or hands on.
    locks = real.with_name(real.name + ".locks")
    try:
        locks.mkdir(exist_ok=True)
        lock = FileLock(locks / "checkpoints")
        lock.acquire(timeout=_SECONDS)
    except Timeout:
        raise Refused(f"another process has been making a checkpoint of {ledger} for {_SECONDS:.0f} s; wait") from None
    except OSError as problem:
        raise AppendFailed(f"{locks}: {problem.strerror or problem}; nothing was signed") from None
    try:
        _make_folder(folder)
        yield folder
    finally:
        with suppress(OSError):
            folder.rmdir()  # only if nothing came to be in it
        lock.release()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
        # What a process that was killed left half-written has no name that anybody reads.
        (folder / _MAKING).unlink(missing_ok=True)
    except FileExistsError:
        raise AppendFailed(
            f"{folder} is no folder, and checkpoints go there; move it away. Nothing was signed"
        ) from None
    except OSError as problem:
        raise AppendFailed(f"{folder}: {problem.strerror or problem}; nothing was signed") from None


def store(path: Path, data: bytes) -> None:
    """Write a file of the folder that is held: durable on return, whole or not at all.

    Raises LedgerExists (nothing is ever written over) and AppendFailed.
    """
    made = path.parent / _MAKING
    try:
        with suppress(FileNotFoundError):
            made.unlink()
        with os.fdopen(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644), "wb") as file:
            file.write(data)
            file.flush()
            sync_file(file.fileno())
        claim_name(made, path)
        sync_folder(path.parent)
    except OSError as problem:
        raise AppendFailed(f"{path}: {problem.strerror or problem}; it was not written") from None
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)
