"""One bit of a ledger's file, flipped: what plain SQLite then reads, and what verify says of it.

What a flip changed is decided without our code: every row of the three tables, with the type of every value, and every
row of the schema but for its page numbers, read by plain sqlite3 and held against what the file held before.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ledger._verify_bodies as bodies
from ledger import Draft, Ledger, NotALedger, kinds
from ledger._compress import compress
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger._verify import verify, verify_connection
from ledger._verify_findings import Findings
from tests.ledger.ledgers import example_draft, settle, whole_ledger
from tests.ledger.pages import Place, label, places_of

__all__ = ["OUTCOMES", "Flips", "Seen", "every_flip", "in_turn", "ledger_of_sixty"]

EVENTS = 60
OUTCOMES = ("TAMPERED", "unreadable", "not noticed", "packed otherwise", "unchanged, reported", "unchanged, not seen",
            "unchanged, not asked")  # fmt: skip
"""What can come of a flip: the first four of one that changed a row or a text of the schema."""

_TABLES = {
    "events": ("seq", "v", "hash", "prev", "at", "kind", "run", "cell", "causes", "body_hash", "salt", "body"),
    "blobs": ("id", "hash", "seq", "salt", "encoding", "data"),
    "edges": ("cause", "effect"),
}
_FIRST = "SELECT count(*) FROM main.sqlite_schema"
_SELECTS = {
    table: f"SELECT {', '.join(columns)}, {' || '.join(f'typeof({name})' for name in columns)} FROM {table} NOT INDEXED"
    for table, columns in ({"sqlite_schema": ("type", "name", "tbl_name", "sql")} | _TABLES).items()
}
_WITH_ROOTS = _SELECTS["sqlite_schema"].replace(" FROM", ", rootpage FROM")
_FREE = frozenset({"unallocated", "unused"})
_IN_BULK = _FREE | {"values"}
_ENCODING, _DATA = 4, 5
_COUNTER, _VALID_FOR = 24, 92


def ledger_of_sixty(path: Path) -> Path:
    """60 events: every kind, plain, packed and withheld blobs, overflow and free pages, and an index of two levels."""
    whole_ledger(path)
    with Ledger.open(path) as ledger:
        foreign = example_draft("import").body
        small = {f"file{number:02}": b"%d" % number for number in range(60)}
        for blobs in ({"text": b"a line that is packed well\n" * 40}, {"bytes": _noise(5_000)}, small):
            ledger.append(Draft(foreign, run="abcdefghijklmnop", blobs=blobs))
        secret = ledger.append(Draft(foreign, run="abcdefghijklmnop", blobs={"bytes": _noise(9_500)}))[0].seq
        for number in range(EVENTS - 1 - secret):
            ledger.append(Draft(kinds.Note(text=f"note {number}"), causes=[1, secret]))
    compress(path)
    with Ledger.open(path) as ledger:
        targets = find_targets(ledger, [f"{secret}:bytes"], blobs=[])
    redact(path, targets, category="rights", reason="may not be kept")
    settle(path)
    return path


def _noise(size: int) -> bytes:
    """Bytes that don't pack, the same every time."""
    from blake3 import blake3

    return blake3(b"noise").digest(length=size)


class _Enough(Exception):
    """A first problem was found, which makes the verdict TAMPERED whatever follows."""


