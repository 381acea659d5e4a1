"""Events of a stream: server-sent events (WHATWG HTML, 9.2.6) and newline-delimited JSON.

An event without data says nothing: relays send such ones, and comments, to keep a connection alive. Some put a comment,
or a word of their own, into the data: an event called `ping` says nothing either. An event that the body's end closes
counts as one that a blank line closes: the provider's end mark, not a line feed, says whether the stream is whole.

A JSON object that stands outside of any field isn't passed over, as the text on server-sent events would have it: it is
an error that a server wrote where its stream broke, or a piece of the answer that would be missing without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Sent", "cut_text", "is_server_sent", "lines_of_json", "server_sent"]

_TEXT_FIELD: Final = re.compile(
    r'"(?:content|text)"[ \t]*:[ \t]*"([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+)'
)
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_FIELD: Final = re.compile(r"\s*(?::|(?:data|event|id|retry)(?::|\s*[\r\n]|\s*$))")
_BLANKS: Final = " \t\r\n"
"""What JSON calls white space. Data of nothing else is no data."""
_ALIVE: Final = frozenset({"ping", "pong", "keepalive", "keep-alive", "keep_alive", "heartbeat"})
"""How events are called that only keep a connection alive."""


class Sent(NamedTuple):
    """One event of a stream: its data, and its name where it has one. `stray` is an object outside of any field."""

    data: str
    name: str = ""
    stray: bool = False


def server_sent(text: str) -> Iterator[Sent]:
    """Each event that has data. Of the fields only `data` and `event` are read; unknown ones are passed over."""
    data: list[str] = []
    stray: list[str] = []
    name = ""
    for line in [*_LINE_END.split(text.removeprefix("\ufeff")), ""]:
        if not line:
            joined = "\n".join(data)
            if joined.strip(_BLANKS) and not _keeps_alive(joined.strip(_BLANKS), name):
                yield Sent(joined, name)
            if stray:
                yield Sent("\n".join(stray), stray=True)
            data, stray, name = [], [], ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif line[0] == "{" or (stray and field not in ("", "id", "retry")):
            stray.append(line)


def _keeps_alive(data: str, name: str) -> bool:
    """Whether data says nothing: of an event that is called so, an empty text, or a comment that a relay took for data
    (":" begins no JSON). What an event named `ping` tells as an object is read like any other."""
    if name == "error":
        return False
    return data in ('""', "''") or data[0] == ":" or (name.lower() in _ALIVE and data[0] not in "{[")


def is_server_sent(text: str) -> bool:
    """Whether a text without any event begins as a stream does: with a comment, or an event without data."""
    return _FIELD.match(text) is not None


def lines_of_json(text: str) -> Iterator[Sent]:
    """Each line that isn't blank."""
    for line in text.removeprefix("\ufeff").split("\n"):
        if line.strip(_BLANKS):
            yield Sent(line)


def cut_text(data: str) -> str:
    """The text that an event, or a body, holds which is cut off: kept as partial, never as an answer."""
    found: str = ""
    for field in _TEXT_FIELD.finditer(data):
        piece: str = json.loads(f'"{field[1]}"')
        found += piece
    return found.encode("utf-8", "replace").decode("utf-8")
