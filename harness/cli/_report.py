"""`harness report`: a run's numbers, as the views give them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, emit_json

if TYPE_CHECKING:
    from harness._report import RunReport, StandingReport

__all__ = ["report", "show"]


def report(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run: its id, the start of it, its name, or `latest`. Without one, the scoreboard of every run that"
            " was not superseded.",
        ),
    ] = None,
    rules: Annotated[list[str] | None, typer.Option("--rules", help="Only this rule set; repeatable.")] = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Show a run's scoreboard and what went unmeasured, by reason."""
    from harness._report import read_report, read_standing
    from ledger import Ledger, find_run

    with Ledger.open(db, read_only=True) as ledger:
        if run is None:
            found = read_standing(ledger, rules or ())
        else:
            found = read_report(ledger, find_run(ledger, run), rules or ())
    if as_json:
        emit_json(found.as_json())
    else:
        show(found)
    return 0


def show(found: RunReport | StandingReport) -> None:
    """Print a report's tables on stdout."""
    from rich.console import Console

    from harness._report import RunReport, render_report, render_standing

    # Where no terminal sets a width (a pipe, a log), no table is squeezed into 80 columns.
    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 120)
    for part in render_report(found) if isinstance(found, RunReport) else render_standing(found):
        # Not straight to stdout: rich ends the program with a status of its own where a pipe's reader has gone.
        with console.capture() as shown:
            console.print(part)
        print(shown.get(), end="")
