"""Options that several commands share. Each has an environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DEFAULT_DB", "LEDGER", "MAX_NUMBER", "AsJson", "Db", "DbToWrite", "in_use", "refuse_own_history"]

_OWN = ("eval-ledger/history", "760e0f22bd4036c4ce92f622c2d00f28")
"""Origin and id of the project's own ledger, whatever its file is called."""
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


def refuse_own_history(context: typer.Context, path: Path) -> None:
    """Raise Refused where nobody named a ledger, and the default is the one that this project keeps of itself."""
    source = context.get_parameter_source("db")
    if source is None or source.name != "DEFAULT" or not path.is_file():
        return
    from ledger._errors import LedgerError, Refused
    from ledger._store import Ledger

    try:
        with Ledger.open(path, untouched=True) as ledger:
            own = (ledger.genesis.origin, ledger.genesis.id) == _OWN
    except LedgerError:
        return  # whoever opens it to write says what is wrong with it
    if own:
        raise Refused(
            f"./{path} is the history that eval-ledger keeps of itself, and nobody named it: name a ledger of yours"
            f" (--db mine.db, or LEDGER_DB), or say --db {path} to write into that one"
        )


def _to_write(context: typer.Context, value: Path) -> Path:
    refuse_own_history(context, value)
    return _default(context, value)


Db = Annotated[
    Path, typer.Option("--db", envvar="LEDGER_DB", help="The ledger file.", metavar="PATH", callback=_default)
]
DbToWrite = Annotated[
    Path, typer.Option("--db", envvar="LEDGER_DB", help="The ledger file.", metavar="PATH", callback=_to_write)
]
"""As Db, for commands that append."""
AsJson = Annotated[
    bool, typer.Option("--json", envvar="LEDGER_JSON", help="JSON alone on stdout; people's words on stderr.")
]
DEFAULT_DB = Path("ledger.db")
MAX_NUMBER = 2**53 - 1
"""The largest seq or cell there can be (docs/FORMAT.md)."""
