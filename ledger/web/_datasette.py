"""One way to make a Datasette over ledgers, for the command and for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["SETTINGS", "make_datasette"]

SETTINGS: dict[str, Any] = {"suggest_facets": False, "allow_download": False, "num_sql_threads": 4}


def make_datasette(*paths: Path, **settings: Any) -> Any:
    """A Datasette over these ledgers, read-only, with settings that stay quick at a million events.

    `settings` go on top, such as base_url. Raises NotALedger for a file that is none.
    """
    from datasette.app import Datasette  # pyright: ignore[reportMissingTypeStubs]

    from ledger._store import Ledger

    for path in paths:
        Ledger.open(path, read_only=True).close()
    return Datasette([str(path) for path in paths], settings={**SETTINGS, **settings})
