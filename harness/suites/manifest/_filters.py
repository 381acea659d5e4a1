"""What a prompt may do to a value of the case, and how a value stands in the text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, cast

from jinja2 import StrictUndefined
from jinja2.runtime import Undefined

__all__ = ["FILTERS", "MAX_TEXT", "default", "size", "text"]

MAX_TEXT = 4_194_304
"""Characters that a prompt may come to for one case."""


def text(value: Any) -> str:
    """A value as it stands in a prompt."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)
    return _json(value)


def _json(value: Any, indent: int | None = None) -> str:
    if indent is not None and not 0 <= indent <= 16:
        raise ValueError("tojson: expected an indent of 0 to 16")
    return "".join(_written(value, indent, 0))


def _written(value: Any, indent: int | None, depth: int) -> Iterable[str]:
    if isinstance(value, Mapping):
        items = [(json.dumps(str(name), ensure_ascii=False) + ": ", item) for name, item in _pairs(value)]
        yield from _listing("{}", items, indent, depth)
    elif isinstance(value, list | tuple):
        yield from _listing("[]", [("", item) for item in cast("list[Any]", value)], indent, depth)
    elif value is None or isinstance(value, bool | str):
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, int):
        yield str(value)
    elif isinstance(value, Decimal) and value.is_finite():
        exponent = cast("int", value.as_tuple().exponent)
        yield format(value, "f") if abs(exponent) <= 400 else str(value)
    else:
        raise ValueError("the prompt puts in what is no value of the case")


def _listing(around: str, items: list[tuple[str, Any]], indent: int | None, depth: int) -> Iterable[str]:
    if not items:
        yield around
        return
    line = "" if indent is None else "\n" + " " * indent * (depth + 1)
    yield around[0]
    for place, (name, item) in enumerate(items):
        yield ("" if not place else "," if line else ", ") + line + name
        yield from _written(item, indent, depth + 1)
    yield ("" if indent is None else "\n" + " " * indent * depth) + around[1]


def size(value: Any) -> int:
    """About how many characters a value is."""
    if isinstance(value, str):
        return 1 + len(value)
    if isinstance(value, Mapping):
        return 1 + sum(size(name) + size(item) for name, item in _pairs(value))
    if isinstance(value, list | tuple):
        return 1 + sum(size(item) for item in cast("list[Any]", value))
    return 8


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Undefined):
        str(value)
    if not isinstance(value, Mapping):
        raise ValueError("items: expected an object with named fields")
    return list(cast("Mapping[Any, Any]", value).items())


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"the prompt uses a filter for texts on {text(value)[:40]!r}")
    return value


def _sized(value: Any) -> Any:
    if not isinstance(value, str | list | tuple | Mapping):
        raise ValueError(f"the prompt asks for the length, an end or the order of {text(value)[:40]!r}")
    return list(cast("Any", value)) if isinstance(value, Mapping) else cast("Any", value)


def default(value: Any, fallback: Any = "", boolean: bool = False) -> Any:
    return fallback if isinstance(value, Undefined) or (boolean and not value) else value


def _on_text(function: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: function(_str(value))


def _length(value: Any) -> int:
    return len(_sized(value))


def _first(value: Any) -> Any:
    return _end(value, 0)


def _last(value: Any) -> Any:
    return _end(value, -1)


def _list(value: Any) -> list[Any]:
    return list(_sized(value))


def _reverse(value: Any) -> Any:
    return _sized(value)[::-1]


def _join(value: Any, between: str = "") -> str:
    items = [text(item) for item in _sized(value)]
    if len(items) * len(_str(between)) > MAX_TEXT:
        raise ValueError(f"join: comes to more than {MAX_TEXT} characters")
    return between.join(items)


def _replace(value: Any, old: str, new: str) -> str:
    if not _str(old):
        raise ValueError("replace: expected a text to replace, got an empty one")
    if _str(value).count(old) * len(_str(new)) > MAX_TEXT:
        raise ValueError(f"replace: comes to more than {MAX_TEXT} characters")
    return value.replace(old, new)


def _indent(value: Any, width: int = 4, first: bool = False) -> str:
    if not 0 <= width <= 64:
        raise ValueError("indent: expected a width of 0 to 64")
    head, *rest = _str(value).split("\n")
    made = [" " * width + line if line.strip() else line for line in rest]
    return "\n".join([" " * width + head if first else head, *made])


def _sort(value: Any, reverse: bool = False) -> list[Any]:
    return sorted(_sized(value), reverse=bool(reverse))


def _end(value: Any, at: int) -> Any:
    found = _sized(value)
    return found[at] if found else StrictUndefined(hint="the prompt asks for an end of what is empty")


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "capitalize": _on_text(str.capitalize),
    "count": _length,
    "d": default,
    "default": default,
    "first": _first,
    "indent": _indent,
    "items": _pairs,
    "join": _join,
    "last": _last,
    "length": _length,
    "list": _list,
    "lower": _on_text(str.lower),
    "replace": _replace,
    "reverse": _reverse,
    "sort": _sort,
    "title": _on_text(str.title),
    "tojson": _json,
    "trim": _on_text(str.strip),
    "upper": _on_text(str.upper),
})  # fmt: skip
"""What a prompt may do to a value; the names are Jinja's, `items` included."""
