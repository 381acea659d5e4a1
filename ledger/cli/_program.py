"""What a program says of itself (`--version`), and how a shell completes its words."""

from __future__ import annotations

import os
import platform
import sqlite3
from typing import Annotated, Any

import typer

from ledger.cli._output import Words

__all__ = ["Version", "commands_of", "complete"]


def _print_version(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import version

    name = (context.info_name or "").partition(" ")[0]
    said = f"{name} {version('eval-ledger')} (Python {platform.python_version()}, SQLite {sqlite3.sqlite_version})"
    Words(as_json=False)(said)
    raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", help="Show the version and exit.", is_eager=True, callback=_print_version,
        # HARNESS_VERSION=1.2 in somebody's environment is no wish to see ours.
        allow_from_autoenv=False,
    ),
]  # fmt: skip


def complete(command: Any, name: str) -> None:
    """Answer a shell that asks for completions by an environment variable, and exit; return where none does."""
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    if os.environ.get(variable):
        command.main(prog_name=name, complete_var=variable)


def commands_of(app: typer.Typer) -> set[str]:
    """The names of a program's commands."""
    named = [each.name for each in app.registered_commands] + [each.name for each in app.registered_groups]
    return {name for name in named if isinstance(name, str)}
