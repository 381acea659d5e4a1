"""A table as TOML text: what tomllib reads out of it is the table again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, cast

__all__ = ["toml_text"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(table: Mapping[str, Any]) -> str:
    """The text: plain keys first, then tables and lists of tables, each in the table's order."""
    return "\n".join(_lines(table, "")).strip("\n") + "\n"


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    inner: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) or _is_tables(value):
            inner[key] = value
        else:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in inner.items():
        name = f"{path}.{_key(key)}" if path else _key(key)
        if isinstance(value, Mapping):
            yield ""
            yield f"[{name}]"
            yield from _lines(cast("Mapping[str, Any]", value), name)
        else:
            for each in value:
                yield ""
                yield f"[[{name}]]"
                yield from _lines(each, name)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(each, Mapping) for each in cast("Any", value))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # JSON's escapes are TOML's too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in cast("list[Any]", value)) + "]"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in items) + " }"
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else str(float(value))
    if isinstance(value, int | float):
        return repr(value)
    return value.isoformat()
