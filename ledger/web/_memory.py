"""What a server keeps between requests: what was worked out of a ledger, for as long as nothing that it rests on came.

Nothing here is written anywhere; a restart forgets all of it. Which events touch which runs is followed event by event,
so that a page of a finished run stays ready while another run appends.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from ledger._store import Ledger

__all__ = ["Kept", "Memory"]

T = TypeVar("T")

_MOST_KEPT = 128
_TOO_LONG = 0.15
_NEWER = "SELECT seq, kind, run FROM main.events WHERE seq > ? ORDER BY seq"
# Of these that name no run, none changes what a run's page says.
_BESIDE = frozenset({"note", "anchor", "publish"})


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
    busy: bool = False


class Memory:
    """One ledger's. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._followed: int | None = None
        self._whole = self._started = 0
        self._touched: dict[str, int] = {}
        self._rooms: dict[Hashable, Any] = {}

    def touched(self, ledger: Ledger, size: int, run: str, *, own: bool = False) -> int:
        """The seq of the newest event that may change what is said of `run` (of any run, where that is empty).

        With `own`, of the run's own events: a later taint or supersession changes how a figure is marked, not itself.
        """
        with self._lock:
            if self._followed is None:
                self._followed = self._whole = self._started = size
            followed = self._followed
            if size > followed:
                for seq, kind, of in ledger.sql(_NEWER, (followed,)).fetchall():
                    if of:
                        self._touched[of] = seq
                    elif kind not in _BESIDE:
                        self._whole = seq
                    if kind == "redact":
                        # What is withheld mustn't be shown once more, not even as an older state.
                        self._entries.clear()
                    self._followed = followed = seq
            if not run:
                return followed
            mine = self._touched.get(run, self._started)
            return mine if own else max(self._whole, mine)

    def kept(
        self, ledger: Ledger, size: int, run: str, key: Hashable, work: Callable[[Ledger], T], *, own: bool = False
    ) -> Kept[T]:  # fmt: skip
        """What `work` makes of the ledger about `run`: from before, where nothing touched the run since.

        What took long to make is given as it was, marked as not current, while it is made again in the background;
        what is quick, or was never made, is made now. `ledger` must be held at the moment of `size`.
        """
        newest = self.touched(ledger, size, run, own=own)
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                if newest <= entry.size and (entry.size <= size or newest <= size):
                    return Kept(cast("T", entry.value), min(entry.size, size), current=True)
                if entry.seconds > _TOO_LONG and entry.size <= size:
                    if not entry.busy:
                        entry.busy = True
                        threading.Thread(target=self._again, args=(key, work), daemon=True).start()
                    return Kept(cast("T", entry.value), entry.size, current=False)
        start = time.perf_counter()
        value = work(ledger)
        self._keep(key, _Entry(value, size, time.perf_counter() - start))
        return Kept(value, size, current=True)

    def _keep(self, key: Hashable, entry: _Entry) -> None:
        with self._lock:
            known = self._entries.get(key)
            if known is None or known.size <= entry.size:
                self._entries[key] = entry
                self._entries.move_to_end(key)
            while len(self._entries) > _MOST_KEPT:
                self._entries.popitem(last=False)

    def _again(self, key: Hashable, work: Callable[[Ledger], Any]) -> None:
        try:
            with Ledger.open(self.path, read_only=True) as ledger, ledger.at_one_moment():
                size, _ = ledger.head()
                start = time.perf_counter()
                value = work(ledger)
                self._keep(key, _Entry(value, size, time.perf_counter() - start))
        except Exception:  # noqa: BLE001 - the page that asks next works it out itself, and tells what is wrong
            with self._lock:
                self._entries.pop(key, None)

    def room(self, key: Hashable, make: Callable[[], T]) -> T:
        """A thing of which a ledger has one, made when it is first asked for (a search index, a verifier)."""
        with self._lock:
            if key not in self._rooms:
                self._rooms[key] = make()
            return cast("T", self._rooms[key])
