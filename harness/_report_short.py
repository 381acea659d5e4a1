"""The tables that a suite brings to a report, for a terminal: whole, or cut to what isn't nothing, and said to be.

Every figure of them is in the report as `--explain`, `--json` and a file have it; none is made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness._report_study import study_text
from ledger import printable

__all__ = ["MOST_ROWS", "full_tables", "short_tables"]

MOST_ROWS = 12
"""Rows of a table that are shown without --explain."""
_FEW = 6
"""A table of no more rows than that is shown whole: that nobody obeyed, 0 of n, is a figure too."""
_KEPT = ("measured", "planned", "of planned", "n", "repeat")
"""Columns of counts that say of how many a row is."""
Row = Mapping[str, Any]


def full_tables(found: Row) -> Iterator[object]:
    """The tables of a rule set and candidate for rich, each with what it counts and what it doesn't show."""
    for table in found["tables"]:
        title = f"{table['title']}: {found['candidate']} under {found['rules']}"
        yield _table(title, table["columns"], table["rows"], edge=True)
        for said in (*table["warns"], table["about"], *table["notes"]):
            yield _text(said)
        yield _text("")


def short_tables(found: Row) -> Iterator[object]:
    """The tables of a rule set and candidate for rich, each cut; their warnings whole; and what was left out."""
    yield _text(f"What the suite says of {found['candidate']} under {found['rules']}:")
    left: list[str] = []
    for table in found["tables"]:
        columns: Sequence[Row] = table["columns"]
        short = len(table["rows"]) <= _FEW
        rows = [row for row in table["rows"] if short or not _is_nothing(row, columns)]
        nothing, more = len(table["rows"]) - len(rows), max(0, len(rows) - MOST_ROWS)
        rows = rows[:MOST_ROWS]
        places = [at for at, column in enumerate(columns) if not _empty(rows, at, column)]
        cut = [*([f"{nothing} of 0"] if nothing else []), *([f"{more} more"] if more else [])]
        left += [f"{table['title']} ({', '.join(cut)})"] if cut else []
        if rows:
            yield _table(table["title"], [columns[at] for at in places], [[row[at] for at in places] for row in rows])
        yield from (_text(said) for said in table["warns"])
    said = f" Rows left out: {'; '.join(left)}." if left else ""
    yield _text(f"--explain says what each table counts, and shows all of it.{said}")


def _is_nothing(row: Sequence[Any], columns: Sequence[Row]) -> bool:
    """Whether a row is of a rate of which nothing came: 0 of n."""
    named = {column["name"]: value for column, value in zip(columns, row, strict=True)}
    return {"k", "n"} <= set(named) and named["k"] == 0


def _empty(rows: Sequence[Sequence[Any]], at: int, column: Row) -> bool:
    """Whether a column has nothing to show in any row: counts of 0, and figures that nobody has."""
    if column["form"] == "text" or column["name"] in _KEPT:
        return False
    return all(row[at] is None or (column["form"] == "count" and row[at] == 0) for row in rows)


def _table(title: str, columns: Sequence[Row], rows: Sequence[Sequence[Any]], *, edge: bool = False) -> object:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        title=_text(title), title_justify="left", box=SIMPLE_HEAD, show_edge=edge, pad_edge=False,
        padding=(0, 1, 0, 0), min_width=None if edge else min(len(title), 60),
    )  # fmt: skip
    for column in columns:
        right = column["form"] != "text"
        table.add_column(column["name"], overflow="fold", justify="right" if right else "left")
    for row in rows:
        table.add_row(
            *(_text(study_text(value, column["form"])) for value, column in zip(row, columns, strict=True))
        )  # fmt: skip
    return table


def _text(value: object) -> Any:
    from rich.text import Text

    return Text(printable(str(value)))
