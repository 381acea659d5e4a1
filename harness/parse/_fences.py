"""Code fences and reasoning tags in a text that isn't JSON: the lines that open and close them (after CommonMark
0.31, 4.5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from harness.parse._candidates import CLOSING_TAG, OPENING_TAG

__all__ = ["Fence", "fences", "split_reasoning"]

_LINE: Final = re.compile(r"^([ \t]*+)(`{3,}|~{3,})([^\n]*)(?:\n|\Z)", re.MULTILINE)
_INK: Final = re.compile(r"\S")
_LAST_RUN: Final = re.compile(r"(`{3,}|~{3,})\s*\Z")


@dataclass(frozen=True, slots=True)
class Fence:
    """One fence: `info` is what follows its opening run, `head` where that run's line begins, the content
    text[start:end].

    `start` is after the opening line; what an opening line holds beside a language tag is for the reader to judge.
    """

    info: str
    head: int
    after_run: int
    start: int
    end: int
    closed: bool
    foot: int


def fences(text: str, start: int) -> list[Fence]:
    """The fences of text[start:], in order; the first line that can close one does, and the last may be left open."""
    found: list[Fence] = []
    opened: re.Match[str] | None = None
    for line in _LINE.finditer(text, start):
        if opened is None:
            if "`" not in line[3] or line[2][0] == "~":
                opened = line
            continue
        fits = line[2][0] == opened[2][0] and len(line[2]) >= len(opened[2]) and not line[3].strip()
        # Deeper inside than the opening line plus three columns it is text: a fence in a docstring, say.
        if fits and len(line[1]) <= len(opened[1]) + 3:
            found.append(_fence(opened, line.start(), line.end(), closed=True))
            opened = None
    if opened is not None:
        # A closing run at the end of the last line of code, for want of any other.
        last = _LAST_RUN.search(text, max(opened.end(2), start), len(text)) if text[-1:] in "`~\n\r\t " else None
        end = last.start() if last and last[1][0] == opened[2][0] and last.start() >= opened.end() else len(text)
        found.append(_fence(opened, end, len(text), closed=end < len(text)))
    return found


def _fence(opened: re.Match[str], end: int, foot: int, *, closed: bool) -> Fence:
    return Fence(opened[3].strip(), opened.start(), opened.end(2), opened.end(), end, closed, foot)


def split_reasoning(text: str, start: int, *, inside: bool) -> tuple[int, bool]:
    """(where the answer begins, whether a reasoning tag is left open).

    Reasoning blocks at the head end at their closing tags; after them a closing tag that nothing opened makes all
    before it reasoning. With `inside`, so does one that was opened further in, and tags in code fences are data.
    """
    at = start
    while (head := _head(text, at)) is not None:
        closing = CLOSING_TAG.search(text, head.end())
        if closing is None:
            return at, True
        at = closing.end()
    blocks = [(one.head, one.foot) for one in fences(text, at)] if inside else []
    index = 0
    opened: int | None = None
    at_head = False
    tags = sorted([*CLOSING_TAG.finditer(text, at), *OPENING_TAG.finditer(text, at)], key=lambda tag: tag.start())
    for tag in tags:
        while index < len(blocks) and blocks[index][1] <= tag.start():
            index += 1
        if index < len(blocks) and blocks[index][0] <= tag.start():
            continue
        if tag[0].startswith("</"):
            at = tag.end() if opened is None or at_head or inside else at
            opened = None
        elif opened is None:
            opened = tag.start()
            at_head = _INK.search(text, at, opened) is None
    if opened is None:
        return at, False
    return at, at_head or (inside and not any(at < head < opened for head, _ in blocks))


def _head(text: str, at: int) -> re.Match[str] | None:
    while at < len(text) and text[at].isspace():
        at += 1
    return OPENING_TAG.match(text, at)
