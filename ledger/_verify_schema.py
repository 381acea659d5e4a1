"""Verify's view of the file itself: its objects against the shipped DDL, its header, and SQLite's own check."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from ledger._connect import APPLICATION_ID
from ledger._errors import BadBody
from ledger._schema import RELEASE, Objects, format_objects, release_objects, rows_digest
from ledger._verify_findings import Findings

__all__ = ["Schema", "check_integrity", "check_objects", "check_types", "read_schema"]

_EVENT_COLUMNS = {b"seq", b"hash", b"prev"}
# What ANALYZE makes, word for word: with a text of its own, a table of such a name is a stranger like any other.
_TOLERATED = {
    (b"table", name, name, b"CREATE TABLE %b(%b)" % (name, columns))
    for name, columns in (
        (b"sqlite_stat1", b"tbl,idx,stat"),
        (b"sqlite_stat3", b"tbl,idx,neq,nlt,ndlt,sample"),
        (b"sqlite_stat4", b"tbl,idx,neq,nlt,ndlt,sample"),
    )
}
_PLAIN_INDEX = re.compile(rb"CREATE (?:UNIQUE )?INDEX \w+ ON \w+ ?\(\w+(?:, ?\w+)*\)")
_PATIENCE = 30.0
_EVENT_TYPES = (
    "SELECT seq, hash FROM main.events NOT INDEXED"
    " WHERE typeof(seq) <> 'integer' OR typeof(v) <> 'integer' OR typeof(hash) <> 'text' OR typeof(prev) <> 'text'"
    " OR typeof(at) <> 'text' OR typeof(kind) <> 'text' OR typeof(run) <> 'text' OR typeof(cell) <> 'integer'"
    " OR typeof(causes) <> 'text' OR typeof(body_hash) <> 'text' OR typeof(salt) NOT IN ('text', 'null')"
    " OR typeof(body) NOT IN ('text', 'null') ORDER BY seq"
)
_BLOB_TYPES = (
    "SELECT seq, id FROM main.blobs NOT INDEXED WHERE typeof(id) <> 'integer' OR typeof(hash) <> 'text'"
    " OR typeof(seq) <> 'integer' OR typeof(salt) NOT IN ('text', 'null') OR typeof(encoding) <> 'text'"
    " OR typeof(data) NOT IN ('blob', 'null') ORDER BY seq"
)

_SCHEMA = (
    "SELECT type, name, tbl_name, sql, rootpage, typeof(type) || ' ' || typeof(name) || ' ' || typeof(tbl_name) || ' '"
    " || typeof(sql) || ' ' || typeof(rootpage) FROM main.sqlite_schema"
)

_Row = tuple[bytes, bytes, bytes, bytes | None]


@dataclass(frozen=True)
class Schema:
    """The rows of sqlite_schema as stored, and which of our tables are plain: no scan can be led astray in them.

    `computes` says that a table or an index may hold an expression of somebody else's; `odd` names the rows that hold
    other types than SQLite writes, or a page for what has none.
    """

    rows: tuple[_Row, ...]
    plain: frozenset[str]
    is_ledger: bool
    as_shipped: bool
    computes: bool
    odd: tuple[bytes, ...]


def _columns(connection: sqlite3.Connection, table: str) -> dict[bytes, int]:
    rows = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?, 'main')", (table,))
    return {bytes(name): hidden for name, hidden in rows}


def _key(row: tuple[object, ...]) -> _Row:
    kind, name, table, sql = (value if isinstance(value, bytes) else str(value).encode() for value in row)
    return kind, name, table, None if row[3] is None else sql


def _stored(objects: Objects) -> list[_Row]:
    return [
        (kind.encode(), name.encode(), table.encode(), None if sql is None else sql.encode())
        for kind, name, table, sql in objects.rows
    ]


def read_schema(connection: sqlite3.Connection) -> Schema:
    """Read sqlite_schema. A view, a virtual table or generated columns in our tables' place are never scanned."""
    plain: set[str] = set()
    event_columns: dict[bytes, int] = {}
    found = connection.execute(_SCHEMA).fetchall()
    for kind, name, _, sql, root, _ in found:
        for table in ("events", "blobs", "edges"):
            if kind != b"table" or name != table.encode():
                continue
            columns = _columns(connection, table)
            if table == "events":
                event_columns = columns
            virtual = not isinstance(sql, bytes) or sql[:20].upper().startswith(b"CREATE VIRTUAL")
            if columns and not any(columns.values()) and not virtual and isinstance(root, int) and root > 0:
                plain.add(table)
    (application,) = connection.execute("PRAGMA main.application_id").fetchone()
    rows = tuple(_key(row[:4]) for row in found)
    tables = {row for row in _stored(format_objects()) if row[0] == b"table"}
    theirs = {row for row in rows if row[0] == b"table" and row not in _TOLERATED}
    indexes = [row[3] for row in rows if row[0] == b"index" and row[3] is not None]
    return Schema(
        rows,
        frozenset(plain),
        "events" in plain and (application == APPLICATION_ID or event_columns.keys() >= _EVENT_COLUMNS),
        theirs == tables,
        theirs != tables or not all(_PLAIN_INDEX.fullmatch(sql) for sql in indexes),
        tuple(rows[place][1] for place, row in enumerate(found) if _is_odd(*row)),
    )


