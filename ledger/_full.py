"""The full export: a whole ledger as JSON Lines, from which `ledger import` rebuilds it. docs/FORMAT.md has the form.

    {"export":"full","version":1,"ledger":"ORIGIN/ID","release":6,"objects":[[type,name,table,sql],…]}
    {"line":"<event line>","salt":"<hex>"|null,"body":"<text>"|null}
    {"blob":ID,"hash":"<hex>","salt":"<hex>"|null,"encoding":""|"zlib","size":N|null,"data":"<base64>"|null}
    {"more":"<base64>"}
    {"end":true,"events":N,"blobs":M,"head":"<hex>"}

A blob follows the event that it belongs to. Its `size` is that of its stored bytes, and where those are too many for
one line, lines of `more` follow. Whoever writes and whoever reads holds every record against the chain by a `Strand`.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, cast

from blake3 import blake3

from ledger._canonical import MAX_BODY
from ledger._event import COLUMN_GRAMMAR, GENESIS_PREV, Line, commits, hash_of, parse_line

__all__ = ["HEADER_START", "MAX_RECORD", "PIECE", "VERSION", "Strand", "record"]

VERSION = 1
HEADER_START = b'{"export":"full",'
PIECE = 3 << 18
"""Bytes of a blob in one line; a multiple of three, so that the base64 of the pieces is that of the whole."""
MAX_RECORD = 16 << 20
"""Bytes of a text line at most: a body of 1 MiB in escapes, or a release's views, fit well."""

_STEP = 1 << 20
_MOST_PLAIN = 1 << 31
"""What a blob can be unpacked to at most where nothing says its size: SQLite held it whole once."""
_HASH = re.compile(r"[0-9a-f]{64}")


def record(value: dict[str, object]) -> bytes:
    """One text line, with its newline: ASCII that no terminal obeys."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f").encode("ascii") + b"\n"


class Strand:
    """A ledger as it comes, event by event and blob by blob, held against its own commitments.

    Each method raises ValueError or BadLine with what was expected and what stood there.
    """

    def __init__(self) -> None:
        self.seq = 0
        self.head = GENESIS_PREV
        self.blobs = 0
        self._named: dict[str, int] | None = {}
        self._hasher: Any = None
        self._inflate: Any = None
        self._digest = ""
        self._left = self._plain = self._most = 0

    def event(self, line: bytes, salt: str | None, body: bytes | None) -> Line:
        """The next event; every blob that the one before names must have come."""
        self._all_there()
        found = parse_line(line)
        if found.seq != self.seq + 1:
            raise ValueError(f"expected event {self.seq + 1}, got event {found.seq}")
        if found.prev != self.head:
            raise ValueError(f"event {found.seq}: expected prev {self.head}, got {found.prev}")
        if (salt is None) != (body is None):
            raise ValueError(f"event {found.seq}: expected salt and body, or neither, got one of them")
        if body is not None:
            if len(body) > MAX_BODY:
                raise ValueError(f"event {found.seq}: expected a body of at most {MAX_BODY} bytes, got {len(body)}")
            if not commits(salt, body, found.body_hash):
                raise ValueError(f"event {found.seq}: its body and salt aren't what its line commits to")
        self.seq, self.head = found.seq, hash_of(line)
        self._named = None if body is None else _blobs_named(body)
        return found

    def blob(self, number: int, digest: str, salt: str | None, encoding: str, size: int | None) -> None:
        """The next blob of the newest event; `size` bytes of `piece` follow, or none where it is withheld."""
        where = f"event {self.seq}, blob {number}"
        if number != self.blobs + 1:
            raise ValueError(f"expected blob {self.blobs + 1}, got blob {number}")
        if not _HASH.fullmatch(digest):
            raise ValueError(f"{where}: expected a hash of 64 hex digits, got {digest[:80]!a}")
        if encoding not in {"", "zlib"}:
            raise ValueError(f"{where}: expected the encoding '' or 'zlib', got {encoding[:80]!a}")
        if (salt is None) != (size is None):
            raise ValueError(f"{where}: expected salt and data, or neither, got one of them")
        self._most = _MOST_PLAIN
        if self._named is not None:
            if digest not in self._named:
                raise ValueError(f"{where}: the event's body names no blob {digest}")
            self._most = self._named.pop(digest)
        self.blobs = number
        self._hasher = None
        if salt is None or size is None:
            return
        if not COLUMN_GRAMMAR["salt"].fullmatch(salt.encode("utf-8", "surrogatepass")):
            raise ValueError(f"{where}: expected a salt of 32 hex digits, got {salt[:80]!a}")
        self._hasher, self._digest = blake3(bytes.fromhex(salt)), digest
        self._inflate = zlib.decompressobj() if encoding == "zlib" else None
        self._left, self._plain = size, 0
        if size == 0:
            self._whole()

    def piece(self, data: bytes) -> None:
        """The next stored bytes of the newest blob."""
        if self._hasher is None or not data:
            raise ValueError(f"event {self.seq}, blob {self.blobs}: bytes where none were expected")
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(f"event {self.seq}, blob {self.blobs}: {-self._left} bytes more than its size")
        if self._inflate is None:
            self._add(data)
        else:
            self._unpack(data)
        if self._left == 0:
            self._whole()

    def _add(self, plain: bytes) -> None:
        self._hasher.update(plain)
        self._plain += len(plain)
        if self._plain > self._most:
            raise ValueError(f"event {self.seq}, blob {self.blobs}: it holds more than {self._most} bytes")

    def _unpack(self, data: bytes) -> None:
        """A piece at a time, and no more than was promised: a few bytes can stand for days of work."""
        inflate = self._inflate
        try:
            while data:
                if inflate.eof:
                    raise ValueError(f"event {self.seq}, blob {self.blobs}: bytes after its zlib stream")
                self._add(inflate.decompress(data, _STEP))
                data = inflate.unconsumed_tail or inflate.unused_data
            while self._left == 0 and not inflate.eof and (out := inflate.decompress(b"", _STEP)):
                self._add(out)
        except zlib.error as problem:
            raise ValueError(f"event {self.seq}, blob {self.blobs}: no zlib stream: {problem}") from None

    def _whole(self) -> None:
        where = f"event {self.seq}, blob {self.blobs}"
        if self._inflate is not None and not self._inflate.eof:
            raise ValueError(f"{where}: its zlib stream ends early")
        if self._hasher.hexdigest() != self._digest:
            raise ValueError(f"{where}: its bytes and salt aren't what its hash commits to")
        self._hasher = self._inflate = None

    def _all_there(self) -> None:
        if self._hasher is not None:
            raise ValueError(f"event {self.seq}, blob {self.blobs}: {self._left} bytes of it are missing")
        if self._named:
            raise ValueError(f"event {self.seq}: its blob {next(iter(self._named))} is missing")

    def end(self) -> None:
        """Nothing more comes."""
        self._all_there()
        if self.seq == 0:
            raise ValueError("expected events, got none")


def _blobs_named(body: bytes) -> dict[str, int]:
    """Hash and size of each blob that a body names. What is no such body is left to `verify`, which says more."""
    if b'"blobs":{' not in body:
        return {}
    try:
        named = cast("dict[str, dict[str, Any]]", json.loads(body).get("blobs", {}))
        return {str(each["hash"]): int(each["size"]) for each in named.values()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("its body names blobs in no form of this format") from None
