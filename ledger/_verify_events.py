"""Events, in order: every column's grammar, the line, its hash, the chain, causes and edges, the body, its blobs.

One scan by rowid, never through an index: an index can lie while every row is right. The quick path compares a row
with what must stand there; only a row that differs is taken apart to name what is wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from blake3 import blake3

from ledger._canonical import MAX_INT
from ledger._event import (
    COLUMN_GRAMMAR,
    FORMAT_VERSION,
    GENESIS_PREV,
    MAX_LINE,
    why_not_at,
    why_not_causes,
)
from ledger._said import counted
from ledger._verify_blobs import BlobStream, unsalt
from ledger._verify_bodies import Bodies
from ledger._verify_edges import EdgeStream
from ledger._verify_findings import Findings
from ledger._verify_redactions import Disagreements, Redactions
from ledger._verify_roots import Roots
from ledger.kinds import KINDS, NEVER_REDACTED

__all__ = ["LINE", "EventScan"]

_SELECT = (
    "SELECT seq, v, hash, prev, at, kind, run, cell, causes, body_hash, salt, body FROM main.events NOT INDEXED"
    " ORDER BY seq"
)
_SELECT_FROM = _SELECT.replace(" ORDER", " WHERE seq >= ? ORDER")
_SELECT_UNTIL = _SELECT.replace(" ORDER", " WHERE seq <= ? ORDER")
_SELECT_BETWEEN = _SELECT.replace(" ORDER", " WHERE seq >= ? AND seq <= ? ORDER")
_BATCH = 64
_Row = tuple[Any, ...]
LINE = b'{"v":%d,"seq":%d,"prev":"%b","at":"%b","kind":"%b","run":"%b","cell":%d,"causes":%b,"body":"%b"}'
_HASH = COLUMN_GRAMMAR["hash"].fullmatch
_AT = COLUMN_GRAMMAR["at"].fullmatch
_KIND = COLUMN_GRAMMAR["kind"].fullmatch
_RUN = COLUMN_GRAMMAR["run"].fullmatch
_CAUSES = COLUMN_GRAMMAR["causes"].fullmatch
_SCOPES = {name.encode(): model.scope for name, model in KINDS.items()}
_NEVER = frozenset(name.encode() for name in NEVER_REDACTED)
_MAX_UNKNOWN = 20
_MAX_OUTSIDE = 100


class EventScan:
    """The pass over `events`. After `run`: `count`, `head`, `withheld`.

    `after` is (seq, hash) of an event that is taken as it is, with all before it; the first event is then the next one.
    With `until`, the last event is that one, whatever follows.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        findings: Findings,
        redactions: Redactions,
        disagreements: Disagreements,
        edges: EdgeStream | None,
        blobs: BlobStream | None,
        roots: Roots,
        after: tuple[int, bytes] | None = None,
        until: int | None = None,
    ) -> None:
        self._connection = connection
        self._findings = findings
        self._roots = roots
        self._after = after
        self._until = until
        self._redactions = redactions
        self.disagreements = disagreements
        self._edges = edges
        self._blobs = blobs
        self._bodies = Bodies(findings)
        self._second = b""
        self._run_seen = b""
        self._unknown: dict[bytes, int] = {}
        self._outside: set[object] = set()
        self.count = self.last = 0 if after is None else after[0]
        self.withheld = 0
        self.head: bytes | None = None if after is None else after[1]
        self.next_seq: int = self.last + 1

    def run(self) -> None:
        """Scan to the end. Raises sqlite3.Error where the file is damaged; `next_seq` is then the event not reached."""
        findings, edges, scopes = self._findings, self._edges, _SCOPES
        prev: bytes | None = GENESIS_PREV.encode() if self._after is None else self._after[1]
        stored_prev = prev
        roots, rooted = self._roots, self._roots.last
        for row, settled in self._rows():
            seq, v, digest, said_prev, at, kind, run, cell, causes, body_hash, salt, body = row
            self.count += 1
            if seq != self.next_seq:
                if not self._gap(seq):
                    if len(self._outside) < _MAX_OUTSIDE:
                        self._outside.add(said_prev)
                    continue
                prev = stored_prev = None
            before = findings.count
            self.next_seq = seq + 1
            numbers = () if causes == b"[]" else self._causes(seq, causes)
            scope = scopes.get(kind)
            line_hash: bytes | None = None
            if (
                v == FORMAT_VERSION
                and numbers is not None
                and type(at) is bytes
                and ((at[:20] == self._second and at[20:26].isdigit() and at[26:] == b"Z") or self._is_time(at))
                and (scope is not None or self._is_unknown_kind(kind))
                and (run == self._run_seen or self._is_run(run))
                and type(cell) is int
                and 0 <= cell <= MAX_INT
                and (said_prev == prev or (type(said_prev) is bytes and _HASH(said_prev)))
                and type(body_hash) is bytes
                and _HASH(body_hash)
            ):
                line = LINE % (v, seq, said_prev, at, kind, run, cell, causes, body_hash)
                line_hash = blake3(line).hexdigest().encode()
                if line_hash != digest or len(line) > MAX_LINE:
                    self._bad_hash(seq, digest, line_hash, len(line))
                if seq <= rooted:
                    roots.take(seq, line)
            else:
                self._bad_columns(row)
            if said_prev != prev and prev is not None and said_prev != stored_prev:
                self._findings.add(seq, "prev, the hash of the event before", prev, said_prev)
            # Where a row is at fault, the next may still follow either what it says or what it was.
            prev, stored_prev = (line_hash, digest) if line_hash is not None else (digest, digest)
            if edges is not None:
                edges.take(seq, numbers)
            if scope != "cell" or not run or cell == 0 or seq == 1:
                self._placed(seq, kind, run, cell)
            self._body(seq, kind, body_hash, salt, body, settled)
            self.last, self.head = seq, digest
            if findings.count != before:
                self.disagreements.broken(seq, numbers)
        if self.head is not None and self.head in self._outside:
            after = self.last + 1
            self._findings.add(after, "the last event stands outside the chain", f"event {after}", "a seq below 1")
        if self.count == 0:
            self._findings.add(1, "an event is missing", "event 1", "no event at all")
        for kind, times in self._unknown.items():
            name = kind.decode("ascii")
            self._findings.note(
                f"{counted(times, 'event')} of kind {name}, which this package doesn't know, by a newer release: chain"
                " and form were checked, not the shape of the body"
            )

    def _rows(self) -> Iterator[tuple[_Row, dict[str, Any] | None]]:
        """Every row with its body, if that is settled; where a page is damaged, every row up to it."""
        if self._until is None:
            asked = (_SELECT, ()) if self._after is None else (_SELECT_FROM, (self.next_seq,))
        elif self._after is None:
            asked = (_SELECT_UNTIL, (self._until,))
        else:
            asked = (_SELECT_BETWEEN, (self.next_seq, self._until))
        cursor = self._connection.execute(*asked)
        while True:
            try:
                batch = cursor.fetchmany(_BATCH)
            except (sqlite3.Error, UnicodeDecodeError):
                break
            if not batch:
                return
            yield from zip(batch, self._bodies.settle(batch), strict=True)
        rest = (_SELECT_FROM, (self.next_seq,))
        if self._until is not None:
            rest = (_SELECT_BETWEEN, (self.next_seq, self._until))
        for row in self._connection.execute(*rest):
            yield row, None

    # Order

    def _gap(self, seq: object) -> bool:
        """Report a seq that doesn't follow; whether the row still is an event that the chain can go on from."""
        if type(seq) is not int:
            self._findings.add(None, "the seq of an event", "an integer", seq)
            return False
        if seq < self.next_seq:
            self._findings.add(seq, "the seq of an event", f"at least {self.next_seq}", seq)
            return False
        missing = (
            f"event {self.next_seq} is" if seq == self.next_seq + 1 else f"events {self.next_seq} to {seq - 1} are"
        )
        self._findings.add(self.next_seq, f"{missing} missing", f"event {self.next_seq}", f"event {seq}")
        self.disagreements.missing(self.next_seq)
        return True

    # Columns

    def _is_time(self, at: bytes) -> bool:
        if _AT(at) and why_not_at(at.decode("ascii")) is None:
            self._second = at[:20]
            return True
        return False

    def _is_run(self, run: object) -> bool:
        if type(run) is bytes and _RUN(run):
            self._run_seen = run
            return True
        return False

    def _is_unknown_kind(self, kind: object) -> bool:
        return type(kind) is bytes and _KIND(kind) is not None

    def _causes(self, seq: int, causes: object) -> tuple[int, ...] | None:
        if self._edges is not None and (cause := self._edges.only_cause(seq, causes)):
            return (cause,)
        if type(causes) is not bytes or len(causes) > MAX_LINE or not _CAUSES(causes):
            return None
        numbers = tuple(map(int, causes[1:-1].split(b",")))
        return None if why_not_causes(numbers, seq) else numbers

    def _bad_hash(self, seq: int, digest: object, line_hash: bytes, length: int) -> None:
        if length > MAX_LINE:
            self._findings.add(seq, "the length of the line", f"at most {MAX_LINE} bytes", f"{length} bytes")
        if line_hash != digest:
            self._findings.add(seq, "the hash of the line", line_hash, digest)

    def _bad_columns(self, row: tuple[object, ...]) -> None:
        names = ("seq", "v", "hash", "prev", "at", "kind", "run", "cell", "causes", "body_hash")
        values = dict(zip(names, row, strict=False))
        seq = row[0]
        assert isinstance(seq, int)
        for name, value in values.items():
            text = b"%d" % value if isinstance(value, int) else value
            stored_right = isinstance(value, int if name in {"seq", "v", "cell"} else bytes)
            if not stored_right or not isinstance(text, bytes) or not COLUMN_GRAMMAR[name].fullmatch(text):
                self._findings.add(seq, f"the column {name}", COLUMN_GRAMMAR[name].pattern, value)
            elif name == "v" and value != FORMAT_VERSION:
                self._findings.add(seq, "the column v", FORMAT_VERSION, value)
            elif name in {"seq", "cell"} and int(text) > MAX_INT:
                self._findings.add(seq, f"the column {name}", f"at most {MAX_INT}", value)
            elif name == "at" and (reason := why_not_at(text.decode("ascii"))):
                self._findings.add(seq, "the column at", "a real time", f"{value!r}: {reason}")
            elif name == "causes" and text != b"[]":
                if len(text) > MAX_LINE:
                    self._findings.add(seq, "the column causes", f"at most {MAX_LINE} bytes", f"{len(text)} bytes")
                elif reason := why_not_causes(tuple(map(int, text[1:-1].split(b","))), seq):
                    self._findings.add(seq, "the column causes", "earlier events, ascending", reason)

    # What an event is

    def _placed(self, seq: int, kind: object, run: object, cell: object) -> None:
        """The first event, and only it, is genesis; a kind stands where its scope says; unknown kinds are counted."""
        if (kind == b"genesis") != (seq == 1):
            self._findings.add(seq, "the kind of event 1, and only of it, is genesis", seq == 1, kind)
        if type(kind) is not bytes:
            return
        scope = _SCOPES.get(kind)
        if scope is None:
            if _KIND(kind) and (kind in self._unknown or len(self._unknown) < _MAX_UNKNOWN):
                self._unknown[kind] = self._unknown.get(kind, 0) + 1
        elif scope == "cell":
            if not run or not isinstance(cell, int) or cell < 1:
                self._findings.add(seq, f"the place of a {kind.decode()}", "a run and a cell from 1", (run, cell))
        elif scope != "any" and (cell != 0 or (run != b"") != (scope == "run")):
            wanted = "a run and cell 0" if scope == "run" else "no run and cell 0"
            self._findings.add(seq, f"the place of a {kind.decode()}", wanted, (run, cell))

    def _body(self, seq: int, kind: object, body_hash: object, salt: object, body: object, settled: Any) -> None:
        named_by = self._redactions.bodies.get(seq)
        if named_by is not None:
            if kind in _NEVER:
                wanted = "a kind that may be withheld"
                self._findings.add(named_by, "the target of a redact event", wanted, f"event {seq}")
            elif body is not None:
                self.disagreements.present(seq, named_by, "body")
        if body is None:
            self._withheld(seq, kind, salt, named_by)
            return
        raw = unsalt(salt)
        if raw is None:
            self._findings.add(seq, "the column salt", "32 lower-case hex digits", salt)
        refs = None
        if type(body) is not bytes:
            self._findings.add(seq, "the column body", "text", body)
        else:
            if raw is not None and (found := blake3(raw + body).hexdigest().encode()) != body_hash:
                self._findings.add(seq, "the commitment of the body", body_hash, found)
            if type(kind) is bytes:
                refs = self._bodies.refs(seq, kind, body, settled)
        if self._blobs is None:
            return
        if refs is None:
            self._blobs.unread(seq)
        elif refs:
            self._blobs.named(seq, refs)

    def _withheld(self, seq: int, kind: object, salt: object, named_by: int | None) -> None:
        if salt is not None:
            self._findings.add(seq, "the salt of a withheld body", None, salt)
        if kind in _NEVER:
            self._findings.add(seq, f"the body of a {kind!r} event is gone; it is never withheld", "a body", None)
        elif named_by is None:
            self.disagreements.unnamed(seq, "body")
        else:
            self.withheld += 1
        if self._blobs is not None:
            self._blobs.unread(seq)
