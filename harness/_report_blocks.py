"""What a report is put together from: headings, sentences, tables and charts, the same in every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Block", "Cell", "Chart", "Document", "EventSeq", "Grid", "Heading", "Name", "RunId", "Sentence", "Text"]

Row = Mapping[str, Any]
Tone = Literal["", "bad", "good", "quiet"]


class Name(str):
    """Text that somebody else wrote."""

    __slots__ = ()


class RunId(Name):
    """The id of a run: a format that can lead there does."""

    __slots__ = ()


class EventSeq(str):
    """The seq of an event: a format that can lead there does."""

    __slots__ = ()


Text = str | Name | EventSeq
Cell = Text | Sequence[Text]


@dataclass(frozen=True)
class Heading:
    """A heading; `level` 1 is the title."""

    level: int
    text: Sequence[Text]


@dataclass(frozen=True)
class Sentence:
    """A sentence, put together from words and names. `tone` says how loudly."""

    parts: Sequence[Text]
    tone: Tone = ""


@dataclass(frozen=True)
class Grid:
    """A table. `right` names the columns of numbers; `caption` says what the table holds."""

    caption: Sequence[Text]
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Chart:
    """A picture of rows that a table shows too: formats without pictures leave it out."""

    kind: Literal["intervals", "failures"]
    title: Sequence[Text]
    rows: Sequence[Row]


Block = Heading | Sentence | Grid | Chart
Document = Sequence[Block]
