"""Which of several options an answer names: by the letter, by the option's own words, or by both.

An answer is one option or none. A letter and words that name two options are no answer, and an article is no letter:
"A man" doesn't name A. Nothing that is denied is named: "not B", "B is wrong".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.scorers._characters import narrow
from harness.scorers._denials import DENIALS, Denied
from harness.scorers._normal import label
from harness.scorers._region import without_space
from harness.scorers._words import Mention, Word, find_phrases, words

__all__ = ["CHOICES_VERSION", "ChoiceRead", "Named", "OptionText", "clashing", "find_choice", "read_choice"]

CHOICES_VERSION: Final = 1

Named = Literal["both", "letter", "text"]
"""By what an answer may name an option."""

_NOUN: Final = r"(?:answer|option|choice|letter|solution)"
# What may stand ahead of an answer and say no more than that here it comes.
_LEAD: Final = re.compile(
    r"\s*(?:#{1,6}\s+)?(?:(?:so|thus|hence|therefore)[,:]?\s+)?"
    r"(?:i(?:\s+(?:think|believe|say|choose|pick|select)|(?:\s+would|\s+will|['\u2019]d|['\u2019]ll)\s+"
    r"(?:say|choose|pick|select|go\s+with))\s+(?:that\s+)?(?:it(?:\s+is|['\u2019]s)\s+)?)?"
    rf"(?:(?:(?:my|the|its|correct|right|best|final)\s+){{0,4}}{_NOUN}\b"
    r"(?:\s+is\b|\s+would\s+be\b)?\s*[:=]?\s*(?:(?:option|choice|letter)\s+)?)?",
    re.IGNORECASE,
)
# And behind it.
_TAIL: Final = re.compile(
    rf"\s+is\s+(?:the\s+)?(?:(?:correct|right|best)(?:\s+{_NOUN})?|{_NOUN})[\s.!]*\Z", re.IGNORECASE
)
_TEX: Final = re.compile(
    r"\\(?:boxed|text|textbf|mathbf|mathrm)\{(?P<in>.*)\}|\\\((?P<round>.*)\\\)|\\\[(?P<square>.*)\\\]"
    r"|\$\$?(?P<math>[^$]+)\$\$?",
    re.DOTALL,
)
_LAYERS: Final = 8
_REACH: Final = 60


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_OPEN: Final = "([{\"'*_`\u201c\u2018 "
_CLOSE: Final = ")]}\"'*_`\u201d\u2019 "
# A letter that is a word of English too names an option only where what follows can't follow the word.
_AFTER_LETTER: Final = _set("or and is was because since as but seems looks fits would")


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


def clashing(options: Sequence[OptionText], by: Named = "both") -> tuple[int, int] | None:
    """Two options that an answer could not tell apart: their words are the same, or (unless `by` says that only one of
    the two counts) the words of one are the letter of the other. None where there are none such.
    """
    forms: dict[str, int] = {}
    letters: dict[str, int] = {}
    for index, option in enumerate(options):
        letter, form = option.letter.casefold(), label(option.text)
        if by != "text" and letters.setdefault(letter, index) != index:
            return letters[letter], index
        if by != "letter" and form and forms.setdefault(form, index) != index:
            return forms[form], index
    if by == "both":
        for form, index in forms.items():
            if letters.get(form, index) != index:
                return index, letters[form]
    return None


def read_choice(
    text: str, options: Sequence[OptionText], by: Named = "both", start: int = 0, end: int | None = None
) -> ChoiceRead:
    """The option that text[start:end] names, all of it: "B", "(B)", "**B**", "B)", "Paris", "B. Paris",
    "Answer: B", "The answer is (B)", "Option B".
    """
    start, end = without_space(text, start, len(text) if end is None else end)
    inner: str | None = text[start:end]
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
    plain = text.translate(_UNMARKED).strip().removesuffix(".")
    formula = _TEX.fullmatch(plain)
    if formula is not None:
        return formula[formula.lastgroup or 0].strip()
    lead = _LEAD.match(plain)
    tail = None if lead is not None and lead.end() else _TAIL.search(plain[-_REACH:])
    first = lead.end() if lead is not None else 0
    last = len(plain) if tail is None else len(plain[:-_REACH]) + tail.start()
    if (first, last) == (0, len(plain)) or find_phrases(words(plain[last:]), phrases):
        return None
    return plain[first:last]


def find_choice(
    text: str, options: Sequence[OptionText], by: Named = "both", start: int = 0, end: int | None = None
) -> ChoiceRead:
    """The one option that is named anywhere in text[start:end]. Two that are named leave none, also where one of them
    is denied, and what is only denied isn't named.
    """
    whole = read_choice(text, options, by, start, end)
    if whole.why != "no_answer":
        return whole
    start, end = whole.start, whole.end
    found = words(text[start:end])
    phrases = [words(option.text) if by != "letter" else [] for option in options]
    mentions = find_phrases(found, phrases)
    taken = {at for each in mentions for at in range(each.first, each.last)}
    if by != "text":
        mentions += _letters(text[start:end], found, options, taken)
    named = {each.phrase for each in mentions}
    if len(named) == 1 and not _affirmed(text[start:end], found, mentions):
        named = set[int]()
    if len(named) == 1:
        first, last = mentions[0].first, mentions[0].last
        return _one(named, start + found[first].start, start + found[last - 1].end)
    return _one(named, start, end)


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
            rest = _behind_letter(text, option.letter)
            if rest == "":
                yield index
            elif rest is not None and by == "both":
                yield from _with_text(rest, index, options)


def _with_text(rest: str, index: int, options: Sequence[OptionText]) -> Iterator[int]:
    """What a letter and the words behind it name: its own option where the words begin with that option's, and every
    other option whose words they are."""
    found = words(rest)
    mentions = find_phrases(found, [words(option.text) for option in options])
    if label(rest) and label(rest) == label(options[index].text):
        yield index
        return
    for each in mentions:
        if each.phrase == index and each.first == 0 and _affirmed(rest, found, [each]):
            yield index
        elif each.phrase != index:
            yield each.phrase
            yield index


def _behind_letter(text: str, letter: str) -> str | None:
    """What follows a letter that opens a text; "" where nothing does; None where the text opens otherwise.

    Words behind a letter need a mark between: "B. Paris", "(B) Paris", "B - Paris".
    """
    found = re.fullmatch(
        rf"[{re.escape(_OPEN)}]*{re.escape(letter)}(?P<mark>[{re.escape(_CLOSE)}]*\s*[.:)\]\-\u2013\u2014,]*"
        rf"[{re.escape(_CLOSE)}]*)(?P<rest>.*)",
        narrow(text),
        re.IGNORECASE | re.DOTALL,
    )
    if found is None:
        return None
    rest = found["rest"].strip()
    if not rest or not any(each.isalnum() for each in rest):
        return None if any(word.form in DENIALS for word in words(rest)) else ""
    return rest if found["mark"].strip() else None


def _letters(text: str, found: Sequence[Word], options: Sequence[OptionText], taken: set[int]) -> Iterator[Mention]:
    """The letters that stand in a text as names of options: capitals alone, or in any case where a bracket or a word
    such as "option" says so."""
    by_letter = {option.letter.casefold(): index for index, option in enumerate(options)}
    for at, word in enumerate(found):
        index = by_letter.get(word.form)
        if index is None or at in taken:
            continue
        before, after = text[word.start - 1 : word.start], text[word.end : word.end + 1]
        said = found[at - 1].form if at else ""
        explicit = said in ("option", "choice", "letter", "answer") or (
            after == ")" or (before == "(" and after == ")") or (before == after and before in "*`_\"'")
        )
        if not explicit:
            written = narrow(text[word.start : word.end])
            if written.isdecimal():
                continue
            if written != written.upper() or (word.form in ("a", "i") and _is_word(text, found, at)):
                continue
        yield Mention(index, at, at + 1)


def _is_word(text: str, found: Sequence[Word], at: int) -> bool:
    """Whether an A or an I is the word of English: another word follows it in the same line, with no mark between."""
    if at + 1 >= len(found):
        return False
    between = text[found[at].end : found[at + 1].start]
    return between.isspace() and "\n" not in between and found[at + 1].form not in _AFTER_LETTER


def _affirmed(text: str, found: Sequence[Word], mentions: Sequence[Mention]) -> bool:
    """Whether a mention stands in a sentence without a word of denial outside it."""
    denied = Denied(text, found)
    return any(all(each.first <= at < each.last for at in denied.beside(found[each.first].start)) for each in mentions)
