"""The DDL of the format (tables, guards) and of each release (views, indexes), and the digests of both.

Tables and guards are frozen for format 1; genesis commits to their digest. Views and indexes belong to a release, and
every release's stay in the package, so that a ledger can be held against the one that was in force.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ledger._canonical import canonical
from ledger._event import hash_of

__all__ = ["RELEASE", "Objects", "format_objects", "install", "install_release", "release_objects", "stored_objects"]

RELEASE = 8
"""The release of views and indexes that this package writes."""

_FORMAT_FILES = ("tables.sql", "guards.sql")


@dataclass(frozen=True)
class Objects:
    """Rows of sqlite_schema as (type, name, tbl_name, sql), and the BLAKE3 of their RFC 8785 form."""

    rows: tuple[tuple[str, str, str, str | None], ...]
    digest: str


def _format_sql() -> str:
    return "\n".join((files("ledger") / "schema" / name).read_text("utf-8") for name in _FORMAT_FILES)


def _release_sql(release: int) -> str:
    folder = files("ledger") / "views" / f"r{release}"
    return "\n".join(
        entry.read_text("utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".sql")
    )


def rows_digest(rows: tuple[tuple[str, str, str, str | None], ...]) -> str:
    """The digest of schema rows: BLAKE3 over the RFC 8785 form of the sorted rows."""
    return hash_of(canonical([list(row) for row in rows]))


def _rows(connection: sqlite3.Connection) -> set[tuple[str, str, str, str | None]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM main.sqlite_schema"))


def _objects(rows: set[tuple[str, str, str, str | None]]) -> Objects:
    ordered = tuple(sorted(rows, key=lambda row: row[:3]))
    return Objects(ordered, rows_digest(ordered))


def stored_objects(connection: sqlite3.Connection) -> Objects:
    """Everything that stands in a ledger's schema."""
    return _objects(_rows(connection))


@cache
def format_objects() -> Objects:
    """The tables and guards of format 1, as SQLite stores their text."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_format_sql())
        return _objects(_rows(connection))
    finally:
        connection.close()


@cache
def release_objects(release: int) -> Objects | None:
    """The views and indexes of a release, or None for one that this package doesn't hold (a newer one)."""
    if not 1 <= release <= RELEASE:
        return None
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_format_sql())
        before = _rows(connection)
        connection.executescript(_release_sql(release))
        return _objects(_rows(connection) - before)
    finally:
        connection.close()


def _execute_each(connection: sqlite3.Connection, script: str) -> None:
    # executescript() would commit the open transaction; statements are cut where SQLite calls them complete.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


def install(connection: sqlite3.Connection) -> None:
    """Create tables, guards, views and indexes, inside the caller's transaction."""
    _execute_each(connection, _format_sql())
    _execute_each(connection, _release_sql(RELEASE))


def install_release(connection: sqlite3.Connection) -> None:
    """Replace the views and indexes in the file by this release's, inside the caller's transaction."""
    ours = {row[1] for row in format_objects().rows}
    for kind, name, _, sql in sorted(_rows(connection), key=lambda row: row[0], reverse=True):
        if name not in ours and kind in {"view", "index"} and sql is not None:
            quoted = name.replace('"', '""')
            connection.execute(f'DROP {kind} "{quoted}"')
    _execute_each(connection, _release_sql(RELEASE))
