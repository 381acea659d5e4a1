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

__all__ = ["FOLDS", "Folded", "fold"]


@dataclass(frozen=True)
class Folded:
    """A folded text. Its character `at` stands for [starts[at], ends[at]) of the text it was made of."""

    text: str
    starts: array[int]
    ends: array[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """[start, end) of the folded text, not empty, as a span of the text it was made of."""
        return min(self.starts[start:end]), max(self.ends[start:end])


# Default_Ignorable_Code_Point of Unicode beside the category Cf, and what shows as nothing in most fonts.
_IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)

_MOST_MARKS = 30

Piece = tuple[str, int, int]
"""What [start, end) of a text becomes."""


def _invisible(text: str) -> Iterator[Piece]:
    for at, each in enumerate(text):
        category = unicodedata.category(each)
        hidden = category == "Cf" or (category == "Cc" and not each.isspace()) or _IGNORED.match(each)
        if not hidden:
            yield each, at, at + 1


def _nfkc(text: str) -> Iterator[Piece]:
    """Piece by piece: a character with the marks that go with it is normalised as one."""
    start = 0
    for at in range(1, len(text) + 1):
        # What no mark follows is a piece of its own; so are the parts of one Korean syllable, together. A heap of marks
        # is cut where UAX #15 has an end to it (Stream-Safe Text Format): it takes the square of its length to sort.
        goes_on = at < len(text) and (unicodedata.combining(text[at]) or "\u1160" <= text[at] <= "\u11ff")
        if goes_on and at - start < _MOST_MARKS:
            continue
        yield unicodedata.normalize("NFKC", text[start:at]), start, at
        start = at


def _space(text: str) -> Iterator[Piece]:
    start = 0
    for found in re.finditer(r"\s+", text):
        yield from ((text[at], at, at + 1) for at in range(start, found.start()))
        yield " ", found.start(), found.end()
        start = found.end()
    yield from ((text[at], at, at + 1) for at in range(start, len(text)))


def _case(text: str) -> Iterator[Piece]:
    return ((each.casefold(), at, at + 1) for at, each in enumerate(text))


FOLDS: Mapping[str, Callable[[str], Iterator[Piece]]] = MappingProxyType(
    {"invisible": _invisible, "nfkc": _nfkc, "space": _space, "case": _case}
)
"""Every fold by name, in the order in which they are done."""


def fold(text: str, names: Iterable[str]) -> Folded:
    """`text` under the named folds. Half of a surrogate pair is a replacement character: it has no other form."""
    wanted = set(names)
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    found = Folded(text, array("q", range(len(text))), array("q", range(1, len(text) + 1)))
    for name, step in FOLDS.items():
        if name in wanted:
            found = _folded(found, step(found.text))
    return found


def _folded(before: Folded, pieces: Iterable[Piece]) -> Folded:
    made: list[str] = []
    starts, ends = array("q"), array("q")
    for piece, start, end in pieces:
        made.append(piece)
        first, last = before.starts[start], before.ends[end - 1]
        starts.extend([first] * len(piece))
        ends.extend([last] * len(piece))
    return Folded("".join(made), starts, ends)
