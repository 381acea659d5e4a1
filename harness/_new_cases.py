"""Cases out of the rows of a table: which columns are asked, which are the gold, and which rows can't be cases."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness._errors import IdentityError, UsageError
from harness._identity import tagged_form
from harness._json import JSON, JSONError, loads
from harness._new_rows import Row, Table
from harness.suites.manifest._input import EXTRAS, MESSAGES, check_input
from ledger import printable

__all__ = ["BadRows", "Columns", "Made", "make_cases"]

_JSON_COLUMNS: Final = (MESSAGES, *EXTRAS)
_EXCEL: Final = re.compile(r'"#(?:N/A|REF!|DIV/0!|NAME\?|VALUE!|NULL!|NUM!|SPILL!|CALC!)"')
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MOST_IMAGE: Final = 20 * 2**20
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)  # fmt: skip
_DATA_URI: Final = re.compile(r"data:(image/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=]+)")


@dataclass(frozen=True)
class Columns:
    """Which column is what. `gold_json`: gold cells hold JSON; `gold_split`: what stands between the items of a gold
    cell, or ""; `empty_gold`: what an empty gold cell stands for as JSON text, or "" where it is a mistake."""

    input: Sequence[str]
    gold: Sequence[str]
    id: str = ""
    meta: Sequence[str] = ()
    image: Sequence[str] = ()
    options: Sequence[str] = ()
    gold_json: bool = False
    gold_split: str = ""
    empty_gold: str = ""


@dataclass(frozen=True)
class Made:
    """A case as a line of cases.jsonl, with the row it came from; `asked` is its input as the line has it."""

    where: str
    line: str
    asked: str
    input: JSON
    gold: JSON


class BadRows(UsageError):
    """Rows that can't be cases; `rows` says where each stands and why."""

    def __init__(self, message: str, rows: Sequence[tuple[str, str]]) -> None:
        super().__init__(message)
        self.rows = rows


class _Bad(ValueError):
    """Why one row can't be a case."""


def make_cases(
    table: Table, columns: Columns, folder: Path, check: Callable[[JSON, JSON], str | None], *, stop: bool = False
) -> tuple[list[Made], list[tuple[str, str]]]:
    """The rows that make cases, and where and why the others don't. `folder` is where images are looked for.

    `check(input, gold)` is what prompt and scorer say to a case. `stop`: no row is looked at after one that can't be a
    case. Raises UsageError for columns that aren't there.
    """
    _check_columns(table, columns)
    made: list[Made] = []
    bad: list[tuple[str, str]] = []
    seen: dict[str, str] = {}
    width = max(4, len(str(len(table.rows))))
    for row in table.rows:
        try:
            found = _case(row, columns, folder, width, seen)
            fault = check(found.input, found.gold)
            if fault:
                raise _Bad(fault)
        except _Bad as error:
            bad.append((row.where, str(error)))
            if stop:
                break
            continue
        made.append(found)
    return made, bad


def _check_columns(table: Table, columns: Columns) -> None:
    there = ", ".join(printable(name)[:60] for name in table.columns[:40]) or "none"
    named = [
        ("--input", columns.input), ("--gold", columns.gold), ("--id", [columns.id] if columns.id else []),
        ("--meta", columns.meta), ("--image", columns.image), ("--options", columns.options),
    ]  # fmt: skip
    for flag, names in named:
        for name in names:
            if name not in table.columns:
                raise UsageError(f"{flag}: there is no column {name!r}; the columns are {there}")
        if len(set(names)) != len(names):
            raise UsageError(f"{flag}: a column is named twice in {', '.join(map(ascii, names))}")
    for flag in ("--input", "--gold"):
        if not dict(named)[flag]:
            raise UsageError(f"expected {flag} COLUMN, got none; the columns are {there}")
    shown = next((name for name in columns.gold if name in (*columns.input, *columns.image)), None)
    if shown is not None:
        raise UsageError(f"--gold: the column {shown!r} is an --input too, so every model would be shown the answer")
    taken = [*columns.input, *(["images"] if columns.image else []), *(["options"] if columns.options else [])]
    if len(set(taken)) != len(taken):
        raise UsageError("a column called images or options stands beside --image or --options; rename the column")


def _case(row: Row, columns: Columns, folder: Path, width: int, seen: dict[str, str]) -> Made:
    if row.fault:
        raise _Bad(row.fault)
    name = _id(row, columns, width, seen)
    asked, gold = _input(row, columns, folder), _gold(row, columns)
    meta = {column: value for column in columns.meta if (value := row.values.get(column)) is not None}
    for what, text in (("input", asked), ("gold", gold), ("meta", _object(meta))):
        try:
            tagged_form(text)
        except IdentityError as error:
            raise _Bad(f"{what}: {error}") from None
    fault = check_input(loads(asked))
    if fault:
        raise _Bad(fault)
    parts = [f'"id": {json.dumps(name, ensure_ascii=False)}', f'"input": {asked}', f'"gold": {gold}']
    if meta:
        parts.append(f'"meta": {_object(meta)}')
    return Made(row.where, "{" + ", ".join(parts) + "}", asked, loads(asked), loads(gold))


def _id(row: Row, columns: Columns, width: int, seen: dict[str, str]) -> str:
    if not columns.id:
        return f"r{row.number:0{width}d}"
    value = row.values.get(columns.id)
    if value is None:
        raise _Bad(f"the id ({columns.id}) is empty")
    found = json.loads(value) if value.startswith('"') else value
    if not isinstance(found, str) or len(found) > 200 or _UNPRINTABLE.search(found) or value[0] in "[{":
        raise _Bad(f"the id ({columns.id}) is expected to be 1 to 200 printable characters, got {repr(found)[:60]}")
    if found in seen:
        raise _Bad(f"the id {found!r} stands on {seen[found]} too")
    seen[found] = row.where
    return found


