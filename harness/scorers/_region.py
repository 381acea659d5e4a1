"""The part of a text that says something: without the white space around it, and without a code fence around that."""

from __future__ import annotations

import re
from typing import Final

from harness.scorers._characters import INVISIBLE

__all__ = ["unfence", "without_space"]

_OPEN: Final = re.compile(r"(`{3,}|~{3,})([^\n]*)(?:\n|\Z)")
_LAYERS: Final = 32
_CLOSE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*")


def without_space(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """[start, end) of `text` without the white space, and the characters that aren't drawn, at either end."""
    end = len(text) if end is None else end
    while start < end and (text[start].isspace() or text[start] in INVISIBLE):
        start += 1
    while start < end and (text[end - 1].isspace() or text[end - 1] in INVISIBLE):
        end -= 1
    return start, end


def unfence(text: str) -> tuple[int, int]:
    """[start, end) of what a text says: without white space around it, nor code fences (CommonMark 0.31, 4.5) around
    all of it, layer by layer, 32 at most. A fence with text before or after it is left alone.
    """
    start, end = without_space(text)
    for _ in range(_LAYERS):
        inner = _inside(text, start, end)
        if inner is None:
            break
        start, end = without_space(text, *inner)
    return start, end


def _inside(text: str, start: int, end: int) -> tuple[int, int] | None:
    opened = _OPEN.match(text, start, end)
    if opened is None:
        return None
    mark = opened[1]
    if "`" in opened[2] and mark[0] == "`":
        return None
    at = opened.end()
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        closing = _CLOSE.fullmatch(text, at, stop)
        if closing is not None and closing[1][0] == mark[0] and len(closing[1]) >= len(mark):
            # The first line that closes the fence; anything after it stands outside.
            return (opened.end(), at) if stop == end else None
        at = stop + 1
    return None
