"""Reading the text of an answer: bytes to characters, then by what was asked for."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Final

from harness.parse._code import read_code
from harness.parse._document import read_document, read_whole
from harness.parse._fences import split_reasoning
from harness.parse._rows import read_rows
from harness.parse._spans import byte_spans
from harness.parse._terminal import CONTROL, render
from harness.parse._types import Ask, Reading, ReadRules, Stop, make_reading, unclosed_reasoning, unless_cut

__all__ = ["read_string", "read_text"]

_BOM: Final = "\ufeff"
_REFUSAL: Final = re.compile(
    r"\bI(?:['\u2019]m| am) (?:not able|unable|sorry)\b"
    r"|\bI (?:can(?:not|['\u2019]t| not)|won['\u2019]t|will not|must decline|decline)\b"
    r"|\bI(?:['\u2019]d| would) (?:rather not|prefer not)\b|\bas an AI\b|\bunable to (?:help|assist|comply)\b",
    re.IGNORECASE,
)
_REFUSAL_REACH: Final = 600
_WITH_VALUES: Final = ("parsed", "ambiguous", "wrong_shape")


def read_text(data: bytes, *, ask: Ask, stop: Stop, rules: ReadRules) -> Reading:
    """Read the bytes of an answer. `stop` is what is known of why they end: "end", "length", or "none" for nothing."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if stop != "length" or error.reason != "unexpected end of data":
            return make_reading("malformed", "invalid_utf8")
        # The limit fell inside a character.
        return replace(make_reading("truncated", "stop_length"), text=data[: error.start].decode("utf-8"))
    return read_string(text, ask=ask, stop=stop, rules=rules)


def read_string(text: str, *, ask: Ask, stop: Stop, rules: ReadRules) -> Reading:
    """Read the text of an answer. A text that holds half a surrogate pair, as a decoded JSON string may, has no
    bytes.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return make_reading("malformed", "lone_surrogate")
    start = len(text) - len(text.lstrip(_BOM)) if rules.bom else 0
    if ask in ("object", "array"):
        # A text that is one JSON value holds no control bytes, so most replies need nothing of what follows.
        whole = read_whole(text, start, ask, stop, rules)
        if whole is not None:
            return whole
    controls = CONTROL.search(text) is not None
    if controls and rules.terminal == "render":
        return _rendered(text, ask, stop, rules)
    if not text[start:].strip():
        name = "no_bytes" if not text else "only_space"
        return unless_cut(stop, "empty", name, text)
    reading = _read(text, start, ask, stop, rules)
    if controls:
        reading = _with_controls(reading)
    return _with_refusal(text, ask, reading)


def _read(text: str, start: int, ask: Ask, stop: Stop, rules: ReadRules) -> Reading:
    if ask == "text":
        return _read_prose(text, start, stop, rules)
    if ask == "python":
        return read_code(text, start, stop, rules)
    if ask == "jsonl":
        return read_rows(text, start, stop, rules)
    return read_document(text, start, ask, stop, rules)


def _read_prose(text: str, start: int, stop: Stop, rules: ReadRules) -> Reading:
    """The text itself; reasoning at its head apart. A truncated text keeps what came."""
    reasoning = None
    if rules.reasoning:
        rest, left_open = split_reasoning(text, start, inside=False)
        if left_open:
            return unclosed_reasoning(stop, text, text[rest:])
        if rest > start:
            reasoning = text[start:rest]
            start = rest + len(text[rest:]) - len(text[rest:].lstrip())
            if start == len(text):
                return unless_cut(stop, "empty", "reasoning_only", text, reasoning)
    if CONTROL.search(text, start):
        return make_reading("malformed", "terminal_control_bytes", text=text, reasoning=reasoning)
    span = byte_spans(text, [(start, len(text))])
    reading = unless_cut(stop, "parsed", "", text, reasoning)
    return replace(reading, value=json.dumps(text[start:]), span=span)


def _with_controls(reading: Reading) -> Reading:
    """Controls outside a valid value are a flag; where there is none they are the reason, ahead of any other."""
    if reading.status in _WITH_VALUES:
        return replace(reading, flags=(*reading.flags, "terminal_control_bytes"))
    refused = make_reading("malformed", "terminal_control_bytes", text=reading.text, reasoning=reading.reasoning)
    return replace(refused, flags=reading.flags)


def _with_refusal(text: str, ask: Ask, reading: Reading) -> Reading:
    """Words of refusal are a flag where no value stands, or where the text is the answer; inside a value they are
    data.
    """
    is_text = reading.value is None if ask != "text" else True
    if (
        not is_text
        or reading.status not in ("malformed", "parsed", "truncated")
        or not _REFUSAL.search(text, 0, _REFUSAL_REACH)
    ):
        return reading
    return replace(reading, flags=(*reading.flags, "refusal_like"))


def _rendered(text: str, ask: Ask, stop: Stop, rules: ReadRules) -> Reading:
    """Read what a terminal would have shown; `text` and spans are then those of the rendered text."""
    shown = render(text)
    if shown is None or CONTROL.search(shown):
        return make_reading("malformed", "terminal_control_bytes", text=text)
    reading = read_string(shown, ask=ask, stop=stop, rules=rules)
    flags = (*reading.flags, "terminal_control_bytes", *(["salvaged"] if reading.value is not None else []))
    return replace(reading, flags=flags)
