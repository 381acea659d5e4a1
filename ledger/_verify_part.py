"""A part of `verify`: the events of one range of seqs, their bodies, blobs and edges, checked in a process of its own.

    python -P -m ledger._verify_part

reads its job from standard input, one line of JSON, and prints how far it is, a number a line, and last of all what it
found, a line of JSON. It ends when its standard input does. It stops at the first thing that isn't as it should be,
and says no more than that: whoever asked then checks everything anew.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ledger._apart import end_with_input, leave
from ledger._connect import connect_reader
from ledger._errors import LedgerError
from ledger._verify_blobs import BlobStream
from ledger._verify_edges import EdgeStream
from ledger._verify_events import EventScan
from ledger._verify_findings import Findings
from ledger._verify_redactions import Disagreements, Redactions
from ledger._verify_roots import Blocks

__all__ = ["Job", "PartFound", "check_part", "main"]

_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Job:
    """What one part is to check: events after `before` up to `until`, and blobs from id `first_blob` to `last_blob`.

    `head` is the hash that event `before` is stored with. `before` is a whole number of blocks. `rooted` is the last
    event of which a leaf is needed, `sizes` are those whose roots are wanted. `bodies` (seq, by) and `blobs` (hash, by)
    are what redact events withhold.
    """

    path: str
    before: int
    head: str
    until: int
    first_blob: int
    last_blob: int
    block: int
    rooted: int
    sizes: Sequence[int]
    bodies: Sequence[tuple[int, int]]
    blobs: Sequence[tuple[str, int]]

    def line(self) -> bytes:
        """The job as a part reads it."""
        return json.dumps(asdict(self)).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class PartFound:
    """What a part says in which nothing is wrong. `schema` is the version of the schema that it saw.

    `roots` are the whole blocks' roots in hex, one after the other; `tails` (size, hex) what Blocks has by that name.
    """

    count: int
    head: str
    withheld: int
    blobs: int
    withheld_blobs: int
    next_blob: int
    redacted: Sequence[tuple[str, int]]
    roots: str
    tails: Sequence[tuple[int, str]]
    schema: int


class _NotSound(Exception):
    """Something is to be said of this part."""


class _Nothing(Findings):
    """Findings that end the check with the first one."""

    def add(self, seq: int | None, what: str, expected: object, got: object) -> None:
        raise _NotSound

    def note(self, text: str) -> None:
        raise _NotSound


def check_part(job: Job, begun: Callable[[EventScan], object] = id) -> PartFound | None:
    """Check a part; None where anything at all is to be said of it, or where it can't be read. Never writes.

    `begun` is given the scan before it runs: its `next_seq` says how far it is.
    """
    try:
        with closing(connect_reader(Path(job.path))) as connection:
            return _check(connection, job, begun)
    except (_NotSound, LedgerError, sqlite3.Error, UnicodeDecodeError, OSError):
        return None


def _check(connection: sqlite3.Connection, job: Job, begun: Callable[[EventScan], object]) -> PartFound:
    connection.text_factory = bytes
    connection.execute("BEGIN")
    (schema,) = connection.execute("PRAGMA main.schema_version").fetchone()
    findings = _Nothing()
    redactions = Redactions(dict(job.bodies), {digest.encode(): by for digest, by in job.blobs})
    disagreements = Disagreements(findings)
    edges = EdgeStream(connection, findings, job.before, job.until)
    blobs = BlobStream(connection, findings, redactions.blobs, disagreements, job.first_blob, job.last_blob)
    roots = Blocks(job.sizes, job.before, job.block)
    roots.last = job.rooted
    after = (job.before, job.head.encode()) if job.before else None
    scan = EventScan(connection, findings, redactions, disagreements, edges, blobs, roots, after, job.until)
    begun(scan)
    scan.run()
    edges.finish()
    blobs.finish(scan.last)
    disagreements.settle()
    if scan.last != job.until or scan.head is None:
        raise _NotSound
    return PartFound(
        count=scan.count - job.before,
        head=scan.head.decode("ascii"),
        withheld=scan.withheld,
        blobs=blobs.count,
        withheld_blobs=blobs.withheld,
        next_blob=blobs.next_id,
        redacted=[(digest.decode("ascii"), seq) for digest, seq in blobs.redacted_seqs.items()],
        roots=b"".join(roots.blocks).hex(),
        tails=[(size, b"".join(hashes).hex()) for size, hashes in roots.tails.items()],
        schema=schema,
    )


def main() -> int:
    """Do the job that standard input names, and print what was found: `null` where something is to be said of it."""
    text = sys.stdin.buffer.readline()
    if not text.endswith(b"\n"):
        return 1
    end_with_input()
    done, lock = threading.Event(), threading.Lock()

    def tell(scan: EventScan) -> None:
        def often() -> None:
            while not done.wait(_SECONDS):
                with lock, suppress(OSError):
                    print(scan.next_seq - 1, flush=True)

        threading.Thread(target=often, daemon=True).start()

    found = check_part(Job(**json.loads(text)), tell)
    done.set()
    with lock:
        print(json.dumps(None if found is None else asdict(found)), flush=True)
    return 0


if __name__ == "__main__":
    leave(main())
