"""The command line `ledger`. Commands parse arguments, call one function and print; heavy modules load when used."""

from __future__ import annotations

import typer

from ledger.cli import _bundle, _checkpoint, _cite, _lineage, _look, _redact, _serve, _stats, _verify, _write
from ledger.cli._guard import run_app
from ledger.cli._options import DEFAULT_DB, AsJson, Db, DbToWrite, refuse_own_history
from ledger.cli._output import Words, emit_bytes, emit_json, table, tell
from ledger.cli._program import Version, commands_of

__all__ = [
    "DEFAULT_DB", "AsJson", "Db", "DbToWrite", "Version", "Words", "app", "commands_of", "emit_bytes",
    "emit_json", "main", "refuse_own_history", "run_app", "table", "tell",
]  # fmt: skip

app = typer.Typer(
    name="ledger",
    help="Look at, check and keep a ledger: an append-only, hash-chained record of evaluation events in one file.",
    epilog="Exit status: 0 all well, 1 what was asked about is false, 2 wrong usage or nothing readable,"
    " 3 incomplete, 4 refused.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"auto_envvar_prefix": "LEDGER", "help_option_names": ["-h", "--help"]},
)
app.command("init")(_write.init)
app.command("verify")(_verify.verify)
app.command("log")(_look.log)
app.command("show")(_look.show)
app.command("runs")(_look.runs)
app.command("supersede")(_lineage.supersede)
app.command("taint")(_lineage.taint)
app.command("clear")(_lineage.clear)
app.command("impact")(_lineage.impact)
app.command("cite")(_cite.cite)
app.command("note")(_write.note)
app.command("redact")(_redact.redact)
app.command("checkpoint")(_checkpoint.checkpoint)
app.add_typer(_checkpoint.key, name="key")
app.add_typer(_checkpoint.anchor, name="anchor")
app.command("bundle")(_bundle.bundle)
app.command("export")(_write.export)
app.command("import")(_write.import_)
app.command("snapshot")(_write.snapshot)
app.command("upgrade")(_write.upgrade)
app.command("stats")(_stats.stats)
app.command("serve")(_serve.serve)


_HARNESS = (
    "new", "run", "resume", "rescore", "replay", "cases", "compare", "gate", "grade", "report", "check",
    "correct", "publish", "suites", "freeze", "rules", "parse", "probe",
)  # fmt: skip
"""Commands of the other program that this one hasn't; written out, since nothing here imports it."""


@app.callback()
def _root(version: Version = False) -> None:  # pyright: ignore[reportUnusedFunction]
    pass


def main() -> None:
    """The entry point of the command `ledger`."""
    raise SystemExit(run_app(app, "ledger", others={"harness": _HARNESS}))
