"""The command line `harness`. Commands parse arguments, call one function and print; heavy modules load when used."""

from __future__ import annotations

import typer

from harness.cli import (
    _cases,
    _check,
    _compare,
    _correct,
    _gate,
    _grade,
    _import,
    _new,
    _parse,
    _probe,
    _publish,
    _replay,
    _report,
    _rescore,
    _resume,
    _rules,
    _run,
    _suites,
)
from ledger.cli import Version, commands_of, run_app
from ledger.cli import app as ledger_app

__all__ = ["app", "main"]

app = typer.Typer(
    name="harness",
    help="Ask models, capture what crosses the wire, read, confirm and score; every step an event in a ledger.",
    epilog="Exit status: 0 all well, 1 what was asked about is false, 2 wrong usage or nothing readable,"
    " 3 incomplete, 4 refused.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"auto_envvar_prefix": "HARNESS", "help_option_names": ["-h", "--help"]},
)
app.command("new")(_new.new)
app.command("run")(_run.run)
app.command("resume")(_resume.resume)
app.command("rescore")(_rescore.rescore)
app.command("replay")(_replay.replay)
app.command("cases")(_cases.cases)
app.command("compare")(_compare.compare)
app.command("gate")(_gate.gate)
app.command("grade")(_grade.grade)
app.command("report")(_report.report)
app.command("check")(_check.check)
app.command("correct")(_correct.correct)
app.command("publish")(_publish.publish)
app.command("import")(_import.import_)
app.command("suites")(_suites.suites)
app.command("freeze")(_suites.freeze)
app.add_typer(_rules.app, name="rules")
app.command("parse")(_parse.parse)
app.command("probe")(_probe.probe)


@app.callback()
def _root(version: Version = False) -> None:  # pyright: ignore[reportUnusedFunction]
    pass


def main() -> None:
    """The entry point of the command `harness`."""
    raise SystemExit(run_app(app, "harness", others={"ledger": commands_of(ledger_app)}))
