"""`verify --jobs`: the scan of events divided among processes, and what they found put together.

Only a quick way to find that nothing is wrong. Wherever anything is to be said of a part, or the parts don't join, or
one can't be run, NotInParts is raised, and the caller checks everything anew in the one-process way: so the verdict,
and what is said of a fault, is the same however many processes there are.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ledger._apart import start_module
from ledger._errors import BadProof
from ledger._event import COLUMN_GRAMMAR
from ledger._verify_part import Job, PartFound
from ledger._verify_redactions import Redactions
from ledger._verify_roots import BLOCK, Roots, join_blocks
from ledger._verify_since import first_blob_after

__all__ = ["Joined", "NotInParts", "Part", "Parts", "Way", "in_parts"]

LEAST = 20_000
"""Fewer events than these aren't worth a process of their own."""

_HASH = "SELECT hash FROM main.events NOT INDEXED WHERE seq = ?"
_EVENTS = "SELECT count(*), max(seq) FROM main.events NOT INDEXED"
_BLOBS = "SELECT count(*), coalesce(max(id), 0) FROM main.blobs NOT INDEXED"
_EDGES = "SELECT 1 FROM main.edges WHERE effect > ? OR typeof(effect) <> 'integer' LIMIT 1"
_is_hash = COLUMN_GRAMMAR["hash"].fullmatch


class NotInParts(Exception):
    """The quick way doesn't lead to a verdict; nothing is known yet of the ledger."""


class Running(Protocol):
    """One part, being checked."""

    done: int
    """The last event that it says it has checked."""

    def __init__(self, job: Job) -> None: ...

    def found(self) -> PartFound:
        """Wait for what was found. Raises NotInParts."""
        ...

    def stop(self) -> None:
        """End it, if it still runs."""
        ...