def _is_odd(kind: object, _name: object, _table: object, sql: object, root: object, types: bytes) -> bool:
    if types != b"text text text %b integer" % (b"null" if sql is None else b"text"):
        return True
    return kind in (b"view", b"trigger") and root != 0


def check_objects(
    connection: sqlite3.Connection, schema: Schema, findings: Findings, release: int | None, digest: str | None
) -> None:
    """Hold the file's objects against the format's tables and guards, and against the release in force."""
    for pragma, expected in (("encoding", b"UTF-8"), ("application_id", APPLICATION_ID)):
        (got,) = connection.execute(f"PRAGMA main.{pragma}").fetchone()
        if got != expected:
            findings.add(None, f"the file's {pragma}", expected, got)
    for table in ("events", "blobs", "edges"):
        if table not in schema.plain:
            findings.add(None, f"the table {table}", "a plain table", "none that can be read")
    for name in schema.odd:
        what = f"the row of the schema for {name.decode('utf-8', 'replace')}"
        findings.add(None, what, "texts, and a page only for what has one", "another type, or a page")
    wanted = _stored(format_objects())
    known = release_objects(release) if release is not None else release_objects(RELEASE)
    newer = release is not None and known is None
    if known is not None:
        wanted += _stored(known)
    left = [row for row in schema.rows if row not in _TOLERATED]
    for row in wanted:
        if row in left:
            left.remove(row)
            continue
        same = next((other for other in left if other[:2] == row[:2]), None)
        if same is None:
            findings.add(None, f"the {row[0].decode()} {row[1].decode()} is missing", row[3] or "the index", "nothing")
        else:
            left.remove(same)
            findings.add(None, f"the {row[0].decode()} {row[1].decode()} is not as shipped", row[3], same[3])
    if newer:
        theirs = [row for row in left if row[0] in {b"view", b"index"}]
        left = [row for row in left if row not in theirs]
        if _digest(theirs) == digest:
            findings.unread(
                f"the views and indexes are those of release {release}, newer than this package's {RELEASE}; they match"
                " the digest in the last schema event"
            )
        else:
            findings.add(None, f"the views and indexes of release {release}", digest, _digest(theirs))
    for kind, name, _, sql in left:
        what = f"the {kind.decode('utf-8', 'replace')} {name.decode('utf-8', 'replace')} is not part of the ledger"
        findings.add(None, what, "nothing", sql)


def _digest(rows: list[_Row]) -> str:
    try:
        decoded = [
            (kind.decode(), name.decode(), table.decode(), None if sql is None else sql.decode())
            for kind, name, table, sql in rows
        ]
        return rows_digest(tuple(sorted(decoded, key=lambda row: row[:3])))
    except (UnicodeDecodeError, BadBody):
        return "text that is no UTF-8"


def check_integrity(connection: sqlite3.Connection, schema: Schema, findings: Findings) -> bool:
    """SQLite's own check of every page and every index entry. Returns whether all was well."""
    if schema.computes:
        # Only foreign DDL holds expressions (of an index, a CHECK), which can be made to run for ever.
        deadline = time.monotonic() + _PATIENCE
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
    try:
        with nullcontext() if schema.computes else _without_expressions(connection):
            rows = connection.execute("PRAGMA main.integrity_check(200)").fetchall()
    finally:
        connection.set_progress_handler(None, 0)
    if rows == [(b"ok",)]:
        return True
    for (text,) in rows:
        findings.add(None, "SQLite's integrity check", "ok", text)
    return False


@contextmanager
def _without_expressions(connection: sqlite3.Connection) -> Generator[None]:
    """Have SQLite read the schema without its views and guards, which its check of the pages has no use for.

    With them it may check less: a view has no page, and where one happens to come first in its hash table, SQLite takes
    that for the mark of a partial check, and leaves out the free list and pages that nothing refers to (seen in 3.40
    and 3.54). Every view and guard holds an expression, no plain table or index does, and a limit on their depth makes
    SQLite pass over what it can't parse. Where the schema is damaged, it is passing over that already.
    """
    if connection.execute("PRAGMA writable_schema").fetchone() != (0,):
        yield
        return
    depth = connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 1)
    connection.execute("PRAGMA writable_schema=RESET")
    connection.execute("PRAGMA writable_schema=ON")
    try:
        yield
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, depth)
        connection.execute("PRAGMA writable_schema=RESET")


def check_types(connection: sqlite3.Connection, schema: Schema, findings: Findings) -> None:
    """Values of a type that a STRICT table can't hold. Needed only where the tables or the integrity check are off."""
    for table, statement in (("events", _EVENT_TYPES), ("blobs", _BLOB_TYPES)):
        if table in schema.plain:
            for seq, which in connection.execute(statement):
                at_fault = seq if isinstance(seq, int) else None
                findings.add(at_fault, f"the types of a row of {table}", "those of the STRICT table", which)
