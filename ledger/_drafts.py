"""Drafts: events that have not been appended yet, and the rows they become."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ledger._canonical import MAX_BODY, MAX_INT, canonical, canonical_object
from ledger._errors import BadBody, BadLine
from ledger._event import (
    FORMAT_VERSION,
    MAX_LINE,
    Event,
    causes_text,
    commitment,
    hash_of,
    make_line,
    matches_line,
    why_not_causes,
)
from ledger.kinds import KINDS, Body, Request

__all__ = ["BlobRow", "Draft", "Earlier", "Prepared", "Salts", "prepare", "seal"]

_NOT_BLOBS = {"blobs"}
_SHORT = 500


@dataclass(frozen=True, slots=True)
class Earlier:
    """A cause inside the same append: the draft at this position, whose seq isn't known yet."""

    position: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An event to append: its body, its place (run, cell), what it was derived from, and its blobs by name."""

    body: Body
    run: str = ""
    cell: int = 0
    causes: Sequence[int | Earlier] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def prepared(self, salts: Salts | None = None) -> Prepared:
        """This draft as `append` takes it too, checked, salted and hashed: to be appended once.

        Raises the BadBody that an append of the draft would raise; writes nothing.
        """
        return prepare(self, salts)


class BlobRow(NamedTuple):
    """A blob's row, but for its id and seq."""

    hash: str
    salt: str
    data: bytes


class Prepared(NamedTuple):
    """All of an event that doesn't depend on its place in the chain; computed outside the transaction.

    Only `prepare` makes one: an append trusts that its body passed the door. It is appended once: its salt is its own.
    """

    kind: str
    run: str
    cell: int
    causes: tuple[int | Earlier, ...]
    body: str
    body_hash: str
    salt: str
    blobs: tuple[BlobRow, ...]
    claim: tuple[int, int] | None


def _check_scope(draft: Draft, kind: str) -> None:
    scope = draft.body.scope
    if scope == "ledger" and (draft.run or draft.cell):
        raise BadBody(f"{kind}: expected no run and no cell, got run {draft.run!r} cell {draft.cell}")
    if scope == "run" and (not draft.run or draft.cell):
        raise BadBody(f"{kind}: expected a run and cell 0, got run {draft.run!r} cell {draft.cell}")
    if scope == "cell" and not (draft.run and 1 <= draft.cell <= MAX_INT):
        raise BadBody(f"{kind}: expected a run and a cell from 1, got run {draft.run!r} cell {draft.cell}")
    if not 0 <= draft.cell <= MAX_INT:
        raise BadBody(f"{kind}: expected a cell from 0 to {MAX_INT}, got {draft.cell}")


@lru_cache(maxsize=1024)
def _short(text: str) -> bytes | None:
    return canonical_object(text, {})


def _body_bytes(body: Body, added: Mapping[str, object]) -> bytes:
    left_out = _NOT_BLOBS | body.unsaid() if body.since else _NOT_BLOBS
    try:
        text = body.model_dump_json(by_alias=True, exclude=left_out)
        # A run has many scores and few that differ.
        quick = _short(text) if len(text) <= _SHORT and not added else canonical_object(text, added)
    except ValueError:
        quick = None
    # The exact way, which also finds the words for what is wrong.
    return quick or canonical({**body.model_dump(by_alias=True, exclude=left_out), **added})


class Salts:
    """Random salts, drawn from the system many at a time. For one thread, and never kept across a fork."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._drawn = b""
        self._at = 0

    def take(self) -> bytes:
        """A salt of 16 bytes, given once."""
        start = self._at
        if start == len(self._drawn):
            self._drawn, start = os.urandom(16 * max(1, self._most)), 0
        self._at = start + 16
        return self._drawn[start : self._at]


def prepare(draft: Draft, salts: Salts | None = None) -> Prepared:
    """Salt, hash and canonicalise a draft. Raises BadBody, naming the place; nothing has been written then."""
    kind = draft.body.kind
    if KINDS.get(kind) is not type(draft.body):
        raise BadBody(f"expected the body of a registered kind, got {type(draft.body).__name__}")
    _check_scope(draft, kind)
    if draft.body.blobs:
        raise BadBody(f"{kind}: give blobs as bytes with the draft; their hashes are made by the append")
    salts = salts or Salts(len(draft.blobs) + 1)
    rows: list[BlobRow] = []
    named: dict[str, dict[str, object]] = {}
    # Sorted as RFC 8785 sorts keys, so that the rows stand in the order in which the body names them.
    for name in sorted(draft.blobs, key=lambda name: name.encode("utf-16-be", "surrogatepass")) if draft.blobs else ():
        salt, data = salts.take(), draft.blobs[name]
        rows.append(BlobRow(commitment(salt, data), salt.hex(), data))
        named[name] = {"hash": rows[-1].hash, "size": len(data)}
    body = _body_bytes(draft.body, {"blobs": named} if named else {})
    if len(body) > MAX_BODY:
        raise BadBody(f"{kind}: expected a body of at most {MAX_BODY} bytes, got {len(body)}; put long text in a blob")
    salt = salts.take()
    claim = (draft.body.turn, draft.body.attempt) if isinstance(draft.body, Request) else None
    return Prepared(
        kind, draft.run, draft.cell, tuple(draft.causes), body.decode(), commitment(salt, body), salt.hex(),
        tuple(rows), claim,
    )  # fmt: skip


def seal(prepared: Prepared, *, seq: int, prev: str, at: str, first: int) -> Event:
    """Give a prepared event its place. `first` is the seq of position 0 of the same append. Raises BadLine."""
    if (prepared.kind == "genesis") != (seq == 1):
        raise BadLine(f"{prepared.kind}: expected genesis as event 1, and only there, got event {seq}")
    causes = tuple(sorted(first + cause.position if isinstance(cause, Earlier) else cause for cause in prepared.causes))
    reason = why_not_causes(causes, seq)
    if reason:
        raise BadLine(f"{prepared.kind}: {reason}")
    line = make_line(
        v=FORMAT_VERSION, seq=seq, prev=prev, at=at, kind=prepared.kind, run=prepared.run, cell=prepared.cell,
        causes=causes_text(causes), body=prepared.body_hash,
    )  # fmt: skip
    if not matches_line(line):
        if len(line) > MAX_LINE:
            raise BadLine(f"{prepared.kind}: expected a line of at most {MAX_LINE} bytes, got {len(line)}")
        raise BadLine(f"{prepared.kind}: expected a line of the grammar, got {line[:200]!r}")
    return Event(
        seq, FORMAT_VERSION, hash_of(line), prev, at, prepared.kind, prepared.run, prepared.cell, causes,
        prepared.body_hash, prepared.salt, prepared.body,
    )  # fmt: skip
