"""Options that several commands share. Each has an environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DEFAULT_DB", "MAX_NUMBER", "AsJson", "Db"]

Db = Annotated[Path, typer.Option("--db", envvar="LEDGER_DB", help="The ledger file.", metavar="PATH")]
AsJson = Annotated[
    bool, typer.Option("--json", envvar="LEDGER_JSON", help="JSON alone on stdout; people's words on stderr.")
]
DEFAULT_DB = Path("ledger.db")
MAX_NUMBER = 2**53 - 1
"""The largest seq or cell there can be (docs/FORMAT.md)."""
