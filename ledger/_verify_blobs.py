"""Blobs against the events that name them: one pass over both, in step.

Rows stand in the order in which events, and within one event its body, name them, with ids from 1 without a gap. So
row and name meet at the front of two streams, and memory stays constant however large the ledger is.
"""

from __future__ import annotations

import sqlite3
import zlib
from binascii import unhexlify
from collections.abc import Iterable, Iterator

from blake3 import blake3

from ledger._verify_findings import MAX_PROBLEMS, Findings
from ledger._verify_redactions import Disagreements

__all__ = ["BlobStream", "unsalt"]

LARGE = 16 << 20
_CHUNK = 1 << 20
_SELECT = (
    "SELECT id, hash, seq, salt, encoding, CASE WHEN length(data) <= ? THEN data END, length(data)"
    " FROM main.blobs NOT INDEXED ORDER BY id"
)
_SELECT_FROM = _SELECT.replace(" ORDER", " WHERE id >= ? ORDER")
_SELECT_UNTIL = _SELECT.replace(" ORDER", " WHERE id <= ? ORDER")
_SELECT_BETWEEN = _SELECT.replace(" ORDER", " WHERE id >= ? AND id <= ? ORDER")
_Row = tuple[object, object, object, object, object, object, object]


def unsalt(salt: object) -> bytes | None:
    """The 16 bytes of a stored salt, or None unless it is exactly 32 lower-case hex digits."""
    if type(salt) is not bytes or len(salt) != 32:
        return None
    try:
        return unhexlify(salt) if salt == salt.lower() else None
    except ValueError:
        return None


