"""The tables that a suite brings to a report beside its figures, in words and in blocks. No number is made here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness._report_blocks import Block, Cell, Grid, Heading, Name, Sentence, Text
from harness._stats import settled

__all__ = ["STUDY", "set_aside", "study_blocks", "study_text", "warnings_in"]

Row = Mapping[str, Any]
STUDY = "What the suite says of its cells"
"""The heading of all that a suite brings."""


def study_text(value: str | int | float | None, form: str) -> str:
    """A value of a study's table as people read it; a dash for no figure."""
    if value is None:
        return "–"
    if isinstance(value, str) or form == "text":
        return str(value)
    if form == "count":
        return str(value)
    # A difference that only the arithmetic of floats keeps from 0 has no sign.
    shown = settled(value)
    return f"{100 * shown:.1f}%" if form == "percent" else f"{shown:.3f}"


def set_aside(bars: Sequence[Row]) -> list[tuple[str, str, str]]:
    """The bars that weren't judged: a rule set, its candidates that have the same of them, and these, as texts."""
    held: dict[tuple[str, str], list[str]] = {}
    for each in bars:
        held.setdefault((each["rules"], each["candidate"]), []).append(each["bar"])
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (rules, candidate), some in held.items():
        found.setdefault((rules, tuple(some)), []).append(candidate)
    return [(rules, ", ".join(candidates), ", ".join(some)) for (rules, some), candidates in found.items()]


def warnings_in(study: Sequence[Row]) -> list[str]:
    """What a gate says aloud of a run's tables, and fails nothing for: once for each rule set and candidate."""
    return [
        f"warning: {said} ({each['candidate']} under {each['rules']})"
        for each in study for table in each["tables"] for said in table["warns"]
    ]  # fmt: skip


def study_blocks(study: Sequence[Row]) -> Iterable[Block]:
    """The tables of a report's data, each with what it counts and what it doesn't show."""
    if not study:
        return
    yield Heading(2, [STUDY])
    for each in study:
        under: list[Text] = [Name(each["candidate"]), " under ", Name(each["rules"])]
        yield Heading(3, under)
        for table in each["tables"]:
            yield Sentence([Name(table["about"])])
            yield _grid(table, under)
            for said in table["warns"]:
                yield Sentence([Name(said)], "bad")
            for said in table["notes"]:
                yield Sentence([Name(said)])


def _grid(table: Row, under: Sequence[Text]) -> Grid:
    columns: Sequence[Row] = table["columns"]
    rows: list[Sequence[Cell]] = [
        [
            Name(study_text(value, column["form"])) if column["form"] == "text" else study_text(value, column["form"])
            for value, column in zip(row, columns, strict=True)
        ]
        for row in table["rows"]
    ]  # fmt: skip
    names = [str(column["name"]) for column in columns]
    right = frozenset(str(column["name"]) for column in columns if column["form"] != "text")
    return Grid([Name(table["title"]), ": ", *under], names, rows, right)
