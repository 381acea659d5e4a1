"""`harness new`: a suite of files, made of a table or of a worked example."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli import AsJson, Words, emit_json, tell

if TYPE_CHECKING:
    from harness._new import NewSuite

__all__ = ["new"]

_MOST_SHOWN = 20


def _settings(given: list[str] | None) -> list[str]:
    """What was typed, or else the lines of HARNESS_NEW_SET: typer itself would part them at every blank."""
    return given or [line for line in os.environ.get("HARNESS_NEW_SET", "").split("\n") if line.strip()]


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The suite's name; it goes to fixtures/NAME.")],
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="A .csv, .tsv, .jsonl or .parquet; without it, a worked example."),
    ] = None,
    input_: Annotated[
        list[str] | None, typer.Option("--input", metavar="COLUMN", help="What is asked; repeatable, each a field.")
    ] = None,
    gold: Annotated[
        list[str] | None, typer.Option("--gold", metavar="COLUMN", help="The right answer; several make an object.")
    ] = None,
    id_: Annotated[str, typer.Option("--id", metavar="COLUMN", help="The cases' ids. Default: r0001, r0002, …")] = "",
    meta: Annotated[
        list[str] | None, typer.Option("--meta", metavar="COLUMN", help="Labels to group and filter by; repeatable.")
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option("--image", metavar="COLUMN", help="Image files beside the table, or data: URIs; repeatable."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--options", metavar="COLUMN", help="The options of a choice: a column each, or one JSON list."),
    ] = None,
    score: Annotated[
        str,
        typer.Option("--score", metavar="SCORER", help="exact, includes, choice, number, regex, json, f1 or quote."),
    ] = "exact",
    gold_json: Annotated[bool, typer.Option("--gold-json", help="Gold cells hold JSON: a list, an object.")] = False,
    gold_split: Annotated[
        str, typer.Option("--gold-split", metavar="TEXT", help="Gold cells hold several answers with this between.")
    ] = "",
    empty_gold: Annotated[
        bool, typer.Option("--empty-gold", help="An empty gold means that nothing is expected (f1, quote).")
    ] = False,
    delimiter: Annotated[
        str, typer.Option("--delimiter", metavar="CHARACTER", help="Between the cells of a CSV, such as ';' or tab.")
    ] = "",
    encoding: Annotated[str, typer.Option("--encoding", help="Of a CSV or JSON lines that aren't UTF-8.")] = "",
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out rows that can't be cases, and name them.")
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="An option of the scorer (docs/scorers); repeatable. In the variable HARNESS_NEW_SET, one a line.",
            allow_from_autoenv=False,
            callback=_settings,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make a suite of your own: files only, ready to run. Nothing is written unless all of it can be."""
    from harness._errors import UsageError
    from harness._lines import bad_line
    from harness._new import BadRows, Wanted, new_suite
    from harness._new_cases import Columns

    columns = Columns(
        tuple(input_ or ()), tuple(gold or ()), id_, tuple(meta or ()), tuple(image or ()), tuple(options or ()),
        gold_json=gold_json, gold_split=gold_split,
    )  # fmt: skip
    if data is None and columns != Columns((), ()):
        raise UsageError("columns were named, and no table that has them; expected NAME DATA, such as facts facts.csv")
    if data is None and (delimiter or encoding or empty_gold or skip_bad):
        raise UsageError(
            "--delimiter, --encoding, --empty-gold and --skip-bad go with a table; expected NAME DATA, such as facts"
            " facts.csv"
        )
    wanted = Wanted(
        name, data, columns, score, delimiter=delimiter, encoding=encoding, empty_gold=empty_gold, skip_bad=skip_bad,
        settings=tuple(setting or ()),
    )  # fmt: skip
    try:
        done = new_suite(wanted)
    except BadRows as error:
        for where, why in error.rows:
            tell(f"  {bad_line(where, why)}")
        raise
    words = Words(as_json=as_json)
    if as_json:
        emit_json({
            "suite": name, "folder": done.folder.as_posix(), "cases": done.cases,
            "left_out": [{"where": where, "why": why} for where, why in done.skipped], "empty_rows": done.empty_rows,
            "files": list(done.files), "ignored": list(done.ignored), "notes": list(done.notes),
        })  # fmt: skip
    _tell(done, name, words)
    return 0


def _tell(done: NewSuite, name: str, words: Words) -> None:
    from harness._lines import bad_line

    words(f"{done.folder.as_posix()}: {_count(done.cases, 'case')}; its README.md says what to change.")
    for note in done.notes:
        words(note)
    if done.empty_rows:
        words(f"Passed over, {_count(done.empty_rows, 'row')} of the table without anything in it.")
    if done.skipped:
        words(f"left out, {_count(len(done.skipped), 'row')} that can't be a case:")
    for where, why in done.skipped[:_MOST_SHOWN]:
        words(f"  {bad_line(where, why)}")
    if len(done.skipped) > _MOST_SHOWN:
        words(f"  … and {len(done.skipped) - _MOST_SHOWN} more; --json lists them all")
    for file in done.files:
        words(f"{file} was made; it says what may stand there.")
    if done.ignored:
        words(f".gitignore: added {' '.join(done.ignored)}; checkpoints and reports are to be committed.")
    words(f"`harness run {name} --limit 5 --engine openai/gpt-4.1-mini` asks the first five.")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)
