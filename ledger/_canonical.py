"""RFC 8785 (JSON Canonicalization Scheme) bytes, and the strict door for JSON that enters an event.

The reference is the library `rfc8785`. `orjson` writes the same bytes, several times faster, for every value
without a float and without an object key past U+DFFF (RFC 8785 sorts keys by UTF-16 code unit, orjson by UTF-8
byte; the two orders first part there). A property test holds the two against each other.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import orjson

from ledger._errors import BadBody

__all__ = ["JSON", "MAX_BODY", "MAX_DEPTH", "MAX_INT", "canonical", "canonical_object", "load", "why_not_canonical"]

JSON = Any
MAX_BODY = 1 << 20
MAX_DEPTH = 64
MAX_INT = 2**53 - 1

_SURROGATE = re.compile("[\ud800-\udfff]")
_LATE_KEY = re.compile("[\ue000-\U0010ffff]")
# In canonical text a number follows ':', ',' or '['. What could be a float, a long integer, an escaped NUL, or a
# character that might reorder keys goes the exact way; a false alarm (inside a string) only costs time.
_CAREFUL_NUMBER = re.compile(rb"[:,\[]-?(?:[0-9]+[.eE]|[0-9]{16})")
_LATE_BYTE = re.compile(rb"[\xee-\xff]")


class _Door:
    """Walks a value once: refuses what no body may hold, and notes whether orjson may write it."""

    def __init__(self) -> None:
        self.plain = True

    def text(self, value: str, where: str) -> None:
        if value.isascii():
            if "\x00" in value:
                raise BadBody(f"{where or 'the body'} holds U+0000; keep such bytes in a blob")
            return
        found = _SURROGATE.search(value)
        if found:
            raise BadBody(
                f"{where or 'the body'} holds a lone surrogate (U+{ord(found[0]):04X}); keep such text in a blob"
            )
        if "\x00" in value:
            raise BadBody(f"{where or 'the body'} holds U+0000; keep such bytes in a blob")

    def walk(self, value: JSON, where: str, depth: int) -> None:
        if isinstance(value, str):
            self.text(value, where)
        elif value is None or value is True or value is False:
            return
        elif isinstance(value, int):
            if not -MAX_INT <= value <= MAX_INT:
                raise BadBody(f"{where or 'the body'}: expected an integer within ±(2^53−1), got {value}")
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise BadBody(f"{where or 'the body'}: expected a finite number, got {value}")
            # Up to 1e21 RFC 8785 writes a float without an exponent: here that would be an integer no body may hold.
            if MAX_INT < abs(value) < 1e21:
                raise BadBody(f"{where or 'the body'}: expected a number that isn't written as an integer, got {value}")
            self.plain = False
        elif isinstance(value, Mapping):
            self.deeper(where, depth)
            for key, item in cast("Mapping[object, JSON]", value).items():
                if not isinstance(key, str):
                    raise BadBody(f"{where or 'the body'}: expected text as a key, got {type(key).__name__}")
                self.text(key, f"a key of {where or 'the body'}")
                if self.plain and not key.isascii() and _LATE_KEY.search(key):
                    self.plain = False
                self.walk(item, f"{where}.{key}" if where else key, depth + 1)
        elif isinstance(value, bytes | bytearray | memoryview) or not isinstance(value, Sequence):
            raise BadBody(f"{where or 'the body'}: expected a JSON value, got {type(value).__name__}")  # pyright: ignore[reportUnknownArgumentType]
        else:
            self.deeper(where, depth)
            for index, item in enumerate(cast("Sequence[JSON]", value)):
                self.walk(item, f"{where}[{index}]", depth + 1)

    def deeper(self, where: str, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise BadBody(f"nested deeper than {MAX_DEPTH}, at {where[:60] or 'the body'}")


def canonical(value: JSON) -> bytes:
    """The RFC 8785 bytes of a JSON value.

    Raises BadBody, naming the place, for NaN, infinities, integers outside ±(2^53−1), lone surrogates, U+0000,
    nesting over 64 and anything that isn't JSON.
    """
    door = _Door()
    door.walk(value, "", 0)
    if door.plain:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    import rfc8785

    return rfc8785.dumps(value)


class _Odd(Exception):
    pass


def _tidy(value: Any, depth: int) -> None:
    """Make what orjson loaded into what it writes as RFC 8785 does, in place; _Odd where that isn't sure.

    RFC 8785 writes 1.0 as 1, and turns to exponents where orjson doesn't.
    """
    if depth >= MAX_DEPTH:
        raise _Odd
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        for key in members:
            if "\x00" in key or (not key.isascii() and _LATE_KEY.search(key)):
                raise _Odd
        items: Iterable[tuple[Any, Any]] = members.items()
    else:
        items = enumerate(cast("list[Any]", value))
    for key, item in items:
        kind = cast("object", type(item))
        if kind is str:
            if "\x00" in item:
                raise _Odd
        elif kind is int:
            if not -MAX_INT <= item <= MAX_INT:
                raise _Odd
        elif kind is float:
            if item.is_integer() and -MAX_INT <= item <= MAX_INT:
                value[key] = int(item)
            elif not 1e-4 <= abs(item) < 1e15:
                raise _Odd
        elif kind is dict or kind is list:
            _tidy(item, depth + 1)


def canonical_object(text: str, added: Mapping[str, JSON]) -> bytes | None:
    """The RFC 8785 bytes of the JSON object that `text` (of a serialiser of ours) spells, with more members added.

    The quick way, through orjson alone. None when it can't be sure that `canonical` would give the same: then use that.
    """
    try:
        value: JSON = orjson.loads(text)
        value.update(added)
        _tidy(value, 0)
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError, RecursionError, _Odd):
        return None


def _pairs(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for key, value in pairs:
        if key in found:
            raise BadBody(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _constant(name: str) -> JSON:
    raise BadBody(f"expected a finite number, got {name}")


def load(data: bytes) -> JSON:
    """Strict JSON: UTF-8, no duplicate keys, no NaN. Raises BadBody with the reason."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_pairs, parse_constant=_constant)
    except UnicodeDecodeError as problem:
        raise BadBody(f"not UTF-8 at byte {problem.start}") from None
    except RecursionError:
        raise BadBody(f"nested deeper than {MAX_DEPTH}") from None
    except ValueError as problem:
        raise BadBody(f"not JSON: {problem}") from None


def _is_plain(data: bytes) -> bool:
    return (
        _CAREFUL_NUMBER.search(data) is None
        and b"\\u0000" not in data
        and (data.isascii() or _LATE_BYTE.search(data) is None)
        and data.count(b"{") + data.count(b"[") <= MAX_DEPTH
    )


def why_not_canonical(data: bytes) -> str | None:
    """None when `data` is the RFC 8785 form of one JSON object that a body may be; else the reason."""
    if len(data) > MAX_BODY:
        return f"expected at most {MAX_BODY} bytes, got {len(data)}"
    if data[:1] != b"{":
        return "expected one JSON object"
    if _is_plain(data):
        try:
            if orjson.dumps(orjson.loads(data), option=orjson.OPT_SORT_KEYS) == data:
                return None
        except orjson.JSONDecodeError:
            pass
    try:
        if canonical(load(data)) != data:
            return "the stored text is not its own RFC 8785 form"
    except BadBody as problem:
        return str(problem)
    return None
