"""`verify`: everything that a ledger file can say about itself, checked in one read transaction.

A tail cut off, or a whole chain rewritten, can't be seen in the file alone: that takes a checkpoint, which lies outside
it (`Outside`). docs/FORMAT.md lists what is out of reach.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger._canonical import JSON
from ledger._connect import connect_reader, refuse_journal, uri
from ledger._errors import LedgerError, NotALedger
from ledger._schema import format_objects, release_objects
from ledger._verify_blobs import BlobStream
from ledger._verify_edges import EdgeStream
from ledger._verify_events import EventScan
from ledger._verify_findings import Findings, Problem
from ledger._verify_held import Word, hold, root_named
from ledger._verify_outside import CheckpointSeen, Gathered, Outside, gather
from ledger._verify_parts import NotInParts, Way, in_parts
from ledger._verify_redactions import Disagreements, Redactions, WithheldBy, check_redacts
from ledger._verify_roots import Roots
from ledger._verify_schema import Schema as FileSchema
from ledger._verify_schema import check_integrity, check_objects, check_types, read_schema
from ledger._verify_since import Since, Start, check_redacted_before, read_since, start_after
from ledger.kinds import Anchor, Genesis, Redact, Schema, parse_body

__all__ = ["Problem", "Verdict", "Watch", "verify", "verify_connection", "verify_in_parts"]

Watch = Callable[[int, Callable[[], int]], object]
"""Told, when a scan begins: how many events there are, and a function that says how many have been checked by now."""

# Errors that say something about this machine at this moment, and nothing about the file.
_NOT_THE_FILE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_NOMEM", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_PERM")

_SPECIAL = (
    "SELECT seq, kind, body, causes FROM main.events NOT INDEXED WHERE kind IN ('redact', 'schema', 'anchor')"
    " ORDER BY seq"
)
# In one pass over what is crowded, however much that is: of a run whose cells were all asked twice, every cell is.
_TWICE = (
    "SELECT seq, kind, run, CASE kind WHEN 'plan' THEN 0 ELSE cell END AS place,"
    " CASE kind WHEN 'request' THEN json_extract(body, '$.turn') END AS turn,"
    " CASE kind WHEN 'request' THEN json_extract(body, '$.attempt') END AS attempt"
    " FROM main.events NOT INDEXED WHERE kind IN ('plan', 'cell', 'request')"
    " AND (kind, run, CASE kind WHEN 'plan' THEN 0 ELSE cell END) IN ("
    "SELECT kind, run, CASE kind WHEN 'plan' THEN 0 ELSE cell END AS place"
    " FROM main.events NOT INDEXED WHERE kind IN ('plan', 'cell', 'request')"
    " GROUP BY kind, run, place HAVING count(*) > 1)"
    " AND (kind <> 'request' OR json_valid(CAST(body AS TEXT))) ORDER BY kind, run, place, turn, attempt, seq"
)
_ONCE = {
    b"plan": ("a second plan of one run", "one plan a run"),
    b"cell": ("a second cell event of one cell", "one a run and cell"),
    b"request": ("a second request with one claim", "one a cell, turn and attempt"),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verify found. `withheld` counts bodies and blobs that redactions withhold, `withheld_by` says which do;
    `head` is the last event's hash.

    `first_bad_seq` is the smallest seq at fault, None when no event is; for a blob it is the seq of its event.

    TAMPERED; NOT FULLY CHECKED: nothing is wrong, and a newer release wrote bodies or views that this one can't read;
    CONSISTENT: nothing outside the file vouches for it; MATCHES CHECKPOINT: it extends every one of
    `checkpoints`; TIMESTAMPED: and an authority signed when one of them was there. `failures` are what was asked
    for and isn't so, or couldn't be found out. `since`: how many events were taken as they are, as a signed checkpoint
    covers them.
    """

    verdict: Word
    events: int
    blobs: int
    withheld: int
    head: str | None
    first_bad_seq: int | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    withheld_by: tuple[WithheldBy, ...] = ()
    checkpoints: tuple[CheckpointSeen, ...] = ()
    failures: tuple[str, ...] = ()
    since: int = 0

    @property
    def exit_status(self) -> int:
        """0; 1 where something isn't so; 3 where not all could be checked."""
        return 1 if not self.ok else 3 if self.verdict == "NOT FULLY CHECKED" else 0

    @property
    def ok(self) -> bool:
        """Whether all that was asked about is so."""
        return self.verdict != "TAMPERED" and not self.failures

    def as_json(self) -> dict[str, JSON]:
        """The verdict as the command line's `--json` gives it."""
        return {
            "verdict": self.verdict,
            "events": self.events,
            "blobs": self.blobs,
            "withheld": self.withheld,
            "head": self.head,
            "first_bad_seq": self.first_bad_seq,
            "problems": [
                {"seq": problem.seq, "what": problem.what, "expected": problem.expected, "got": problem.got}
                for problem in self.problems
            ],
            "notes": list(self.notes),
            "withheld_by": [
                {
                    "seq": each.seq, "bodies": each.bodies, "blobs": each.blobs, "category": each.category,
                    "reason": each.reason,
                }
                for each in self.withheld_by
            ],
            "checkpoints": [each.as_json() for each in self.checkpoints],
            "failures": list(self.failures),
            "since": self.since,
        }  # fmt: skip


