"""Normal forms for answers that are compared whole: a label, a number, the letter of a choice.

A normaliser maps a text to its normal form, or to "" when it has none; `matches` compares two, and "" matches
nothing. So an answer that says nothing, and a key that a rule empties, can never make a case right. Every normaliser
is idempotent, and which one was used is named with its version ("label/1"): a changed rule is a new version.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness._errors import UsageError
from harness.scorers._characters import (
    DASHES,
    DOUBLE_QUOTES,
    INVISIBLE,
    MINUSES,
    SINGLE_QUOTES,
    narrow,
    plain_digits,
)
from harness.scorers._label import label
from harness.scorers._marks import plain
from harness.scorers._region import without_space

__all__ = [
    "NORMALISERS", "OLDER", "Normaliser", "choice", "label", "matches", "normaliser", "number", "text", "value",
]  # fmt: skip

_STRAIGHT: Final = str.maketrans(
    {**dict.fromkeys(SINGLE_QUOTES, "'"), **dict.fromkeys(DOUBLE_QUOTES, '"'), **dict.fromkeys(DASHES, "-")}
)
_PAIRS: Final = (
    '""', "''", "``", "**", "__", "()", "[]", "{}", "\u00ab\u00bb", "\u2039\u203a", "\u300c\u300d", "\u300e\u300f",
    "\u3010\u3011",
)  # fmt: skip
# Marks that end a sentence or a clause, of any script's, and the two that Spanish puts ahead of one.
_TRAILING: Final = ".,;:!?\u2026\u3002\u3001\uff61\uff64\u0964\u0965\u06d4\u061f\u060c\u061b\u203d"
_LEADING: Final = "\u00bf\u00a1\u2026,;:"
_BULLET: Final = re.compile(r"(?:[-*\u2022#]\s+|\.{2,}\s*)(?![\s\d.])|#{2,6}\s+")
_UNSEEN: Final = "".join(INVISIBLE)
# Joiners are drawn as nothing and decide how what stands beside them is drawn; the rest decides nothing.
_DROPPED: Final = dict.fromkeys(map(ord, INVISIBLE - {"\u200c", "\u200d"}))

_NUMBER: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,12}))?")
_GROUPED: Final = re.compile(r"([+-]?)([0-9]{1,3}(?:\x00[0-9]{3})+)((?:\.[0-9]+)?)")
_SEPARATORS: Final = (",", " ", "'", "_", "\u00a0", "\u202f", "\u2009", "\u066c")
_QUOTED: Final = ('""', "''", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb", "\u300c\u300d")
_LETTER: Final = re.compile(r"([A-Za-z])[).\]:]{0,3}")


def _label_1(text: str) -> str:
    """A label's normal form as version 1 had it, which took brackets and underscores around a whole for dress too:
    outer space and outer punctuation off, runs of space as one, case folded.

    It stays for the rule sets that name it.
    """
    folded = unicodedata.normalize("NFD", narrow(text.translate(_DROPPED))).casefold()
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", folded)).translate(_STRAIGHT)
    return " ".join(_core(folded).split())


def _core(text: str) -> str:
    """`text` without the space, the pairs of marks and the sentence marks around it, layer by layer.

    A mark ahead that says something stays: one that negates ("!x"), a decimal point (".5"), a sign ("-1").
    """
    start, end = 0, len(text)
    while start < end:
        first, last = text[start], text[end - 1]
        if first.isspace() or first in _UNSEEN or first in _LEADING:
            start += 1
        elif last.isspace() or last in _UNSEEN or last in _TRAILING:
            end -= 1
        elif end - start > 1 and first + last in _PAIRS:
            start, end = start + 1, end - 1
        elif (bullet := _BULLET.match(text, start, end)) is not None:
            start = bullet.end()
        else:
            break
    return text[start:end]


def number(text: str, *, thousands: str = "") -> str:
    """The normal form of a decimal number, exact: "1.0", "1" and "+01.00" are one, "10" another; "" for no number.

    The form is the digits without zeros at either end and a power of ten, such as "-25e-1". The whole text between
    white space, Markdown's and TeX's marks and quotation marks is the number (one full stop after it is let be), with
    no unit, sign of currency, per cent or fraction. Digits may be full-width or any one script's (Unicode Nd), never of
    two; the minus may be U+2212 or a full-width one, but no dash. A separator of thousands is refused ("1,000" may be
    one) unless `thousands` declares it, and then groups must be of three. Raises UsageError for a `thousands` that is
    no separator.
    """
    if thousands and thousands not in _SEPARATORS:
        raise UsageError(f"thousands: expected one of {', '.join(map(ascii, _SEPARATORS))}, got {thousands!a}")
    return _number_1(_undressed(plain(text).text), thousands)


def _undressed(text: str) -> str:
    bare = _without_space(text)
    return _without_space(bare[1:-1]) if len(bare) > 2 and bare[0] + bare[-1] in _QUOTED else bare


def _number_1(text: str, thousands: str = "") -> str:
    """As version 1 had it, without a word on Markdown, TeX and quotation marks."""
    bare = _without_space(text)
    plain = plain_digits(narrow(bare).translate(dict.fromkeys(map(ord, MINUSES), "-")))
    if plain.endswith(".") and plain[-2:-1].isdecimal():
        plain = plain[:-1]
    if thousands and thousands in plain:
        grouped = _GROUPED.fullmatch(plain.replace(thousands, "\x00")) if "\x00" not in plain else None
        if grouped is None:
            return ""
        plain = grouped[1] + grouped[2].replace("\x00", "") + grouped[3]
    found = _NUMBER.fullmatch(plain)
    if found is None:
        return ""
    sign, whole, part = found[1], found[2], found[3] or ""
    if not whole + part:
        return ""
    digits = (whole + part).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return "0"
    power = int(found[4] or 0) + len(digits) - len(short) - len(part)
    return f"{'-' if sign == '-' else ''}{short}e{power}"


def _without_space(given: str) -> str:
    start, end = without_space(given)
    return given[start:end]


def text(given: str) -> str:
    """A text as it is, without the white space around it: case, punctuation and inner space all count."""
    return _without_space(given)


def choice(text: str) -> str:
    """The letter of a choice as a capital: "b", "(B)", "B.", "B)", "**B**" and "Ｂ" are "B"; "" for anything else.

    The letter is all of the answer: "A man" is no choice of A, an article is never taken off, and a letter of another
    alphabet that looks like A is none.
    """
    found = _LETTER.fullmatch(_core(narrow(text)))
    return found[1].upper() if found else ""


def value(given: str) -> str:
    """The normal form of a number where a text is one, its marks off as a label's are; else that of the label.

    So "100", "100.0" and "**1e2**" are one, "n/a" is a text, and 1.10 is 1.1 (a version that isn't wants `label`).
    """
    form = label(given)
    return number(form) or form


@dataclass(frozen=True, slots=True)
class Normaliser:
    """A named rule of comparison. `of` gives the normal form, or "" for a text that has none."""

    name: str
    version: int
    of: Callable[[str], str]

    @property
    def label(self) -> str:
        """How a result names it, such as "label/1"."""
        return f"{self.name}/{self.version}"


NORMALISERS: Final[Mapping[str, Normaliser]] = MappingProxyType(
    {each.name: each for each in (Normaliser("label", 2, label), Normaliser("number", 2, number),
                                  Normaliser("choice", 1, choice), Normaliser("text", 1, text),
                                  Normaliser("value", 1, value))}
)  # fmt: skip
"""Every normaliser of this release by name."""

OLDER: Final[Mapping[str, Normaliser]] = MappingProxyType(
    {each.label: each for each in (Normaliser("label", 1, _label_1), Normaliser("number", 1, _number_1))}
)
"""Earlier versions, by name and version: a rule set that names one goes on meaning what it said."""


def normaliser(name: str) -> Normaliser:
    """The normaliser called `name`, with its version or without, and then the newest. Raises UsageError, saying what
    there is."""
    found = OLDER.get(name) or NORMALISERS.get(name.partition("/")[0])
    if found is None or name not in (found.name, found.label):
        there = ", ".join([*(each.label for each in NORMALISERS.values()), *OLDER])
        raise UsageError(f"expected a normaliser out of {there}, got {name!a}")
    return found


def matches(rule: Normaliser, found: str, expected: str) -> bool:
    """Whether two texts have the same normal form, and have one at all."""
    normal = rule.of(found)
    return normal != "" and normal == rule.of(expected)
