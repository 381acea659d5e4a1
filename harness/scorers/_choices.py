"""Which of several options an answer names: by the letter, by the option's own words, or by both.

An answer is one option or none. A letter and words that name two options are no answer, wherever they stand: one that
is talked about is as much a name as one that is given. An article is no letter: "A man" doesn't name A. Nothing that is
denied is named: "not B", "B is wrong".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.scorers._characters import ascii_digits, plain
from harness.scorers._decisive import formulas, marks_fit
from harness.scorers._denials import Denied, asked, denies
from harness.scorers._leads import LEAD, TAIL
from harness.scorers._letters import NUMBERED, Lettered, lettered, references
from harness.scorers._normal import label
from harness.scorers._region import without_space
from harness.scorers._scripts import is_unspaced, script_of
from harness.scorers._words import Word, find_phrases, words

__all__ = ["CHOICES_VERSION", "ChoiceRead", "Named", "OptionText", "clashing", "find_choice", "read_choice"]

CHOICES_VERSION: Final = 2

Named = Literal["both", "letter", "text"]
"""By what an answer may name an option."""

_TEX: Final = re.compile(
    r"\\(?:boxed|fbox|text|textbf|textit|textrm|mathbf|mathrm|mathsf|mathit|bf|rm)\s*\{(?P<in>.*)\}|\\\((?P<round>.*)\\\)"
    r"|\\\[(?P<square>.*)\\\]|\$\$?(?P<math>[^$]+)\$\$?",
    re.DOTALL,
)
# What makes another name of a letter that it touches: C++, C#, an accent.
_JOINED: Final = re.compile(r"[+#\u0300-\u036f]")
# What makes another number of a number of an option.
_MEASURED: Final = re.compile("[%\u2030\u00b0^!]")
_LAYERS: Final = 8
_REACH: Final = 60
_OPEN: Final = "([{\"'*_`\u201c\u2018\u3010\u300c\u300e\u3014\u00ab\u201e "
_CLOSE: Final = ")]}\"'*_`\u201d\u2019\u3011\u300d\u300f\u3015\u00bb\u201c "
# What denies an option that it stands beside, and not a number.
_STRIKES: Final = frozenset(("\u00d7", "\u274e", "x\u0336"))


@dataclass(frozen=True, slots=True)
class OptionText:
    """One option: its letter (or number), and its words; no words where options are letters alone."""

    letter: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceRead:
    """The index of the one option that is named, or why there is none; [start, end) is where in the text."""

    option: int | None
    why: Literal["", "no_answer", "two_candidates"]
    start: int
    end: int


_AROUND_LETTERS = "()[]{}:.,; "
"""What may stand around a letter that is an answer: an option's words "C:" are read as its letter too."""


def clashing(options: Sequence[OptionText], by: Named = "both") -> tuple[int, int] | None:
    """Two options that an answer could not tell apart: their words are the same, or (unless `by` says that only one of
    the two counts) the words of one are the letter of the other. None where there are none such.
    """
    forms: dict[str, int] = {}
    letters: dict[str, int] = {}
    for index, option in enumerate(options):
        letter, form = ascii_digits(option.letter).casefold(), label(option.text)
        if by != "text" and letters.setdefault(letter, index) != index:
            return letters[letter], index
        if by != "letter" and form and forms.setdefault(form, index) != index:
            return forms[form], index
    if by == "both":
        for form, index in forms.items():
            letter = form.strip(_AROUND_LETTERS)
            if letters.get(letter, index) != index:
                return index, letters[letter]
    return None


def read_choice(
    text: str, options: Sequence[OptionText], by: Named = "both", start: int = 0, end: int | None = None
) -> ChoiceRead:
    """The option that text[start:end] names, all of it: "B", "(B)", "**B**", "B)", "Paris", "B. Paris",
    "Answer: B", "The answer is (B)", "Option B", "\u7b54\u6848\u662fB".
    """
    start, end = without_space(text, start, len(text) if end is None else end)
    inner: str | None = _folded(text[start:end])
    phrases = [words(option.text) if by != "letter" else [] for option in options]
    for _ in range(_LAYERS):
        named = set(_whole(inner, options, by))
        inner = _peeled(inner, phrases)
        if named or inner is None:
            return _one(named, start, end)
    return _one(set(), start, end)


def _peeled(text: str, phrases: Sequence[Sequence[Word]]) -> str | None:
    """A text without what says no more than that it is the answer; None where there is no such thing, or where that
    would take words of an option off: with an option "correct", "B is correct" names two.
    """
    bare = text.translate(_UNMARKED).strip().removesuffix(".").removesuffix("\u3002").rstrip()
    formula = _TEX.fullmatch(bare)
    if formula is not None:
        return formula[formula.lastgroup or 0].strip()
    lead = LEAD.match(bare)
    tail = TAIL.search(bare[-_REACH:])
    first = lead.end() if lead is not None else 0
    last = len(bare) if tail is None else len(bare[:-_REACH]) + tail.start()
    if first and bare[last:].lstrip().casefold().startswith("is "):
        last = len(bare)  # English says it once: "The answer is B is correct" is no sentence
    if (first, last) == (0, len(bare)) or first > last:
        return None
    if any(find_phrases(words(part), phrases) for part in (bare[:first], bare[last:]) if part):
        return None
    return bare[first:last]


def find_choice(
    text: str, options: Sequence[OptionText], by: Named = "both", start: int = 0, end: int | None = None
) -> ChoiceRead:
    """The one option that is named anywhere in text[start:end]. Two that are named leave none, also where one of them
    is denied, or only talked about, or may be something else; and what is only denied isn't named.
    """
    whole = read_choice(text, options, by, start, end)
    if whole.why != "no_answer":
        return whole
    return _anywhere(text, options, by, whole.start, whole.end)


