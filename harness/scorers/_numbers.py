"""A number as people write it, under a declared way of writing: its decimal mark, its thousands, its unit.

What isn't declared is never guessed: "1,000" is a thousand to some and one to others, so without a word on it there is
no number in it. Values are exact decimals; nothing is a float.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final, Literal

from harness._errors import UsageError
from harness.scorers._characters import MINUSES, narrow
from harness.scorers._denials import Denied
from harness.scorers._normal import plain_digits
from harness.scorers._region import without_space
from harness.scorers._words import words

__all__ = ["NUMBERS_VERSION", "NumberFormat", "NumberRead", "find_numbers", "near", "read_number"]

NUMBERS_VERSION: Final = 1

Why = Literal["", "no_answer", "number_unclear"]

_MOST_DIGITS: Final = 1_000
_THOUSANDS: Final = ("", ",", ".", " ", "'", "_", "\u066c")
_ALIKE: Final = {" ": "\u0020\u00a0\u202f\u2009\u2007", "'": "'\u2019\u02bc\uff07"}
# Marks of direction are drawn as nothing and may stand between a sign and its digits.
_DIRECTION: Final = dict.fromkeys(map(ord, "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
_PAIRS: Final = ("**", "__", "``", '""', "''", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb", "[]")
_SPACES: Final = "[ \t\u00a0\u202f\u2009\u2007]?"


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Words that stand beside a number and change what it is.
_SCALES: Final = _set(
    "hundred thousand million millions billion billions trillion trillions dozen dozens lakh lakhs crore crores mn bn"
    " half halves third thirds quarter quarters tenth tenths hundredth hundredths thousandth thousandths percent per"
    " percentage dollar dollars euro euros cent cents pound pounds pi \\pi \u03c0 squared cubed factorial"
)
_CURRENCIES: Final = _set("USD EUR GBP JPY CHF CNY INR CAD AUD SEK NOK DKK PLN BRL MXN KRW RUB TRY ZAR")
_UNITS: Final = _CURRENCIES | _set(
    "k K M B T g kg mg \u00b5g lb lbs oz m km cm mm nm mi ft yd ms \u00b5s ns s min h hr hrs Hz kHz MHz GHz W kW MW J"
    " kJ V A N Pa kPa L l ml mL mol rad deg bit KB MB GB TB kB Mbit pp bp"
)
_NEGATIVE: Final = frozenset(("minus", "negative"))
# What stands ahead of a number and says that it isn't the one that is meant, but a bound of it, or its root.
_BOUND: Final = _set(
    "over under above below twice double triple half than least most \u221a < > <= >= \u2264 \u2265 \u2260 \u00b1"
)
_BOUNDS: Final = re.compile(r"(?:up[^\S\n]+to|half[^\S\n]+of)[^\S\n]+\Z", re.IGNORECASE)
_BOUND_BEHIND: Final = re.compile(
    r"[^\S\n]+(?:or[^\S\n]+(?:more|less|fewer|above|below|over|under|higher|lower)|at[^\S\n]+(?:least|most))\b",
    re.IGNORECASE,
)
# A word of these beside a number says nothing of the number itself: "No. 5", "5 without the one".
_LET: Final = frozenset(("no", "without", "except", "excludes", "exclude", "excluded"))
_LEAD: Final = re.compile(
    r"[\s*_`]*(?:#{1,6}\s+)?(?:(?:so|thus|hence|therefore)[,:]?\s+)?"
    r"(?:(?:(?:the|my|correct|right|best|final|numerical|numeric)\s+){0,4}(?:answer|result|solution|value|total)\b"
    r"(?:\s+is\b|\s+would\s+be\b)?[\s*_`]*[:=]?[\s*_`]*|(?:[A-Za-z]\s*)?=\s*)?",
    re.IGNORECASE,
)
_TEX: Final = (
    re.compile(r"(\\(?:boxed|text|textbf|mathbf|mathrm)\{)([^{}]*)(\})"),
    re.compile(r"(\\\()([^()]*)(\\\))"),
    re.compile(r"(\\\[)([^\[\]]*)(\\\])"),
    re.compile(r"(\$\$?)(\s*[-+\u2212]?[0-9.][0-9.,]*\s*)(\$\$?)(?![0-9])"),
)
_NO_UNITS: Final = "-+=<>|~^`\u00a9\u00ae"
_BEHIND: Final = re.compile(
    r"[^\S\n]+(?P<word>\S+)(?P<half>(?<=\band)[^\S\n]+(?:a|an|one|two|three)[^\S\n]+(?:hal|qua|thi|fif|six|sev|eig|nin|ten)\w*)?",
    re.IGNORECASE,
)
_GROUP: Final = re.compile(r"\d{3}(?!\d)")
_REACH: Final = 40
_EDGES: Final = '.,;:!?"*_`[]{}\u201c\u201d\u2018\u00ab\u00bb\u2026\u3002\uff0c\u3001'
_OPENING: Final = '"*_`[{\u201c\u2018\u00ab\u00bf\u00a1'


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How numbers are written. `decimal` is the mark ahead of a fraction, `thousands` the one between groups ("" for
    none; a space stands for every kind of it, an apostrophe too), `lakh` says that the groups are of two but the last.
    `units` are the spellings of the one unit that may stand ahead of a number or behind it, and must where `required`.

    Raises UsageError for marks that can't be told apart.
    """

    decimal: Literal[".", ","] = "."
    thousands: str = ""
    lakh: bool = False
    units: tuple[str, ...] = ()
    required: bool = False

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise UsageError(f"decimal: expected one of . and ,, got {self.decimal!a}")
        if self.thousands not in _THOUSANDS:
            raise UsageError(f"thousands: expected one of {', '.join(map(ascii, _THOUSANDS))}, got {self.thousands!a}")
        if self.thousands == self.decimal:
            raise UsageError(f"thousands and decimal are both {self.decimal!a}; no number could be read")
        if self.lakh and not self.thousands:
            raise UsageError("groups of lakh: expected a mark of thousands too, got none")
        if self.required and not self.units:
            raise UsageError("a unit is required: expected its spellings, got none")
        for unit in self.units:
            if _spelling(unit) == "" or any(each.isdecimal() for each in unit):
                raise UsageError(f"units: expected spellings of one unit, without digits, got {unit!a}")


