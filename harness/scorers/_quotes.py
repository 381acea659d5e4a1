"""Is a quote in its source? In tiers, so that what was rewritten is never called verbatim.

    exact    the quote, character for character
    folded   the quote but for what typesetting changes: white space, curly or straight quotes, dashes, an ellipsis as
             one character or three, composed or decomposed accents, characters that aren't drawn
    elided   the quote says that it leaves something out; its parts stand in the source in their order, exact or folded
    none     anything else, the empty quote included

Case, words, and marks that were dropped or added are never folded. What is kept of a quote that was found is the
source's own text, at the place named; not the model's copy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from harness.scorers._characters import DASHES, DOUBLE_QUOTES, INVISIBLE, SINGLE_QUOTES, is_mark, says
from harness.scorers._trivial import weight, whole_of

__all__ = ["QUOTE_VERSION", "Quote", "Tier", "find_quote", "too_short"]

QUOTE_VERSION: Final = 1
_MOST_PLACES: Final = 100

Tier = Literal["exact", "folded", "elided", "none"]

_FOLD: Final = {
    **dict.fromkeys(SINGLE_QUOTES, "'"), **dict.fromkeys(DOUBLE_QUOTES, '"'), **dict.fromkeys(DASHES, "-"),
    "\u2026": "...",
}  # fmt: skip
_ELLIPSIS: Final = re.compile(r"\[\s*(?:\.{3,}|\u2026)\s*\]|\(\s*(?:\.{3,}|\u2026)\s*\)|\.{3,}|\u2026|\.(?:\s\.){2,}")


@dataclass(frozen=True, slots=True)
class Quote:
    """Where a quote stands. `spans` are [start, end) in characters of the source, one for each part, in order; `texts`
    are those slices of the source. Both are empty for tier `none`.
    """

    tier: Tier
    spans: tuple[tuple[int, int], ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Folded:
    """A folded text. Its character i came from [starts[i], ends[i]) of the plain one; `seams` are the offsets between
    whole characters as a reader counts them, where a match may begin or end."""

    text: str
    starts: list[int]
    ends: list[int]
    seams: frozenset[int]


def find_quote(source: str, quote: str) -> Quote:
    """The best tier that `quote` reaches in `source`, and the first place where it does."""
    if not _says_something(quote):
        return Quote("none")
    start = _find_exact(source, quote)
    if start >= 0:
        return _quote(source, "exact", [(start, start + len(quote))])
    folded = _fold(source)
    whole = _find_folded(folded, quote, 0, joint_before=False, joint_after=False)
    if whole is not None:
        return _quote(source, "folded", [_span(folded, *whole)])
    parts = _find_parts(folded, _ELLIPSIS.split(quote))
    return Quote("none") if parts is None else _quote(source, "elided", [_span(folded, *each) for each in parts])


def too_short(source: str, quote: str, found: Quote, least: int) -> bool:
    """Whether a quote holds less than `least` (as `weight` counts it), so that it could be found in nearly any text.

    `found` is what `find_quote` says of it. All of a source is never too short, and with a `least` of 0 nothing is. Of
    a quote that leaves something out, one part has to hold enough by itself.
    """
    if least == 0 or (found.spans and whole_of(source, found.spans)):
        return False
    if found.tier == "exact":
        return not any(weight(source, at, at + len(quote)) >= least for at in _places(source, quote))
    if found.tier == "none":
        return weight(quote) < least
    return not any(weight(source, start, end) >= least for start, end in found.spans)


def _places(source: str, quote: str) -> Iterator[int]:
    """Where a quote stands in a source, a hundred times at most: a word cut in one place is whole in another."""
    at = source.find(quote)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        yield at
        at = source.find(quote, at + 1)


def _quote(source: str, tier: Tier, spans: list[tuple[int, int]]) -> Quote:
    return Quote(tier, tuple(spans), tuple(source[start:end] for start, end in spans))


def _says_something(text: str) -> bool:
    """Whether a text has a letter, a digit or a sign that somebody sees: all else stands everywhere."""
    return any(map(says, text))


def _find_exact(source: str, quote: str) -> int:
    """The first verbatim match that cuts no character from its accents; -1 when there is none."""
    if is_mark(quote[0]):
        return -1
    start = source.find(quote)
    while start >= 0 and (end := start + len(quote)) < len(source) and is_mark(source[end]):
        start = source.find(quote, start + 1)
    return start


def _fold(text: str) -> _Folded:
    """Fold a text, cluster by cluster: a character and the marks on it, which Unicode may reorder."""
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    seams = {0}
    at = 0
    while at < len(text):
        end = at + 1
        if text[at].isspace():
            while end < len(text) and (text[end].isspace() or text[end] in INVISIBLE):
                end += 1
            shown = " "
        else:
            while end < len(text) and (text[end] in INVISIBLE or is_mark(text[end])):
                end += 1
            plain = unicodedata.normalize("NFD", "".join(each for each in text[at:end] if each not in INVISIBLE))
            shown = "".join(_FOLD.get(each, each) for each in plain)
        out.append(shown)
        starts += [at] * len(shown)
        ends += [end] * len(shown)
        seams.add(len(starts))
        at = end
    return _Folded("".join(out), starts, ends, frozenset(seams))


def _span(folded: _Folded, start: int, end: int) -> tuple[int, int]:
    return folded.starts[start], folded.ends[end - 1]


def _find_folded(
    source: _Folded, quote: str, after: int, *, joint_before: bool, joint_after: bool
) -> tuple[int, int] | None:
    """The first folded match from `after` on, between seams. Where a part joins an ellipsis it must not cut a word."""
    wanted = _fold(quote).text.strip()
    if not _says_something(wanted):
        return None
    at = source.text.find(wanted, after)
    while at >= 0:
        end = at + len(wanted)
        cut = (joint_before and _inside_word(source.text, at)) or (joint_after and _inside_word(source.text, end))
        if at in source.seams and end in source.seams and not cut:
            return at, end
        at = source.text.find(wanted, at + 1)
    return None


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at])


def _in_word(character: str) -> bool:
    return character.isalnum() or is_mark(character) or character == "_"


def _find_parts(source: _Folded, pieces: list[str]) -> list[tuple[int, int]] | None:
    """The places of an elided quote's parts, each after the one before it; None unless every part is there."""
    if len(pieces) < 2:
        return None
    found: list[tuple[int, int]] = []
    after = 0
    for index, piece in enumerate(pieces):
        if not piece.strip():
            continue
        here = _find_folded(source, piece, after, joint_before=index > 0, joint_after=index < len(pieces) - 1)
        if here is None:
            return None
        found.append(here)
        after = here[1]
    return found or None
