"""Marks beside and between words that decide what is meant: brackets of a formula or a call, the mark of a factorial or
of a negation, and the underscores of a name. Words alone don't have them: [0, 1) and (0, 1) are the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from harness.scorers._characters import is_unspaced, plain
from harness.scorers._words import Mention, Word

__all__ = ["formulas", "marks_fit"]

_BRACKETS: Final = "()[]{}"
_REACH: Final = 200
_PRIME: Final = "'\u2019\u2032"
_BETWEEN: Final = _BRACKETS + _PRIME
_SIZE: Final = re.compile(r"\\(?:left|right|[bB]ig{1,2}[lr]?)(?![A-Za-z])")
_SPACING: Final = re.compile(rf"{_SIZE.pattern}|[\s$\\]+")
_FORMULA: Final = re.compile(r".*\d.*|[^\W\d_]|[^\w\s]+|inf|infty|infinity|sin|cos|tan|log|ln|exp", re.DOTALL)
_CALL: Final = re.compile(r"[A-Za-z0-9_][(\[{]")
_FACTORIAL_AHEAD: Final = re.compile(r"(?:\d|(?<![^\W_])[A-Za-z]|\))\Z")
# What follows an exclamation: the end, or a new sentence. Anything else makes it a factorial.
_EXCLAIMED: Final = re.compile(r"!+[*_`\"'\u201d\u2019)\]]*(?:\s*\Z|\s*\n|\s+[^\W\d_])")
# Ahead of a letter that stands alone, and behind one: what makes another thing of it.
_SIGN_AHEAD: Final = re.compile("(?<![^\\W_])[-\u2212~\u00ac\u00b1\u2213]\\Z")
_SIGN_BEHIND: Final = re.compile("[-\u2212](?![-\\w])")
_PRIMES: Final = re.compile("['\u2019\u2032]{1,3}|\u2033")
_NAME_CLOSES: Final = re.compile(r"(?<=[^\W_])_+(?![^\W_])")


def marks_fit(
    text: str, found: Sequence[Word], wanted: Sequence[str], phrases: Sequence[Sequence[Word]]
) -> Callable[[Mention], bool]:
    """Whether a mention has the marks of what was looked for: `wanted` are the texts, `phrases` their words."""
    flat = plain(text)
    forms = [_Marks(plain(each), phrase) for each, phrase in zip(wanted, phrases, strict=True)]

    def fits(mention: Mention) -> bool:
        return forms[mention.phrase].stand_at(flat, found, mention)

    return fits


def formulas(text: str, wanted: str, phrase: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Where a formula with brackets, or a call, stands in a text however it is spaced, and not inside a longer one;
    nowhere for a `wanted` that is no such thing."""
    if not _Marks(plain(wanted), phrase).brackets:
        return
    form = _SPACING.sub("", plain(wanted))
    ahead = r"(?<!\w)" if form[0].isalnum() else ""
    behind = r"(?!\w)" if form[-1].isalnum() else ""
    spaced = re.compile(ahead + r"[\s$\\]*".join(map(re.escape, form)) + behind, re.IGNORECASE)
    flat = _SIZE.sub(lambda size: " " * len(size[0]), plain(text))
    yield from (found.span() for found in spaced.finditer(flat))


