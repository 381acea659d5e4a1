"""An operating-system lock on (ledger, run): one process asks for a run at a time.

The lock is a file beside the ledger, held with flock (or LockFileEx), so a killed process lets go of it by dying.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ledger._errors import RunHeld

__all__ = ["hold_run", "run_is_held"]


def _lock_file(ledger: Path, run: str) -> Path:
    folder = ledger.with_name(ledger.name + ".locks")
    folder.mkdir(exist_ok=True)
    return folder / run


@contextmanager
def hold_run(ledger: Path, run: str) -> Generator[None]:
    """Hold the run for the length of the block. Raises RunHeld when another process holds it."""
    from filelock import FileLock, Timeout

    path = _lock_file(ledger, run)
    lock = FileLock(path)
    try:
        # A reader that asks "is it held?" takes the lock for an instant: outwait it, don't outwait a run.
        lock.acquire(timeout=2)
    except Timeout:
        raise RunHeld(f"run {run} is being asked for by another process (it holds {path.name}); wait for it") from None
    try:
        yield
    finally:
        lock.release()


def run_is_held(ledger: Path, run: str) -> bool:
    """Whether a living process holds the run. Never waits, leaves nothing behind."""
    path = ledger.with_name(ledger.name + ".locks") / run
    if not path.exists():
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
