"""A stored row as it stands, whatever somebody made of it: what isn't of the format's form is shown, never trusted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ledger._event import COLUMN_GRAMMAR, why_not_at, why_not_causes
from ledger._store import Ledger
from ledger.web._pages import PageMissing, View
from ledger.web._text import excerpts

__all__ = ["Column", "Row", "row_of", "seq_of"]

_COLUMNS = ("seq", "v", "hash", "prev", "at", "kind", "run", "cell", "causes", "body_hash", "salt", "body")
_TYPES = {"seq": "integer", "v": "integer", "cell": "integer"}
_MAY_BE_GONE = ("salt", "body")
_READ = ", ".join(f"typeof({name}), CAST({name} AS BLOB)" for name in _COLUMNS)
_ROW = f"SELECT {_READ} FROM main.events WHERE seq = ?"  # noqa: S608 - fixed names
_BLOB_TEXTS = ("hash", "salt", "encoding")
_BLOBS = (
    "SELECT typeof(hash), CAST(hash AS BLOB), typeof(salt), CAST(salt AS BLOB), typeof(encoding),"
    " CAST(encoding AS BLOB) FROM main.blobs WHERE seq = ?"
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a row: its type in SQLite's words, its bytes, and what is wrong with it (empty: nothing)."""

    name: str
    type: str
    data: bytes | None
    wrong: str

    @property
    def drawn(self) -> Markup:
        """The value, cut to what a page shows."""
        return excerpts(self.data or b"")[0].drawn


@dataclass(frozen=True, slots=True)
class Row:
    """An event's row. `problems` say why it can't be read as an event, where it can't."""

    columns: Sequence[Column]
    problems: Sequence[str]

    def bytes_of(self, name: str) -> bytes | None:
        """A column's bytes as stored; None for NULL."""
        return next(column.data for column in self.columns if column.name == name)


def seq_of(view: View, text: str) -> int:
    """The seq that an address names. Raises PageMissing."""
    if not re.fullmatch(r"[1-9][0-9]{0,15}", text):
        raise PageMissing(f"expected an event's seq, a number from 1 on, got {text[:80]!r}")
    seq = int(text)
    if seq > view.size:
        raise PageMissing(f"there is no event {seq}; the head is {view.size}")
    return seq


def row_of(ledger: Ledger, seq: int) -> Row:
    """An event's row, checked column by column. Raises PageMissing where there is none, which is a gap in the chain."""
    found = ledger.sql(_ROW, (seq,)).fetchone()
    if found is None:
        raise PageMissing(f"event {seq} is missing from the file: a gap in the chain; `ledger verify` says more")
    columns = [
        Column(name, kind, data, _wrong(name, kind, data))
        for name, kind, data in zip(_COLUMNS, found[::2], found[1::2], strict=True)
    ]
    problems = [f"{column.name}: {column.wrong}" for column in columns if column.wrong]
    if not problems:
        problems = _unreadable(seq, columns)
    return Row(columns, problems + _blob_problems(ledger, seq))


def _wrong(name: str, kind: str, data: bytes | None) -> str:
    if data is None:
        return "" if name in _MAY_BE_GONE else "expected a value, got NULL"
    wanted = _TYPES.get(name, "text")
    if kind != wanted:
        return f"expected a value of type {wanted}, got {kind}"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "expected UTF-8, got bytes that are none"
    grammar = COLUMN_GRAMMAR.get(name) if name != "salt" else None
    if grammar is not None and not grammar.fullmatch(data):
        return "not of the form that the format fixes"
    return ""


def _unreadable(seq: int, columns: Sequence[Column]) -> list[str]:
    text = {column.name: (column.data or b"").decode("utf-8") for column in columns}
    causes = tuple(int(each) for each in text["causes"][1:-1].split(",") if each)
    reasons = {"at": why_not_at(text["at"]), "causes": why_not_causes(causes, seq)}
    problems = [f"{name}: {why}" for name, why in reasons.items() if why]
    if text["v"] != "1":
        problems.append(f"v: expected format version 1, got {text['v']}")
    return problems


def _blob_problems(ledger: Ledger, seq: int) -> list[str]:
    problems: list[str] = []
    for found in ledger.sql(_BLOBS, (seq,)).fetchall():
        for name, kind, data in zip(_BLOB_TEXTS, found[::2], found[1::2], strict=True):
            gone = kind == "null" and name == "salt"
            if not gone and not (kind == "text" and _is_text(data)):
                got = "bytes that are none" if kind == "text" else kind
                problems.append(f"the {name} of a blob: expected UTF-8 text, got {got}")
    return problems


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