class _First(Findings):
    """Findings that end the check with the first: a million verdicts are asked for."""

    found = False

    def add(self, seq: int | None, what: str, expected: object, got: object) -> None:
        self.found = True
        raise _Enough


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one flip."""

    place: Place
    outcome: str


class Flips:
    """The flips of one ledger's file. One process, one thread; `folder` is for files of its own."""

    def __init__(self, original: bytes, folder: Path) -> None:
        self.original = original
        self.places = places_of(original)
        # A database in memory has no write-ahead log: with these two bytes at 1 SQLite reads the very same file as one
        # with a rollback journal. Flips of the two bytes themselves are read from files.
        self._plain = bytearray(original)
        self._plain[18] = self._plain[19] = 1
        self._file = folder / "flipped.db"
        self._open_file = folder / "open.db"
        self._open_file.write_bytes(self._plain)
        self._handle = os.open(self._open_file, os.O_RDWR)
        self._connection = sqlite3.connect(self._open_file, isolation_level=None)
        self._connection.text_factory = bytes
        self._turn = int.from_bytes(original[_COUNTER : _COUNTER + 4], "big")
        self.rows: dict[str, list[Any]] = {}
        for table, statement in _SELECTS.items():
            self.rows[table] = self._connection.execute(statement).fetchall()
        self._roots = self._connection.execute(_WITH_ROOTS).fetchall()
        self._unpacked = _unpacked(self.rows["blobs"])

    def close(self) -> None:
        self._connection.close()
        os.close(self._handle)

    def see(self, bit: int, *, ask: bool = True) -> Seen:
        """Flip one bit, numbered from the file's first byte and that byte's lowest bit, and see.

        With `ask` false, verify isn't asked about a flip that changed nothing.
        """
        where = bit // 8
        place = self.places[where]
        if place.page == "file header":
            return Seen(place, self._on_disk(bit))
        if place.of_schema and (place.part not in _IN_BULK or bit % 8 == where % 8):
            return Seen(place, self._anew(bit, ask))
        return Seen(place, self._in_place(bit, ask, of_schema=place.of_schema) or self._anew(bit, ask))

    def _on_disk(self, bit: int) -> str:
        """As a file, with its write-ahead log's mode, by the very `verify` that the command line calls."""
        for each in self._file.parent.glob("flipped.db*"):
            each.unlink()
        self._file.write_bytes(_flipped(self.original, bit))
        try:
            with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)) as connection:
                connection.text_factory = bytes
                change = self._change(connection)
        except sqlite3.Error:
            change = "no schema"
        try:
            verdict = verify(self._file).verdict
        except NotALedger:
            return _outcome(change, "unreadable")
        return _outcome(change, "TAMPERED" if verdict == "TAMPERED" else "")

    def _anew(self, bit: int, ask: bool) -> str:
        """In memory, opened anew: SQLite parses the schema again."""
        with closing(self._fresh(_flipped(self._plain, bit))) as connection:
            change = self._change(connection)
            if change == "same" and not ask:
                return "unchanged, not asked"
            return _outcome(change, _asked(connection, damaged=change == "no schema"))

    def _in_place(self, bit: int, ask: bool, *, of_schema: bool) -> str:
        """In an open file whose schema SQLite has parsed already. Empty where it must be opened anew to tell.

        Of a page that holds nothing of the schema, or where the schema's rows are still what SQLite parsed, parsing
        them again would give the same; where a text differs, verify reads it, and opening the file anew can only fail
        earlier. The change counter, which SQLite compares with the one that it remembers, has it forget its pages.
        """
        where, mask = bit // 8, 1 << bit % 8
        self._turn += 1
        counter = (self._turn % (1 << 32)).to_bytes(4, "big")
        os.pwrite(self._handle, counter, _COUNTER)
        os.pwrite(self._handle, counter, _VALID_FOR)
        os.pwrite(self._handle, bytes([self._plain[where] ^ mask]), where)
        try:
            if of_schema:
                try:
                    rows = self._connection.execute(_WITH_ROOTS).fetchall()
                except (sqlite3.Error, UnicodeDecodeError):
                    return ""
                if [row[:-1] for row in rows] != self.rows["sqlite_schema"]:
                    return _outcome("changed", _asked(self._connection)) if len(rows) == len(self._roots) else ""
                if rows != self._roots:
                    return ""
            change = self._change(self._connection, tuple(_TABLES))
            if change == "same" and not ask:
                return "unchanged, not asked"
            return _outcome(change, _asked(self._connection))
        finally:
            os.pwrite(self._handle, bytes([self._plain[where]]), where)

    @staticmethod
    def _fresh(data: bytes) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.text_factory = bytes
        connection.deserialize(data)
        return connection

    def _change(self, connection: sqlite3.Connection, tables: Sequence[str] = tuple(_SELECTS)) -> str:
        """What plain SQLite reads: "same", "packed" (a blob, otherwise), "changed", or "no schema" at all."""
        try:
            connection.execute(_FIRST).fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            return "no schema"
        packed = False
        try:
            for table in tables:
                rows = connection.execute(_SELECTS[table]).fetchall()
                if rows != self.rows[table]:
                    packed = table == "blobs" and _unpacked(rows) == self._unpacked
                    if not packed:
                        return "changed"
        except (sqlite3.Error, UnicodeDecodeError):
            return "changed"
        return "packed" if packed else "same"


