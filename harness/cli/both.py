"""The command line `eval-ledger`: both in one, for `uvx eval-ledger …` and where another program owns the names."""

from __future__ import annotations

import typer

from harness.cli import app as harness_app
from ledger.cli import app as ledger_app
from ledger.cli import run_app

__all__ = ["app", "main"]

app = typer.Typer(
    name="eval-ledger",
    help="`eval-ledger ledger …` and `eval-ledger harness …` are the two commands of this package, in one.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(ledger_app, name="ledger")
app.add_typer(harness_app, name="harness")


def main() -> None:
    """The entry point of the command `eval-ledger`."""
    raise SystemExit(run_app(app, "eval-ledger"))