@dataclass(frozen=True, slots=True)
class NumberRead:
    """A number that was read, or why there is none: `no_answer` where no digit stands, else `number_unclear`.

    [start, end) is where it stands, its unit included.
    """

    value: Decimal | None
    why: Why
    start: int
    end: int


def read_number(text: str, form: NumberFormat, start: int = 0, end: int | None = None) -> NumberRead:
    """The number that text[start:end] is, all of it: white space, markdown's and TeX's marks, quotation marks and one
    full stop around it let be, and words ahead that say no more than that it is the answer.
    """
    text = _unmarked(text)
    start, end = _bare(text, start, len(text) if end is None else end)
    found = _read(text, form, start, end)
    lead = _LEAD.match(text, start, end)
    if found.why == "number_unclear" and lead is not None and lead.end() > start:
        while end > lead.end() and text[end - 1] in "*_`":
            end -= 1
        behind = _read(text, form, lead.end(), end)
        return behind if behind.value is not None else found
    return found


def _read(text: str, form: NumberFormat, start: int, end: int) -> NumberRead:
    first, last = _bare(text, start, end)
    inner = text[first:last]
    if not _has_digit(inner):
        return NumberRead(None, "no_answer", first, last)
    value = _value(inner, form)
    return NumberRead(value, "" if value is not None else "number_unclear", first, last)


def _unmarked(text: str) -> str:
    """`text` with spaces for TeX's marks around a formula, as long as it was."""
    if "\\" not in text and "$" not in text:
        return text
    for pattern in (_TEX[0], *_TEX):
        text = pattern.sub(lambda found: " " * len(found[1]) + found[2] + " " * len(found[3]), text)
    return text


