"""What a server keeps between requests: what was worked out of a ledger, for as long as nothing that it rests on came.

Nothing here is written anywhere; a restart forgets all of it. Which events touch which runs is followed event by event,
so that a page of a finished run stays ready while another run appends. What a redaction withholds is forgotten with all
else, and what was being worked out of an older moment then is not kept.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from ledger._errors import LedgerError
from ledger._store import Ledger

__all__ = ["Kept", "Memory"]

T = TypeVar("T")

_MOST_KEPT = 512
_MOST_ROWS = 600_000
_TOO_LONG = 0.15
_BEARABLE = 1.0
_APART = 4
_NEWER = (
    "SELECT kind, run, max(seq) FROM main.events WHERE seq > ? AND seq <= ? GROUP BY kind, run ORDER BY max(seq)"
)  # fmt: skip
# Of these that name no run, none changes what a run's page says.
_BESIDE = frozenset({"note", "anchor"})


@dataclass(frozen=True)
class Kept(Generic[T]):
    """A value worked out of the chain as it stood at `size`. `current`: nothing came since that could change it."""

    value: T
    size: int
    current: bool


@dataclass
class _Entry:
    value: Any
    size: int
    seconds: float
    rows: int
    made: float


class _Depth(threading.local):
    """Of one thread: how deep it is in the making of values, and what the parts would have cost that were there."""

    within = 0
    spared = 0.0


class Memory:
    """One ledger's. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._rows = 0
        self._followed: int | None = None
        self._whole = self._started = self._redacted = 0
        self._touched: dict[str, int] = {}
        self._rooms: dict[Hashable, Any] = {}
        self._at_work: dict[Hashable, threading.Event] = {}
        self._waiting: OrderedDict[Hashable, Callable[[Ledger], Any]] = OrderedDict()
        # Of which run, and since when.
        self._awaited: dict[Hashable, tuple[str, float]] = {}
        self._worker: threading.Thread | None = None
        self._made = threading.Event()
        self._failed: set[Hashable] = set()
        self._depth = _Depth()
        self._closed = False

    def touched(self, ledger: Ledger, size: int, run: str, *, own: bool = False) -> int:
        """The seq of the newest event that may change what is said of `run` (of any run, where that is empty).

        With `own`, of the run's own events, and of redactions: a later taint or supersession changes how a figure is
        marked, not itself.
        """
        with self._lock:
            if self._followed is None:
                self._followed = self._whole = self._started = size
            followed = self._followed
            if size > followed:
                for kind, of, seq in ledger.sql(_NEWER, (followed, size)).fetchall():
                    if of:
                        self._touched[of] = seq
                    elif kind not in _BESIDE:
                        self._whole = seq
                    if kind == "redact":
                        self._redacted = seq
                        self._forget()
                self._followed = followed = size
            if not run:
                return followed
            mine = max(self._touched.get(run, self._started), self._redacted)
            return mine if own else max(self._whole, mine)

    def _forget(self) -> None:
        self._entries.clear()
        self._rows = 0

    def kept(
        self, ledger: Ledger, size: int, run: str, key: Hashable, work: Callable[[Ledger], T], *, own: bool = False
    ) -> Kept[T]:  # fmt: skip
        """What `work` makes of the ledger about `run`: from before, where nothing touched the run since.

        What took long to make is given as it was, marked as not current, while it is made again in the background, for
        a fifth of the time at most; what is quick, or was never made, is made now, once for all who ask meanwhile.
        `ledger` must be held at the moment of `size`, and `work` uses no ledger but the one that it is given. What
        `work` itself asks for here is always current: an older part would pass for a new whole.
        """
        while True:
            with self._lock:
                # At once with the look at what there is: what was made meanwhile may be of a later moment.
                newest = self.touched(ledger, size, run, own=own)
                found = self._known(key, newest, size, work)
                if found is not None:
                    return found
                other = self._at_work.get(key)
                if other is None:
                    self._at_work[key] = mine = threading.Event()
                    break
            # Somebody is making it, perhaps of another moment: then it is made again.
            other.wait()
        try:
            value = self._make(ledger, size, key, work)
        finally:
            with self._lock:
                del self._at_work[key]
            mine.set()
        return Kept(value, size, current=True)

    def soon(
        self, ledger: Ledger, size: int, run: str, key: Hashable, work: Callable[[Ledger], T], *, patience: float,
        own: bool = False,
    ) -> Kept[T] | None:  # fmt: skip
        """As `kept`, but made in the background, and waited for so many seconds at most, from when it was first asked
        for: None where it isn't there yet.

        A value may come out of a later moment than that of `size`; it is then marked as not current.
        """
        end = time.monotonic() + patience
        while True:
            with self._lock:
                newest = self.touched(ledger, size, run, own=own)
                found = self._known(key, newest, size, work)
                if found is not None:
                    return found
                entry = self._entries.get(key)
                if entry is not None and entry.size > size:
                    return Kept(cast("T", entry.value), entry.size, current=False)
                # What is quick isn't worth a later moment; and what failed fails again, for whoever asks to tell of.
                here = entry is not None or key in self._failed
                self._failed.discard(key)
                if not here:
                    self._later(key, work)
                    still = self._still_awaited()
                    # Whoever asks again, of what he waited for already, is told at once.
                    _, since = still.setdefault(key, (run, time.monotonic()))
                    end = min(end, since + patience)
                    self._awaited = still
                waited = self._made
            if here:
                return self.kept(ledger, size, run, key, work, own=own)
            left = end - time.monotonic()
            if left <= 0 or self._closed:
                return None
            waited.wait(left)

    def awaits(self, run: str) -> bool:
        """Whether something of `run` (of anything, where that is empty) that `soon` didn't have is being made yet."""
        with self._lock:
            return any(not run or run == of for of, _ in self._still_awaited().values())

    def _still_awaited(self) -> dict[Hashable, tuple[str, float]]:
        """What is awaited. The caller holds the lock."""
        return {key: said for key, said in self._awaited.items() if key in self._waiting or key in self._at_work}

    def _make(self, ledger: Ledger, size: int, key: Hashable, work: Callable[[Ledger], T]) -> T:
        depth = self._depth
        outside, depth.spared = depth.spared, 0.0
        depth.within += 1
        start = time.perf_counter()
        try:
            value = work(ledger)
        finally:
            depth.within -= 1
            seconds = time.perf_counter() - start + depth.spared
            depth.spared += outside
        self._keep(key, value, size, seconds)
        return value

    def _known(self, key: Hashable, newest: int, size: int, work: Callable[[Ledger], Any]) -> Kept[Any] | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        if newest <= entry.size and (entry.size <= size or newest <= size):
            if self._depth.within:
                self._depth.spared += entry.seconds
            return Kept(entry.value, min(entry.size, size), current=True)
        if entry.seconds > _TOO_LONG and entry.size <= size and not self._depth.within:
            # While a run goes on its figures are of the past as soon as they are made: most of the time is for others.
            rested = time.monotonic() - entry.made > _APART * entry.seconds
            if rested and entry.seconds <= _BEARABLE:
                # Who looks now and then is shown what is; an older state is for what many ask for all the time.
                return None
            if rested:
                self._later(key, work)
            return Kept(entry.value, entry.size, current=False)
        return None

    def _keep(self, key: Hashable, value: Any, size: int, seconds: float) -> None:
        rows = _rows(value)
        with self._lock:
            known = self._entries.get(key)
            # Of before a redaction that is known of: what is withheld mustn't be shown once more.
            if self._closed or size < self._redacted or (known is not None and known.size > size):
                return
            self._rows += rows - (known.rows if known else 0)
            self._entries[key] = _Entry(value, size, seconds, rows, time.monotonic())
            self._entries.move_to_end(key)
            while len(self._entries) > 1 and (len(self._entries) > _MOST_KEPT or self._rows > _MOST_ROWS):
                _, gone = self._entries.popitem(last=False)
                self._rows -= gone.rows

    def _later(self, key: Hashable, work: Callable[[Ledger], Any]) -> None:
        """Have it made again, by the one thread that does so. The caller holds the lock."""
        if self._closed or key in self._waiting or key in self._at_work:
            return
        self._waiting[key] = work
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="ledger-memory", daemon=True)
            self._worker.start()

    def _work(self) -> None:
        try:
            with Ledger.open(self.path, read_only=True) as ledger:
                while self._work_on(ledger):
                    pass
        except (LedgerError, sqlite3.Error):
            with self._lock:
                self._failed.update(self._waiting)
                self._waiting.clear()
                self._worker = None
                self._tell()

    def _work_on(self, ledger: Ledger) -> bool:
        """Make what waits longest; False, and no longer the worker, where nothing waits."""
        with self._lock:
            if not self._waiting or self._closed:
                self._worker = None
                return False
            key, work = self._waiting.popitem(last=False)
            mine = threading.Event()
            other = self._at_work.setdefault(key, mine)
        if other is not mine:
            # Somebody who couldn't wait makes it already.
            other.wait()
            return True
        try:
            with ledger.at_one_moment():
                size, _ = ledger.head()
                self.touched(ledger, size, "")
                self._make(ledger, size, key, work)
        except Exception:  # noqa: BLE001 - the page that asks next works it out itself, and tells what is wrong
            with self._lock:
                gone = self._entries.pop(key, None)
                self._rows -= gone.rows if gone else 0
                self._failed.add(key)
        finally:
            with self._lock:
                del self._at_work[key]
                self._tell()
            mine.set()
        return True

    def _tell(self) -> None:
        """Wake who waits for whatever was made. The caller holds the lock."""
        self._made.set()
        self._made = threading.Event()

    def room(self, key: Hashable, make: Callable[[], T]) -> T:
        """A thing of which a ledger has one, made when it is first asked for (a search index, a verifier).

        What has a method `close` is closed with the memory.
        """
        with self._lock:
            if key not in self._rooms:
                self._rooms[key] = make()
            return cast("T", self._rooms[key])

    def close(self) -> None:
        """Forget everything, and end what works on: the file is another one now, or the server goes."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._forget()
            rooms, self._rooms = self._rooms, {}
        for room in rooms.values():
            end = getattr(room, "close", None)
            if callable(end):
                with suppress(Exception):
                    end()


def _rows(value: Any, depth: int = 3) -> int:
    """About how much a value holds: the items of it and of its parts, without going through long lists."""
    if depth == 0 or value is None or isinstance(value, str | bytes | int | float):
        return 1
    if is_dataclass(value) and not isinstance(value, type):
        return 1 + sum(_rows(getattr(value, each.name, None), depth - 1) for each in fields(value))
    if isinstance(value, Mapping):
        held = cast("Mapping[Any, Any]", value)
        return len(held) + (sum(_rows(each, depth - 1) for each in held.values()) if len(held) <= 64 else 0)
    if isinstance(value, Sequence):
        items = cast("Sequence[Any]", value)
        return len(items) + (sum(_rows(each, depth - 1) for each in items) if len(items) <= 64 else 0)
    return len(value) if isinstance(value, Sized) else 1
