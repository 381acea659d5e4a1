"""What a case of a manifest suite may ask: a text, named fields, or messages with what goes beside them.

    "What is 2 + 2?"                                        a text: {{ input }} in the prompt
    {"question": "…", "context": "…"}                       named fields: {{ question }}, {{ context }}
    {"messages": [{"role": "user", "content": "…"}], "tools": […], "response_format": {…}, …}

`content` is a text, or a list of parts: {"type": "text", "text"}, {"type": "image", "media_type", "data" (base64)}, and
parts of any other type, which go to the model as they are. A field `images` that is a list of image parts goes into
the last user turn, ahead of its text.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from harness._json import JSON

__all__ = ["EXTRAS", "MESSAGES", "check_input", "images_of", "plain"]

MESSAGES = "messages"
EXTRAS = ("tools", "response_format")
"""Fields that go into the request itself, beside the messages."""

_ROLES = ("system", "user", "assistant")
_MEDIA_TYPE = re.compile(r"image/[a-z0-9][a-z0-9.+-]{0,60}")
_REQUEST = (MESSAGES, *EXTRAS)


def check_input(value: JSON) -> str | None:
    """One sentence on why a case can't ask this, or None."""
    if isinstance(value, str):
        return None if value.strip() else "input: expected a text, got one that is empty"
    if not isinstance(value, Mapping):
        return f"input: expected a text or an object with named fields, got {_what(value)}"
    if not value:
        return "input: expected named fields, got an object with none"
    if MESSAGES in value and (fault := _check_messages(value[MESSAGES])):
        return f"input.{fault}"
    if "tools" in value and not (isinstance(value["tools"], list) and all(_is_object(each) for each in value["tools"])):
        return f"input.tools: expected a list of objects, as the provider takes them, got {_what(value['tools'])}"
    if "response_format" in value and not _is_object(value["response_format"]):
        return f"input.response_format: expected an object, got {_what(value['response_format'])}"
    for place, image in enumerate(images_of(value)):
        if fault := _check_image(image):
            return f"input.images[{place}]{fault}"
    for name in _REQUEST:
        if name in value and (number := _inexact(value[name])) is not None:
            return (
                f"input.{name}: a request can't carry the number {number:.60} exactly; write it with fewer digits,"
                " or as a text"
            )
    return None


def images_of(value: JSON) -> list[Mapping[str, JSON]]:
    """The image parts in a case's field `images`; none where that field is something else of the person's own."""
    listed = value.get("images") if isinstance(value, Mapping) else None
    if not isinstance(listed, list) or not listed:
        return []
    parts = [part for part in listed if isinstance(part, Mapping) and part.get("type") == "image"]
    return parts if len(parts) == len(listed) else []


def plain(value: JSON) -> Any:
    """A value as a request's body takes it: a Decimal as the float that `check_input` found to be the same number."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return value


def _check_messages(messages: JSON) -> str | None:
    if not isinstance(messages, list):
        return f"messages: expected a list of messages, got {_what(messages)}"
    if not messages:
        return "messages: expected at least one message, got an empty list"
    for place, message in enumerate(messages):
        if fault := _check_message(message):
            return f"messages[{place}]{fault}"
    if all(cast("Mapping[str, JSON]", message)["role"] == "system" for message in messages):
        return "messages: expected at least one turn of the user, got system messages alone"
    return None


def _check_message(message: JSON) -> str | None:
    if not isinstance(message, Mapping):
        return f': expected {{"role", "content"}}, got {_what(message)}'
    role = message.get("role")
    if role not in _ROLES:
        got = "nothing" if "role" not in message else _shown(role)
        return f".role: expected one of {', '.join(_ROLES)}, got {got}"
    content = message.get("content")
    if isinstance(content, str):
        return None if content.strip() else ".content: expected a text, got one that is empty"
    if not isinstance(content, list) or not content:
        got = "nothing" if "content" not in message else "an empty list" if content == [] else _what(content)
        return f".content: expected a text or a list of parts, got {got}"
    for place, part in enumerate(content):
        if fault := _check_part(part):
            return f".content[{place}]{fault}"
    return None


def _check_part(part: JSON) -> str | None:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        return f': expected an object with a "type", such as {{"type": "text", "text": "…"}}, got {_what(part)}'
    if part["type"] == "text":
        text = part.get("text")
        return None if isinstance(text, str) else f".text: expected a text, got {_what(text)}"
    return _check_image(part) if part["type"] == "image" and "source" not in part else None


def _check_image(part: Mapping[str, JSON]) -> str | None:
    unknown = sorted(set(part) - {"type", "media_type", "data"})
    if unknown:
        return f": an image has type, media_type and data, and not {_shown(unknown[0])}"
    kind, data = part.get("media_type"), part.get("data")
    if not isinstance(kind, str) or not _MEDIA_TYPE.fullmatch(kind):
        got = "nothing" if kind is None else _shown(kind)
        return f".media_type: expected an image's media type, such as image/png, got {got}"
    if not isinstance(data, str) or not data:
        return f".data: expected the image in base64, got {'an empty text' if data == '' else _what(data)}"
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return ".data: expected base64 (RFC 4648, with its padding and no white space), got a text that isn't"
    return None


def _inexact(value: JSON) -> Decimal | int | None:
    """The first number that would not be the same in a body, where numbers are written as Python's floats are."""
    if isinstance(value, Decimal):
        return None if value.is_finite() and _as_float(value) == value else value
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, Mapping) else []
    return next((found for item in items if (found := _inexact(item)) is not None), None)


def _as_float(value: Decimal) -> Decimal:
    written = float(value)
    return Decimal(repr(written)) if written - written == 0 else Decimal("NaN")


def _is_object(value: JSON) -> bool:
    return isinstance(value, Mapping)


def _what(value: JSON) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    for kind, name in ((str, "a text"), (list, "a list"), (Mapping, "an object")):
        if isinstance(value, kind):
            return name
    return "a number"


def _shown(value: JSON) -> str:
    return ascii(value)[:80] if isinstance(value, str) else _what(value)
