"""`harness import`: runs that somebody else recorded, as runs of this ledger."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, DbToWrite, Words, emit_json, table, tell

if TYPE_CHECKING:
    from harness.imports import AnswersJob, Imported

__all__ = ["import_"]


def import_(
    form: Annotated[
        str, typer.Argument(metavar="[FORMAT]", help="Whose files they are; --list shows the formats.")
    ] = "",
    artifacts: Annotated[list[Path] | None, typer.Argument(metavar="[ARTIFACT]...", help="The recorded runs.")] = None,
    fixture: Annotated[Path | None, typer.Option(metavar="FILE", help="The cases that they were recorded on.")] = None,
    suite: Annotated[
        str,
        typer.Option(metavar="SUITE[/FIXTURE]", help="Your own answers to a suite: files of id, output[, model, raw]."),
    ] = "",
    list_formats: Annotated[bool, typer.Option("--list", help="List the formats that can be imported.")] = False,
    db: DbToWrite = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Import recorded runs of another project, or (with --suite) answers that you have already, one run a model.

    Asks nothing; the same again appends nothing.
    """
    from harness._errors import UsageError
    from harness.imports import FORMATS, AnswersJob, ImportJob, find_format, import_job

    words = Words(as_json=as_json)
    if list_formats:
        if as_json:
            emit_json({"formats": [{"format": each.name, "grade": each.grade, "about": each.about}
                                   for each in FORMATS.values()]})  # fmt: skip
        else:
            rows = [[each.name, each.grade, each.about] for each in FORMATS.values()]
            for line in table(["format", "grade", "what"], rows):
                words(line)
        return 0
    if suite:
        files = [Path(each) for each in (form, *(artifacts or ())) if str(each)]
        if not files or fixture is not None:
            got = "--fixture too, which goes with a FORMAT" if fixture is not None else "none"
            raise UsageError(f"with --suite expected files of answers, such as answers.jsonl, got {got}")
        _show(_answers(AnswersJob(suite, files), db), db, words, as_json=as_json)
        return 0
    if not form:
        raise UsageError(f"expected a format out of {', '.join(FORMATS)}, got none")
    find_format(form)
    if not artifacts:
        raise UsageError("expected at least one artifact (a file of recorded runs), got none")
    if fixture is None:
        raise UsageError(
            "expected --fixture FILE, the cases that the runs were recorded on; without them nothing scores"
        )
    _show(import_job(ImportJob(form, artifacts, fixture), db), db, words, as_json=as_json)
    return 0


def _answers(job: AnswersJob, db: Path) -> Imported:
    from harness._lines import bad_line
    from harness.imports import BadAnswers, import_answers

    try:
        return import_answers(job, db)
    except BadAnswers as error:
        for where, why in error.rows:
            tell(f"  {bad_line(where, why)}")
        raise


def _show(done: Imported, db: Path, words: Words, *, as_json: bool) -> None:
    if as_json:
        emit_json({
            "runs": [{"run": each.run, "engine": each.engine, "cells": each.cells, "grade": each.grade}
                     for each in done.runs],
            "appended": done.events, "notes": list(done.notes),
        })  # fmt: skip
    _tell(done, db, words)


def _tell(done: Imported, db: Path, words: Words) -> None:
    for note in done.notes:
        tell(f"warning: {note}")
    if done.created:
        words(f"{db} did not exist; it was made.")
    elif any(each.appended for each in done.runs):
        words(f"Recorded in {db}.")
    for each in done.runs:
        if not each.appended:
            words(
                f"run {each.run}: {each.engine}, {each.cells} cells; it was imported before, and nothing was appended."
            )
            continue
        missing = f", {each.missing} of them not in the artifact" if each.missing else ""
        shown = f"`harness report {each.run} --db {shlex.quote(str(db))}` shows its scoreboard"
        words(f"run {each.run}: {each.engine}, {each.cells} cells{missing}; grade {each.grade}. {shown}.")
        disagree = each.only_theirs + each.only_ours
        if disagree:
            words(
                f"  theirs and ours disagree on {disagree} of {each.compared} texts: {each.only_theirs} that theirs"
                f" took are not read under {done.rules}, {each.only_ours} that theirs refused are."
            )
        elif each.compared:
            words(f"  theirs and ours ({done.rules}) agree on which of the {each.compared} texts can be read.")