class _Marks:
    """The marks of one text that decide what is meant, and whether they stand at a place too."""

    def __init__(self, text: str, phrase: Sequence[Word]) -> None:
        self.brackets = any(each in _BRACKETS for each in text) and (
            _CALL.search(text) is not None or all(_FORMULA.fullmatch(word.form) for word in phrase)
        )
        self.phrase = phrase
        gaps = _gaps(text, phrase, 0, len(phrase))
        self.ahead, self.behind = (_marks(gaps[0]), _marks(gaps[-1])) if phrase else ("", "")
        self.between = [_marks(gap, _BETWEEN) for gap in gaps[1:-1]]
        self.factorial = bool(phrase) and gaps[-1].startswith("!") and _is_factor(text, phrase[-1])
        self.negated = bool(phrase) and gaps[0].endswith("!")
        self.signs = _signs(text, phrase[0], phrase[-1]) if phrase else ("", "")
        self.names = (_underscores(gaps[0], ahead=True), _underscores(gaps[-1], ahead=False)) if phrase else ("", "")

    def stand_at(self, text: str, found: Sequence[Word], mention: Mention) -> bool:
        """Whether the marks of a mention are these."""
        gaps = _gaps(text, found, mention.first, mention.last)
        ahead, behind = gaps[0], gaps[-1]
        if self.brackets and not (
            _marks(ahead).endswith(self.ahead)
            and _marks(behind).startswith(self.behind)
            and [_marks(gap, _BETWEEN) for gap in gaps[1:-1]] == self.between
        ):
            return False
        last = found[mention.last - 1]
        if self.factorial != (behind.startswith("!") and _is_factor(text, last)) and not (
            not self.factorial and _EXCLAIMED.match(text, last.end)
        ):
            return False
        start = found[mention.first].start
        touching = ahead.endswith("!") and not re.match(r"[^\W_]", text[max(0, start - 2) : start])
        if self.negated != touching or self.signs != _signs(text, found[mention.first], last):
            return False
        return self._named(text, ahead, behind, start, last.end)

    def _named(self, text: str, ahead: str, behind: str, start: int, end: int) -> bool:
        """Underscores of a name are there; where the name has none, those of emphasis may be."""
        there = (_underscores(ahead, ahead=True), _underscores(behind, ahead=False))
        if any(self.names):
            return there == self.names
        if there[0] == there[1]:
            return True
        line = text.find("\n", end)
        line = len(text) if line < 0 else line
        closes = there[0] and not there[1] and _NAME_CLOSES.search(text, end, line)
        opens = (
            there[1]
            and not there[0]
            and re.search(r"(?<![^\W_])_+[^\W_]", text[text.rfind("\n", 0, start) + 1 : start])
        )
        return bool(closes or opens)


def _gaps(text: str, found: Sequence[Word], first: int, last: int) -> list[str]:
    """What stands ahead of each word of found[first:last], and behind the last, up to the words beside."""
    ends = [found[first - 1].end if first else 0, *(word.end for word in found[first:last])]
    starts = [*(word.start for word in found[first:last]), found[last].start if last < len(found) else len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


def _marks(gap: str, among: str = _BRACKETS) -> str:
    return "".join("'" if each in _PRIME else each for each in gap if each in among)


def _signs(text: str, first: Word, last: Word) -> tuple[str, str]:
    """What stands against a letter alone or a number and makes another thing of it: the sign of -x, the primes of f'
    and 5', the minus of A-."""
    ahead = _SIGN_AHEAD.search(text[max(0, first.start - 2) : first.start]) if _lone(first) else None
    primes = _PRIMES.match(text, last.end) if _lone(last) or last.form[-1].isdecimal() else None
    if primes is not None and _quoted(text, first.start, primes[0][0]):
        primes = None
    minus = _SIGN_BEHIND.match(text, last.end) if _lone(last) else None
    many = 0 if primes is None else 2 if primes[0] == "\u2033" else len(primes[0])
    sign = "" if ahead is None else "-" if ahead[0] == "\u2212" else ahead[0]
    return sign, "'" * many or "-" * (minus is not None)


def _lone(word: Word) -> bool:
    return len(word.form) == 1 and word.form.isalpha() and not is_unspaced(word.form)


def _quoted(text: str, start: int, mark: str) -> bool:
    """Whether a mark behind text[start:] closes a quotation that is open there."""
    line = text[max(0, start - _REACH) : start].rpartition("\n")[2]
    return line.count(mark) % 2 == 1 or (mark == "\u2019" and "\u2018" in line)


def _underscores(gap: str, *, ahead: bool) -> str:
    """The underscores that touch a word, without the backslashes ahead of them."""
    bare = gap.replace("\\", "")
    return bare[len(bare.rstrip("_")) :] if ahead else bare[: len(bare) - len(bare.lstrip("_"))]


def _is_factor(text: str, word: Word) -> bool:
    return _FACTORIAL_AHEAD.search(text[max(0, word.end - 2) : word.end]) is not None
