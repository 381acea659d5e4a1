"""Reading JSON lines: every line one strict JSON value. Lines end at LF or CRLF and nowhere else; a bad one is named,
never dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from harness.parse._document import read_value
from harness.parse._fences import Fence, fences, split_reasoning
from harness.parse._json import normal
from harness.parse._spans import byte_spans
from harness.parse._types import Reading, ReadRules, Stop, make_reading, unclosed_reasoning, unless_cut

__all__ = ["read_rows"]

_LINE: Final = re.compile(r"[^\n]*+(?:\n|\Z)")
_LINE_END: Final = re.compile(r"(?:[ \t\r]*\n)?")
_LOOKS_LIKE_A_ROW: Final = re.compile(r"[\s\x00-\x1f]*[\[{\"]")


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of text[start:end], or the number of its first bad line; `last` when that is its last line."""

    start: int
    end: int
    rows: tuple[str, ...]
    flags: tuple[str, ...]
    bad: int
    last: bool
    any_like: bool


def read_rows(text: str, start: int, stop: Stop, rules: ReadRules) -> Reading:
    """Read text[start:], which isn't blank, as JSON lines; the line number in a reason counts from the first line
    read.
    """
    whole = _rows(text, start, len(text), rules)
    if not whole.bad:
        return _answer(text, [whole], stop, None)
    reasoning = None
    if rules.reasoning:
        rest, left_open = split_reasoning(text, start, inside=True)
        if left_open:
            return unclosed_reasoning(stop, text)
        reasoning = text[start:rest] or None
        if not text[rest:].strip():
            return unless_cut(stop, "empty", "reasoning_only", text, reasoning)
        if rest > start:
            start = _LINE_END.match(text, rest).end()  # type: ignore[union-attr]
            whole = _rows(text, start, len(text), rules)
            if not whole.bad:
                return _answer(text, [whole], stop, reasoning)
    blocks = [one for one in fences(text, start) if text[one.start : one.end].strip()]
    if not blocks:
        if fences(text, start) and not whole.any_like:
            return unless_cut(stop, "empty", "empty_fence", text, reasoning)
        return _bad(text, whole, stop, reasoning)
    return _fenced(text, start, blocks, stop, rules, reasoning)


def _fenced(text: str, start: int, blocks: list[Fence], stop: Stop, rules: ReadRules, reasoning: str | None) -> Reading:
    read = [(one, _rows(text, one.start, one.end, rules)) for one in blocks]
    good = [(one, rows) for one, rows in read if not rows.bad]
    if not good:
        return _bad(text, next((rows for _, rows in read if rows.any_like), read[0][1]), stop, reasoning)
    if not rules.fence:
        return make_reading("malformed", "fenced", text=text, reasoning=reasoning)
    around = text[start : blocks[0].head] + text[blocks[-1].foot :]
    if not rules.prose and (len(blocks) > 1 or around.strip()):
        return make_reading("malformed", "text_around", text=text, reasoning=reasoning)
    unclosed = [one for one, _ in good if not one.closed]
    if unclosed and not rules.unclosed_fence:
        return make_reading("malformed", "unterminated", text=text, reasoning=reasoning)
    return _answer(text, [rows for _, rows in good], stop, reasoning, *(["unclosed_fence"] if unclosed else []))


def _rows(text: str, start: int, end: int, rules: ReadRules) -> _Rows:
    rows: list[str] = []
    flags: list[str] = []
    number = first = last = bad = 0
    any_like = more = False
    for line in _LINE.finditer(text, start, end):
        number += 1
        if not line[0].strip():
            continue
        any_like = any_like or _LOOKS_LIKE_A_ROW.match(line[0]) is not None
        if bad:
            more = True
            continue
        row = read_value(line[0], rules)
        if row is None:
            bad = number
            continue
        any_like = True
        first = first if rows else line.start()
        last = line.end()
        rows.append(row[0])
        flags += row[1]
    if bad or not rows:
        return _Rows(start, end, (), (), bad or 1, last=not more, any_like=any_like)
    return _Rows(first, last, tuple(rows), tuple(dict.fromkeys(flags)), 0, last=False, any_like=True)


def _answer(text: str, found: list[_Rows], stop: Stop, reasoning: str | None, *more: str) -> Reading:
    spans = byte_spans(text, [(one.start, one.end) for one in found])
    if len(found) > 1 and len({tuple(map(normal, one.rows)) for one in found}) > 1:
        return make_reading("ambiguous", "two_candidates", span=spans, text=text, reasoning=reasoning)
    if stop == "length":
        # Every row is whole, and nobody can know whether all of them came.
        return make_reading("truncated", "stop_length", text=text, reasoning=reasoning)
    flags = (*more, *(["identical_candidates"] if len(found) > 1 else []), *found[0].flags)
    value = "[" + ",".join(found[0].rows) + "]"
    return make_reading("parsed", value=value, span=spans[:1], text=text, flags=flags, reasoning=reasoning)


def _bad(text: str, rows: _Rows, stop: Stop, reasoning: str | None) -> Reading:
    if stop == "length" and (rows.last or not rows.any_like):
        return make_reading("truncated", "stop_length", text=text, reasoning=reasoning)
    name = f"bad_line_{rows.bad}" if rows.any_like else "no_json"
    return make_reading("malformed", name, text=text, reasoning=reasoning)
