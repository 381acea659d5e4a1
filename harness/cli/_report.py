"""`harness report`: a run's numbers, as the views give them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli._gate import NoRecord
from ledger import printable
from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_bytes, emit_json, refuse_own_history, tell

if TYPE_CHECKING:
    from harness._report import RunReport, StandingReport
    from harness._report_write import Written
    from ledger import Ledger

__all__ = ["judged", "report", "show"]

DOES_NOT_HOLD = "The ledger's own events contradict these figures; the report says how, `ledger verify --deep` more."


def report(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run: its id, the start of it, its name, or `latest`. Without one, the scoreboard of every run that"
            " was not superseded.",
        ),
    ] = None,
    rules: Annotated[list[str] | None, typer.Option("--rules", help="Only this rule set; repeatable.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="md|html|json", help="A report that carries its receipt.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write it there, and record it in the ledger."),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="Only cases such as meta.topic=law (= != ~ < <= > >=); repeated: all of them. Post hoc, and said so.",
        ),
    ] = None,
    by: Annotated[str, typer.Option(metavar="KEY", help="The figures by group too, such as by meta.topic.")] = "",
    pass_at: Annotated[
        str, typer.Option("--pass-at", metavar="K,K", help="pass@k and pass^k for these k, such as 1,5.")
    ] = "",
    gate: Annotated[
        bool, typer.Option("--gate", help="Exit 1 when a bar isn't met, 3 when the run is unfinished.")
    ] = False,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="The file lists the wrong answers too: questions and golds are then in it."),
    ] = False,
    no_record: NoRecord = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is no report.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="All rows of a suite's own tables, and what each of them counts.")
    ] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Show a run's scoreboard and what went unmeasured, by reason; or write a report that `harness check` can check.

    Exit 1 where the ledger's own events contradict the figures: they are shown all the same, and by what.
    """
    from harness._report import read_report, read_standing
    from harness._report_file import format_for
    from ledger import Ledger, find_run

    form = format_for(form, out)
    if out is not None:
        refuse_own_history(context, db)
    part, ks = bool(filters or by), _ks(pass_at, whole=not (filters or by), run=run, form=form)
    if run is None:
        if form is not None or gate or part:
            from harness._errors import UsageError

            raise UsageError("expected a RUN with --format, -o, --gate, --filter and --by; `latest` is the newest")
        with Ledger.open(db, read_only=True) as ledger:
            board = read_standing(ledger, rules or ())
        emit_json(board.as_json()) if as_json else show(board)
        return int(not board.holds)
    with Ledger.open(db, read_only=out is None) as ledger:
        found = read_report(ledger, find_run(ledger, run), rules or ())
        if part:
            found = _part(ledger, found, filters or [], by, form=form, gate=gate)
        if ks:
            found = _with_passes(ledger, found, ks)
        if answers:
            found = _with_answers(ledger, found, rules or [], form)
        if gate:
            found.check_gate()
        written = _written(ledger, found, form, out, force=force)
    words = Words(as_json=as_json)
    if written is not None:
        if as_json:
            emit_json(written.as_json())
        words(f"Report {written.seq} of run {found.run} is in {written.path}, recorded in {db}")
        words(f"BLAKE3 {written.digest}; `harness check` holds it against the ledger.")
    elif form is None and as_json:
        emit_json(found.as_json())
    elif form is None:
        show(found, explain=explain)
    status = judged(found, db, no_record=no_record) if gate else 0
    if not found.holds and form is not None:
        tell(DOES_NOT_HOLD)
    return status or int(not found.holds)


def judged(found: RunReport, db: Path, *, no_record: bool = False) -> int:
    """Say what keeps a run from passing its bars, record the verdict, and give its exit status."""
    from harness._decision import NOT_RECORDED, record_bars

    for sentence in (*found.misses(), *found.warnings()):
        tell(printable(sentence))
    tell(NOT_RECORDED if no_record else record_bars(db, found).sentence)
    return found.gate()


def _part(ledger: Ledger, found: RunReport, filters: list[str], by: str, *, form: str | None, gate: bool) -> RunReport:
    from harness._by import narrow
    from harness._errors import UsageError
    from harness._filter import read_filters

    if form is not None:
        raise UsageError("--filter and --by are for the terminal and --json: a report file is of a whole run")
    if gate and filters:
        raise UsageError("--gate holds a whole run to its bars; leave --filter out")
    return narrow(ledger, found, read_filters(filters), by)


def _ks(text: str, *, whole: bool, run: str | None, form: str | None) -> tuple[int, ...]:
    from harness._errors import UsageError
    from harness._passes import read_ks

    if text and (run is None or form is not None or not whole):
        raise UsageError(
            "--pass-at is of one whole run, on the terminal and in --json: leave --format, --filter and --by out"
        )
    return read_ks(text) if text else ()


def _with_passes(ledger: Ledger, found: RunReport, ks: tuple[int, ...]) -> RunReport:
    from dataclasses import replace

    from harness._pass_table import pass_at_of

    labels = [row["rules"] for row in found.data["rules"]]
    return replace(found, data={**found.data, "pass_at": pass_at_of(ledger, found.run, labels, ks)})


def _with_answers(ledger: Ledger, found: RunReport, rules: list[str], form: str | None) -> RunReport:
    from dataclasses import replace

    from harness._errors import UsageError
    from harness._report_wrong import with_answers

    if form is None:
        raise UsageError(
            f"--answers is for a file (--format, -o); here, `harness cases {found.run} --wrong` lists them"
        )
    return replace(found, data=with_answers(ledger, found.data, rules))


def _written(ledger: Ledger, found: RunReport, form: str | None, out: Path | None, *, force: bool) -> Written | None:
    if form is None:
        return None
    from harness._report_file import render
    from harness._report_write import check_target, write_report

    if out is None:
        emit_bytes(render(found.data, form))
        return None
    target = check_target(ledger, out, force=force)
    return write_report(ledger, found.data, render(found.data, form), form, target)


def show(found: RunReport | StandingReport, *, explain: bool = False) -> None:
    """Print a report's tables on stdout; `explain`: a suite's own whole, with what each of them counts."""
    from harness._report import RunReport, render_report, render_standing

    show_parts(render_report(found, explain=explain) if isinstance(found, RunReport) else render_standing(found))


def show_parts(parts: Sequence[object]) -> None:
    """Print what a report is rendered to for rich, on stdout."""
    from rich.console import Console

    # Where no terminal sets a width (a pipe, a log), no table is squeezed into 80 columns.
    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 120)
    for part in parts:
        # Not straight to stdout: rich ends the program with a status of its own where a pipe's reader has gone.
        with console.capture() as shown:
            console.print(part)
        print(shown.get(), end="")