def _folded(text: str) -> str:
    return ascii_digits(plain(text))


@dataclass(frozen=True, slots=True)
class _Naming:
    """One option where text[start:end] names it, surely or perhaps; [first, last) are its words."""

    option: int
    start: int
    end: int
    sure: bool
    first: int = 0
    last: int = 0


def _anywhere(text: str, options: Sequence[OptionText], by: Named, start: int, end: int) -> ChoiceRead:
    inner = _folded(text[start:end])
    found = words(inner)
    # Where the words of an option are its letter, a letter is all that they are: "A cat" has no option A.
    bare = [OptionText(each.letter) if each.text.strip() == each.letter and by == "both" else each for each in options]
    namings = [*_by_words(inner, found, bare if by != "letter" else ())]
    covered = [(each.start, each.end) for each in namings]
    if by != "text":
        named = {each.option for each in namings if each.sure}
        for each in lettered(inner, [ascii_digits(option.letter) for option in options], covered):
            namings.append(_lettered(each))
            if each.sure and len(named := named | {each.option}) > 1:
                break
    if by == "both" and not all(option.letter.isdecimal() for option in options):
        namings += map(_lettered, references(inner, len(options), covered))
    if not namings:
        return _one(set(), start, end)
    questions = asked(inner)
    sure = [each for each in namings if each.sure and not questions(each.start)]
    named = {each.option for each in sure}
    if len({each.option for each in namings}) > 1:
        return ChoiceRead(None, "two_candidates", start, end)
    if not named or not _affirmed(inner, found, sure):
        return _one(set(), start, end)
    return _one(named, start + sure[0].start, start + sure[0].end)


def _lettered(found: Lettered) -> _Naming:
    return _Naming(found.option, found.start, found.end, found.sure)


def _by_words(text: str, found: Sequence[Word], options: Sequence[OptionText]) -> Iterator[_Naming]:
    """Where the words of options stand in a text."""
    texts = [option.text for option in options]
    phrases = [words(each) for each in texts]
    for each in find_phrases(found, phrases, marks_fit(text, found, texts, phrases)):
        first, last = each.first, each.last
        yield _Naming(each.phrase, found[first].start, found[last - 1].end, each.sure, first, last)
    for index, phrase in enumerate(phrases):
        for start, end in formulas(text, texts[index], phrase):
            yield _Naming(index, start, end, sure=True)


_UNMARKED: Final = {ord(mark): " " for mark in "*_`"}


def _one(named: set[int], start: int, end: int) -> ChoiceRead:
    if len(named) == 1:
        return ChoiceRead(named.pop(), "", start, end)
    return ChoiceRead(None, "two_candidates" if named else "no_answer", start, end)


def _whole(text: str, options: Sequence[OptionText], by: Named) -> Iterator[int]:
    """Every option that a text is, read as a letter, as words, or as a letter and words."""
    form = label(text)
    for index, option in enumerate(options):
        if by != "letter" and form and form == label(option.text):
            yield index
        if by != "text":
            rest, marked = _behind_letter(text, ascii_digits(option.letter))
            if rest == "":
                yield index
            elif rest is not None and by == "both":
                if label(rest) and label(rest) == label(option.text):
                    yield index
                elif marked:
                    yield from _with_text(text, rest, index, options)


def _with_text(text: str, rest: str, index: int, options: Sequence[OptionText]) -> Iterator[int]:
    """What a letter and the words behind it name: its own option where the words begin with that option's, and every
    other option that is named there, by letter or by words, surely or perhaps."""
    found = words(rest)
    namings = [*_by_words(rest, found, options)]
    own = [each for each in namings if each.option == index and each.first == 0]
    others = {each.option for each in namings} - {index}
    if own and _affirmed(rest, found, own):
        yield index
        yield from others
        read = _anywhere(text, options, "both", 0, len(text))
        if read.why == "two_candidates":
            yield from range(len(options))
    elif others:
        yield index
        yield from others


def _behind_letter(text: str, letter: str) -> tuple[str | None, bool]:
    """What follows a letter that opens a text, and whether a mark stands between: "B. Paris", "(B) Paris", "B - Paris".
    "" where nothing follows; None where the text opens otherwise. A number may be counted: "No. 2", "#2"."""
    counted = NUMBERED if letter.isdecimal() else ""
    found = re.fullmatch(
        rf"[{re.escape(_OPEN)}]*{counted}{re.escape(letter)}(?P<mark>[{re.escape(_CLOSE)}]*\s*"
        rf"[.:)\]\-\u2013\u2014,\u3001\u3002\u30fb]*[{re.escape(_CLOSE)}]*)(?P<rest>.*)",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if found is None:
        return None, False
    rest, mark = found["rest"].strip(), found["mark"]
    if not mark.strip() and counted and _MEASURED.match(found["rest"]):
        return None, False
    if not mark and _JOINED.match(found["rest"]):
        return None, False
    if not rest or not any(each.isalnum() for each in rest):
        return (None if any(denies(word.form) or word.form in _STRIKES for word in words(rest)) else ""), False
    if not mark and not (is_unspaced(script_of(rest[0])) or script_of(rest[0]) == "hangul"):
        return None, False
    return rest, bool(mark.strip())


def _affirmed(text: str, found: Sequence[Word], namings: Sequence[_Naming]) -> bool:
    """Whether what is named stands in a sentence without a word of denial outside it; of letters, the last one does."""
    denied = Denied(text, found, more=_STRIKES)
    stands = [all(each.last and each.first <= at < each.last for at in denied.beside(each.start)) for each in namings]
    last = next((at for at in range(len(namings) - 1, -1, -1) if not namings[at].last), None)
    return any(stands) and (last is None or stands[last])
