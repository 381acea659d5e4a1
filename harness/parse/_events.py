"""Events of a stream: server-sent events (WHATWG HTML, 9.2.6) and newline-delimited JSON.

An event that the body's end closes counts as one that a blank line closes: the provider's end mark, not a line feed,
says whether the stream is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["cut_text", "lines_of_json", "server_sent"]

_TEXT_FIELD: Final = re.compile(
    r'"(?:content|text)"[ \t]*:[ \t]*"([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+)'
)
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


def server_sent(text: str) -> Iterator[str]:
    """The data of each event. Names aren't needed: the protocols here repeat them in the data."""
    data: list[str] = []
    for line in _LINE_END.split(text.removeprefix("\ufeff")):
        if not line:
            if data:
                yield "\n".join(data)
                data = []
            continue
        name, colon, value = line.partition(":")
        if name == "data" and (colon or not value):
            data.append(value.removeprefix(" "))
    if data:
        yield "\n".join(data)


def lines_of_json(text: str) -> Iterator[str]:
    """Each line that isn't blank."""
    for line in text.removeprefix("\ufeff").split("\n"):
        if line.strip():
            yield line


def cut_text(data: str) -> str:
    """The text that an event holds which is cut off: kept as partial, never as an answer."""
    found: str = ""
    for field in _TEXT_FIELD.finditer(data):
        piece: str = json.loads(f'"{field[1]}"')
        found += piece
    return found.encode("utf-8", "replace").decode("utf-8")
