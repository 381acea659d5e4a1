"""Which of the databases that a Datasette serves are ledgers, and who may see them."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ledger._errors import LedgerError
from ledger.web._reading import Shelf

__all__ = [
    "AS_GIVEN",
    "TABLES",
    "as_given",
    "is_ledger",
    "ledger_names",
    "may_see",
    "served",
    "shelf_of",
    "stale",
    "tables_end",
]

AS_GIVEN = "_ledgers_as_given"
"""Of a Datasette that was made here: each file's path as it was given, by the absolute one."""
TABLES = ("events", "blobs", "edges")
"""The tables that every page reads: who may not see one of them in Datasette sees no page."""


def as_given(datasette: Any, path: Path) -> str:
    """A ledger's path as whoever serves it wrote it."""
    return str(getattr(datasette, AS_GIVEN, {}).get(str(path), path))


class _Shelves:
    """The ledgers of one Datasette, by database name."""

    def __init__(self) -> None:
        self._found: dict[str, Shelf] = {}
        # Where each file lies; and when it was last written, for one that is no ledger.
        self._known: dict[str, tuple[tuple[int, int], tuple[int, int] | None]] = {}

    def of(self, name: str, path: str) -> Shelf:
        known = self._found.get(name)
        if known is None or str(known.path) != path:
            known = self._found[name] = Shelf(Path(path))
        return known

    def holds(self, name: str, path: str) -> bool:
        """Whether a ledger stands there. A ledger stays one; another file is looked at again once it changed."""
        try:
            found = Path(path).stat()
        except OSError:
            return False
        place, written = (found.st_dev, found.st_ino), (found.st_mtime_ns, found.st_size)
        known = self._known.get(path)
        if known is None or known[0] != place or known[1] not in (None, written):
            try:
                with self.of(name, path).reading():
                    known = (place, None)
            except LedgerError:
                known = (place, written)
            self._known[path] = known
        return known[1] is None


_SHELVES: WeakKeyDictionary[Any, _Shelves] = WeakKeyDictionary()


def _shelves(datasette: Any) -> _Shelves:
    return _SHELVES.setdefault(datasette, _Shelves())


def served(datasette: Any) -> dict[str, str]:
    """The path of every file that is served, by the name of its database."""
    return {
        str(name): str(database.path) for name, database in datasette.databases.items()
        if database.path and not database.is_memory and name != "_internal"
    }  # fmt: skip


def shelf_of(datasette: Any, name: str) -> Shelf | None:
    """What reads the database of that name; None where no file of that name is served."""
    path = served(datasette).get(name)
    return _shelves(datasette).of(name, path) if path else None


def is_ledger(datasette: Any, name: str | None) -> bool:
    """Whether the database of that name is a ledger."""
    path = served(datasette).get(name or "")
    return path is not None and _shelves(datasette).holds(str(name), path)


async def ledger_names(datasette: Any) -> list[str]:
    """The databases that are ledgers, in the order in which they are served."""

    def look() -> list[str]:
        return [name for name in served(datasette) if is_ledger(datasette, name)]

    return await asyncio.to_thread(look)


async def may_see(datasette: Any, actor: Any, name: str) -> bool:
    """Whether this actor may see the tables that pages read: Datasette checks nothing of custom routes by itself."""
    for table in TABLES:
        if hasattr(datasette, "ensure_permissions"):
            visible, _ = await datasette.check_visibility(
                actor, permissions=[("view-table", (name, table)), ("view-database", name), "view-instance"]
            )
        else:
            from datasette.resources import TableResource  # pyright: ignore

            visible = await datasette.allowed(action="view-table", resource=TableResource(name, table), actor=actor)
        if not visible:
            return False
    return True


async def tables_end(datasette: Any, name: str) -> int | None:
    """The newest event that Datasette's own tables show where the file is served as immutable; else None.

    0 where they can't be read.
    """
    database = datasette.databases[name]
    if database.is_mutable:
        return None
    try:
        return int((await database.execute("SELECT max(seq) FROM events")).first()[0] or 0)
    except sqlite3.Error:
        return 0


def stale(name: str, end: int | None, size: int) -> str:
    """A sentence for where Datasette's own tables, that end at event `end`, don't show the whole ledger.

    SQLite reads an immutable file without the log beside it; our pages read both. Empty where both see the same.
    """
    if end is None or end == size:
        return ""
    return (
        f"Datasette's own tables of {name} end at event {end}, and the ledger goes on to event {size}: it is served as"
        " immutable (-i), which leaves out what stands in the log beside the file. Serve it without -i."
    )
