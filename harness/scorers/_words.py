"""A text as its words, so that a phrase is found as whole words and never inside one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.scorers._characters import DASHES, DOUBLE_QUOTES, INVISIBLE, SINGLE_QUOTES, is_mark, plain, plain_digits
from harness.scorers._marks import dollars
from harness.scorers._scripts import Edge, edge_ahead, edge_behind, is_unspaced, script_of, stems

__all__ = ["WORDS_VERSION", "Mention", "Word", "find_phrases", "has_words", "words"]

WORDS_VERSION: Final = 2

_FOLD: Final = {
    **dict.fromkeys(map(ord, SINGLE_QUOTES), "'"),
    **dict.fromkeys(map(ord, DOUBLE_QUOTES), '"'),
    **dict.fromkeys(map(ord, DASHES), "-"),
    **dict.fromkeys(map(ord, INVISIBLE), None),
    0xFDD0: None,  # what `_flat` puts for a brace
    0x5C: None,  # what is left of one ahead of a mark, as Markdown and TeX write it: 50\%, my\_name
    0x066A: "%",
    0x2103: "\u00b0c",
    0x2109: "\u00b0f",
}
# Stretches without space, brackets, quotation marks and slashes. A backslash ahead of a mark that is written so in TeX
# or Markdown belongs to it.
_STRETCH: Final = re.compile(
    "(?:\\\\(?=[%$#&_*!+.~^-])"
    '|[^\\s/|\\\\\u2014\u2015\u2026()\\[\\]{}"\u201c\u201d\u201e\u00ab\u00bb\u2033\u3008-\u3011\u3014-\u301f\u30fb\uff62\uff63\uff65])+'
)
# A tag of markup, or a model's own: a word by itself, so <b>Paris</b> has the word Paris.
_TAG: Final = re.compile(r"</?[A-Za-z][\w-]{0,40}\s?/?>|<\|[\w-]{1,40}\|>")
# TeX's marks of size ahead of a bracket say nothing.
_SIZE: Final = re.compile(r"\\(?:left|right|[bB]ig{1,2}[lr]?)(?![A-Za-z])")
# A brace of TeX that belongs to a word: x^{2} is x^2, and \\sqrt{2} no 2.
_BRACED: Final = re.compile(r"(?:[_^]|\\sqrt)(\{)[+-]?\w{1,9}(\})")
_BRACE: Final = "\ufdd0"
# What parts the two numbers of a fraction.
_FRACTION: Final = re.compile(r"/|\}\{")
# Marks that part words, unless a digit stands on both sides: 1,000 and 10:30 are one word each. An equals sign or an
# arrow parts what it stands between, with no space around it.
_PARTING: Final = re.compile(
    "(?<=\\w)(?:=|[-=]>)(?=[^\\s=>])|[\u2192\u21d2]|(?<![0-9])[,:;]|[,:;](?![0-9])"
    "|[!?\u3001\u3002\uff61\uff64\u060c\u061b\u061f\u0964]"
)
_LEADING: Final = "'`*_~.#>\\\u00bf\u00a1\u2018\u2019\u00b7\u2022"
_DASHES: Final = "-\u2013\u2212"
_TRAILING: Final = "'`*_~.\\\u2019"
# A sign of per cent or of degrees, also behind a space: 50 % is 50%.
_SIGN: Final = re.compile("[ \u00a0\u202f\u2009]?\\\\?(?:[%\u2030\u066a]|\u00b0(?:[CF](?![A-Za-z]))?|[\u2103\u2109])")
_HALF: Final = re.compile("[\uff66-\uff9f]")
_REACH: Final = 10
_POSSESSIVE: Final = 3
_VOICED: Final = "\uff9e\uff9f"
_LOOSE: Final = re.compile("[\\s\u30fb\uff65]*")


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its folded form, and where in the text it stands. In a script that puts no space between words, each
    character is one.

    `gap` is what stands between it and the word ahead: "" for nothing, " " for space, "/" for the bar of a fraction,
    "." for anything else.
    """

    form: str
    start: int
    end: int
    gap: Literal["", " ", "/", "."] = "."


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase that was found: its index among those looked for, the first and the last word (exclusive) of it.

    `sure` says whether it stands there as whole words; in a script without spaces that isn't always to be told.
    """

    phrase: int
    first: int
    last: int
    sure: bool = True


def words(text: str) -> list[Word]:
    """The words of a text, without the punctuation around them: in no case, quotes and dashes plain, accents composed,
    full-width forms narrow, digits of any one script the same.

    What is part of a meaning is part of the word: "3.5", "-5", "50%", "C++", "non-positive", "don't".
    """
    flat = _flat(text)
    found: list[Word] = []
    at = 0
    for tag in [*_TAG.finditer(flat), None]:
        for start, stop in _stretches(flat, at, tag.start() if tag is not None else len(flat)):
            word = _word(flat, max(start, found[-1].end if found else 0), stop)
            if word is not None:
                found.append(_placed(flat, word, found[-1].end if found else 0))
        if tag is not None:
            found.append(_placed(flat, (tag[0].casefold(), *tag.span()), found[-1].end if found else 0))
            at = tag.end()
    return found


def _flat(text: str) -> str:
    """`text` as `plain` gives it, and as long, without TeX's marks around a formula and inside one."""
    flat = plain(text)
    if "\\" in text:
        flat = _SIZE.sub(lambda size: " " * len(size[0]), flat)
    marks = [(start, end, " ") for pair in dollars(flat) for start, end in (pair[:2], pair[2:])] if "$" in text else []
    if "{" in flat:
        marks += [(*found.span(side), _BRACE) for found in _BRACED.finditer(flat) for side in (1, 2)]
    if not marks:
        return flat
    characters = list(flat)
    for start, end, put in marks:
        characters[start:end] = put * (end - start)
    return "".join(characters)


