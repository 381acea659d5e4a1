"""Labels that people gave to a run's answers, as a table has them: one row a cell and rater.

    cell                     the cell of the graded run; or
    case                     the id of its case, or FIXTURE/ID as reports have it; with `fixture`, `candidate`, `epoch`
                             where that alone is several cells
    rater                    who labelled; optional, a file without it has one rater
    verdict                  pass or fail, in any case; empty where the rater gave none
    a criterion's id         a whole number on that criterion's scale; empty likewise
    note, notes, comment, comments   for people; not read

A criterion that is called like one of these columns has the column `criterion:ID`.

Nothing is guessed: a file with one row that can't be taken is refused whole, with the line of every such row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from harness._errors import RowsError, UsageError
from harness._new_rows import Row, Table, read_csv
from ledger import printable

__all__ = ["ANYBODY", "PLACES", "Label", "LabelFile", "Scale", "Target", "read_labels"]

ANYBODY = "human"
"""What the one rater of a file without a column `rater` is called."""
PLACES = ("cell", "case", "fixture", "candidate", "epoch")
"""The columns that say which answer a row is about."""

Scale = tuple[int, int]
Said = Literal["pass", "fail"]
_UNREAD = ("note", "notes", "comment", "comments")
_OWN = frozenset({*PLACES, "rater", "verdict", *_UNREAD})
_PREFIX = "criterion:"
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_MOST_RATER = 100
_SHOWN = 20


class _Bad(ValueError):
    """Why one row can't be taken."""


@dataclass(frozen=True, slots=True)
class Target:
    """A planned cell of the graded run, by all that a row may call it."""

    cell: int
    case: str
    fixture: str
    candidate: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Label:
    """What one rater said of one cell: a verdict, scores by criterion, or both."""

    cell: int
    rater: str
    verdict: Said | None
    scores: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class LabelFile:
    """A file's labels in the order of its rows, and the criteria that it has columns for."""

    labels: tuple[Label, ...]
    criteria: tuple[str, ...]

    @property
    def raters(self) -> tuple[str, ...]:
        """Who labelled, in the order of their first rows."""
        return tuple(dict.fromkeys(each.rater for each in self.labels))


def read_labels(
    data: bytes, path: Path, targets: Sequence[Target], scales: Mapping[str, Scale] | None, run: str = ""
) -> LabelFile:
    """The labels of a CSV in UTF-8, separated by , ; | or tabs, with a byte order mark or without.

    `targets` are the cells that can be labelled, `scales` the least and the most of each criterion by its id; None
    takes any further column for a criterion, with any whole number. `path` and `run` are for messages. Raises
    UsageError for a file that isn't one of labels, and, with the line of each, for rows that can't be taken.
    """
    _check_text(data, path)
    table = read_csv(data, path, _delimiter(data))
    criteria = _criteria(table, path, scales)
    find = _finder(table.columns, targets, run)
    labels: list[Label] = []
    bad: list[str] = []
    seen: dict[tuple[int, str], str] = {}
    for row in table.rows:
        try:
            label = _label(row, criteria, scales, find)
            first = seen.setdefault((label.cell, label.rater), row.where)
            if first != row.where:
                raise _Bad(f"cell {label.cell} is labelled by {label.rater!r} on {first} too")
        except _Bad as error:
            bad.append(f"{row.where}: {error}")
            continue
        labels.append(label)
    if bad:
        raise RowsError(
            f"{_show(path)}: {len(bad)} of {len(table.rows)} rows can't be taken as labels, so none was:",
            bad[:_SHOWN],
            max(0, len(bad) - _SHOWN),
        )
    if not labels:
        raise UsageError(f"{_show(path)}: expected one label a row, got no row at all")
    return LabelFile(tuple(labels), tuple(criteria.values()))


def _check_text(data: bytes, path: Path) -> None:
    """Raises UsageError for what isn't UTF-8; a spreadsheet is told by what reads the table."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not data.startswith(_SPREADSHEETS):
            line = data.count(b"\n", 0, error.start) + 1
            raise UsageError(
                f"{_show(path)}: line {line}: not UTF-8 (byte {error.start}); save the table as CSV in UTF-8"
            ) from None


def _delimiter(data: bytes) -> str:
    """The separator of a header whose names hold none: the one of the four that stands in it."""
    header = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").split(b"\n", 1)[0]
    return next((each for each in ",;\t|" if each.encode() in header), ",")


def _criteria(table: Table, path: Path, scales: Mapping[str, Scale] | None) -> Mapping[str, str]:
    """The columns of criteria, each with the criterion's id."""
    columns = table.columns
    if "cell" not in columns and "case" not in columns:
        raise UsageError(
            f"{_show(path)}: expected a column cell or case that says which answer a row is about; the columns are"
            f" {_listed(columns)}"
        )
    found = {each: each.removeprefix(_PREFIX) for each in columns if each not in _OWN}
    for column, name in found.items():
        if scales is not None and not scales:
            raise UsageError(
                f"{_show(path)}: the column {column!a} may be a criterion, but no judge's grades stand in the run, so"
                " nobody knows its criteria: grade the run first, or name the judge with --judge SUITE; without either,"
                f" a column is one of {', '.join(PLACES)}, rater, verdict, note"
            )
        if scales is not None and name not in scales:
            raise UsageError(
                f"{_show(path)}: there is no criterion {name!a}; a column is one of {', '.join(PLACES)}, rater,"
                f" verdict, note, or a criterion of the judge: {_listed(scales)}"
            )
        if list(found.values()).count(name) > 1:
            raise UsageError(f"{_show(path)}: two columns are of the criterion {name!a}, {column!a} among them")
    unclear = next((each for each in columns if each in _UNREAD and each in (scales or ())), None)
    if unclear is not None:
        raise UsageError(
            f"{_show(path)}: the column {unclear!a} could be the criterion of that name; call that one"
            f" {_PREFIX}{unclear}, and leave or rename the other"
        )
    if "verdict" not in columns and not found:
        raise UsageError(
            f"{_show(path)}: expected a column verdict, or one called as a criterion of the judge"
            f" ({_listed(scales or ())}); the columns are {_listed(columns)}"
        )
    return found


