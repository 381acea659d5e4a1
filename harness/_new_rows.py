"""Tables as people have them (CSV, TSV, JSON Lines, Parquet), read row by row with the line each begins on.

Nothing is guessed: a cell of a CSV is the text that stands there, a value of a JSON line the slice of its line.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, cast

from harness._absent import no_file
from harness._errors import UsageError
from harness._json import JSONError, members
from harness._lines import excerpt, first_faults, json_lines, not_lines
from harness._new_encoding import text_of
from ledger import printable

__all__ = ["Row", "Table", "file_bytes", "read_csv", "read_table"]

_MOST: Final = 512 * 2**20
_CELL: Final = 32 * 2**20
_KINDS: Final = {".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl",
                 ".parquet": "parquet", ".pq": "parquet"}  # fmt: skip
_SEP: Final = re.compile(r"sep=([^\r\n])(?:\r\n|\r|\n)", re.IGNORECASE)
_SEPARATORS: Final = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class Row:
    """One row. `where` says where it begins, such as "line 7"; `number` counts rows from 1, those at fault too.

    `values` is JSON text by column, None for a cell that is empty; `images` holds bytes, where a column holds those.
    `fault` is why the row can't be read, or "".
    """

    where: str
    number: int
    values: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    images: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    fault: str = ""


@dataclass(frozen=True)
class Table:
    """A file's columns and its rows, and how many of its rows held nothing at all. `typed`: its values have types, as
    JSON's do; a cell of a CSV is a text."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    empty: int
    typed: bool = True


