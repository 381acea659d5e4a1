"""Letters (or numbers) of options where they stand in a text, each with how sure it is that it names the option.

A capital alone names its option, and so does a letter in any case that a bracket, a quotation mark or words such as
"the answer is" mark as one. What may be a letter and may be something else (an article, a unit, an initial, a letter of
another alphabet that looks alike) is a mention that isn't sure: it names nothing by itself, and it leaves no other
letter alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.scorers._characters import is_mark
from harness.scorers._leads import POINTER, TAIL
from harness.scorers._scripts import is_unspaced, script_of

__all__ = ["ANOTHER", "NUMBERED", "Lettered", "lettered", "references"]

ANOTHER: Final = -1
"""An option that is meant by words such as "the latter", and that nothing says which."""


NUMBERED: Final = r"(?:(?:\b(?:no|nr|num|number)\.?[ \u00a0]?|(?<![^\W_])[#\u2116][ \u00a0]?)|\u7b2c)?"
"""A pattern of what counts a number, or nothing: No. 2, #2, \u2116 2, \u7b2c2."""


@dataclass(frozen=True, slots=True)
class Lettered:
    """text[start:end] is the letter of the option with this index, surely or perhaps."""

    option: int
    start: int
    end: int
    sure: bool


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# What follows a letter and can't follow the article: with it, "A" is a letter.
_AFTER: Final = _set(
    "or and is was because since as but seems looks fits would though although however here then instead too also"
    " in on for to by with from at than over rather not isn't wasn't doesn't can could will should must might may"
    " has have had does did do were are be appears sounds makes wins works given after before when where which who"
    " that this these the my your it he she they we you i if so thus therefore hence either both only alone again"
    " definitely obviously clearly probably é es est ist è är er jest je adalah está était war sarà sería seria"
    " como porque parce car weil denn und oder et ou y o"
)
_NOUNS: Final = re.compile(r"\b(?:option|choice|letter|answer)\b[\s*_`\"'(\[:]*\Z", re.IGNORECASE)
_LABELS: Final = re.compile(r"\b(?:option|choice|letter)[\s*_`\"'(\[:]*\Z", re.IGNORECASE)
# A capital behind one of these belongs to it.
_KINDS: Final = re.compile(
    r"\b(?:vitamins?|hepatitis|type|plan|grade|group|class|section|appendix|team|series|influenza|phase|blood|drug|player"
    r"|person|company|patient|student|sample|vector|matrix|event|substance|compound|species|gene|protein|firm|box|vertex"
    r"|node|particle|machine|worker|unit|quadrant|segment|party|factor|coenzyme|language)\s+\Z",
    re.IGNORECASE,
)
_FIGURE: Final = re.compile(
    r"[*_`\"')\]]*\s*[:=]?\s*[(\[]?\s*[-+~\u2248<>\u2264\u2265]?\s*\.?\d[\d.,]*\s*%?[)\]]?(?P<rest>(?:\s+|[-\u2010])[^\W\d_]{2,})?"
)
_WORD: Final = re.compile(r"[ \t\u00a0]+([^\W\d_][^\W_]*(?:['\u2019][^\W_]+)?)")
# A figure that weighs an option: b: 0.7, b - 70%.
_WEIGHED: Final = re.compile(r"\s*(?::\s*|[-=(]?\s*(?=[\d.,]+\s*%))[\d.]")
_AFFIRMED: Final = re.compile(
    r"\s+(?:is|was|would\s+be|must\s+be|should\s+be|has\s+to\s+be|seems|looks|appears)\s+(?:to\s+be\s+)?(?:clearly\s+)?"
    r"(?:the\s+)?(?:correct|right|best|answer|better|true|only)\b",
    re.IGNORECASE,
)
_OPENS: Final = "([{\u3010\u300c\u300e\u3008\u300a\u3014"
_CLOSES: Final = ")]}\u3011\u300d\u300f\u3009\u300b\u3015"
_QUOTES: Final = _set("** __ `` \"\" '' \u201c\u201d \u2018\u2019 \u00ab\u00bb \u201e\u201c \u201e\u201d \u2039\u203a")
_SOFT: Final = "*_` \t"
_SETS: Final = "+^\u00d7\u00b7\u222a\u2229\u2282\u2286\u2208\u2227\u2228\u2295"
_MATHS: Final = re.compile(rf"[ \t]*(?:[{re.escape(_SETS)}/<>|-]|=(?!>)|\*[ \t])")
_MATHS_AHEAD: Final = re.compile(
    rf"[{re.escape(_SETS)}/<|=][ \t]*\Z|[\w)\]}}][ \t]*-[ \t]*\Z|[ \t]\*[ \t]*\Z|[\d)^_][ \t]*\Z"
)
_ARROW: Final = re.compile(r"(?:[:=\u2192\u21d2\u2013\u2014]|->|=>)[\s*_`(\[]*\Z")
_ENDS: Final = re.compile(r"[\s*_`.,;!?)\]}\"'\u201d\u2019\u3002]*(?:\n|\Z)")
_BEGAN: Final = re.compile(r"(?:\A|[.!?\u3002\n]|[^\W_][)\].:])[\s*_`#>\"'\u201c(-]*\Z")
_TAGGED: Final = re.compile(r"<[A-Za-z][\w-]{0,40}>\Z")
_SPACES: Final = " \u00a0\u202f\u2009"
_QUOTE_MARKS: Final = "'\u2019"
_NEAR: Final = 80
_LEADS: Final = 60
_NOUN: Final = 24
# Letters of Cyrillic and Greek that look like a Latin one.
_ALIKE: Final = dict(
    zip("АВСЕНІЈКМОРЅТХУасеіјорѕхуΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABCEHIJKMOPSTXYaceijopsxyABEZHIKMNOPTYX", strict=True)
)
# Capitals that are words of Russian, Ukrainian or Greek too.
_ONE_LETTER_WORDS: Final = "АВИІКОСУЯЗЙΗΟ"
_ENCLOSED: Final = re.compile("[\u2460-\u249b\u24f5-\u24fe\u2776-\u2793\u3251-\u325f\u32b1-\u32bf]")