def _finder(columns: Sequence[str], targets: Sequence[Target], run: str) -> Callable[[Mapping[str, str]], int]:
    """What finds the one cell that the places of a row name."""
    by_cell = {each.cell: each for each in targets}
    by_case: dict[str, list[Target]] = {}
    for each in targets:
        by_case.setdefault(each.case, []).append(each)
    # As a report calls a case; an id that is written like that itself goes before.
    of_fixture: dict[str, list[Target]] = {}
    for each in targets:
        of_fixture.setdefault(f"{each.fixture}/{each.case}", []).append(each)
    of = f"run {run}" if run else "the run"

    def find(places: Mapping[str, str]) -> int:
        if "cell" in places:
            given = places["cell"]
            target = by_cell.get(int(given)) if _WHOLE.fullmatch(given) else None
            if target is None:
                there = f"1 to {max(by_cell)}" if by_cell else "none"
                raise _Bad(f"{of} has no cell {given[:40]!a}; it has {there}")
            found = [target]
        elif "case" in places:
            found = by_case.get(places["case"]) or of_fixture.get(places["case"], [])
        else:
            named = " and ".join(each for each in ("cell", "case") if each in columns)
            raise _Bad(f"{named} {'are' if ' ' in named else 'is'} empty, so nobody knows which answer this is about")
        for name, given in places.items():
            if name != "cell":
                left = [
                    each for each in found
                    if str(getattr(each, name)) == given or (name == "case" and f"{each.fixture}/{each.case}" == given)
                ]  # fmt: skip
                if not left:
                    raise _Bad(_not_there(of, name, given, places, found))
                found = left
        if len(found) > 1:
            apart = [name for name in PLACES[2:] if len({getattr(each, name) for each in found}) > 1]
            raise _Bad(
                f"{len(found)} cells of {of} are of case {places['case'][:60]!a}: say which, by {' and '.join(apart)}"
                " or by cell"
            )
        return found[0].cell

    return find


def _not_there(of: str, name: str, given: str, places: Mapping[str, str], found: Sequence[Target]) -> str:
    if "cell" in places:
        return f"cell {places['cell']} of {of} is of {name} {str(getattr(found[0], name))[:60]!a}, not {given[:60]!a}"
    with_it = f" of case {places['case'][:60]!a}" if name != "case" else ""
    return f"{of} has no cell{with_it} with {name} {given[:60]!a}"


def _label(
    row: Row, criteria: Mapping[str, str], scales: Mapping[str, Scale] | None, find: Callable[[Mapping[str, str]], int]
) -> Label:
    if row.fault:
        raise _Bad(row.fault)
    texts = {name: cast("str", json.loads(value)) for name, value in row.values.items() if value is not None}
    cell = find({name: texts[name].strip() for name in PLACES if name in texts})
    rater = texts.get("rater", "").strip() or ANYBODY
    if len(rater) > _MOST_RATER or _UNPRINTABLE.search(rater):
        raise _Bad(f"rater: expected 1 to {_MOST_RATER} printable characters, got {rater[:40]!a}")
    said = texts.get("verdict", "").strip().casefold()
    if said not in ("", "pass", "fail"):
        raise _Bad(f"verdict: expected pass or fail, got {texts['verdict'][:40]!a}")
    scores = {
        name: _score(name, texts[column].strip(), None if scales is None else scales[name])
        for column, name in criteria.items() if column in texts
    }  # fmt: skip
    if not said and not scores:
        raise _Bad("holds no label: neither a verdict nor a score")
    return Label(cell, rater, said or None, scores)


def _score(name: str, text: str, scale: Scale | None) -> int:
    wanted = "a whole number" if scale is None else f"a whole number from {scale[0]} to {scale[1]}"
    if not _WHOLE.fullmatch(text) or (scale is not None and not scale[0] <= int(text) <= scale[1]):
        raise _Bad(f"{printable(name)}: expected {wanted}, got {text[:40]!a}")
    return int(text)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(printable(name)[:60] for name in names) or "none"


def _show(path: Path) -> str:
    return printable(str(path))
