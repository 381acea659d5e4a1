"""What `ledger verify` says of this file, for pages: worked out in a process of its own, and kept with its head.

At most one check runs at a time. It starts with the server, or when somebody first looks at the first page, and again
when the head moved, or the file or a checkpoint beside it was written: not more often than ten times as long as it
takes, and at least half a minute apart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from ledger._errors import LedgerError
from ledger._verify_apart import VerifyProcess
from ledger._verify_words import advice, cannot, checked, outside, place
from ledger.checkpoints._files import checkpoint_folder
from ledger.web._figure import Figure, cli, sql
from ledger.web._memory import Memory
from ledger.web._pages import View
from ledger.web._reading import Shelf

__all__ = ["Checked", "Standing", "VerdictShown", "Verifier", "start_verifying", "verdict_known", "verdict_of"]

_MOST_FILES = 1_000
_LEAST_APART = 30.0
_TIMES_ITS_LENGTH = 10.0
_SOURCE = cli("ledger", "verify")


@dataclass(frozen=True)
class Checked:
    """A verdict as `ledger verify --json` gives it, when it came (UTC, by this machine), and how long it took."""

    verdict: Mapping[str, Any]
    at: str
    seconds: float


@dataclass(frozen=True)
class Standing:
    """The newest verdict, if one came; since when another is being worked out; why the last try gave none."""

    checked: Checked | None = None
    since: str | None = None
    problem: str = ""


Stamp = tuple[tuple[int, int] | None, ...]


def _stamp(path: Path) -> Stamp:
    """When the file, the log and the checkpoints beside it were last written, and how long they are.

    Reading alone changes none of it.
    """
    found: list[tuple[int, int] | None] = []
    folder = checkpoint_folder(path)
    try:
        # However many there are: names come and go with the folder's own time.
        beside = [folder, *islice(sorted(folder.iterdir(), reverse=True), _MOST_FILES)] if folder.is_dir() else []
    except OSError:
        beside = []
    for each in (path, path.with_name(path.name + "-wal"), *beside):
        try:
            seen = each.stat()
        except OSError:
            seen = None
        found.append((seen.st_mtime_ns, seen.st_size) if seen is not None and seen.st_size else None)
    return tuple(found)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Verifier:
    """The one check of a ledger. Safe to share between threads; `close` ends what runs."""

    def __init__(
        self, path: Path, *, start: Callable[[Path], VerifyProcess] = VerifyProcess,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._path = path
        self._start = start
        self._clock = clock
        self._lock = threading.Lock()
        self._running: VerifyProcess | None = None
        self._standing = Standing()
        self._not_before = 0.0
        self._closed = False
        self._spoken_of: Stamp = ()

    def standing(self, head: str) -> Standing:
        """What is known now. Starts a check where none has spoken of this head, unless the last one is too recent.

        Nor of the file as it lies there: who changes an event in the middle leaves the head as it was.
        """
        stamp = _stamp(self._path)
        with self._lock:
            known = self._standing.checked
            fresh = known is not None and known.verdict["head"] == head and not self._standing.problem
            fresh = fresh and stamp == self._spoken_of
            if not fresh and self._running is None and not self._closed and self._clock() >= self._not_before:
                self._begin()
            return self._standing

    @property
    def begun(self) -> bool:
        """Whether a check was ever started."""
        with self._lock:
            return self._running is not None or self._standing != Standing()

    def now(self) -> Standing:
        """What a check says that is made right now, for whom waiting is no matter."""
        start = self._clock()
        try:
            found = self._start(self._path).verdict()
        except (LedgerError, OSError) as problem:
            return Standing(problem=str(problem))
        return Standing(Checked(found, _now(), self._clock() - start))

    def _begin(self) -> None:
        stamp = _stamp(self._path)
        try:
            self._running = running = self._start(self._path)
        except OSError as problem:
            self._not_before = self._clock() + _LEAST_APART
            self._standing = Standing(self._standing.checked, problem=f"no process can be started: {problem.strerror}")
            return
        self._standing = Standing(self._standing.checked, _now(), self._standing.problem)
        given = (running, self._clock(), stamp)
        threading.Thread(target=self._await, args=given, name="ledger-verify", daemon=True).start()

    def _await(self, running: VerifyProcess, start: float, stamp: Stamp) -> None:
        try:
            found: Mapping[str, Any] | None = running.verdict()
            problem = ""
        except (LedgerError, OSError) as failure:
            found, problem = None, str(failure)
        with self._lock:
            end = self._clock()
            known = self._standing.checked
            if found is not None:
                known, self._spoken_of = Checked(found, _now(), end - start), stamp
            self._standing = Standing(known, problem=problem)
            self._running = None
            self._not_before = end + max(_LEAST_APART, _TIMES_ITS_LENGTH * (end - start))

    def close(self) -> None:
        """End a check that runs, and start none again."""
        with self._lock:
            self._closed = True
            running = self._running
        if running is not None:
            running.stop()


@dataclass(frozen=True)
class VerdictShown:
    """A verdict as a page draws it. `since` counts the events that came after what it speaks of."""

    standing: Standing
    word: str = ""
    tampered: bool = False
    covers: Figure | None = None
    blobs: Figure | None = None
    withheld: Figure | None = None
    since: Figure | None = None
    first_bad: Figure | None = None
    problems: tuple[str, ...] = ()
    more_problems: bool = False
    notes: tuple[str, ...] = ()
    took: str = ""
    checked: str = ""
    outside: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    scope: str = ""
    vouched: bool = False
    mend: tuple[str, ...] = ()


_MOST_PROBLEMS = 5


def verdict_of(view: View) -> VerdictShown:
    """What is known of the chain of this view's ledger. In a file that stays (`view.fixed`), worked out on the spot."""
    verifier = _verifier(view.memory)
    return _shown(view, verifier.now() if view.fixed else verifier.standing(view.head))