def lettered(text: str, letters: Sequence[str], covered: Sequence[tuple[int, int]]) -> Iterator[Lettered]:
    """Every letter of an option in a text, outside of what is covered; `text` is as `plain` gives it."""
    by_letter = {letter.casefold(): index for index, letter in enumerate(letters)}
    taken = [False] * (len(text) + 1)
    for start, end in covered:
        taken[start:end] = [True] * (end - start)
    for found in re.finditer(r"\d+|[^\W\d_]", text):
        start, end = found.span()
        if taken[start]:
            continue
        index = by_letter.get(found[0].casefold())
        if index is not None:
            sure = _Place(text, start, end).names()
        elif found[0] in _ALIKE and _ALIKE[found[0]].casefold() in by_letter:
            index, place = by_letter[_ALIKE[found[0]].casefold()], _Place(text, start, end)
            sure = False if place.alone() and (place.marked() or place.pointed() or place.placed()) else None
        else:
            continue
        if sure is not None:
            yield Lettered(index, start, end, sure)
    for found in _ENCLOSED.finditer(text):
        index = by_letter.get(_enclosed(found[0]))
        if index is not None and not taken[found.start()]:
            yield Lettered(index, *found.span(), sure=True)


class _Place:
    """One letter or number where it stands."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end
        self.letter = text[start:end]
        self.before, self.after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        self.ahead = text[max(0, start - _LEADS) : start]

    def names(self) -> bool | None:
        """True where it names its option, False where it may, None where it is something else."""
        if not self.alone():
            return None
        if self.letter.isdecimal():
            counted = self.after > "\u024f" and TAIL.match(self.text, self.end)
            sure = self.marked() or self.keyed() or self.pointed() or counted
            return True if sure else False if self.placed() else None
        if not self.letter.isupper():
            return self._small()
        if self.letter in ("A", "I"):
            found = self._article()
            if found is not True:
                return found
        if self.letter in _ONE_LETTER_WORDS and _WORD.match(self.text, self.end) and not self.marked():
            return False
        return not self._something_else()

    def alone(self) -> bool:
        """Whether it is no part of a longer word, name, number or abbreviation."""
        text, start, end = self.text, self.start, self.end
        together = script_of(self.letter) == "hangul" or is_unspaced(script_of(self.letter))
        if self._joined(self.before, together, ahead=True) or self._joined(self.after, together, ahead=False):
            return False
        beyond, further = text[start - 2 : start - 1] if start > 1 else "", text[end + 1 : end + 2]
        if self.before == "_" and beyond.isalnum():
            return _NOUNS.search(text[max(0, start - _NOUN) : start - 1]) is not None
        if self.before in "-" and beyond.isalnum() and not beyond.isdecimal():
            return _NOUNS.search(text[max(0, start - _NOUN) : start - 1]) is not None
        if self.before in _QUOTE_MARKS and beyond.isalnum():
            return self.letter.isupper() and not text[start - 3 : start - 2].isalnum()
        if self.after in _QUOTE_MARKS and further.isalpha():
            return further in "sS" and self.letter.isupper() and not text[end + 2 : end + 3].isalnum()
        if self.after in "-_" and further.isalnum():
            return False
        if self.before == "." and beyond.isalpha() and not text[start - 3 : start - 2].isalnum():
            return False
        if self.after == "." and further.isalpha() and not text[end + 2 : end + 3].isalnum():
            return False
        if self.before == "." and beyond.isdecimal() and self.letter.isdecimal():
            return False
        if self.after in ".,:" and further.isdecimal() and self.letter.isdecimal():
            return False
        return (
            self.before not in "\u00b0#\\"
            and text[max(0, start - 2) : end].casefold() != "n/a"
            and text[start : end + 2].casefold() != "n/a"
        )

    def _joined(self, beside: str, together: bool, *, ahead: bool) -> bool:
        if beside == "\ufe0f" or not (beside.isalnum() or is_mark(beside)):
            return False
        script = script_of(beside)
        if not together:
            return script == "digit" or not (is_unspaced(script) or script == "hangul")
        # A letter of a script without spaces is one only where words lead to it or follow it.
        return not (self.pointed() if ahead else TAIL.match(self.text, self.end))

    def marked(self) -> bool:
        """Whether brackets, quotation marks or marks of emphasis stand around it, or a bracket closes behind it."""
        text, start, end = self.text, self.start, self.end
        if self.before + self.after in _QUOTES or (self.before + self.after == "><" and _TAGGED.search(self.ahead)):
            return True
        while start and text[start - 1] in _SOFT:
            start -= 1
        while end < len(text) and text[end] in _SOFT:
            end += 1
        opened, closed = text[start - 1 : start], text[end : end + 1]
        if opened and closed and opened in _OPENS:
            return _CLOSES[_OPENS.index(opened)] == closed and not self._applied(start)
        line = text[max(text.rfind("\n", max(0, start - _NEAR), start) + 1, start - _NEAR, 0) : start]
        return closed == ")" and end == self.end and line.count("(") <= line.count(")")

    def _applied(self, start: int) -> bool:
        """Whether its brackets are those of a function of one letter: P(A)."""
        return re.search(r"(?<![^\W_])[A-Za-z]\(\Z", self.text[max(0, start - 3) : start]) is not None

    def keyed(self) -> bool:
        """Whether it is drawn as a key: 1\ufe0f\u20e3."""
        return self.text.startswith(("\ufe0f\u20e3", "\u20e3"), self.end)

    def pointed(self) -> bool:
        """Whether words lead to it: "the answer is"."""
        return POINTER.search(self.ahead) is not None

    def placed(self) -> bool:
        """Whether it stands where an answer may: alone in its line, first or last in the text, behind a colon."""
        text = self.text
        line = text[
            max(text.rfind("\n", max(0, self.start - _NEAR), self.start) + 1, self.start - _NEAR, 0) : self.start
        ]
        ends = _ENDS.match(text, self.end) is not None
        if ends and (not any(map(str.isalnum, line)) or _ARROW.search(self.ahead)):
            return True
        if not any(map(str.isalnum, text[self.end : self.end + _NEAR])) and not text[self.end + _NEAR :].strip():
            return True
        return self.after in ".:,)-\n" and not any(map(str.isalnum, text[: self.start][:_NEAR])) and self.start < _NEAR

    def _small(self) -> bool | None:
        following = _WORD.match(self.text, self.end)
        if self.marked() or self.keyed():
            return True
        if self.letter in ("a", "i", "o", "e", "y", "u") and following is not None:
            if _LABELS.search(self.ahead[-_NOUN:]):
                return True
            if following[1].casefold() not in _AFTER or not self.pointed():
                return None
            return True
        if _WEIGHED.match(self.text, self.end):
            return False
        if _MATHS.match(self.text, self.end) or _MATHS_AHEAD.search(self.ahead):
            return None if not self.pointed() else False
        if self.pointed():
            return True
        if TAIL.match(self.text, self.end) or _AFFIRMED.match(self.text, self.end):
            return True
        return False if self.placed() else None

    def _article(self) -> bool | None:
        """Whether an A or an I is the letter: True, False (perhaps), None (it is the word of English)."""
        if self.marked():
            return True
        figure = _FIGURE.match(self.text, self.end)
        following = _WORD.match(self.text, self.end)
        if figure is not None:
            return figure["rest"] is None
        if following is None:
            return self.letter == "A" or self.pointed() or not self.ahead.strip(_SOFT + "\n")
        if _LABELS.search(self.ahead[-_NOUN:]):
            return True
        if self.letter == "I":
            return None
        if following[1].casefold() in _AFTER or len(following[1]) == 1:
            return True
        if self.pointed():
            return False
        if _BEGAN.search(self.ahead):
            return None
        return None if following[1][0].isupper() else False

    def _something_else(self) -> bool:
        """Whether a capital may be a unit, an initial, a variable, or belong to the word ahead."""
        text = self.text
        if self.marked() or _NOUNS.search(self.ahead[-_NOUN:]) is not None:
            return self._applied_here()
        figure = _FIGURE.match(text, self.end)
        if self.before in _SPACES and text[self.start - 2 : self.start - 1].isdecimal() and figure is None:
            return True
        if _KINDS.search(self.ahead[-_NOUN:]) is not None or text.startswith(("#", "++"), self.end):
            return True
        initial = re.match(r"\.\s+[^\W\d_a-z][^\W\d_]+", text[self.end : self.end + _NEAR])
        if initial and re.search(r"(?:\b[A-Z][^\W\d_]+|\b[A-Z]\.)\s\Z", self.ahead) and not self.pointed():
            return True
        if figure is None and re.match(r"\s*=(?!>)", text[self.end : self.end + 4]):
            return True
        beside = text[self.end : self.end + 2].strip()[:1], self.ahead[-2:].strip()[-1:]
        return self._applied_here() or any(each and each in _SETS for each in beside)

    def _applied_here(self) -> bool:
        return self.before == "(" and self._applied(self.start)


_ORDINALS: Final = {
    word: index
    for index, listed in enumerate((
        "first one 1 1st erste première primera primeira prima 一 첫",
        "second two 2 2nd zweite deuxième segunda seconda 二 두",
        "third three 3 3rd dritte troisième tercera terceira terza 三 세",
        "fourth four 4 4th vierte quatrième cuarta quarta 四 네",
        "fifth five 5 5th fünfte cinquième quinta 五 다섯",
    ))
    for word in listed.split()
}  # fmt: skip
_REFERENCE: Final = re.compile(
    r"\b(?P<by>first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th|last|latter|former|other)\s+(?:one|option|choice|answer"
    r"|alternative|city|statement)\b"
    r"|\bthe\s+(?P<pair>latter|former)\b"
    r"|\b(?:option|choice|number|nr\.?|no\.)\s*\#?(?P<named>one|two|three|four|five|[1-9])(?![\w.,]*\d)\b"
    r"|\b(?P<abroad>erste|zweite|dritte|vierte|première|deuxième|troisième|quatrième|primera|segunda|tercera|cuarta"
    r"|primeira|terceira|prima|seconda|terza|quarta)\s+(?:option|antwort|réponse|opción|respuesta|opção|resposta|opzione|risposta)\b"
    r"|第(?P<counted>[一二三四五1-5])(?:个|個|项|項|选项|選項|の選択肢)|(?P<ja>[1-5一二三四五])番目"
    r"|(?P<ko>첫|두|세|네|다섯)\s*번째|(?P<last>前者|后者|後者|전자|후자)",
    re.IGNORECASE,
)


def references(text: str, many: int, covered: Sequence[tuple[int, int]]) -> Iterator[Lettered]:
    """Where a text means an option by its place in the list ("the second one", 第二个): never sure."""
    for found in _REFERENCE.finditer(text):
        start, end = found.span()
        if any(first < end and start < last for first, last in covered):
            continue
        word = next(each for each in found.groups() if each).casefold()
        index = many - 1 if word == "last" else _ORDINALS.get(word, ANOTHER)
        yield Lettered(index if index < many else ANOTHER, start, end, sure=False)


def _enclosed(character: str) -> str:
    return str(int(unicodedata.numeric(character)))