def find_numbers(text: str, form: NumberFormat) -> list[NumberRead]:
    """Every number in a text, in order; what has a digit and is no number under the declared format is unclear.

    A word behind a number is taken for no unit of it, unless it is a declared one, or one that makes it another number
    ("5 million", "5 %"). A number in a sentence that denies something is none; one beside a bound ("> 5", "at least 5")
    is unclear.
    """
    text = _unmarked(text)
    denied = Denied(text, words(text), _LET)
    found: list[NumberRead] = []
    for start, end in _clumps(text, form):
        first, last = _edges(text, start, end)
        read = _read(text, form, first, last)
        if read.value is not None and denied.beside(first):
            continue
        if read.value is not None and _qualified(text, first, last, form):
            read = NumberRead(None, "number_unclear", first, last)
        if read.why != "no_answer":
            found.append(read)
    return found


def near(found: Decimal, wanted: Decimal, *, absolute: Decimal, relative: Decimal) -> bool:
    """Whether |found - wanted| is at most `absolute`, or at most `relative` times |wanted|. Exact, whatever the size.

    The difference is rounded away from zero at more digits than either bound has, so rounding never decides.
    """
    if found == wanted:
        return True
    context = _context()
    distance = context.abs(context.subtract(found, wanted))
    bounds = (absolute, context.multiply(relative, context.abs(wanted)))
    return any(distance <= bound for bound in bounds)


