"""An operating-system lock on (ledger, run): one process asks for a run at a time.

The lock is a file beside the ledger, held with flock (or LockFileEx), so a killed process lets go of it by dying.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ledger._errors import NotFound, RunHeld
from ledger._event import now_text

__all__ = ["hold_run", "run_is_held"]

_RUN = re.compile(r"[a-z0-9]{16,32}")
_HOLDER = re.compile(rb"([0-9]{1,10}) ([0-9TZ:.-]{20,32})\n")


def _lock_file(ledger: Path, run: str) -> Path | None:
    """Where a run's lock is: one place, by whichever name the ledger was opened. None for what names no run: the id may
    come out of a hostile file, and as a path it could lead anywhere."""
    real = ledger.resolve()
    return real.with_name(real.name + ".locks") / run if _RUN.fullmatch(run) else None


@contextmanager
def hold_run(ledger: Path, run: str) -> Generator[None]:
    """Hold the run for the length of the block. Raises RunHeld when another has it, NotFound for no run's id."""
    from filelock import FileLock, Timeout

    path = _lock_file(ledger, run)
    if path is None:
        raise NotFound(f"expected a run's id, got {run!r}")
    path.parent.mkdir(exist_ok=True)
    lock = FileLock(path)
    try:
        # A reader that asks "is it held?" takes the lock for an instant: outwait it, don't outwait a run.
        lock.acquire(timeout=2)
    except Timeout:
        raise RunHeld(f"run {run} is being asked for by {_holder(path)}; wait for it, or stop it") from None
    note = _holder_file(path)
    try:
        _say_who(note)
        yield
    finally:
        with contextlib.suppress(OSError):
            note.unlink()
        lock.release()


def _holder_file(lock: Path) -> Path:
    return lock.with_name(lock.name + ".holder")


def _say_who(note: Path) -> None:
    """Write down who holds the lock, for people. The lock itself is the truth; a note that can't be kept is no harm."""
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        # Made anew, never written through: what stands there may be somebody's link.
        with note.open("x", encoding="ascii") as file:
            file.write(f"{os.getpid()} {now_text()}\n")


def _holder(lock: Path) -> str:
    try:
        note = _holder_file(lock)
        with note.open("rb") as file:
            found = _HOLDER.fullmatch(file.read(100)) if note.is_file() and not note.is_symlink() else None
    except OSError:
        found = None
    return f"process {found[1].decode()} since {found[2].decode()}" if found else "another process"


def run_is_held(ledger: Path, run: str) -> bool:
    """Whether a living process holds the run. Never waits, leaves nothing behind."""
    path = _lock_file(ledger, run)
    if path is None or path.is_symlink() or not path.is_file():
        return False
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False
