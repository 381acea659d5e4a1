"""One way to make a Datasette over ledgers, for the command and for tests."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from ledger._errors import LedgerError
from ledger.web._shelves import AS_GIVEN

__all__ = ["SETTINGS", "make_datasette", "verifies_at_once"]

_AT_ONCE = "_ledger_verifies_at_once"
SETTINGS: dict[str, Any] = {"suggest_facets": False, "allow_download": False, "num_sql_threads": 4}


def make_datasette(*paths: Path, metadata: Any = None, verify: bool = False, **settings: Any) -> Any:
    """A Datasette over these ledgers, read-only, with settings that stay quick at a million events.

    `settings` go on top, such as base_url; `metadata` is Datasette's. With `verify` the chain is checked from the
    start, and not only once somebody looks at the first page. A file in a folder that nobody may write to is served as
    immutable, for Datasette reads no other there. Raises NotALedger for a file that is none, and
    LedgerError for a base_url that no request would match.
    """
    from datasette.app import Datasette  # pyright: ignore

    from ledger._store import Ledger

    for path in paths:
        Ledger.open(path, read_only=True).close()
    still = [path for path in paths if not _opens(path)]
    chosen = {**SETTINGS, **settings, "base_url": _prefix(str(settings.get("base_url", "")))}
    # Absolute, for a server that changes its folder; and found by name, whatever signs a name has.
    datasette: Any = Datasette(
        [str(path.absolute()) for path in paths if path not in still],
        immutables=[str(path.absolute()) for path in still], settings=chosen, metadata=metadata,
    )  # fmt: skip
    setattr(datasette, _AT_ONCE, verify)
    setattr(datasette, AS_GIVEN, {str(path.absolute()): str(path) for path in paths})
    for database in datasette.databases.values():
        if database.path and any(sign in str(database.path) for sign in "?#%"):
            database.connect = _connect_to(database)
    return datasette


def verifies_at_once(datasette: Any) -> bool:
    """Whether the chain is checked as the server starts: by every server that wasn't made here and told otherwise."""
    return bool(getattr(datasette, _AT_ONCE, True))


def _opens(path: Path) -> bool:
    """Whether SQLite can read the file as one that may still change, which takes a file of its own beside it."""
    from ledger._connect import uri

    try:
        with closing(sqlite3.connect(uri(path, "mode=ro"), uri=True)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        return False
    return True


def _prefix(given: str) -> str:
    """The path that all addresses begin with, a slash at either end."""
    pieces = [] if not given.strip("/") else given.strip("/").split("/")
    for piece in pieces:
        # Datasette compares it with the path as it is sent: what a browser spells otherwise there would never match.
        if not re.fullmatch(r"[A-Za-z0-9._~-]+", piece) or set(piece) == {"."}:
            raise LedgerError(
                f"the base URL {given[:80]!a}: expected a path such as /evals/, of letters, digits, - . _ and ~"
            )
    return "".join(f"/{piece}" for piece in pieces) + "/"


def _connect_to(database: Any) -> Any:
    # Datasette puts a path into a URI as it is, where these signs mean something else.
    from ledger._connect import uri

    def connect(*, write: bool = False) -> sqlite3.Connection:
        if write:
            raise sqlite3.OperationalError("a ledger is only read here")
        found = sqlite3.connect(uri(Path(database.path), "mode=ro"), uri=True, check_same_thread=False)
        database._all_file_connections.append(found)
        return found

    return connect