def verify(
    path: str | os.PathLike[str], outside: Outside | None = None, *, jobs: int = 1, watch: Watch | None = None
) -> Verdict:
    """Check the ledger at `path`, and hold it against what is `outside`: by default the checkpoints beside it.

    With `jobs` above 1, a large ledger's events are divided among as many processes; the verdict is the same. Never
    writes, and never fails on what a file holds. Raises NotALedger when there is no readable ledger at all: no file,
    not SQLite, no events table, or locked.
    """
    path = Path(path)
    gathered = gather(path, outside or Outside())
    verdict = verify_in_parts(path, gathered, Way(jobs), watch) if jobs > 1 else None
    if verdict is not None:
        return verdict
    findings = Findings()
    with closing(_open(path, findings)) as connection:
        return verify_connection(connection, str(path), findings, gathered, watch)


def verify_in_parts(path: Path, gathered: Gathered, way: Way, watch: Watch | None = None) -> Verdict | None:
    """The verdict of a ledger in which nothing is wrong, by more than one process; None where that can't be said."""
    if gathered.outside.since is not None:
        return None
    try:
        with closing(connect_reader(path)) as connection:
            verdict = _verified(connection, str(path), Findings(), gathered, watch, (way, path))
    except (NotInParts, NotALedger, sqlite3.Error, UnicodeDecodeError):
        return None
    return None if verdict.verdict == "TAMPERED" else verdict


def _open(path: Path, findings: Findings) -> sqlite3.Connection:
    if path.is_file():
        refuse_journal(path)
    try:
        return connect_reader(path)
    except NotALedger as unreadable:
        connection = _open_damaged(path) if path.is_file() else None
        if connection is None:
            raise
        findings.add(None, "the schema of the file", "one that SQLite can read", unreadable)
        return connection


def _open_damaged(path: Path) -> sqlite3.Connection | None:
    """A schema that doesn't parse keeps SQLite from reading anything; a flag of the connection (not of the file) makes
    it read what it can, so that the damage is reported and the rows are still checked. None where that isn't it."""
    first = "SELECT count(*) FROM main.sqlite_schema"
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(uri(path, "mode=ro"), uri=True, timeout=1, isolation_level=None)
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA trusted_schema=OFF")
        try:
            connection.execute(first).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            if not _is_of_this_moment(problem):
                connection.execute("PRAGMA writable_schema=ON")
                connection.execute(first).fetchone()
                return connection
    except (sqlite3.Error, UnicodeDecodeError):
        pass
    if connection is not None:
        connection.close()
    return None


def _is_of_this_moment(problem: Exception) -> bool:
    return getattr(problem, "sqlite_errorname", "").startswith(_NOT_THE_FILE)


def verify_connection(
    connection: sqlite3.Connection, name: str = "the ledger", findings: Findings | None = None,
    gathered: Gathered | None = None, watch: Watch | None = None,
) -> Verdict:  # fmt: skip
    """`verify` over an open connection, whose main schema it reads and nothing else.

    `findings` may hold what was found wrong before; `gathered` was read before this reading of the ledger begins.
    """
    return _verified(connection, name, Findings() if findings is None else findings, gathered or Gathered(), watch)


