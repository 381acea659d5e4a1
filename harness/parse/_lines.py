"""Many texts at once: one JSON line in, one JSON line out.

In: {"id", "text" or "bytes_b64", "ask", "stop"}. Out: {"id", "status", "reason", "value", "flags"}, printable ASCII,
where `value` is the answer's JSON itself, its numbers as they were written.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast, get_args

from harness._errors import UsageError
from harness.parse._answer import read_string, read_text
from harness.parse._json import compact, load
from harness.parse._types import Ask, Reading, ReadRules, Stop

__all__ = ["read_lines", "reading_as_json"]

_ASKS: Final = get_args(Ask)
_STOPS: Final = get_args(Stop)
_FIELDS: Final = frozenset({"id", "text", "bytes_b64", "ask", "stop"})


def read_lines(lines: Iterable[bytes], rules: ReadRules) -> Iterator[str]:
    """Read each line that isn't blank; the lines that come out end without a line feed.

    Raises UsageError for a line that isn't as said above, naming it and what is wrong.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _read_line(line, number, rules)


def reading_as_json(reading: Reading, identity: str | None = None) -> str:
    """A reading as one line of ASCII JSON; `identity` is JSON text, put in front as `id`."""
    value = "null" if reading.value is None else compact(reading.value)
    head = "" if identity is None else f'"id":{identity},'
    status, name, flags = (json.dumps(part) for part in (reading.status, reading.reason or None, list(reading.flags)))
    return f'{{{head}"status":{status},"reason":{name},"value":{value},"flags":{flags}}}'


def _read_line(line: bytes, number: int, rules: ReadRules) -> str:
    def wrong(what: str) -> UsageError:
        return UsageError(f"line {number} of the input {what}")

    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise wrong(f"is not UTF-8 at byte {error.start}; put such bytes into bytes_b64") from None
    fields = _fields(text)
    if fields is None:
        raise wrong('is not a JSON object; expected {"id", "text" or "bytes_b64", "ask", "stop"}')
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise wrong(f"has the unknown field {unknown[0]!a}; expected id, text or bytes_b64, ask, stop")
    if not isinstance(fields.get("id"), (str, int)):
        raise wrong("has no id; expected a string or an integer")
    ask, stop = fields.get("ask"), fields.get("stop") or "none"
    if ask not in _ASKS:
        raise wrong(f"asks for {ask!a}; expected one of {', '.join(_ASKS)}")
    if stop not in _STOPS:
        raise wrong(f"has the stop {stop!a}; expected one of {', '.join(_STOPS)}, or null")
    if ("text" in fields) == ("bytes_b64" in fields):
        raise wrong("has to hold either text or bytes_b64")
    content = fields.get("text", fields.get("bytes_b64"))
    if not isinstance(content, str):
        raise wrong("holds text or bytes_b64 that is not a string")
    if "text" in fields:
        reading = read_string(content, ask=cast("Ask", ask), stop=cast("Stop", stop), rules=rules)
    else:
        try:
            data = base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise wrong("holds bytes_b64 that is not base64") from None
        reading = read_text(data, ask=cast("Ask", ask), stop=cast("Stop", stop), rules=rules)
    return reading_as_json(reading, json.dumps(fields["id"]))


def _fields(text: str) -> dict[str, Any] | None:
    """The members of a line. A text may hold half a surrogate pair: models send them, so they are let through here."""
    good, value = load(text)
    if not good and "\\u" in text:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
