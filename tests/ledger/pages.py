"""What every byte of an SQLite file is for, as https://www.sqlite.org/fileformat2.html lays it out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["HEADER", "PAGES", "PARTS", "Place", "label", "places_of"]

HEADER = (
    ("magic string", 0, 16),
    ("page size", 16, 18),
    ("write and read version", 18, 20),
    ("reserved bytes a page", 20, 21),
    ("payload fractions", 21, 24),
    ("change counter", 24, 28),
    ("size in pages", 28, 32),
    ("free list", 32, 40),
    ("schema cookie", 40, 44),
    ("schema format", 44, 48),
    ("cache size", 48, 52),
    ("auto-vacuum root", 52, 56),
    ("text encoding", 56, 60),
    ("user version", 60, 64),
    ("auto-vacuum mode", 64, 68),
    ("application id", 68, 72),
    ("reserved", 72, 92),
    ("version-valid-for", 92, 96),
    ("SQLite version", 96, 100),
)
"""The fields of the file's header, in its order: a name, the first byte, and the one after the last."""

PAGES = ("schema leaf", "schema interior", "table leaf", "table interior", "index leaf", "index interior", "overflow",
         "freelist trunk", "freelist leaf")  # fmt: skip
"""Kinds of pages. "index" is also the table edges, which is WITHOUT ROWID."""

PARTS = ("page header", "cell pointers", "child pointers", "payload size and rowid", "record header", "values",
         "overflow pointer", "free blocks", "unallocated", "pointers", "unused")  # fmt: skip

_LEAF_TABLE, _INNER_TABLE, _LEAF_INDEX, _INNER_INDEX = 13, 5, 10, 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a byte stands: a kind of page and the part of it, and whether what it belongs to is the schema."""

    page: str
    part: str
    of_schema: bool = False


def label(place: Place) -> str:
    """A place in words: a row's name in the table of docs/TAMPER.md."""
    return f"{place.page}: {place.part}"


@lru_cache(maxsize=4)
def places_of(data: bytes) -> tuple[Place, ...]:
    """The place of every byte of a database file without auto-vacuum and without reserved bytes."""
    return tuple(_File(data).places)


class _File:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = int.from_bytes(data[16:18], "big")
        assert data[20] == 0 and self._number(52) == 0, "no reserved bytes, no auto-vacuum"
        self._known: list[Place | None] = [None] * len(data)
        plain = bytearray(data)
        plain[18] = plain[19] = 1
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(bytes(plain))
            roots = [root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")]
        self._tree(1, "schema")
        for root in roots:
            self._tree(root, "")
        self._free()
        for name, start, end in HEADER:
            self._mark(start, end, Place("file header", name, of_schema=True))
        assert None not in self._known, "every page belongs to a tree, or to the free list"
        self.places = [place for place in self._known if place is not None]

    def _number(self, at: int, size: int = 4) -> int:
        return int.from_bytes(self.data[at : at + size], "big")

    def _mark(self, start: int, end: int, place: Place) -> None:
        self._known[start:end] = [place] * (end - start)

    def _varint(self, at: int) -> tuple[int, int]:
        """The number that stands at `at`, and the byte after it."""
        value = 0
        for index in range(8):
            byte = self.data[at + index]
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, at + index + 1
        return value << 8 | self.data[at + 8], at + 9

    def _tree(self, page: int, owner: str) -> None:
        start = (page - 1) * self.size
        header = start + (100 if page == 1 else 0)
        kind = self.data[header]
        inner = kind in (_INNER_TABLE, _INNER_INDEX)
        name = owner or ("table" if kind in (_LEAF_TABLE, _INNER_TABLE) else "index")
        name += " interior" if inner else " leaf"

        def place(part: str) -> Place:
            return Place(name, part, owner == "schema")

        cells = self._number(header + 3, 2)
        content = start + (self._number(header + 5, 2) or 65_536)
        pointers = header + (12 if inner else 8)
        self._mark(start, start + self.size, place("free blocks"))
        self._mark(pointers + 2 * cells, content, place("unallocated"))
        self._mark(header, pointers, place("page header"))
        self._mark(pointers, pointers + 2 * cells, place("cell pointers"))
        children = [self._number(header + 8)] if inner else []
        for index in range(cells):
            at = start + self._number(pointers + 2 * index, 2)
            if inner:
                children.append(self._number(at))
                self._mark(at, at + 4, place("child pointers"))
                at += 4
            if kind == _INNER_TABLE:
                self._mark(at, self._varint(at)[1], place("payload size and rowid"))
                continue
            self._payload(at, kind, place("payload size and rowid"), place)
        for child in children:
            self._tree(child, owner)

    def _payload(self, at: int, kind: int, sizes: Place, place: object) -> None:
        assert callable(place)
        size, start = self._varint(at)
        if kind == _LEAF_TABLE:
            start = self._varint(start)[1]
        self._mark(at, start, sizes)
        most = self.size - 35 if kind == _LEAF_TABLE else (self.size - 12) * 64 // 255 - 23
        local = size
        if size > most:
            least = (self.size - 12) * 32 // 255 - 23
            local = least + (size - least) % (self.size - 4)
            local = local if local <= most else least
        head = self._varint(start)[0]
        assert head <= local, "a record's header stands on its first page"
        self._mark(start, start + head, place("record header"))
        self._mark(start + head, start + local, place("values"))
        if local < size:
            self._mark(start + local, start + local + 4, place("overflow pointer"))
            self._overflow(self._number(start + local), size - local, sizes.of_schema)

    def _overflow(self, page: int, left: int, of_schema: bool) -> None:
        while page:
            start = (page - 1) * self.size
            held = min(left, self.size - 4)
            self._mark(start, start + self.size, Place("overflow", "unused", of_schema))
            self._mark(start, start + 4, Place("overflow", "pointers", of_schema))
            self._mark(start + 4, start + 4 + held, Place("overflow", "values", of_schema))
            left -= held
            page = self._number(start)

    def _free(self) -> None:
        for trunk in self._trunks():
            start = (trunk - 1) * self.size
            leaves = self._number(start + 4)
            self._mark(start, start + self.size, Place("freelist trunk", "unused"))
            self._mark(start, start + 8 + 4 * leaves, Place("freelist trunk", "pointers"))
            for index in range(leaves):
                leaf = (self._number(start + 8 + 4 * index) - 1) * self.size
                self._mark(leaf, leaf + self.size, Place("freelist leaf", "unused"))

    def _trunks(self) -> Iterator[int]:
        trunk = self._number(32)
        while trunk:
            yield trunk
            trunk = self._number((trunk - 1) * self.size)