class BlobStream:
    """Rows of `blobs`, handed out as events name them. Call `named` or `unread` for each event in order of seq.

    With `first`, only the rows from that id on; with `until`, none beyond that id.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        findings: Findings,
        redacted: dict[bytes, int],
        disagreements: Disagreements,
        first: int = 1,
        until: int | None = None,
    ) -> None:
        self._connection = connection
        self._findings = findings
        self._redacted = redacted
        self._disagreements = disagreements
        # All of them, where all are wanted: there may be ids below 1.
        if until is None:
            asked = (_SELECT, (LARGE,)) if first == 1 else (_SELECT_FROM, (LARGE, first))
        else:
            asked = (_SELECT_UNTIL, (LARGE, until)) if first == 1 else (_SELECT_BETWEEN, (LARGE, first, until))
        self._rows: Iterator[_Row] = iter(connection.execute(*asked))
        self._expected = first
        self._unread: int | None = None
        self._missing: dict[bytes, int] = {}
        self.count = 0
        self.withheld = 0
        self.redacted_seqs: dict[bytes, int] = {}
        self._row: _Row | None = None
        self._advance()

    def _advance(self) -> None:
        self._row = next(self._rows, None)
        if self._row is not None:
            self.count += 1

    def named(self, seq: int, refs: Iterable[tuple[bytes, int]]) -> None:
        """Event `seq` names these blobs, as (hash, size), in this order."""
        for digest, size in refs:
            row = self._row
            if row is None or row[0] != self._expected or row[1] != digest:
                self._skip_strays(seq, digest)
                row = self._row
            if row is None or row[0] != self._expected:
                self._lost(seq, digest)
                continue
            self._expected += 1
            self._unread = None
            self._check(seq, row, digest, size)
            self._advance()

    def unread(self, seq: int) -> None:
        """The body of event `seq` can't be read (withheld, or broken): its rows are known by their seq alone."""
        self._unread = seq
        while self._row is not None and self._row[2] == seq:
            row = self._row
            if row[0] != self._expected:
                self._findings.add(seq, "a blob's id", self._expected, row[0])
            self._expected = row[0] + 1 if isinstance(row[0], int) else self._expected + 1
            self._check(seq, row, None, None)
            self._advance()

    def _skip_strays(self, seq: int, digest: bytes) -> None:
        """Leave behind rows that nothing names; step over ids that only events with unread bodies can have named."""
        while self._row is not None:
            number, got, owner = self._row[0], self._row[1], self._row[2]
            if not isinstance(number, int):
                self._stray(None)
            elif number < self._expected:
                self._stray(owner)
            elif got == digest:
                if number > self._expected and owner == seq:
                    self._findings.add(
                        self._lost_before(seq, number), "ids of blobs have a gap", self._expected, number
                    )
                    self._expected = number
                return
            elif number == self._expected and owner != seq:
                self._stray(seq if self._unread is None else self._unread)
                self._expected += 1
            else:
                return

    def _lost_before(self, seq: int, number: int) -> int:
        """Whose fault a gap before blob `number` is: of an unread event before, if the ids go on from the gap."""
        if self._unread is None:
            return seq
        statement = "SELECT 1 FROM main.blobs NOT INDEXED WHERE id > ? AND id - 1 = ?"
        return self._unread if self._connection.execute(statement, (number, number)).fetchone() else seq

    def _stray(self, owner: object) -> None:
        assert self._row is not None
        got = self._row[1]
        lost = self._missing.get(got) if isinstance(got, bytes) else None
        seq = lost if lost is not None else owner if isinstance(owner, int) and owner >= 1 else None
        self._findings.add(seq, "a blob that no event names at its place", "nothing", f"id {self._row[0]}")
        self._advance()

    def _lost(self, seq: int, digest: bytes) -> None:
        self._expected += 1
        if len(self._missing) < MAX_PROBLEMS:
            self._missing[digest] = seq
        self._findings.add(seq, "a blob that the event names is missing", digest, "nothing")

    def _check(self, seq: int, row: _Row, digest: bytes | None, size: int | None) -> None:
        number, got, owner, salt, encoding, data, length = row
        add = self._findings.add
        if digest is not None and got != digest:
            add(seq, "a blob's hash", digest, got)
        if owner != seq:
            add(seq, "the seq of a blob's event", seq, owner)
        if encoding != b"" and encoding != b"zlib":
            add(seq, "a blob's encoding", "'' or 'zlib'", encoding)
            return
        named = got if isinstance(got, bytes) else b""
        by = self._redacted.get(named)
        if by is not None:
            self.redacted_seqs[named] = seq
        if length is None:
            if salt is not None:
                add(seq, "the salt of a withheld blob", None, salt)
            if by is None:
                self._disagreements.unnamed(seq, "blob")
            else:
                self.withheld += 1
            return
        if by is not None:
            self._disagreements.present(seq, by, "blob")
        raw = unsalt(salt)
        if raw is None:
            add(seq, "a blob's salt", "32 lower-case hex digits", salt)
            return
        if encoding == b"" and type(data) is bytes:
            found, plain = blake3(raw + data).hexdigest().encode(), len(data)
        else:
            try:
                found, plain = self._digest(raw, number, encoding, data, size)
            except (zlib.error, ValueError) as problem:
                add(seq, "a blob's stored bytes", "one whole zlib stream", problem)
                return
        if found != got:
            add(seq, "a blob's bytes", got, found)
        if size is not None and plain != size:
            add(seq, "a blob's size", size, plain)

    def _digest(
        self, salt: bytes, number: object, encoding: object, data: object, most: int | None
    ) -> tuple[bytes, int]:
        """Hash in pieces, so that neither a large blob nor one that unpacks to a large one is held in memory.

        What is packed unpacks to `most` bytes, or says so by a ValueError: a few bytes can stand for days of work.
        """
        hasher, size = blake3(salt), 0
        inflate = zlib.decompressobj() if encoding == b"zlib" else None
        for piece in self._pieces(number, data):
            if inflate is None:
                hasher.update(piece)
                size += len(piece)
                continue
            if inflate.eof:
                raise ValueError("bytes after its end")
            while piece:
                out = inflate.decompress(piece, _CHUNK)
                hasher.update(out)
                size += len(out)
                if most is not None and size > most:
                    raise ValueError(f"it unpacks to more than {most} bytes")
                piece = inflate.unconsumed_tail
            if inflate.unused_data:
                raise ValueError("bytes after its end")
        if inflate is not None:
            while not inflate.eof:
                out = inflate.decompress(b"", _CHUNK)
                if not out:
                    raise ValueError("it ends early")
                hasher.update(out)
                size += len(out)
                if most is not None and size > most:
                    raise ValueError(f"it unpacks to more than {most} bytes")
        return hasher.hexdigest().encode(), size

    def _pieces(self, number: object, data: object) -> Iterator[bytes]:
        if type(data) is bytes:
            yield from (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
            return
        if not isinstance(number, int) or data is not None:
            raise ValueError("not bytes")
        with self._connection.blobopen("blobs", "data", number, readonly=True, name="main") as blob:
            while piece := blob.read(_CHUNK):
                yield piece

    @property
    def next_id(self) -> int:
        """The id that the next blob must have."""
        return self._expected

    def finish(self, head: int) -> None:
        """Whatever is left is named by no event; `head` is the last one's seq."""
        while self._row is not None:
            owner = self._row[2]
            self._stray(owner if isinstance(owner, int) and owner <= head else None)