def _verified(
    connection: sqlite3.Connection, name: str, findings: Findings, gathered: Gathered, watch: Watch | None,
    divided: tuple[Way, Path] | None = None,
) -> Verdict:  # fmt: skip
    connection.text_factory = bytes
    try:
        connection.execute("BEGIN")
        schema = read_schema(connection)
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        raise NotALedger(f"{name} can't be read as a ledger: {problem}") from None
    try:
        if not schema.is_ledger:
            raise NotALedger(f"{name} is no ledger: it has no events table of this format")
        check = _Check(connection, name, schema, findings, gathered, watch)
        totals = check.run() if divided is None else check.run_in_parts(*divided)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    since = check.start.size if check.start else 0
    held = hold(
        gathered, origin=check.origin, events=totals.last, roots=totals.roots, anchors=check.anchors, since=since,
        why_not_since=check.why_not_since, findings=findings,
    )  # fmt: skip
    return Verdict(
        "TAMPERED" if findings.count else held.word if findings.whole else "NOT FULLY CHECKED",
        totals.events,
        totals.blobs,
        totals.withheld,
        totals.head.decode("ascii", "backslashreplace")[:64] if isinstance(totals.head, bytes) else None,
        findings.first_bad_seq,
        findings.problems,
        findings.notes,
        check.redactions.counts(),
        held.checkpoints,
        held.failures,
        since,
    )


@dataclass(frozen=True, slots=True)
class _Totals:
    """What was counted, the last event's seq and hash, and the roots that were wanted."""

    events: int
    last: int
    head: bytes | None
    blobs: int
    withheld: int
    roots: Roots