def _placed(text: str, word: tuple[str, int, int], before: int) -> Word:
    form, start, end = word
    between = "".join(each for each in text[before:start] if each not in INVISIBLE) if start > before else ""
    gap = "" if not between else " " if _LOOSE.fullmatch(between) else "/" if _FRACTION.fullmatch(between) else "."
    return Word(form, start, end, gap)


def _stretches(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where words may stand: stretches between marks that part, of one kind of script each."""
    for stretch in _STRETCH.finditer(text, start, end):
        at = stretch.start()
        for part in [*_PARTING.finditer(text, stretch.start(), stretch.end()), None]:
            stop = part.start() if part is not None else stretch.end()
            yield from _runs(text, at, stop) if not text.isascii() else ((at, stop),)
            at = part.end() if part is not None else stop


def _runs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """[start, end) by scripts: every character of one without spaces by itself, with the marks that belong to it."""
    at = start
    while at < end:
        kind, stop = _kind(text[at]), at + 1
        while stop < end and (_joins(text[stop]) or (kind != "one" and _kind(text[stop]) == kind)):
            stop += 1
        yield at, stop
        at = stop


def _kind(character: str) -> str:
    script = script_of(character)
    return "one" if is_unspaced(script) else "hangul" if script == "hangul" else "spaced"


def _joins(character: str) -> bool:
    return character > "\u007f" and (is_mark(character) or character in INVISIBLE or character in _VOICED)


def _word(text: str, start: int, end: int) -> tuple[str, int, int] | None:
    while start < end and _falls_ahead(text, start, end):
        start += 1
    while start < end and (text[end - 1] in _TRAILING or text[end - 1] in INVISIBLE or text[end - 1] in _DASHES):
        end -= 1
    if start == end:
        return None
    if text[end - 1].isdecimal() and (sign := _SIGN.match(text, end)) is not None:
        end = sign.end()
    form = "".join(_folded(text[start:end]).split())
    return (form, start, end) if any(each.isalnum() or unicodedata.category(each)[0] == "S" for each in form) else None


def _folded(text: str) -> str:
    if text.isascii():
        return text.casefold().translate(_FOLD) if "\\" in text or "%" in text else text.casefold()
    whole = _HALF.sub(lambda kana: unicodedata.normalize("NFKC", kana[0]), text)
    folded = unicodedata.normalize("NFD", whole).casefold()
    return plain_digits(unicodedata.normalize("NFC", unicodedata.normalize("NFD", folded)).translate(_FOLD))


def _falls_ahead(text: str, at: int, end: int) -> bool:
    """Whether what stands ahead of a word is no part of it: punctuation, or a dash that is a bullet and no sign."""
    if text[at] in _DASHES:
        return not text[at + 1 : end][:1].isdecimal()
    return (text[at] in _LEADING or text[at] in INVISIBLE) and not _decimal(text, at, end)


def _decimal(text: str, at: int, end: int) -> bool:
    """Whether a point stands ahead of a digit, as in .5; or a number sign ahead of a name, as in #tag."""
    return text[at] in ".#" and at + 1 < end and text[at + 1].isalnum()


def has_words(text: str) -> bool:
    """Whether a text has words that can be looked for."""
    return bool(words(text))


def find_phrases(
    text: Sequence[Word], phrases: Sequence[Sequence[Word]], fits: Callable[[Mention], bool] | None = None
) -> list[Mention]:
    """Where phrases stand in a text as whole words, in order. A phrase inside a longer one that stands there is not
    counted: "very positive" is no mention of "positive" where both are looked for.

    A word of Hangul may have a particle behind it, and any word a 's. What stands there and does not fit, as `fits`
    says, is passed over.
    """
    forms = [word.form for word in text]
    # Of two that are looked for, what stands there as it is goes first: McDonald's, and not McDonald.
    whole = {phrase[-1].form for phrase in phrases if phrase}
    known = [dict(_stems(form)) if form not in whole else {} for form in forms]
    starts: dict[str, list[int]] = {}
    for index, form in enumerate(forms):
        starts.setdefault(form, []).append(index)
        for stem in known[index]:
            starts.setdefault(stem, []).append(index)
    found: list[Mention] = []
    # For each word, where the furthest mention that covers it ends; only mentions longer than those at hand are in it.
    reach = [0] * len(forms)
    lengths = sorted({len(phrase) for phrase in phrases} - {0}, reverse=True)
    for length in lengths:
        some: list[Mention] = []
        for index, phrase in enumerate(phrases):
            if len(phrase) != length:
                continue
            for first in starts.get(phrase[0].form, ()):
                if reach[first] >= first + length:
                    continue
                edge = _edge(text, forms, known, first, phrase)
                each = Mention(index, first, first + length, edge == "sure")
                if edge != "inside" and (fits is None or fits(each)):
                    some.append(each)
        for each in some:
            for at in range(each.first, each.last):
                reach[at] = max(reach[at], each.last)
        found += some
    return sorted(found, key=lambda mention: (mention.first, mention.phrase))


def _edge(
    text: Sequence[Word], forms: Sequence[str], known: Sequence[Mapping[str, Edge]], first: int, phrase: Sequence[Word]
) -> Edge:
    """Whether a phrase stands at a word as words of its own; "inside" where it does not stand there at all. `known` has
    what each word may be without what is put behind it."""
    last = first + len(phrase)
    if last > len(forms) or any(forms[first + at] != phrase[at].form for at in range(len(phrase) - 1)):
        return "inside"
    # What a phrase writes together in a script without spaces is not found across a mark.
    if any(phrase[at].gap == "" and text[first + at].gap == "." for at in range(1, len(phrase))):
        return "inside"
    numbers = any(each.isdecimal() for word in phrase for each in word.form)
    if numbers and any((phrase[at].gap == "/") != (text[first + at].gap == "/") for at in range(1, len(phrase))):
        return "inside"
    edges: list[Edge] = []
    if forms[last - 1] != phrase[-1].form:
        edges.append(known[last - 1].get(phrase[-1].form, "inside"))
    if numbers and "/" in (text[first].gap, text[last].gap if last < len(text) else ""):
        edges.append("unclear")  # 3/2 is another number than 3, and 3 km/h no 3 km
    size = sum(len(word.form) for word in phrase)
    if first and text[first].gap == "":
        edges.append(edge_ahead(_beside(text, first, -1), forms[first], size))
    if last < len(forms) and text[last].gap == "":
        edges.append(edge_behind(forms[last - 1], _beside(text, last, 1), size))
    return "inside" if "inside" in edges else "unclear" if "unclear" in edges else "sure"


def _stems(form: str) -> Sequence[tuple[str, Edge]]:
    """What a word may be without what is put behind it: a particle of Korean, a 's."""
    if script_of(form[-1]) == "hangul":
        return stems(form)
    return ((form[:-2], "sure"),) if form.endswith("'s") and len(form) > _POSSESSIVE else ()


def _beside(text: Sequence[Word], at: int, step: Literal[-1, 1]) -> str:
    """The words that touch the one at a place, from there on or up to there: as many as a particle is long."""
    if step > 0:
        stop = at + 1
        while stop < min(len(text), at + _REACH) and text[stop].gap == "":
            stop += 1
        return "".join(word.form for word in text[at:stop])
    start = at - 1
    while start > max(0, at - _REACH) and text[start].gap == "":
        start -= 1
    return "".join(word.form for word in text[start:at])