def _context() -> Context:
    return Context(prec=4 * _MOST_DIGITS, rounding=ROUND_UP, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def _bare(text: str, start: int, end: int) -> tuple[int, int]:
    """Without white space, pairs of marks and one full stop around it."""
    stopped = False
    while True:
        start, end = without_space(text, start, end)
        if end - start > 2 and text[start] + text[end - 1] in _PAIRS:
            start, end = start + 1, end - 1
        elif end - start > 1 and not stopped and text[end - 1] in ".\u3002":
            end, stopped = end - 1, True
        else:
            return start, end


def _value(text: str, form: NumberFormat) -> Decimal | None:
    """The value of a text that is a number; None for one that isn't, or that could be another."""
    plain = _ascii_digits(narrow(unicodedata.normalize("NFC", text)).translate(_DIRECTION))
    if plain is None:
        return None
    bare = _without_unit(plain.translate(dict.fromkeys(map(ord, MINUSES), "-")), form)
    found = _pattern(form.decimal, form.thousands, form.lakh).fullmatch(bare) if bare is not None else None
    if found is None:
        return None
    whole = "".join(each for each in found["whole"] if "0" <= each <= "9")
    part, power = found["part"] or "", int(found["power"] or 0)
    if not whole + part or len(whole + part) > _MOST_DIGITS:
        return None
    number = Decimal((int(found["sign"] == "-"), tuple(map(int, whole + part)), power - len(part)))
    return number if number else Decimal(0)


def _ascii_digits(text: str) -> str | None:
    """Digits of one script as ASCII, and Arabic's decimal mark as a mark of its own; None where two are mixed."""
    zeros = {ord(each) - unicodedata.decimal(each) for each in text if each.isdecimal()}
    return plain_digits(text, marks=False) if len(zeros) == 1 else None


@lru_cache(maxsize=64)
def _pattern(decimal: str, thousands: str, lakh: bool) -> re.Pattern[str]:
    whole = "[0-9]*"
    if thousands:
        # Arabic's own mark of thousands can be read in one way only.
        mark = f"[{re.escape(_ALIKE.get(thousands, thousands))}\u066c]"
        groups = (
            f"[1-9][0-9]?(?:{mark}[0-9]{{2}})*{mark}[0-9]{{3}}" if lakh else f"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+"
        )
        whole = f"(?:{groups}|[0-9]*)"
    return re.compile(
        rf"(?P<sign>[+-]?)(?P<whole>{whole})(?:[{re.escape(decimal)}\u066b](?P<part>[0-9]+))?"
        r"(?:[eE](?P<power>[+-]?[0-9]{1,12}))?"
    )


def _without_unit(text: str, form: NumberFormat) -> str | None:
    """`text` without its unit, which may stand ahead ("$5", "-$5") or behind ("5 kg"), once; None where a required one
    is missing."""
    for unit in sorted({_spelling(each) for each in form.units}, key=len, reverse=True):
        behind = re.fullmatch(rf"(.*[0-9.,\u066b]){_SPACES}{re.escape(unit)}", text, re.DOTALL)
        ahead = re.fullmatch(rf"([+-]?){re.escape(unit)}{_SPACES}([+-]?)([0-9.,\u066b].*)", text, re.DOTALL)
        if behind is not None:
            return behind[1]
        if ahead is not None and not (ahead[1] and ahead[2]):
            return ahead[1] + ahead[2] + ahead[3]
    return None if form.required else text


@lru_cache(maxsize=1024)
def _spelling(unit: str) -> str:
    return narrow(unicodedata.normalize("NFC", unit)).translate(_DIRECTION).strip()


def _clumps(text: str, form: NumberFormat) -> list[tuple[int, int]]:
    """Stretches without white space that hold a digit; joined over a space where it is the mark of thousands, and to a
    unit beside them."""
    words = [found.span() for found in re.finditer(r"\S+", text)]
    units = {_spelling(each) for each in form.units}
    joined: list[tuple[int, int]] = []
    at = 0
    while at < len(words):
        start, end = words[at]
        if not _has_digit(text[start:end]):
            following = words[at + 1] if at + 1 < len(words) else None
            sign_off = _spelling(text[start:end].lstrip("+-").strip(_EDGES))
            if not (following and sign_off in units and _has_digit(text[slice(*following)])):
                at += 1
                continue
            end, at = following[1], at + 1
        if form.thousands == " ":
            while at + 1 < len(words) and _groups_on(text, end, words[at + 1]):
                end, at = words[at + 1][1], at + 1
        if at + 1 < len(words) and units:
            begin, stop = words[at + 1]
            behind = text[begin:stop].rstrip(_EDGES + ")")
            if _spelling(behind) in units or _spelling(text[begin:stop]) in units:
                end, at = begin + len(behind if _spelling(behind) in units else text[begin:stop]), at + 1
        joined.append((start, end))
        at += 1
    return joined


def _groups_on(text: str, end: int, following: tuple[int, int]) -> bool:
    """Whether the word after `end` goes on with a number in groups: one space, three digits, no mark between."""
    begin, stop = following
    alone = end < len(text) and begin == end + 1 and text[end] in _ALIKE[" "] and text[end - 1].isdecimal()
    return alone and _GROUP.match(text, begin, stop) is not None


def _edges(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch of a sentence without the marks of the sentence around it. A pair of brackets stays: (5) may be -5."""
    while start < end and (text[start] in _OPENING or (text[start] == "(" and ")" not in text[start:end])):
        start += 1
    while start < end and (text[end - 1] in _EDGES or (text[end - 1] == ")" and "(" not in text[start:end])):
        end -= 1
    return start, end


def _qualified(text: str, start: int, end: int, form: NumberFormat) -> bool:
    """Whether what stands beside a number makes it another, or gives it a unit that nobody declared."""
    units = {_spelling(each) for each in form.units}
    if _groups_on(text, end, (end + 1, min(len(text), end + 5))):
        return True  # 1 000 may be a thousand, though no space is declared
    if _BOUND_BEHIND.match(text, end) or _BOUNDS.search(text, max(0, start - _REACH), start):
        return True
    behind = _BEHIND.match(text, end)
    if behind is not None:
        word = behind["word"].strip(_EDGES + "()")
        sign = behind["word"][0]
        symbol = sign not in _NO_UNITS and unicodedata.category(sign)[0] == "S"
        scale = word.casefold() in _SCALES or word in _UNITS or bool(behind["half"])
        if sign in "%\u2030/\u00d7" or symbol or (scale and word not in units):
            return True
    ahead = text[max(0, start - _REACH) : start].rpartition("\n")[2].split()
    last = ahead[-1].lstrip(_EDGES + "(") if ahead and text[start - 1].isspace() else ""
    if last in ("-", *MINUSES):
        return True
    if last.casefold() in _NEGATIVE or last.casefold() in _BOUND:
        return True
    return last in _CURRENCIES or unicodedata.category(last[-1:] or " ") == "Sc"


def _has_digit(text: str) -> bool:
    return any(each.isdecimal() or unicodedata.category(each) == "No" for each in text)