class _Check:
    """The checks in their order. Each may meet damage of its own without keeping the others from running."""

    def __init__(
        self, connection: sqlite3.Connection, name: str, schema: FileSchema, findings: Findings, gathered: Gathered,
        watch: Watch | None,
    ) -> None:  # fmt: skip
        self._watch = watch
        self._connection = connection
        self._gathered = gathered
        self._name = name
        self._schema = schema
        self._findings = findings
        self.redactions = Redactions()
        self._disagreements = Disagreements(findings)
        self._release: int | None = None
        self._digest: str | None = None
        self.origin: str | None = None
        self.anchors: list[tuple[int, Anchor]] = []
        self.start: Start | None = None
        self.why_not_since = ""
        self._scan: EventScan

    def run(self) -> _Totals:
        connection, findings = self._connection, self._findings
        self._before()
        if self._gathered.outside.since is not None:
            self._try("the trusted events", self._begin_after)
        start = self.start
        after = 0 if start is None else start.size
        edges = self._try("edges", lambda: EdgeStream(connection, findings, after), "edges")
        blobs = self._try("blobs", self._blob_stream, "blobs")
        roots = Roots(self._sizes(), None if start is None else start.peaks)
        scan = self._scan = EventScan(
            connection, findings, self.redactions, self._disagreements, edges, blobs, roots,
            None if start is None else (start.size, start.head),
        )  # fmt: skip
        if self._watch is not None:
            (most,) = connection.execute("SELECT max(seq) FROM main.events NOT INDEXED").fetchone()
            self._watch(most if isinstance(most, int) else 0, lambda: scan.next_seq - 1)
        if self._try("events", lambda: (scan.run(), True)[1]):
            self._try("genesis", self._genesis)
            if edges is not None:
                self._try("edges", edges.finish)
            if blobs is not None:
                self._try("blobs", lambda: blobs.finish(scan.last))
                owners = blobs.redacted_seqs
                if start is not None:
                    owners |= self._try("redactions", lambda: self._redacted_before(start)) or {}
                check_redacts(self.redactions, owners, findings, after)
            self._try("plans and claims", self._uniqueness)
        self._disagreements.settle()
        self._pages()
        counted, withheld = (blobs.count, blobs.withheld) if blobs is not None else (0, 0)
        if start is not None:
            counted, withheld = counted + start.blobs, withheld + start.withheld_bodies + start.withheld_blobs
        return _Totals(scan.count, scan.last, scan.head, counted, scan.withheld + withheld, roots)

    def run_in_parts(self, way: Way, path: Path) -> _Totals:
        """The same where nothing is wrong, the scan divided among processes. Raises NotInParts otherwise."""
        self._before()
        self._nothing_found()
        with in_parts(way, path, self._connection, self._sizes(), self.redactions) as parts:
            if self._watch is not None:
                self._watch(parts.events, parts.done)
            self._try("genesis", self._genesis)
            self._try("plans and claims", self._uniqueness)
            self._pages()
            self._nothing_found()
            joined = parts.join()
        check_redacts(self.redactions, joined.redacted, self._findings)
        self._nothing_found()
        withheld = joined.withheld + joined.withheld_blobs
        return _Totals(joined.events, joined.events, joined.head, joined.blobs, withheld, joined.roots)

    def _nothing_found(self) -> None:
        if self._findings.count:
            raise NotInParts

    def _before(self) -> None:
        connection, findings, schema = self._connection, self._findings, self._schema
        self._try("redact and schema events", self._special)
        self._try("the objects", lambda: check_objects(connection, schema, findings, self._release, self._digest))

    def _sizes(self) -> set[int]:
        """The sizes of first events whose roots somebody names."""
        return self._gathered.sizes | {anchor.size for _, anchor in self.anchors if root_named(anchor) is not None}

    def _pages(self) -> None:
        connection, findings, schema = self._connection, self._findings, self._schema
        sound = self._try("integrity", lambda: check_integrity(connection, schema, findings))
        if not sound or not schema.as_shipped:
            self._try("types", lambda: check_types(connection, schema, findings))

    def _blob_stream(self) -> BlobStream:
        first = 1 if self.start is None else self.start.first_blob
        return BlobStream(self._connection, self._findings, self.redactions.blobs, self._disagreements, first)

    def _begin_after(self) -> None:
        """Where the scan goes on after a trusted prefix, if that holds; otherwise everything is checked."""
        since = read_since(self._gathered.outside)
        start = start_after(self._connection, since, self._findings) if isinstance(since, Since) else since
        if isinstance(start, Start):
            self.start = start
        else:
            self.why_not_since = start

    def _redacted_before(self, start: Start) -> dict[bytes, int]:
        return check_redacted_before(self._connection, self.redactions, start, self._findings)

    def _try(self, what: str, step: Any, table: str | None = None) -> Any:
        """Run a step; damage becomes a problem. A table that can't be read is reported by the schema check alone."""
        if table is not None and table not in self._schema.plain:
            return None
        try:
            return step()
        except (sqlite3.Error, UnicodeDecodeError) as problem:  # a message of SQLite's may quote any bytes
            if _is_of_this_moment(problem):
                raise NotALedger(f"{self._name} can't be read now: {problem}; try again") from None
            at = self._scan.next_seq if what == "events" else None
            self._findings.add(at, f"reading {what}", "rows", problem)
            return None

    def _special(self) -> None:
        """What must be known before the scan: which release is in force, and what was withheld."""
        for seq, kind, body, causes in self._connection.execute(_SPECIAL):
            if type(seq) is not int and (self._gathered.outside.since is not None or kind == b"anchor"):
                continue  # no table of ours gives that; what is wrong with the table is said
            try:
                read = parse_body(kind.decode(), body.decode("utf-8"))
            except (LedgerError, AttributeError, UnicodeDecodeError):
                continue  # the scan says what is wrong with it
            if isinstance(read, Schema):
                self._release, self._digest = read.release, read.digest
                known = release_objects(read.release)
                if known is not None and known.digest != read.digest:
                    what = f"the digest of release {read.release}'s views and indexes"
                    self._findings.add(seq, what, known.digest, read.digest)
            elif isinstance(read, Redact):
                self.redactions.add(seq, causes, read)
            elif isinstance(read, Anchor):
                self.anchors.append((seq, read))
        if self._release is None:
            self._findings.add(None, "the release of the views", "a schema event", "none that can be read")

    def _genesis(self) -> None:
        row = self._connection.execute("SELECT kind, body FROM main.events WHERE seq = 1").fetchone()
        try:
            read = parse_body("genesis", row[1].decode("utf-8")) if row and row[0] == b"genesis" else None
        except (LedgerError, AttributeError, UnicodeDecodeError):
            return
        if isinstance(read, Genesis):
            self.origin = f"{read.origin}/{read.id}"
        if isinstance(read, Genesis) and read.tables != format_objects().digest:
            self._findings.add(1, "the digest of tables and guards", format_objects().digest, read.tables)

    def _uniqueness(self) -> None:
        """One plan a run, one cell event a cell; one request claims a (run, cell, turn, attempt)."""
        before: object = None
        for seq, kind, run, place, turn, attempt in self._connection.execute(_TWICE):
            here = (kind, run, place, turn, attempt)
            if here == before:
                what, wanted = _ONCE[kind]
                got = {b"plan": run, b"cell": f"cell {place}"}.get(kind, f"turn {turn} attempt {attempt}")
                self._findings.add(seq, what, wanted, got)
            before = here