def verdict_known(view: View) -> VerdictShown:
    """What is known, for a page that speaks of something else: it starts no check where none was ever started."""
    verifier = _verifier(view.memory)
    return _shown(view, verifier.standing(view.head) if verifier.begun and not view.fixed else Standing())


def start_verifying(shelf: Shelf) -> None:
    """Begin the first check, ahead of whoever looks."""
    with shelf.reading() as ledger:
        _verifier(shelf.memory_of(ledger)).standing(ledger.head()[1])


def _verifier(memory: Memory) -> Verifier:
    return memory.room("verdict", lambda: Verifier(memory.path))


def _shown(view: View, standing: Standing) -> VerdictShown:
    if standing.checked is None:
        return VerdictShown(standing)
    found = standing.checked.verdict
    events = int(found["events"])
    later = view.size - events
    problems = [
        f"{place(each)}: {each['what']}; expected {each['expected']}, got {each['got']}" for each in found["problems"]
    ]
    first = found["first_bad_seq"]
    return VerdictShown(
        standing,
        word=str(found["verdict"]),
        tampered=found["verdict"] == "TAMPERED",
        covers=_SOURCE.at("/events", events),
        blobs=_SOURCE.at("/blobs", found["blobs"]),
        withheld=_SOURCE.at("/withheld", found["withheld"]),
        since=sql(f"SELECT max(seq) - {events} FROM events", later) if later > 0 else None,  # noqa: S608 - a number
        first_bad=None if first is None else _SOURCE.at("/first_bad_seq", first),
        problems=tuple(problems[:_MOST_PROBLEMS]),
        more_problems=len(problems) > _MOST_PROBLEMS,
        notes=tuple(map(str, found["notes"])),
        took=_took(standing.checked.seconds),
        checked=checked(found),
        outside=tuple(line.strip() for line in outside(found)),
        failures=tuple(map(str, found["failures"])),
        scope=cannot(found),
        vouched=found["verdict"] in ("MATCHES CHECKPOINT", "TIMESTAMPED"),
        mend=tuple(advice(found)),
    )


def _took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
