"""A text as its words, so that a phrase is found as whole words and never inside one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.scorers._characters import DASHES, DOUBLE_QUOTES, INVISIBLE, SINGLE_QUOTES, narrow

__all__ = ["WORDS_VERSION", "Mention", "Word", "find_phrases", "has_words", "words"]

WORDS_VERSION: Final = 1

_FOLD: Final = {
    **dict.fromkeys(map(ord, SINGLE_QUOTES), "'"),
    **dict.fromkeys(map(ord, DOUBLE_QUOTES), '"'),
    **dict.fromkeys(map(ord, DASHES), "-"),
    **dict.fromkeys(map(ord, INVISIBLE), None),
}
_STRETCH: Final = re.compile('[^\\s/|\\\\\u2014\u2015\u2026()\\[\\]{}"\u201c\u201d\u201e\u00ab\u00bb\u2033\uff0f]+')
# A tag of markup, or a model's own: a word by itself, so <b>Paris</b> has the word Paris.
_TAG: Final = re.compile(r"</?[A-Za-z][\w-]{0,40}\s?/?>|<\|[\w-]{1,40}\|>")
# Marks that part words, unless a digit stands on both sides: 1,000 and 10:30 are one word each. An equals sign or an
# arrow parts what it stands between, with no space around it.
_PARTING: Final = re.compile(
    "(?<=\\w)(?:=|[-=]>)(?=[^\\s=>])|[\u2192\u21d2]|(?<![0-9])[,:;]|[,:;](?![0-9])|[!?\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f\u060c\u061b\u061f\u0964]"
)
_LEADING: Final = "'`*_~.#>\u00bf\u00a1\u2018\u2019\u00b7\u2022"
_DASHES: Final = "-\u2013"
_TRAILING: Final = "'`*_~.\u2019"
# Scripts that put no space between words: a word of them can't be told from a part of one.
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its folded form, and where in the text it stands."""

    form: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase that was found: its index among those looked for, the first and the last word (exclusive) of it."""

    phrase: int
    first: int
    last: int


def words(text: str) -> list[Word]:
    """The words of a text, without the punctuation around them: in no case, quotes and dashes plain, accents composed.

    What is part of a meaning is part of the word: "3.5", "-5", "50%", "C++", "non-positive", "don't".
    """
    found: list[Word] = []
    at = 0
    for tag in [*_TAG.finditer(text), None]:
        found += _stretches(text, at, tag.start() if tag is not None else len(text))
        if tag is not None:
            found.append(Word(tag[0].casefold(), *tag.span()))
            at = tag.end()
    return found


def _stretches(text: str, start: int, end: int) -> list[Word]:
    found: list[Word] = []
    for stretch in _STRETCH.finditer(text, start, end):
        at = stretch.start()
        for part in [*_PARTING.finditer(text, stretch.start(), stretch.end()), None]:
            stop = part.start() if part is not None else stretch.end()
            word = _word(text, at, stop)
            if word is not None:
                found.append(word)
            at = part.end() if part is not None else stop
    return found


def _word(text: str, start: int, end: int) -> Word | None:
    while start < end and _falls_ahead(text, start, end):
        start += 1
    while start < end and (text[end - 1] in _TRAILING or text[end - 1] in INVISIBLE or text[end - 1] in _DASHES):
        end -= 1
    folded = unicodedata.normalize("NFD", narrow(text[start:end])).casefold()
    form = unicodedata.normalize("NFC", unicodedata.normalize("NFD", folded)).translate(_FOLD)
    return (
        Word(form, start, end) if any(each.isalnum() or unicodedata.category(each)[0] == "S" for each in form) else None
    )


def _falls_ahead(text: str, at: int, end: int) -> bool:
    """Whether what stands ahead of a word is no part of it: punctuation, or a dash that is a bullet and no sign."""
    if text[at] in _DASHES:
        return not text[at + 1 : end][:1].isdecimal()
    return (text[at] in _LEADING or text[at] in INVISIBLE) and not _decimal(text, at, end)


def _decimal(text: str, at: int, end: int) -> bool:
    """Whether a point stands ahead of a digit, as in .5; or a number sign ahead of a name, as in #tag."""
    return text[at] in ".#" and at + 1 < end and text[at + 1].isalnum()


def has_words(text: str) -> bool:
    """Whether a text has words that can be looked for, none of them of a script that puts no space between words."""
    return bool(words(text)) and _UNSPACED.search(text) is None


def find_phrases(text: Sequence[Word], phrases: Sequence[Sequence[Word]]) -> list[Mention]:
    """Where phrases stand in a text as whole words, in order. A phrase inside a longer one that stands there is not
    counted: "very positive" is no mention of "positive" where both are looked for.
    """
    forms = [word.form for word in text]
    starts: dict[str, list[int]] = {}
    for index, form in enumerate(forms):
        starts.setdefault(form, []).append(index)
    found: list[Mention] = []
    # For each word, where the furthest mention that covers it ends; only mentions longer than those at hand are in it.
    reach = [0] * len(forms)
    lengths = sorted({len(phrase) for phrase in phrases} - {0}, reverse=True)
    for length in lengths:
        some: list[Mention] = []
        for index, phrase in enumerate(phrases):
            if len(phrase) != length:
                continue
            wanted = [word.form for word in phrase]
            some += [
                Mention(index, first, first + length)
                for first in starts.get(wanted[0], ())
                if forms[first : first + length] == wanted and reach[first] < first + length
            ]
        for each in some:
            for at in range(each.first, each.last):
                reach[at] = max(reach[at], each.last)
        found += some
    return sorted(found, key=lambda mention: (mention.first, mention.phrase))