def read_table(path: Path, *, delimiter: str = "", encoding: str = "") -> Table:
    """The rows of a file, by its ending. Raises UsageError for what can't be read as a whole."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(
            f"{_show(path)}: expected a file that ends with .csv, .tsv, .jsonl or .parquet, got {path.suffix or 'none'}"
            + _hint(path)
        )
    if kind != "csv" and delimiter:
        raise UsageError(f"--delimiter goes with .csv and .tsv; {_show(path)} is neither")
    if kind == "parquet" and encoding:
        raise UsageError(f"--encoding goes with text, and {_show(path)} is Parquet")
    data = file_bytes(path)
    if kind == "parquet":
        return _parquet(path)
    text = text_of(data, path, encoding)
    if kind == "jsonl":
        return _json_lines(text, path)
    given = _SEPARATORS.get(delimiter, delimiter)
    if len(given) > 1 or given in ('"', "\n", "\r"):
        raise UsageError(f"--delimiter: expected one character, or tab, got {delimiter!r}")
    return _csv(text, path, given or ("\t" if path.suffix.lower() in (".tsv", ".tab") else ","), told=bool(given))


def read_csv(data: bytes, path: Path, delimiter: str = ",") -> Table:
    """The rows of the bytes of a CSV in UTF-8; `path` is for messages. Raises UsageError as `read_table` does."""
    return _csv(text_of(data, path, ""), path, delimiter, told=False)


def _csv(text: str, path: Path, separator: str, *, told: bool) -> Table:
    skipped = 0
    said = _SEP.match(text)  # how Excel says it
    if said is not None:
        separator, skipped = (separator if told else said[1]), 1
        text = text[said.end() :]
    records = _records(text, path, separator, skipped)
    where, header = next(records, ("", cast("list[str]", [])))
    names = [cell.strip() for cell in header]
    if not any(names):
        raise UsageError(f"{_show(path)}: expected a header with the columns' names, got none")
    if len(names) == 1:
        other = next((each for each in ";\t|," if each in names[0] and each != separator), "")
        if other:
            named = "tab" if other == "\t" else f"'{other}'"
            raise UsageError(
                f"{_show(path)}: the header has one column, {names[0][:80]!r}; try --delimiter {named}"
            )  # fmt: skip
    return _rows(names, records, path, where)


def _rows(names: Sequence[str], records: Iterator[tuple[str, list[str]]], path: Path, where: str) -> Table:
    while names and not names[-1]:
        names = names[:-1]  # the empty columns that a sheet had once
    _check_names(names, path, where)
    rows: list[Row] = []
    empty = 0
    for number, (place, cells) in enumerate(records, start=1):
        if not any(cell.strip() for cell in cells):
            empty += 1
            continue
        while len(cells) > len(names) and not cells[-1].strip():
            cells = cells[:-1]
        if len(cells) != len(names):
            few = "too few" if len(cells) < len(names) else "too many; a cell with the delimiter in it needs quotes"
            rows.append(Row(place, number, fault=f"expected {len(names)} cells, got {len(cells)}: {few}"))
            continue
        values = {
            name: json.dumps(cell, ensure_ascii=False) if cell.strip() else None
            for name, cell in zip(names, cells, strict=True)
        }
        rows.append(Row(place, number, values))
    return Table(tuple(names), tuple(rows), empty, typed=False)


def _records(text: str, path: Path, separator: str, skipped: int) -> Iterator[tuple[str, list[str]]]:
    """Each record with the physical line it begins on. Raises UsageError where quotes leave no record to read."""
    before = csv.field_size_limit(_CELL)
    begin = 1 + skipped
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for cells in reader:
            if cells:
                yield f"line {begin}", cells
            begin = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise UsageError(
            f"{_show(path)}: the record that begins on line {begin} can't be read: {_said(error)}"
        ) from None
    finally:
        csv.field_size_limit(before)


def _said(error: csv.Error) -> str:
    said = str(error)
    if "unexpected end" in said:
        return "a quote is opened and never closed"
    if "expected after" in said:
        return "text stands after a closing quote; a quote inside a quoted cell is written twice"
    if "field limit" in said:
        return f"a cell has more than {_CELL} characters; is a quote left open?"
    return printable(said)


def _json_lines(text: str, path: Path) -> Table:
    columns: dict[str, None] = {}
    rows: list[Row] = []
    for number, (line, raw) in enumerate(json_lines(text), start=1):
        where = f"line {line}"
        try:
            found = members(raw)
        except JSONError as error:
            rows.append(Row(where, number, fault=f"expected one JSON object, got {excerpt(raw)}: {error}"))
            continue
        columns.update(dict.fromkeys(found))
        values = {name: None if value == "null" or not _filled(value) else value for name, value in found.items()}
        rows.append(Row(where, number, values))
    bad = [(row.where, row.fault.removeprefix("expected one JSON object, ")) for row in rows if row.fault]
    if rows and len(bad) == len(rows):
        what = "its one line is none" if len(rows) == 1 else f"none of its {len(rows)} lines is one"
        raise UsageError(
            f"{_show(path)}: expected one JSON object a line; {what}: {first_faults(bad)}{not_lines(text)}"
        )
    if not columns and rows:
        raise UsageError(f"{_show(path)}: expected columns, got objects with nothing in them")
    return Table(tuple(columns), tuple(rows), 0)


def _filled(value: str) -> bool:
    return not value.startswith('"') or bool(json.loads(value).strip())


def _parquet(path: Path) -> Table:
    try:
        import duckdb
    except ImportError:
        raise UsageError(
            f"{_show(path)}: reading Parquet needs duckdb; install eval-ledger with the extra `parquet`, or save the"
            " table as CSV"
        ) from None
    # DuckDB takes a path for a pattern.
    literal = "".join(f"[{each}]" if each in "*?[" else each for each in str(path))
    try:
        with duckdb.connect() as connection:
            found = connection.execute("SELECT * FROM read_parquet(?)", [literal])
            names = [str(column[0]) for column in found.description or ()]
            records = found.fetchall()
    except duckdb.Error as error:
        raise UsageError(f"{_show(path)}: can't be read as Parquet: {repr(str(error))[1:200]}") from None
    _check_names(names, path, "")
    rows = [_typed_row(number, names, cells) for number, cells in enumerate(cast("list[Any]", records), start=1)]
    return Table(tuple(names), tuple(rows), 0)


def _typed_row(number: int, names: Sequence[str], cells: Iterable[Any]) -> Row:
    values: dict[str, str | None] = {}
    images: dict[str, bytes] = {}
    for name, cell in zip(names, cells, strict=True):
        picture = cast("dict[str, Any]", cell).get("bytes") if isinstance(cell, dict) else cell
        if isinstance(picture, bytes):
            images[name] = picture
            continue
        try:
            values[name] = None if cell is None or cell == "" else _json_text(cell)
        except ValueError as error:
            return Row(f"row {number}", number, fault=f"column {name!r}: {error}")
    return Row(f"row {number}", number, values, images)


def _json_text(value: Any) -> str:
    if isinstance(value, str | bool) or value is None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number that JSON has")
        return str(value) if isinstance(value, Decimal) else repr(value)
    if isinstance(value, date | datetime | time):
        return json.dumps(value.isoformat())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_json_text(item) for item in cast("list[Any]", value)) + "]"
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return (
            "{" + ", ".join(f"{json.dumps(str(name), ensure_ascii=False)}: {_json_text(v)}" for name, v in items) + "}"
        )
    return json.dumps(str(value), ensure_ascii=False)


def _check_names(names: Sequence[str], path: Path, where: str) -> None:
    at = f"{_show(path)}: {where + ': ' if where else ''}"
    if "" in names:
        raise UsageError(f"{at}column {list(names).index('') + 1} has no name; the header is {_listed(names)}")
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise UsageError(f"{at}the column {twice!r} stands twice; the header is {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(printable(name)[:60] or "(no name)" for name in names[:40])


def file_bytes(path: Path) -> bytes:
    """The bytes of a regular file of at most 512 MiB. Raises UsageError."""
    try:
        if not path.is_file():
            raise UsageError(no_file(path))
        if path.stat().st_size > _MOST:
            raise UsageError(f"{_show(path)}: expected at most {_MOST >> 20} MiB; split the file")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{_show(path)}: can't be read: {reason}") from None


def _hint(path: Path) -> str:
    ending = path.suffix.lower()
    if ending in (".xlsx", ".xls", ".ods", ".numbers"):
        return "; save the sheet as CSV in UTF-8"
    if ending == ".json":
        return "; with one object a line it is a .jsonl (jq -c '.[]' makes one of a list)"
    return ""


def _show(path: Path) -> str:
    return printable(str(path))
