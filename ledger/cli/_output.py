"""Where words go: JSON alone on stdout when it was asked for, people's words on stderr then, and all of it escaped."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ledger._screen import printable

__all__ = ["Words", "emit_bytes", "emit_json", "emit_json_list", "shown_minute", "table", "tell"]


def tell(text: str) -> None:
    """One sentence for people, on stderr."""
    print(printable(text), file=sys.stderr, flush=True)


class Words:
    """People's words: on stdout, or on stderr when JSON has stdout."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def __call__(self, text: str = "", *, multiline: bool = False) -> None:
        print(printable(text, multiline=multiline), file=sys.stderr if self._as_json else sys.stdout)


def _json(value: Any) -> str:
    # ASCII, and DEL too: what JSON leaves as it is must be safe for a terminal.
    return json.dumps(value, ensure_ascii=True, allow_nan=False).replace("\x7f", "\\u007f")


def emit_json(value: Any) -> None:
    """One JSON value on stdout."""
    print(_json(value))


def emit_bytes(data: bytes) -> None:
    """Bytes on stdout: as they are into a file or a pipe, and with everything that a terminal obeys escaped on one."""
    if sys.stdout.isatty():
        print(printable(data.decode("utf-8", "backslashreplace"), multiline=True))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def emit_json_list(name: str, items: Iterable[Any]) -> None:
    """{name: [items]} on stdout, written as they come: a ledger may be longer than memory."""
    separator = f'{{"{name}":['
    for item in items:
        print(separator + _json(item), end="")
        separator = ",\n"
    print("]}" if separator == ",\n" else separator + "]}")


def shown_minute(time: object) -> str:
    """A time of an event to the minute, in UTC as it stands there, and said so."""
    text = str(time)
    return f"{text[:10]} {text[11:16]}Z" if text[16:17] == ":" and text.endswith("Z") else text


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Rows as aligned lines of printable text; numbers to the right."""
    from rich.cells import cell_len

    numeric = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(header))]
    texts = [list(header), *[["" if cell is None else printable(str(cell)) for cell in row] for row in rows]]
    widths = [max(cell_len(row[i]) for row in texts) for i in range(len(header))]

    def cell(text: str, column: int) -> str:
        gap = " " * (widths[column] - cell_len(text))
        return gap + text if numeric[column] else text + gap

    return ["  ".join(cell(text, i) for i, text in enumerate(row)).rstrip() for row in texts]
