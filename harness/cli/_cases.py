"""`harness cases`: a run's answers one by one, such as those that are wrong."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_bytes, emit_json

__all__ = ["cases"]


def cases(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run: its id, the start of it, its name, or `latest`.")],
    wrong: Annotated[bool, typer.Option("--wrong", help="Those that are incorrect under the rules.")] = False,
    unmeasured: Annotated[bool, typer.Option("--unmeasured", help="Those without a measurement, and why.")] = False,
    disagree: Annotated[
        bool, typer.Option("--disagree", help="Those of cases in which candidates end in different outcomes.")
    ] = False,
    unstable: Annotated[
        bool, typer.Option("--unstable", help="Those of cases in which epochs of one candidate do.")
    ] = False,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", help="A rule set by name or label; repeatable. Default: the run's first."),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="Only cases such as meta.topic=law (= != ~ < <= > >=); repeated: all of them.",
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="KEY", help="In groups: candidate, arm, gold, outcome, reason, epoch or meta.NAME.")
    ] = "",
    limit: Annotated[int, typer.Option(min=0, help="How many to print; 0 for all of them.")] = 10,
    full: Annotated[
        bool, typer.Option("--full", help="Whole texts, tokens, cost, and the events they come from.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="A table of all of them with whole texts, on stdout.")] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """List a run's answers: what was asked, what is right, what was read, and the reply. Appends nothing."""
    from harness._answers import Choice, collect_answers
    from harness._answers_shown import answers_csv, answers_lines
    from harness._errors import UsageError
    from harness._filter import read_filters
    from harness._texts import AnswerTexts
    from ledger import Ledger, find_run

    if as_csv and as_json:
        raise UsageError("expected --csv or --json, got both; they have the same")
    choice = Choice(wrong, unmeasured, disagree, unstable, read_filters(filters or ()))
    with Ledger.open(db, read_only=True) as ledger:
        texts = AnswerTexts(ledger)
        found = collect_answers(ledger, find_run(ledger, run), choice, texts, rules=rules or (), by=by)
        if as_json:
            emit_json(found.as_json(texts))
        elif as_csv:
            for piece in answers_csv(found, texts):
                emit_bytes(piece.encode())
        else:
            words = Words(as_json=False)
            width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
            for line in answers_lines(found, texts, most=limit, full=full, width=width):
                words(line)
    return 0