class Part:
    """A part in a process of its own, which ends when this one does. Raises NotInParts where none can be started."""

    def __init__(self, job: Job) -> None:
        self.done = job.before
        self._text = b""
        try:
            self._process = start_module("ledger._verify_part")
        except (OSError, ValueError) as problem:
            raise NotInParts from problem
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(job.line())
            self._process.stdin.flush()
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()
        except BaseException as problem:
            self.stop()
            if isinstance(problem, OSError | RuntimeError):
                raise NotInParts from problem
            raise

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            for line in self._process.stdout:
                if not line.strip().isdigit():
                    self._text = line
                    return
                self.done = int(line)

    def found(self) -> PartFound:
        self._reader.join()
        try:
            return PartFound(**json.loads(self._text))
        except (ValueError, TypeError) as problem:
            raise NotInParts from problem

    def stop(self) -> None:
        with suppress(OSError):
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError, ValueError):
                    pipe.close()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Way:
    """How a check is divided: into at most `jobs` parts of at least `least` events and whole blocks of leaves."""

    jobs: int
    least: int = LEAST
    block: int = BLOCK
    part: type[Running] = Part

    def bounds(self, events: int) -> Sequence[tuple[int, int]]:
        """The parts' (event before the first, last event); none where it isn't worth it."""
        wanted = min(self.jobs, events // max(self.least, 1))
        blocks = -(-events // self.block)
        ends = sorted({min(blocks * number // max(wanted, 1) * self.block, events) for number in range(1, wanted + 1)})
        bounds = [(before, until) for before, until in zip([0, *ends], ends, strict=False) if before < until]
        return bounds if len(bounds) > 1 else ()


@dataclass(frozen=True, slots=True)
class Joined:
    """What all parts found together: that nothing is wrong with any event, blob or edge."""

    events: int
    head: bytes
    withheld: int
    blobs: int
    withheld_blobs: int
    redacted: dict[bytes, int]
    roots: Roots


class Parts:
    """The parts of one ledger, running. `connection` is in the read transaction whose head they check up to."""

    def __init__(self, connection: sqlite3.Connection, jobs: Sequence[Job], running: Sequence[Running]) -> None:
        self._jobs = jobs
        self._running = running
        self.events = jobs[-1].until
        (self._schema,) = connection.execute("PRAGMA main.schema_version").fetchone()
        self._head = _hash_of(connection, jobs[-1].until)

    def done(self) -> int:
        """How many events have been checked by now, as the parts say."""
        return sum(each.done - job.before for job, each in zip(self._jobs, self._running, strict=True))

    def join(self) -> Joined:
        """Wait for every part, and hold them together. Raises NotInParts."""
        found = [each.found() for each in self._running]
        heads = [job.head for job in self._jobs[1:]] + [self._head]
        redacted: dict[bytes, int] = {}
        for job, part, head in zip(self._jobs, found, heads, strict=True):
            _same(part.head, head)
            _same(part.count, job.until - job.before)
            _same(part.next_blob, job.last_blob + 1)
            _same(part.blobs, job.last_blob - job.first_blob + 1)
            _same(part.schema, self._schema)
            redacted.update((digest.encode(), seq) for digest, seq in part.redacted)
        return Joined(
            events=self.events,
            head=self._head.encode(),
            withheld=sum(part.withheld for part in found),
            blobs=sum(part.blobs for part in found),
            withheld_blobs=sum(part.withheld_blobs for part in found),
            redacted=redacted,
            roots=Roots(known=_roots(self._jobs[0].block, found)),
        )


@contextmanager
def in_parts(
    way: Way, path: Path, connection: sqlite3.Connection, sizes: Iterable[int], redactions: Redactions
) -> Generator[Parts]:
    """Start the parts of the ledger at `path`; when this ends, however it does, so has every one of them.

    `sizes` are those whose roots are wanted. Raises NotInParts.
    """
    jobs = _jobs(way, path, connection, sizes, redactions)
    with ExitStack() as stack:
        running: list[Running] = []
        for job in jobs:
            running.append(way.part(job))
            stack.callback(running[-1].stop)
        yield Parts(connection, jobs, running)


def _jobs(
    way: Way, path: Path, connection: sqlite3.Connection, sizes: Iterable[int], redactions: Redactions
) -> list[Job]:
    """What each part is to do. Raises NotInParts where there is but one, or where rows stand outside of all."""
    events, head = connection.execute(_EVENTS).fetchone()
    blobs, last = connection.execute(_BLOBS).fetchone()
    if type(head) is not int or (events, blobs) != (head, last) or connection.execute(_EDGES, (head,)).fetchone():
        raise NotInParts
    bounds = way.bounds(head)
    if not bounds:
        raise NotInParts
    wanted = [size for size in sizes if size <= head]
    firsts = [first_blob_after(connection, before) if before else 1 for before, _ in bounds]
    lasts = [first - 1 for first in firsts[1:]] + [last]
    return [
        Job(
            path=str(path.absolute()), before=before, head=_hash_of(connection, before) if before else "", until=until,
            first_blob=first, last_blob=most, block=way.block, rooted=max(wanted, default=0),
            sizes=[size for size in wanted if before < size <= until],
            bodies=[(seq, by) for seq, by in redactions.bodies.items() if before < seq <= until],
            blobs=[(digest.decode(), by) for digest, by in redactions.blobs.items()],
        )
        for (before, until), first, most in zip(bounds, firsts, lasts, strict=True)
    ]  # fmt: skip


def _hash_of(connection: sqlite3.Connection, seq: int) -> str:
    row = connection.execute(_HASH, (seq,)).fetchone()
    if row is None or type(row[0]) is not bytes or not _is_hash(row[0]):
        raise NotInParts
    return row[0].decode("ascii")


def _roots(block: int, found: Sequence[PartFound]) -> dict[int, bytes]:
    try:
        blocks = [each for part in found for each in _hashes(part.roots)]
        tails = {size: list(_hashes(text)) for part in found for size, text in part.tails}
        return join_blocks(blocks, tails, block)
    except (BadProof, ValueError) as problem:
        raise NotInParts from problem


def _hashes(text: str) -> Iterator[bytes]:
    whole = bytes.fromhex(text)
    return (whole[at : at + 32] for at in range(0, len(whole), 32))


def _same(found: Any, expected: Any) -> None:
    if found != expected:
        raise NotInParts
