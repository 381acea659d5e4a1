"""JSON Pointer (RFC 6901): one value inside a JSON document, and the pointer's form as a URI fragment."""

from __future__ import annotations

import re
from typing import Any, cast
from urllib.parse import quote, unquote_to_bytes

from ledger._errors import BadBody, NotFound

__all__ = ["pointer_from_fragment", "pointer_to_fragment", "resolve"]

_ESCAPES = re.compile(r"~(?![01])")
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_INDEX = re.compile(r"0|[1-9][0-9]{0,15}")
_SAFE = "/~!$'()*+,;=:@?"


def pointer_to_fragment(pointer: str) -> str:
    """The pointer as it stands after `#` (RFC 6901, section 6): UTF-8, percent-encoded, ASCII alone."""
    return quote(pointer, safe=_SAFE.replace("'", ""))


def pointer_from_fragment(fragment: str) -> str:
    """The pointer that a fragment spells. Raises BadBody when it is none."""
    if _PERCENT.search(fragment):
        raise BadBody(f"expected %XX with two hex digits in {fragment!r}; write a % itself as %25")
    try:
        pointer = unquote_to_bytes(fragment).decode("utf-8")
    except UnicodeError:
        raise BadBody(f"expected UTF-8 behind the %XX of {fragment!r}") from None
    if pointer and not pointer.startswith("/"):
        raise BadBody(f"expected a JSON pointer, empty or starting with '/', got {pointer!r}")
    if _ESCAPES.search(pointer):
        raise BadBody(f"expected ~0 (for ~) or ~1 (for /) in the pointer, got {pointer!r}")
    return pointer


def resolve(document: Any, pointer: str) -> Any:
    """The value that the pointer names. Raises NotFound, saying how far it came and what stands there."""
    value = document
    passed = ""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        here = passed or "the body"
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if key not in members:
                raise NotFound(f"{here} has no {key!r}; it has {', '.join(sorted(members)) or 'no members'}")
            value = members[key]
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            if not _INDEX.fullmatch(key) or int(key) >= len(items):
                raise NotFound(f"{here} is a list of {len(items)}, counted from 0, and has no item {key!r}")
            value = items[int(key)]
        else:
            raise NotFound(f"{here} is a single value and has nothing inside, so no {key!r}")
        passed += "/" + token
    return value
