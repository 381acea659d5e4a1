"""`harness import`: runs that somebody else recorded, as runs of this ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import DEFAULT_DB, AsJson, Db, Words, emit_json, table, tell

if TYPE_CHECKING:
    from harness.imports import Imported

__all__ = ["import_"]


def import_(
    form: Annotated[
        str, typer.Argument(metavar="[FORMAT]", help="Whose files they are; --list shows the formats.")
    ] = "",
    artifacts: Annotated[list[Path] | None, typer.Argument(metavar="[ARTIFACT]...", help="The recorded runs.")] = None,
    fixture: Annotated[Path | None, typer.Option(metavar="FILE", help="The cases that they were recorded on.")] = None,
    list_formats: Annotated[bool, typer.Option("--list", help="List the formats that can be imported.")] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> int:
    """Import recorded runs of another project, one a (run, engine). Asks nothing; the same again appends nothing."""
    from harness._errors import UsageError
    from harness.imports import FORMATS, ImportJob, find_format, import_job

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
    if not form:
        raise UsageError(f"expected a format out of {', '.join(FORMATS)}, got none")
    find_format(form)
    if not artifacts:
        raise UsageError("expected at least one artifact (a file of recorded runs), got none")
    if fixture is None:
        raise UsageError(
            "expected --fixture FILE, the cases that the runs were recorded on; without them nothing scores"
        )
    done = import_job(ImportJob(form, artifacts, fixture), db)
    if as_json:
        emit_json({
            "runs": [{"run": each.run, "engine": each.engine, "cells": each.cells, "grade": each.grade}
                     for each in done.runs],
            "appended": done.events, "notes": list(done.notes),
        })  # fmt: skip
    _tell(done, db, words)
    return 0


def _tell(done: Imported, db: Path, words: Words) -> None:
    for note in done.notes:
        tell(f"warning: {note}")
    if done.created:
        words(f"{db} did not exist; it was made.")
    for each in done.runs:
        if not each.appended:
            words(
                f"run {each.run}: {each.engine}, {each.cells} cells; it was imported before, and nothing was appended."
            )
            continue
        missing = f", {each.missing} of them not in the artifact" if each.missing else ""
        words(f"run {each.run}: {each.engine}, {each.cells} cells{missing}; grade {each.grade}.")
        disagree = each.only_theirs + each.only_ours
        if disagree:
            words(
                f"  theirs and ours disagree on {disagree} of {each.compared} texts: {each.only_theirs} that theirs"
                f" took are not read under {done.rules}, {each.only_ours} that theirs refused are."
            )
        elif each.compared:
            words(f"  theirs and ours ({done.rules}) agree on which of the {each.compared} texts can be read.")
