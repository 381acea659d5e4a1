"""Datasette's own connections to a ledger: of the file that stands there, not of one that stood there before.

Datasette opens a file once and keeps it. Where another was put in its place, a copy with something withheld say, its
tables would go on to show what the pages no longer do.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["keep_fresh"]


def keep_fresh(datasette: Any, name: str) -> None:
    """Have every query of this database look first whether its connection is to the file that stands there now."""
    from datasette import database as opened  # pyright: ignore[reportMissingTypeStubs]

    served = datasette.databases[name]
    kept = getattr(opened, "connections", None)
    execute = getattr(served, "execute_fn", None)
    if kept is None or execute is None or not served.path:
        return
    mine = threading.local()

    def current(connection: Any) -> Any:
        place = _place(Path(served.path))
        if getattr(mine, "connection", None) is not connection:
            mine.connection, mine.place = connection, place
        elif place is not None and place != mine.place:
            new = served.connect()
            datasette._prepare_connection(new, name)
            setattr(kept, served.name, new)
            mine.connection, mine.place = new, place
            with suppress(ValueError):
                served._all_file_connections.remove(connection)
            with suppress(sqlite3.Error):
                connection.close()
        return mine.connection

    async def fresh(work: Callable[[Any], Any]) -> Any:
        def work_on(connection: Any) -> Any:
            return work(current(connection))

        return await execute(work_on)

    served.execute_fn = fresh


def _place(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
