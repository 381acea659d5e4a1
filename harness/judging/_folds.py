"""Folds: a text as a detector looks at it, with each of its characters' place in the text as it stands.

invisible   characters that nobody sees are left out
nfkc        compatibility forms are those of everyday writing (Unicode NFKC, UAX #15)
space       a run of white space, line ends too, is one space
case        letters of either case are one
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["FOLDS", "Folded", "fold", "seen"]

_MOST_MARKS = 30

# Written out, so that it is one list whatever the Unicode version of the interpreter: control characters that are no
# white space, the category Cf, Default_Ignorable_Code_Point (DerivedCoreProperties.txt), and the blank of Braille.
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# Blanks that look like a space and are none: NBSP and the rest of category Zs, and the line ends of Unicode.
_BLANK = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_HALF = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_SPACES = re.compile(r"\s{2,}|[^\S ]")

Edit = tuple[int, int, str]
"""[start, end) of a text, and what stands there instead."""


@dataclass(frozen=True)
class Folded:
    """A folded text. Its character `at` stands for [starts[at], ends[at]) of the text it was made of."""

    text: str
    starts: array[int]
    ends: array[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """[start, end) of the folded text, not empty, as a span of the text it was made of."""
        return self.starts[start], self.ends[end - 1]


def _invisible(text: str) -> Iterator[Edit]:
    return ((found.start(), found.end(), "") for found in _HIDDEN.finditer(text))


def _nfkc(text: str) -> Iterator[Edit]:
    """Piece by piece, so that places are known: a character with the marks that go with it is one."""
    if unicodedata.is_normalized("NFKC", text):
        return
    for found in _BEYOND_ASCII.finditer(text):
        start = found.start()
        for at in range(start + 1, found.end() + 1):
            # A heap of marks is cut where UAX #15 has an end to it (Stream-Safe Text Format): to sort it takes the
            # square of its length. The parts of one Korean syllable go together too.
            goes_on = at < found.end() and (unicodedata.combining(text[at]) or "\u1160" <= text[at] <= "\u11ff")
            if goes_on and at - start < _MOST_MARKS:
                continue
            made = unicodedata.normalize("NFKC", text[start:at])
            if made != text[start:at]:
                yield start, at, made
            start = at


def _space(text: str) -> Iterator[Edit]:
    return ((found.start(), found.end(), " ") for found in _SPACES.finditer(text))


def _case(text: str) -> Iterator[Edit]:
    """The letters that become several; `fold` does all others at once."""
    if len(text.casefold()) == len(text):
        return
    for at, each in enumerate(text):
        if len(made := each.casefold()) != 1:
            yield at, at + 1, made


FOLDS: Mapping[str, Callable[[str], Iterator[Edit]]] = MappingProxyType(
    {"invisible": _invisible, "nfkc": _nfkc, "space": _space, "case": _case}
)
"""Every fold by name, in the order in which they are done."""


def fold(text: str, names: Iterable[str]) -> Folded:
    """`text` under the named folds. Half of a surrogate pair is a replacement character: it has no other form."""
    wanted = set(names)
    text = _HALF.sub("\ufffd", text)
    found = Folded(text, array("q", range(len(text))), array("q", range(1, len(text) + 1)))
    for name, edits in FOLDS.items():
        if name in wanted:
            found = _edited(found, edits(found.text))
            if name == "case":
                found = _lowered(found)
    return found


def seen(text: str) -> str:
    """A text as somebody who looks at it sees it: without what nobody sees, and every blank of Unicode a plain one.

    It tells that a word holds what can't be seen. Nothing is ever read so.
    """
    return _BLANK.sub(" ", _HIDDEN.sub("", text))


def _lowered(found: Folded) -> Folded:
    text = found.text.casefold()
    return found if len(text) != len(found.text) else Folded(text, found.starts, found.ends)


def _edited(before: Folded, edits: Iterable[Edit]) -> Folded:
    pieces: list[str] = []
    starts, ends = array("q"), array("q")
    kept = 0
    for start, end, made in edits:
        pieces += before.text[kept:start], made
        starts += before.starts[kept:start]
        ends += before.ends[kept:start]
        starts.extend([before.starts[start]] * len(made))
        ends.extend([before.ends[end - 1]] * len(made))
        kept = end
    if not kept:
        return before
    pieces.append(before.text[kept:])
    return Folded("".join(pieces), starts + before.starts[kept:], ends + before.ends[kept:])