def _flipped(data: bytes | bytearray, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _unpacked(blobs: Iterable[Any]) -> list[Any]:
    """The same rows, with packed blobs as what they unpack to."""
    plain: list[Any] = []
    for row in blobs:
        try:
            data = zlib.decompress(row[_DATA]) if row[_ENCODING] == b"zlib" else row[_DATA]
        except (zlib.error, TypeError):
            data = row[_DATA]
        plain.append((*row[:_DATA], data, *row[_DATA + 1 :]))
    return plain


def _asked(connection: sqlite3.Connection, *, damaged: bool = False) -> str:
    """What `verify` says of an open database: TAMPERED, unreadable, or nothing."""
    if damaged:
        # As verify opens a file whose schema doesn't parse.
        try:
            connection.execute("PRAGMA writable_schema=ON")
            connection.execute(_FIRST).fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            return "unreadable"
    findings = _First()
    try:
        verify_connection(connection, findings=findings)
    except _Enough:
        pass
    except NotALedger:
        return "unreadable"
    return "TAMPERED" if damaged or findings.found else ""


def _outcome(change: str, said: str) -> str:
    if change == "same":
        return "unchanged, reported" if said else "unchanged, not seen"
    if said:
        return said
    return "packed otherwise" if change == "packed" else "not noticed"


# Every bit

_AT_ONCE = 256
_worker: Flips | None = None


def _start(original: bytes) -> None:
    global _worker
    # Two pure functions of bodies, asked for the same bodies a million times over.
    bodies.why_not_canonical = lru_cache(maxsize=1_000)(bodies.why_not_canonical)
    bodies.Bodies.settle = _remembering(bodies.Bodies.settle)
    # Ends with the process, and so with the test.
    _worker = Flips(original, Path(tempfile.mkdtemp(prefix="flips-")))


def _remembering(settle: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """`Bodies.settle`, which looks at each row for itself, and here at each body of a kind once."""
    known: dict[tuple[Any, Any], Any] = {}

    def remembered(self: bodies.Bodies, rows: Sequence[Any]) -> list[Any]:
        keys = [(row[bodies._KIND], row[bodies._BODY]) for row in rows]
        fresh = [index for index, key in enumerate(keys) if key not in known]
        known.update(zip([keys[i] for i in fresh], settle(self, [rows[i] for i in fresh]), strict=True))
        found = [known[key] for key in keys]
        if len(known) > 1_000:
            known.clear()
        return found

    return remembered


def _some(bits: Sequence[int]) -> Counter[tuple[str, str]]:
    assert _worker is not None
    counts: Counter[tuple[str, str]] = Counter()
    for bit in bits:
        # Of bytes that hold nothing, a bit here and there is enough to be told that nothing is said of them.
        ask = _worker.places[bit // 8].part not in _FREE or bit % 128 == 0
        seen = _worker.see(bit, ask=ask)
        counts[label(seen.place), seen.outcome] += 1
    return counts


def in_turn(original: bytes) -> list[Sequence[int]]:
    """Every bit of a file once, in batches: of what says where things are first, then one of each other byte at a time.

    So a run that was stopped has seen every byte as often as it got.
    """
    places = places_of(original)
    first: list[int] = []
    then: list[int] = []
    for plane in range(8):
        for where, place in enumerate(places):
            (then if place.part in _IN_BULK else first).append(8 * where + (plane + where) % 8)
    bits = first + then
    return [bits[start : start + _AT_ONCE] for start in range(0, len(bits), _AT_ONCE)]


def every_flip(
    path: Path, processes: int = 2, *, progress: Callable[[Counter[tuple[str, str]]], object] = lambda counts: None
) -> Counter[tuple[str, str]]:
    """Every bit of a file flipped in turn: how often which place gave which outcome."""
    original = path.read_bytes()
    counts: Counter[tuple[str, str]] = Counter()
    with ProcessPoolExecutor(processes, get_context("spawn"), _start, (original,)) as pool:
        for each in pool.map(_some, in_turn(original)):
            counts += each
            progress(counts)
    assert counts.total() == 8 * len(original)
    return counts
