"""What was asked, as messages that a person reads, out of a request's body in whichever protocol it was written.

The bytes are the truth, and stand beside; what is no message of a protocol that is known is left to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

__all__ = ["Asked", "Part", "Said", "read_asked"]

_DATA_URI = re.compile(r"data:([^;,]{0,100})((?:;[^;,]{0,100})*),", re.IGNORECASE)
_MOST_MESSAGES = 100


@dataclass(frozen=True)
class Part:
    """A piece of a message: a text; an image, of which only its type and size are told; or JSON as it stands."""

    kind: Literal["text", "image", "json"]
    text: str
    size: int | None = None


@dataclass(frozen=True)
class Said:
    """One message, with the role that it was sent under."""

    role: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Asked:
    """A request's body. `messages` in order, a system text of its own field first; `rest` are its other fields, as
    JSON text. `left_out` counts messages past the first hundred."""

    messages: tuple[Said, ...]
    rest: str = ""
    left_out: int = 0


def read_asked(body: bytes, protocol: str) -> Asked | None:
    """The messages of a request's body; None where it is no JSON object with messages."""
    if protocol == "command":
        return Asked((Said("stdin", (Part("text", body.decode("utf-8", "backslashreplace")),)),))
    try:
        root = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(root, dict):
        return None
    fields = cast("dict[str, Any]", root)
    listed = fields.get("messages")
    if not isinstance(listed, list):
        return None
    found: list[Said] = []
    if "system" in fields:
        found.append(Said("system", tuple(_parts(fields["system"]))))
    found += [_said(each) for each in cast("list[Any]", listed)]
    rest = {name: value for name, value in fields.items() if name not in ("messages", "system")}
    try:
        shown = json.dumps(rest, ensure_ascii=False) if rest else ""
    except RecursionError:
        shown = ""
    return Asked(tuple(found[:_MOST_MESSAGES]), shown, max(0, len(found) - _MOST_MESSAGES))


def _said(message: Any) -> Said:
    if not isinstance(message, dict):
        return Said("?", (_as_json(message),))
    fields = cast("dict[str, Any]", message)
    parts = list(_parts(fields.get("content")))
    images = fields.get("images")
    if isinstance(images, list):
        parts += [_image("image", each) for each in cast("list[Any]", images)]
        fields = {name: value for name, value in fields.items() if name != "images"}
    rest = {name: value for name, value in fields.items() if name not in ("role", "content")}
    if rest:
        parts.append(_as_json(rest))
    role = fields.get("role")
    return Said(role if isinstance(role, str) else "?", tuple(parts))


def _parts(content: Any) -> Iterator[Part]:
    if content is None:
        return
    if isinstance(content, str):
        yield Part("text", content)
    elif isinstance(content, list):
        for each in cast("list[Any]", content):
            yield _part(each)
    else:
        yield _as_json(content)


def _part(part: Any) -> Part:
    match part:
        case {"type": "text", "text": str(text), **rest} if not rest:
            return Part("text", text)
        case {"type": "image_url", "image_url": {"url": str(url)}} | {"type": "input_image", "image_url": str(url)}:
            found = _DATA_URI.match(url)
            return _image(found[1], url[found.end() :]) if found else Part("image", f"at {url}")
        case {"type": "image", "source": {"type": "base64", **source}}:
            return _image(source.get("media_type"), source.get("data"))
        case _:
            return _as_json(part)


def _image(media: object, data: object) -> Part:
    """An image by its type and its size in bytes, by the length of its base64 (RFC 4648)."""
    if not isinstance(data, str):
        return _as_json(data)
    text = data.rstrip("=\r\n ")
    return Part("image", media if isinstance(media, str) and media else "of no named type", len(text) * 3 // 4)


def _as_json(value: Any) -> Part:
    try:
        return Part("json", json.dumps(value, ensure_ascii=False))
    except (RecursionError, ValueError):
        return Part("json", '"nested deeper than this page folds"')
