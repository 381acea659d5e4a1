"""Ledgers that pages read from: a few open connections to each file, and one moment for each page."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ledger._errors import LedgerError, NotALedger
from ledger._store import Ledger
from ledger.web._memory import Memory

__all__ = ["Shelf"]

_MOST_IDLE = 8
_HASH_OF = "SELECT hash FROM main.events WHERE seq = ?"


@dataclass
class _File:
    """One file that stood at the path: where on the disk, what is kept of it, and the newest head seen in it."""

    place: tuple[int, int]
    memory: Memory
    idle: list[Ledger]
    seen: tuple[int, str] = (0, "")


class Shelf:
    """One ledger file as a server reads it. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file: _File | None = None
        self._of: dict[int, Memory] = {}
        self._closed = False

    @property
    def memory(self) -> Memory:
        """What is kept of the file that stands there now. A page takes `memory_of` the ledger that it reads."""
        with self._lock:
            return self._file.memory if self._file is not None else Memory(self.path)

    def memory_of(self, ledger: Ledger) -> Memory:
        """What is kept of the very file that `ledger`, which `reading` gave, reads."""
        with self._lock:
            return self._of[id(ledger)]

    @contextmanager
    def reading(self) -> Generator[Ledger]:
        """A ledger held at one moment. Raises NotALedger, also for a file that went away meanwhile."""
        file, ledger = self._take()
        try:
            before = file.seen
            with ledger.at_one_moment():
                if not self._goes_on(file, ledger, before):
                    # The same place holds another history: restored from a copy, say.
                    file = self._begin_anew(file)
                with self._lock:
                    self._of[id(ledger)] = file.memory
                yield ledger
        except sqlite3.Error as problem:
            self._drop(ledger)
            raise LedgerError(f"{self.path} can't be read: {problem}") from None
        except BaseException:
            self._put(file, ledger)
            raise
        self._put(file, ledger)

    def close(self) -> None:
        """Close what is idle, and forget what was kept."""
        with self._lock:
            file, self._file, self._closed = self._file, None, True
        if file is not None:
            _retire(file)

    def _take(self) -> tuple[_File, Ledger]:
        file, ledger = self._idle()
        while ledger is None:
            opened = Ledger.open(self.path, read_only=True)
            try:
                again, ledger = self._idle()
            except BaseException:
                opened.close()
                raise
            if again is file:
                # Nobody put another file there while it was opened; what came back meanwhile goes first.
                if ledger is None:
                    return file, opened
                self._put(file, opened, known=False)
                break
            opened.close()
            file = again
        return file, ledger

    def _idle(self) -> tuple[_File, Ledger | None]:
        try:
            found = self.path.stat()
        except OSError as problem:
            raise NotALedger(f"{self.path} can't be read as a ledger: {problem.strerror}") from None
        place = (found.st_dev, found.st_ino)
        stale: _File | None = None
        with self._lock:
            if self._file is None or self._file.place != place:
                # Another file stands there now: what is known of the old one says nothing of it.
                stale, self._file = self._file, _File(place, Memory(self.path), [])
            file = self._file
            ledger = file.idle.pop() if file.idle else None
        if stale is not None:
            _retire(stale)
        return file, ledger

    def _goes_on(self, file: _File, ledger: Ledger, before: tuple[int, str]) -> bool:
        """Whether the moment that is held follows the head that was seen before it began."""
        size, head = ledger.head()
        if before[0]:
            row = ledger.sql(_HASH_OF, (before[0],)).fetchone()
            if row is None or row[0] != before[1]:
                return False
        with self._lock:
            if size > file.seen[0]:
                file.seen = (size, head)
        return True

    def _begin_anew(self, file: _File) -> _File:
        with self._lock:
            if self._file is not file:
                return self._file or file
            new = self._file = _File(file.place, Memory(self.path), [])
        _retire(file)
        return new

    def _put(self, file: _File, ledger: Ledger, *, known: bool = True) -> None:
        with self._lock:
            if known:
                self._of.pop(id(ledger), None)
            if self._file is file and not self._closed and len(file.idle) < _MOST_IDLE:
                file.idle.append(ledger)
                return
        _close(ledger)

    def _drop(self, ledger: Ledger) -> None:
        with self._lock:
            self._of.pop(id(ledger), None)
        _close(ledger)


def _retire(file: _File) -> None:
    file.memory.close()
    for ledger in file.idle:
        _close(ledger)


def _close(ledger: Ledger) -> None:
    with suppress(sqlite3.Error):
        ledger.close()
