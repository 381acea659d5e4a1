"""Whether the file at a ledger's path is still the one that was opened, and still has what was acknowledged.

A sync tool, a restore or `git checkout` can put an older copy where a ledger is open: SQLite then goes on in a file
that has no name any more, or over pages that are no longer there. So before an append is acknowledged:

- device and inode of the file and of its log (-wal) must be those that were opened. SQLite removes the log only when
  the last connection closes, and ours is open. The log itself is asked only where its folder changed: a file that is
  asked for its times has them written more exactly the next time, and that made each append 15% slower;
- where size or times of the file moved, which is seldom, since SQLite writes to it when it folds the log in (every
  4,000 pages): the file by itself, without its log, must still have the head that it had when that was last looked at;
- where the log became shorter or begins otherwise, SQLite has begun it anew. That it does once all of it is in the
  file, so the file by itself must have the last event that was acknowledged.

And once it is closed, whoever opens it anew must find the last event that was acknowledged.

Only stat is used on the file itself: to open and close it would drop the locks that SQLite holds in this process.
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import NoReturn

from ledger._connect import uri
from ledger._errors import LedgerReplaced

__all__ = ["SameFile"]

_HEAD = "SELECT seq, hash FROM main.events ORDER BY seq DESC LIMIT 1"
_AT = "SELECT hash FROM main.events WHERE seq = ?"
_HEADER = 32
"""Bytes at the start of a write-ahead log, with its salts (sqlite.org/fileformat2.html#walformat)."""
_LOOKS = 40
_PAUSE = 0.05
"""How often, and after how many seconds, a file that looks wrong is looked at anew: it may just be folded into."""


class SameFile:
    """The file under an open ledger. `acknowledged` is (seq, hash) of the newest event that somebody was told of."""

    def __init__(self, path: Path) -> None:
        """Remember the file that is there now. Raises OSError where none is."""
        self._path = path.absolute()
        self._name = str(self._path)
        self._id = _identity(self._name)
        self._log = ""
        self._log_handle: int | None = None
        self._log_seen: tuple[int, bytes] = (0, b"")
        self._parent = ""
        self._folder: tuple[int, ...] = ()
        self._log_id: tuple[int, int] | None = None
        self._seen: tuple[int, ...] = ()
        self._folded: tuple[int, str] | None = None
        self._lost = ""
        self.acknowledged: tuple[int, str] | None = None

    def opened(self, writer: sqlite3.Connection) -> None:
        """A writer is connected: its log is beside the file. Raises LedgerReplaced."""
        head = writer.execute(_HEAD).fetchone()
        if self.acknowledged is None and head is not None:
            self.acknowledged = (int(head[0]), str(head[1]))
        self._log = f"{self._path.resolve()}-wal"
        self._parent = str(Path(self._log).parent)
        try:
            self._log_id = _identity(self._log)
            # SQLite holds no locks on its log, so this one may be opened and closed.
            self._log_handle = os.open(self._log, os.O_RDONLY)
            # SQLite's own connections are closed with a ledger that nobody closed; so is this.
            self._unlooked = weakref.finalize(self, os.close, self._log_handle)
            self._log_seen = self._log_now()
        except OSError as problem:
            self.refuse(f"has no log beside it ({problem.strerror or problem})", writer)
        self.look(writer)

    def look(self, writer: sqlite3.Connection | None, *, closely: bool = False) -> None:
        """Raise LedgerReplaced, from now on every time, unless the file is the one that was opened.

        `writer` is open on it; what it still reads is saved where the file has lost its name. `closely` looks into the
        file whatever its times say.
        """
        if not self._lost:
            if not closely and self._is_as_seen():
                return
            why = self._why_not(writer, closely=closely)
            if not why:
                return
            self._lost = self._sentence(why, writer)
        raise LedgerReplaced(self._lost)

    def look_ahead(self, writer: sqlite3.Connection) -> None:
        """`look`, where the log became shorter: what is about to be appended would fill the gap with zeros."""
        if self._log_handle is not None and os.lseek(self._log_handle, 0, os.SEEK_END) < self._log_seen[0]:
            self.look(writer)

    def close(self) -> None:
        """Look at the log no more: its writer is closed."""
        if self._log_handle is not None:
            self._unlooked()
            self._log_handle = None

    def hold(self, reader: sqlite3.Connection) -> None:
        """Raise LedgerReplaced unless a connection that was opened just now finds what was acknowledged.

        A writer reads out of its own memory what it wrote, so it doesn't see a log that was cut or written over.
        """
        if self.acknowledged is not None:
            seq, digest = self.acknowledged
            row = reader.execute(_AT, (seq,)).fetchone()
            if row is None or row[0] != digest:
                self.refuse(f"or its log lost event {seq}", None)

    def refuse(self, why: str, writer: sqlite3.Connection | None) -> NoReturn:
        """Raise LedgerReplaced for what was noticed elsewhere."""
        self._lost = self._lost or self._sentence(why, writer)
        raise LedgerReplaced(self._lost)

    def _is_as_seen(self) -> bool:
        """Whether nothing at all moved but the log's end: the quick answer to nearly every look. Every append pays for
        this, so it asks the system four things and makes no more of them than it must."""
        if self._log_handle is None:
            return False
        try:
            now, folder = _stat(self._name), _stat(self._parent)
            size, header = self._log_now()
        except OSError:
            return False
        seen_size, seen_header = self._log_seen
        if size < seen_size or header != seen_header:
            return False
        if (now.st_dev, now.st_ino) != self._id or _times(now) != self._seen or _times(folder) != self._folder:
            return False
        self._log_seen = (size, header)
        return True

    def _why_not(self, writer: sqlite3.Connection | None, *, closely: bool) -> str:
        try:
            now = _stat(self._name)
        except OSError as problem:
            return f"was moved away or removed ({problem.strerror or problem})"
        if (now.st_dev, now.st_ino) != self._id:
            return "was replaced by another file"
        if why := self._why_not_log(closely=closely):
            return why
        try:
            log = (0, b"") if self._log_handle is None else self._log_now()
            anew = log[0] < self._log_seen[0] or log[1] != self._log_seen[1]
            if _times(now) != self._seen or closely or (anew and self._why_not_folded()):
                why = self._look_inside(writer) or (self._why_not_folded() if anew else "")
                if why:
                    return why
        except OSError as problem:
            return f"can't be looked at any more ({problem.strerror or problem})"
        self._log_seen = log
        return ""

    def _log_now(self) -> tuple[int, bytes]:
        """The log's size and its header, which is another one each time that the log begins anew. Without stat."""
        assert self._log_handle is not None
        return os.lseek(self._log_handle, 0, os.SEEK_END), os.pread(self._log_handle, _HEADER, 0)

    def _why_not_folded(self) -> str:
        folded, told = self._folded, self.acknowledged
        if told is None or (folded is not None and folded[0] >= told[0]):
            return ""
        return f"lost its log ({self._log}), which was cut or written over"

    def _why_not_log(self, *, closely: bool) -> str:
        if not self._log:
            return ""
        try:
            folder = _times(_stat(self._parent))
            if folder == self._folder and not closely:
                return ""
            if _identity(self._log) != self._log_id:
                return f"lost its log ({self._log}), which was replaced by another file"
        except OSError as problem:
            return f"lost its log ({self._log}: {problem.strerror or problem})"
        self._folder = folder
        return ""

    def _look_inside(self, writer: sqlite3.Connection | None) -> str:
        """Why the file by itself isn't the one that it was, or a later one; "" where it is.

        It can be caught while another process folds the log into it. So what looks wrong is looked at again, after a
        checkpoint of our own, which can't be done while another is.
        """
        why = ""
        for number in range(_LOOKS):
            if number and writer is not None:
                try:
                    (busy, _, _) = writer.execute("PRAGMA main.wal_checkpoint(PASSIVE)").fetchone()
                except sqlite3.Error as problem:
                    return f"can't be read any more ({problem})"
                if busy:
                    time.sleep(_PAUSE)
                    continue
            elif number:
                time.sleep(_PAUSE)
            before = _times(_stat(self._name))
            why = self._alone()
            if before == _times(_stat(self._name)):
                if not why:
                    self._seen = before
                    return ""
                if number > 1:
                    return why
        return why

    def _alone(self) -> str:
        had = self._folded
        try:
            with closing(sqlite3.connect(uri(self._path, "mode=ro&immutable=1"), uri=True)) as reader:
                (pages,) = reader.execute("PRAGMA page_count").fetchone()
                (size,) = reader.execute("PRAGMA page_size").fetchone()
                cut = _stat(self._name).st_size < pages * size
                head = reader.execute(_HEAD).fetchone()
                there = None if had is None else reader.execute(_AT, (had[0],)).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            # Of a file that never could be read, whoever reads it next says so.
            return "" if had is None else f"can't be read any more ({problem})"
        if had is not None and (cut or head is None):
            return "was cut short"
        if had is not None and (there is None or there[0] != had[1]):
            return f"was written over with another copy, whose last event is {head[0]}"
        if head is not None:
            self._folded = (int(head[0]), str(head[1]))
        return ""

    def _sentence(self, why: str, writer: sqlite3.Connection | None) -> str:
        told = (
            "nothing was acknowledged yet"
            if self.acknowledged is None
            else f"events up to {self.acknowledged[0]} were acknowledged, and nothing after that is"
        )
        return (
            f"{self._path} {why} while this process had it open: {told}."
            f" {self._where(writer)}"
            " See what `ledger verify` says of each copy before you go on with one (a run that was stopped: `harness"
            " resume`)"
        )

    def _where(self, writer: sqlite3.Connection | None) -> str:
        """Where what was acknowledged may be. What only this process can still read is saved first."""
        try:
            still = _identity(self._name) == self._id and (not self._log or _identity(self._log) == self._log_id)
        except OSError:
            still = False
        if still:
            return "Look for it in snapshots, backups and what the program that wrote over it keeps."
        saved = self._save(writer) if writer is not None else None
        if saved is not None:
            return f"What this process could still read of the file it had opened is saved in {saved}."
        moved = _named_now(self._id)
        return (
            f"Look for it in {moved}."
            if moved
            else "Look for it where the file was moved to, in snapshots and backups."
        )

    def _save(self, writer: sqlite3.Connection) -> Path | None:
        if self.acknowledged is None:
            return None
        seq, digest = self.acknowledged
        target = self._path.with_name(f"{self._path.name}.rescued-{seq}")
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            return None
        try:
            with closing(sqlite3.connect(uri(target, "mode=rw"), uri=True)) as copy:
                writer.backup(copy)
                found = copy.execute(_AT, (seq,)).fetchone()
            if found is not None and found[0] == digest:
                return target
        except sqlite3.Error:
            pass
        for each in (target, target.with_name(target.name + "-wal"), target.with_name(target.name + "-shm")):
            with suppress(OSError):
                each.unlink(missing_ok=True)
        return None


def _stat(path: str) -> os.stat_result:
    # Two of these stand in every append, and Path takes longer to build its name than the system to answer.
    return os.stat(path)  # noqa: PTH116


def _identity(path: str) -> tuple[int, int]:
    found = _stat(path)
    return found.st_dev, found.st_ino


def _times(found: os.stat_result) -> tuple[int, ...]:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _named_now(identity: tuple[int, int]) -> str:
    """The path that Linux has for a file that is open here; "" where that isn't known."""
    try:
        handles = list(Path("/proc/self/fd").iterdir())
    except OSError:
        return ""
    for each in handles:
        with suppress(OSError):
            if _identity(str(each)) == identity and not (name := str(each.readlink())).endswith(" (deleted)"):
                return name
    return ""