def _input(row: Row, columns: Columns, folder: Path) -> str:
    fields: dict[str, str] = {}
    for column in columns.input:
        value = row.values.get(column)
        if value is None and column == columns.input[0]:
            raise _Bad(f"the input ({column}) is empty")
        if value is not None and _EXCEL.fullmatch(value):
            raise _Bad(f"the input ({column}) is {value}, an error of the spreadsheet")
        if value is not None and column in _JSON_COLUMNS:
            value = _as_json(value, column)
        if value is None and column in _JSON_COLUMNS:
            continue
        fields[column] = '""' if value is None else value
    if columns.options:
        fields["options"] = _options(row, columns)
    pictures = [_image(row, column, folder) for column in columns.image]
    if pictures:
        fields["images"] = "[" + ", ".join(_object(each) for each in pictures) + "]"
    alone = next(iter(fields.values())) if len(fields) == 1 else ""
    return alone if alone.startswith("{") and MESSAGES in _members(alone) else _object(fields)


def _gold(row: Row, columns: Columns) -> str:
    found = {column: _one_gold(row, column, columns) for column in columns.gold}
    return _object(found) if len(found) > 1 else next(iter(found.values()))


def _one_gold(row: Row, column: str, columns: Columns) -> str:
    value = row.values.get(column)
    if value is None:
        if columns.empty_gold:
            return columns.empty_gold
        raise _Bad(f"the gold ({column}) is empty")
    if _EXCEL.fullmatch(value):
        raise _Bad(f"the gold ({column}) is {value}, an error of the spreadsheet")
    if columns.gold_json:
        return _as_json(value, column)
    if columns.gold_split and value.startswith('"'):
        items = [item.strip() for item in json.loads(value).split(columns.gold_split)]
        return json.dumps([item for item in items if item], ensure_ascii=False)
    return value


def _options(row: Row, columns: Columns) -> str:
    cells = [row.values.get(column) for column in columns.options]
    if len(cells) == 1 and cells[0] is not None:
        listed = _as_json(cells[0], columns.options[0])
        if not isinstance(loads(listed), list | Mapping):
            raise _Bad(
                f"the options ({columns.options[0]}) are expected to be a JSON list, an object of letter (or number)"
                " and text, or a column each"
            )
        return listed
    # The letters go by position, so only a row's last options can be missing.
    while cells and cells[-1] is None:
        cells.pop()
    if len(cells) < 2 or None in cells:
        empty = next((name for name, cell in zip(columns.options, cells, strict=False) if cell is None), "")
        why = f"{empty!r} is empty" if empty else f"{len(cells)} of them stand there"
        raise _Bad(f"expected at least two options with none left out between them, but {why}")
    return "[" + ", ".join(cell for cell in cells if cell is not None) + "]"


def _image(row: Row, column: str, folder: Path) -> dict[str, str]:
    data = row.images.get(column)
    value = row.values.get(column)
    if data is None:
        named = json.loads(value) if value is not None and value.startswith('"') else None
        if not isinstance(named, str):
            raise _Bad(f"the image ({column}) is expected to be a file's name or a data: URI, and is empty or neither")
        uri = _DATA_URI.fullmatch(named)
        data = _decoded(uri[2], column) if uri else _file(named, column, folder)
    kind = next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
    if kind is None or (kind == "image/webp" and data[8:12] != b"WEBP"):
        raise _Bad(f"the image ({column}) is no PNG, JPEG, GIF or WebP")
    encoded = base64.b64encode(data).decode("ascii")
    return {"type": '"image"', "media_type": json.dumps(kind), "data": json.dumps(encoded)}


def _file(named: str, column: str, folder: Path) -> bytes:
    try:
        path = (folder / named).resolve()
        # A table that somebody else made names only what lies beside it.
        if not path.is_relative_to(folder.resolve()):
            raise _Bad(f"the image ({column}) {named[:80]!r} lies outside the folder of the table")
        if not path.is_file():
            raise _Bad(f"the image ({column}) {named[:80]!r} isn't there; names go from the folder of the table")
        if path.stat().st_size > _MOST_IMAGE:
            raise _Bad(f"the image ({column}) {named[:80]!r} has more than {_MOST_IMAGE >> 20} MiB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, _Bad):
            raise
        raise _Bad(f"the image ({column}) {named[:80]!r} can't be read") from None


def _decoded(text: str, column: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _Bad(f"the image ({column}) is a data: URI whose base64 can't be read") from None


def _as_json(value: str, column: str) -> str:
    """A value that is JSON: of a JSON line as it is, of a CSV's cell as the text in it says."""
    inner = json.loads(value) if value.startswith('"') else value
    try:
        loads(inner)
    except JSONError as error:
        if inner is not value and isinstance(inner, str) and not inner.lstrip().startswith(("[", "{")):
            raise _Bad(f"{column}: expected JSON, got the text {inner[:60]!r}") from None
        raise _Bad(f"{column}: expected JSON: {error}") from None
    # JSON breaks a line between its tokens only, and a case is one line.
    return inner.strip().replace("\r", " ").replace("\n", " ")


def _members(text: str) -> Mapping[str, JSON]:
    found = loads(text)
    return found if isinstance(found, Mapping) else {}


def _object(fields: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {value}" for name, value in fields.items()) + "}"
