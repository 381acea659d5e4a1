"""JSON read exactly: duplicate keys and NaN refused, numbers never rounded, members sliced as they stand in the text.

A parsed value here is what RFC 8259 says and no more: integers are `int`, every other number is a `Decimal` of the
source text, and no float ever appears, so that 0.6 and 0.60 compare equal and 0.59999999999999999999 doesn't pass
for 0.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, TypeAlias, cast

__all__ = ["JSON", "JSONError", "loads", "members", "number"]

JSON: TypeAlias = "Mapping[str, JSON] | list[JSON] | str | int | Decimal | bool | None"

_SPACE = " \t\n\r"


class JSONError(ValueError):
    """A text isn't the JSON that was expected; `position` counts characters from 0, or is None."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


def number(text: str) -> int | Decimal:
    """The exact value of a JSON number.

    An exponent that no Decimal holds (past about 10^18 digits) gives `Decimal("NaN")`, which no comparison takes for
    a number: readers ask `is_finite()` first.
    """
    try:
        return int(text)
    except ValueError:
        try:
            return Decimal(text)
        except InvalidOperation:
            return Decimal("NaN")


def loads(text: str) -> JSON:
    """The value of one JSON text.

    Raises `JSONError` for anything but exactly one value between white space, for a duplicate key in any object, for
    NaN and the infinities, and for nesting that the interpreter can't follow.
    """
    return cast("JSON", guarded(_EXACT, text))


def guarded(decoder: json.JSONDecoder, text: str) -> Any:
    """`decoder.decode(text)`, with every failure a `JSONError`."""
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise JSONError(f"{error.msg} at character {error.pos}", error.pos) from None
    except RecursionError:
        raise JSONError("nested too deeply to be read") from None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that refuses a key given twice, whatever the two values are."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JSONError(f"the key {key!a} stands twice in one object")
            seen.add(key)
    return found


def refuse_constant(text: str) -> NoReturn:
    """A `parse_constant` for what isn't JSON, though Python reads it."""
    raise JSONError(f"{text} is not JSON")


_EXACT = json.JSONDecoder(
    object_pairs_hook=unique, parse_int=number, parse_float=number, parse_constant=refuse_constant
)


def members(text: str) -> dict[str, str]:
    """The members of a JSON object, each value as the exact slice of `text` that it was written as.

    Raises `JSONError` as `loads` does, and when the root isn't an object. The whole text is checked, not only the
    top level.
    """
    if not isinstance(loads(text), dict):
        raise JSONError("expected an object")
    # The text is known to be one object with unique keys, so the walk below only has to find the seams.
    scan = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
    found: dict[str, str] = {}
    at = skip(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = scan(text, at)
        start = skip(text, skip(text, at) + 1)
        _, end = scan(text, start)
        found[key] = text[start:end]
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)
    return found


def skip(text: str, at: int) -> int:
    """The first position from `at` on that holds no JSON white space."""
    while text[at] in _SPACE:
        at += 1
    return at
