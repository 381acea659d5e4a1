"""Ledgers that pages read from: a few open connections to each file, and one moment for each page."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ledger._errors import LedgerError, NotALedger
from ledger._store import Ledger
from ledger.web._memory import Memory

__all__ = ["Shelf"]

_MOST_IDLE = 8


class Shelf:
    """One ledger file as a server reads it. `memory` is what it keeps of it. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._idle: list[Ledger] = []
        self._file: tuple[int, int] | None = None
        self.memory = Memory(path)

    @contextmanager
    def reading(self) -> Generator[Ledger]:
        """A ledger held at one moment. Raises NotALedger, also for a file that went away meanwhile."""
        ledger = self._take()
        try:
            with ledger.at_one_moment():
                yield ledger
        except sqlite3.Error as problem:
            ledger.close()
            raise LedgerError(f"{self.path} can't be read: {problem}") from None
        except BaseException:
            self._put(ledger)
            raise
        self._put(ledger)

    def close(self) -> None:
        """Close what is idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for ledger in idle:
            ledger.close()

    def _take(self) -> Ledger:
        try:
            found = self.path.stat()
        except OSError as problem:
            raise NotALedger(f"{self.path} can't be read as a ledger: {problem.strerror}") from None
        place = (found.st_dev, found.st_ino)
        with self._lock:
            if place != self._file:
                # Another file stands there now: what is known of the old one says nothing of it.
                stale, self._idle, self._file, self.memory = self._idle, [], place, Memory(self.path)
            else:
                stale = []
            ledger = self._idle.pop() if self._idle else None
        for each in stale:
            with suppress(sqlite3.Error):
                each.close()
        return ledger if ledger is not None else Ledger.open(self.path, read_only=True)

    def _put(self, ledger: Ledger) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(ledger)
                return
        ledger.close()
