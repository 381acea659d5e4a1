"""What a model was asked, as one text: out of the request as sent, or out of the case where nobody asked here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from harness._json import JSON
from harness._messages import Asked, Part, Said, read_asked
from harness._suite import Case
from ledger import Ledger, NotFound

__all__ = ["given_text", "plain_text", "short_of_images", "task_text", "turns_text"]


def task_text(ledger: Ledger, request: int | None, protocol: str, case: Case) -> str:
    """The turns that the target was sent, as one text; of what nobody asked here, the case's own input."""
    asked: Asked | None = None
    if request is not None:
        try:
            asked = read_asked(ledger.blob(request, "body"), protocol)
        except NotFound:
            asked = None
    if asked is not None and asked.messages:
        return turns_text(asked)
    return given_text(case)


def given_text(case: Case) -> str:
    """The input of a case, as one text: its messages, the one field that it has, or its JSON as written."""
    given = case.input
    if isinstance(given, Mapping) and isinstance(given.get("messages"), list):
        found = read_asked(case.input_text.encode(), "")
        if found is not None and found.messages:
            return turns_text(found)
    if isinstance(given, Mapping) and len(given) == 1:
        (only,) = given.values()
        return plain_text(cast("JSON", only), json.dumps(only, ensure_ascii=False))
    return plain_text(given, case.input_text)


def short_of_images(case: Case) -> Case:
    """The case with each image of its input in a few words, its type and size: base64 tells people nothing."""
    if '"image"' not in case.input_text:
        return case
    return replace(case, input_text=json.dumps(_worded(case.input), ensure_ascii=False, default=str))


def _worded(value: JSON) -> JSON:
    match value:
        case {"type": "image", "data": str(data), **rest}:
            size = len(data.rstrip("=")) * 3 // 4
            return f"(an image, {rest.get('media_type', 'of no named type')}, {size} bytes)"
        case Mapping():
            return {name: _worded(each) for name, each in value.items()}
        case list():
            return [_worded(each) for each in value]
        case _:
            return value


def plain_text(value: JSON, text: str) -> str:
    """A string as what it says; any other value as the JSON `text` that it was written in."""
    return value if isinstance(value, str) else text


def turns_text(asked: Asked) -> str:
    """The messages of a request, each under its role; a single one of a user without."""
    if len(asked.messages) == 1 and asked.messages[0].role in ("user", "stdin"):
        return _said(asked.messages[0])
    turns = [f"(the {each.role} turn)\n{_said(each)}" for each in asked.messages]
    if asked.left_out:
        turns.append(f"({asked.left_out} messages more)")
    return "\n\n".join(turns)


def _said(message: Said) -> str:
    return "\n".join(map(_part, message.parts))


def _part(part: Part) -> str:
    if part.kind != "image":
        return part.text
    return f"(an image, {part.text}" + (f", {part.size} bytes)" if part.size is not None else ")")
