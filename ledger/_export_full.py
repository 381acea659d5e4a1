"""The full export: everything a ledger holds, as text, from which `ledger import` rebuilds it to the last hash.

It is written out of one read transaction, in constant memory, and each record is checked as it goes out: an export that
couldn't be imported again would be found out when it is needed, which is too late.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

from ledger._connect import connect_reader
from ledger._errors import BadExport, BadLine
from ledger._event import make_line
from ledger._export import write_export
from ledger._full import HEADER_START, PIECE, VERSION, Strand, record
from ledger._schema import format_objects, rows_digest, stored_objects
from ledger._store import Ledger

__all__ = ["export_full", "export_full_file"]

_RELEASE = "SELECT body FROM main.events NOT INDEXED WHERE kind = 'schema' ORDER BY seq DESC LIMIT 1"
_EVENTS = (
    "SELECT seq, v, hash, prev, at, kind, run, cell, causes, body_hash, salt, body FROM main.events NOT INDEXED"
    " ORDER BY seq"
)
_BLOBS = (
    "SELECT id, hash, seq, salt, encoding, length(data), CASE WHEN length(data) <= ? THEN data END"
    " FROM main.blobs NOT INDEXED ORDER BY id"
)
# What ANALYZE leaves behind is no fact, and isn't carried along.
_ASIDE = frozenset({"sqlite_stat1", "sqlite_stat3", "sqlite_stat4"})


def export_full(ledger: Ledger) -> Iterator[bytes]:
    """The text lines of a full export, each with its newline, of one moment of the ledger. Raises BadExport where what
    the file holds isn't what its chain commits to, NotALedger.
    """
    path = ledger.path
    strand = Strand()
    with closing(connect_reader(path)) as connection:
        try:
            connection.execute("BEGIN")
            yield record(_header(connection, f"{ledger.genesis.origin}/{ledger.genesis.id}"))
            connection.text_factory = bytes
            yield from _rows(connection, strand)
            strand.end()
        except (sqlite3.Error, BadLine, ValueError) as problem:  # SQLite quotes the file's own bytes in its messages
            raise BadExport(
                f"{path}, after event {strand.seq}: {problem}; no export was made: `ledger verify` says what is wrong"
                " with this ledger, and a snapshot from before can be exported"
            ) from None
    yield record({"end": True, "events": strand.seq, "blobs": strand.blobs, "head": strand.head})


def export_full_file(ledger: Ledger, target: str | os.PathLike[str]) -> tuple[int, str]:
    """Write the full export to a file, which appears under its name whole or not at all. Returns (seq, hash) of the
    head that it holds.

    A full export of this ledger that stands there is replaced, and nothing else is. Raises LedgerExists, BadExport,
    NotALedger (there is no such folder), OSError.
    """
    name = f"{ledger.genesis.origin}/{ledger.genesis.id}"
    mine = HEADER_START + f'"version":{VERSION},"ledger":"{name}",'.encode()
    last = [b"{}"]

    def lines() -> Iterator[bytes]:
        for line in export_full(ledger):
            last[0] = line
            yield line

    write_export(target, lines(), mine, "full export of this ledger")
    end = cast("dict[str, Any]", json.loads(last[0]))
    return int(end["events"]), str(end["head"])


def _header(connection: sqlite3.Connection, name: str) -> dict[str, object]:
    ours = set(format_objects().rows)
    stored = set(stored_objects(connection).rows)
    if not stored >= ours:
        raise ValueError("its tables or guards aren't those of the format")
    objects = sorted((row for row in stored - ours if row[1] not in _ASIDE), key=lambda row: row[:3])
    (text,) = connection.execute(_RELEASE).fetchone() or ("{}",)
    said = cast("dict[str, Any]", json.loads(text))
    if rows_digest(tuple(objects)) != said.get("digest"):
        raise ValueError("its views and indexes aren't its last schema event's (`ledger upgrade` puts them back)")
    return {
        "export": "full", "version": VERSION, "ledger": name, "release": said.get("release"),
        "objects": [list(row) for row in objects],
    }  # fmt: skip


def _rows(connection: sqlite3.Connection, strand: Strand) -> Iterator[bytes]:
    blobs = connection.execute(_BLOBS, (PIECE,))
    blob = blobs.fetchone()
    for row in connection.execute(_EVENTS):
        seq, v, digest, prev, at, kind, run, cell, causes, body_hash, salt, body = row
        line = make_line(
            v=v, seq=seq, prev=_text(prev), at=_text(at), kind=_text(kind), run=_text(run), cell=cell,
            causes=_text(causes), body=_text(body_hash),
        )  # fmt: skip
        strand.event(line, None if salt is None else _text(salt), body)
        if strand.head.encode() != digest:
            raise ValueError(f"event {seq}: expected the hash {strand.head}, got {_text(digest)}")
        yield record({
            "line": line.decode("ascii"),
            "salt": None if salt is None else _text(salt),
            "body": None if body is None else body.decode("utf-8"),
        })  # fmt: skip
        while blob is not None and blob[2] == seq:
            yield from _blob(connection, strand, blob)
            blob = blobs.fetchone()
    if blob is not None:
        raise ValueError(f"blob {blob[0]} belongs to no event at its place")


def _blob(connection: sqlite3.Connection, strand: Strand, row: tuple[Any, ...]) -> Iterator[bytes]:
    number, digest, _, salt, encoding, size, data = row
    named: dict[str, object] = {
        "blob": number, "hash": _text(digest), "salt": None if salt is None else _text(salt),
        "encoding": _text(encoding), "size": size,
    }  # fmt: skip
    strand.blob(number, _text(digest), cast("str | None", named["salt"]), _text(encoding), size)
    if size is None or data is not None:
        if data:
            strand.piece(data)
        yield record({**named, "data": None if size is None else base64.b64encode(data).decode()})
        return
    with connection.blobopen("blobs", "data", number, readonly=True, name="main") as opened:
        first = True
        while piece := opened.read(PIECE):
            strand.piece(piece)
            text = base64.b64encode(piece).decode()
            yield record({**named, "data": text} if first else {"more": text})
            first = False


def _text(value: bytes) -> str:
    return value.decode("utf-8")
