"""Options that several commands share. Each has an environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DEFAULT_DB", "LEDGER", "MAX_NUMBER", "AsJson", "Db", "in_use"]

LEDGER = "eval-ledger.ledger"
"""Where a command's context keeps the path of the ledger in use, for sentences that name commands."""


def _default(context: typer.Context, value: Path) -> Path:
    context.meta.setdefault(LEDGER, value)
    return value


def in_use(context: typer.Context, value: Path | None) -> Path | None:
    """The callback of an argument that names another ledger than --db does."""
    if value is not None:
        context.meta[LEDGER] = value
    return value


Db = Annotated[
    Path, typer.Option("--db", envvar="LEDGER_DB", help="The ledger file.", metavar="PATH", callback=_default)
]
AsJson = Annotated[
    bool, typer.Option("--json", envvar="LEDGER_JSON", help="JSON alone on stdout; people's words on stderr.")
]
DEFAULT_DB = Path("ledger.db")
MAX_NUMBER = 2**53 - 1
"""The largest seq or cell there can be (docs/FORMAT.md)."""
