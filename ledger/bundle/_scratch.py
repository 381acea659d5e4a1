"""A ledger file of what a bundle shows, in a folder of its own that goes away: for code that reads ledgers.

It has gaps, and bodies and blobs that are hidden are missing as if they were withheld; so it is no ledger that `verify`
would pass, and nobody but this process sees it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ledger._event import causes_text, hash_of, parse_line
from ledger._store import Ledger
from ledger.bundle._read import BundleFile, EventRow, read_row

__all__ = ["scratch_ledger"]

_EVENT = (
    "INSERT INTO main.events (seq, v, hash, prev, at, kind, run, cell, causes, body_hash, salt, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_BLOB = "INSERT INTO main.blobs (hash, seq, salt, encoding, data) VALUES (?, ?, ?, '', ?)"
_EDGE = "INSERT INTO main.edges (cause, effect) VALUES (?, ?)"
_GUARDS = "SELECT name FROM main.sqlite_schema WHERE type = 'trigger'"


@contextmanager
def scratch_ledger(bundle: BundleFile) -> Generator[Ledger]:
    """A ledger, opened to read, of the events of a bundle that was found sound; genesis must be shown."""
    with TemporaryDirectory(prefix="ledger-bundle-") as folder:
        path = Path(folder) / "shown.db"
        Ledger.create(path).close()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for (name,) in connection.execute(_GUARDS).fetchall():
                connection.execute(f'DROP TRIGGER main."{name}"')
            connection.execute("BEGIN")
            connection.execute("DELETE FROM main.events")
            _fill(connection, bundle)
            connection.execute("COMMIT")
            connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
        with Ledger.open(path, read_only=True) as ledger:
            yield ledger


def _fill(connection: sqlite3.Connection, bundle: BundleFile) -> None:
    import json

    for data in bundle.rows("events.jsonl"):
        row = read_row(EventRow, data)
        text = row.line.encode("ascii")
        line = parse_line(text)
        connection.execute(
            _EVENT,
            (
                line.seq, line.v, hash_of(text), line.prev, line.at, line.kind, line.run, line.cell,
                causes_text(line.causes), line.body_hash, row.salt, row.body,
            ),
        )  # fmt: skip
        connection.executemany(_EDGE, [(cause, line.seq) for cause in line.causes])
        named: dict[str, Any] = json.loads(row.body).get("blobs", {}) if row.body is not None else {}
        for name, blob in row.blobs.items():
            shown = bundle.whole(blob.file) if blob.file is not None else None
            connection.execute(_BLOB, (named[name]["hash"], line.seq, blob.salt, shown))
