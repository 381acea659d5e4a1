"""Strict JSON (RFC 8259) with unique keys, read fast: the value of a whole text, through the C decoder.

Depth and the length of numbers are limited by constants, never by the interpreter's own limits, so that the same bytes
read the same everywhere. What :func:`load` refuses, `_scan` explains.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any, Final, cast

from harness.parse import _scan
from harness.parse._scan import BRACKETS, LONE_SURROGATE, MAX_DEPTH, MAX_DIGITS, STRING, SURROGATE_ESCAPE

__all__ = ["Integer", "compact", "end_of_value", "load", "normal", "trim"]

_SPACE: Final = " \t\n\r"
_LONG_NUMBER: Final = re.compile(r"[0-9]{640}")
_TOKENS: Final = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|[ \t\n\r]++')
_BEYOND_ASCII: Final = re.compile(r"[\x7f-\U0010ffff]")


class _Refused(Exception):
    pass


class Integer(str):
    """The text of a number whose value nobody needs, or which int() may refuse under the interpreter's own limit."""

    __slots__ = ()


class _Float(str):
    __slots__ = ()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused
    return found


def _constant(token: str) -> Any:
    raise _Refused(token)


def _float(token: str) -> float:
    number = float(token)
    if len(token) > MAX_DIGITS or math.isinf(number):
        raise _Refused
    return number


def _int(token: str) -> Any:
    if len(token) > MAX_DIGITS + (token[0] == "-"):
        raise _Refused
    return int(token) if len(token) <= 640 else Integer(token)


def _decoder(**hooks: Any) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, **hooks)


_PLAIN: Final = _decoder(parse_float=_float)
_CAREFUL: Final = _decoder(parse_float=_float, parse_int=_int)
_TEXTUAL: Final = json.JSONDecoder(parse_float=_Float, parse_int=Integer)


def load(text: str, *, halves: bool = False) -> tuple[bool, Any]:
    """(True, the value) of a text that is one strict JSON value between JSON white space, else (False, None).

    An integer of more than 640 digits may come as :class:`Integer`. With `halves`, strings may hold half a surrogate
    pair: an envelope's do, when its model wrote one, and then the fault is not the envelope's.
    """
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(text):
        return False, None
    try:
        value = _chosen().decode(text)
    except (_Refused, ValueError):
        return False, None
    except RecursionError:
        return _load_slowly(text)
    if not halves and "\\u" in text and SURROGATE_ESCAPE.search(text) and _has_lone_surrogate(text):
        return False, None
    return True, value


def _chosen() -> json.JSONDecoder:
    """The decoder whose limit on digits is ours: int() has the same one, unless somebody moved it."""
    return _PLAIN if sys.get_int_max_str_digits() == MAX_DIGITS else _CAREFUL


def end_of_value(text: str, start: int) -> int | None:
    """Where the strict value that opens at `start` ends; None where there is none, or where only a slow walk can
    tell.
    """
    try:
        _, end = _chosen().raw_decode(text, start)
    except (_Refused, ValueError, RecursionError):
        return None
    if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH or text.find("\\u", start, end) >= 0:
        return None
    return end


def _load_slowly(text: str) -> tuple[bool, Any]:
    """What :func:`load` says when its caller's stack leaves the C decoder no room: the right verdict, and an empty
    value.
    """
    inner = trim(text, 0, len(text))
    if inner[0] == inner[1] or text[inner[0]] not in "{[":
        return False, None
    found = _scan.scan(text, inner[0], inner[1])
    if not isinstance(found, _scan.Value) or found.end != inner[1]:
        return False, None
    return True, {} if text[inner[0]] == "{" else []


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of text[start:end] that JSON white space stands around."""
    while start < end and text[start] in _SPACE:
        start += 1
    while end > start and text[end - 1] in _SPACE:
        end -= 1
    return start, end


def _too_deep(text: str) -> bool:
    depth = 0
    for token in BRACKETS.finditer(text):
        mark = token[0]
        if mark in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif mark in "}]":
            depth -= 1
    return False


def _has_lone_surrogate(text: str) -> bool:
    return any(
        SURROGATE_ESCAPE.search(token[0]) is not None and LONE_SURROGATE.search(json.loads(token[0])) is not None
        for token in STRING.finditer(text)
    )


def normal(text: str) -> str:
    """A form that two strict JSON texts share when only key order, white space or escapes set them apart.

    Numbers are told apart by their text, so 1 and 1.0 differ.
    """
    try:
        return json.dumps(_tagged(_TEXTUAL.decode(text)), sort_keys=True)
    except RecursionError:
        return compact(text)


def _tagged(value: Any) -> Any:
    if isinstance(value, (Integer, _Float)):
        return {"n": str(value)}
    if isinstance(value, dict):
        return ["o", {key: _tagged(item) for key, item in cast("dict[str, Any]", value).items()}]
    if isinstance(value, list):
        return ["l", *map(_tagged, cast("list[Any]", value))]
    return value


def compact(text: str) -> str:
    """Strict JSON on one line of printable ASCII, every number as it was written."""
    joined = _TOKENS.sub(lambda token: token[1] or "", text)
    return joined if joined.isascii() and "\x7f" not in joined else _BEYOND_ASCII.sub(_escape, joined)


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"
