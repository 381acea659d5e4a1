"""A number as people write it, under a declared way of writing: its decimal mark, its thousands, its unit.

What isn't declared is never guessed: "1,000" is a thousand to some and one to others, so without a word on it there is
no number in it. Values are exact decimals; nothing is a float.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final, Literal

from harness.scorers._characters import MINUSES, narrow
from harness.scorers._denials import Denied
from harness.scorers._marks import Plain, plain
from harness.scorers._number_format import (
    BLANKS,
    MOST_DIGITS,
    NumberFormat,
    unit_ahead,
    unit_behind,
    unit_spellings,
    value_of,
)
from harness.scorers._number_sides import clear_ahead, clear_behind, is_emoji
from harness.scorers._number_words import ANSWERS, COPULAS, Sentences, changes_ahead, changes_behind
from harness.scorers._region import without_space
from harness.scorers._words import words

__all__ = ["NUMBERS_VERSION", "NumberFormat", "NumberRead", "find_numbers", "near", "read_number"]

NUMBERS_VERSION: Final = 2

Why = Literal["", "no_answer", "number_unclear"]


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Words that stand beside a number and change what it is.
_SCALES: Final = _set(
    "hundred thousand million millions billion billions trillion trillions dozen dozens lakh lakhs crore crores mn bn"
    " half halves third thirds quarter quarters tenth tenths hundredth hundredths thousandth thousandths percent pct"
    " per permille percentage basis dollar dollars euro euros cent cents pound pounds pi \\pi \u03c0 squared cubed"
    " factorial"
)
_CURRENCIES: Final = _set("USD EUR GBP JPY CHF CNY INR CAD AUD SEK NOK DKK PLN BRL MXN KRW RUB TRY ZAR Rs Fr Kr kr zl")
_UNITS: Final = _CURRENCIES | _set(
    "k K M B T g kg mg \u00b5g lb lbs oz m km cm mm nm mi ft yd ms \u00b5s ns s min h hr hrs Hz kHz MHz GHz W kW MW J"
    " bps mph kph rpm kJ V A N Pa kPa L l ml mL mol rad deg bit KB MB GB TB kB Mbit pp bp"
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
_QUALIFIERS: Final = (
    "the|my|correct|right|best|final|numerical|numeric|die|das|der|richtige|endg\u00fcltige|la|le|el|il|lo|o|a|finale|"
    "finala|correcta|correcte|correto|correta|corretta|bonne|"
    "\u043f\u0440\u0430\u0432\u0438\u043b\u044c\u043d\u044b\u0439|nihai|do\u011fru|het|het juiste"
)
_LEAD: Final = re.compile(
    r"[\s*_`]*(?:#{1,6}\s+)?(?:(?:so|thus|hence|therefore|also|donc|entonces|logo|quindi)[,:]?\s+)?"
    rf"(?:(?:(?:{_QUALIFIERS})\s+){{0,4}}(?:{ANSWERS})(?:\s+(?:{_QUALIFIERS}))?(?![^\W_])"
    r"(?:\s+(?:is|would\s+be|ist|lautet|est|es|\u00e9|\u00e8|\u0440\u0430\u0432\u0435\u043d|\u0647\u0648|\u0647\u064a"
    r"|l\u00e0|adalah|jest|\u00e4r)(?![^\W_]))?[\s*_`]*[:=]?[\s*_`]*"
    r"|(?:[^\W\d_](?:\([^\W\d_]\))?\s*)?=\s*"
    # The answer, in Chinese, Japanese, Korean and Thai: "the answer is", "answer:", "so the answer is".
    r"|(?:(?:\u6240\u4ee5|\u56e0\u6b64|\u6545|\u5219|\u3088\u3063\u3066|\u3057\u305f\u304c\u3063\u3066"
    r"|\ub530\ub77c\uc11c|\uadf8\ub7ec\ubbc0\ub85c|\u0e14\u0e31\u0e07\u0e19\u0e31\u0e49\u0e19)[,\u3001\s]*)?"
    r"(?:\u6700\u7ec8|\u6700\u7d42|\u6b63\u786e|\u6b63\u78ba)?\u7684?"
    r"(?:\u7b54\u6848|\u7ed3\u679c|\u7d50\u679c|\u7b54\u3048|\u89e3\u7b54|\u6b63\u89e3|\u7b54|\u89e3|\uc815\ub2f5|\ub2f5"
    r"|\uacb0\uacfc|\u0e04\u0e33\u0e15\u0e2d\u0e1a(?:\u0e17\u0e35\u0e48\u0e16\u0e39\u0e01\u0e15\u0e49\u0e2d\u0e07)?"
    r"|\u0e1c\u0e25\u0e25\u0e31\u0e1e\u0e18\u0e4c)\s*"
    r"(?:\u662f|\u4e3a|\u70ba|\u7b49\u4e8e|\u7b49\u65bc|\u306f|\uc740|\ub294|\uc774|\u0e04\u0e37\u0e2d)?\s*[:=]?\s*)?",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(r"[\s*_`]*[.\u3002\u0964]?[\s*_`]*")
_WRAPS: Final = (
    "**", "__", "``", '""', "''", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb", "[]", "\u300c\u300d", "\u300e\u300f",
    "\u3010\u3011",
)  # fmt: skip
_COMPARED: Final = _set("< > <= >= \u2264 \u2265 \u2260 !=")
_NO_UNITS: Final = "-+=<>|~^`\u2248\u2192\u00a9\u00ae"
_BEHIND: Final = re.compile(
    r"[^\S\n]+(?P<word>\S+)(?P<half>(?<=\band)[^\S\n]+(?:a|an|one|two|three)[^\S\n]+(?:hal|qua|thi|fif|six|sev|eig|nin|ten)\w*)?",
    re.IGNORECASE,
)
_PIECES: Final = re.compile(r"[/^\u00b7*\u00b2\u00b3\u207b-]")
_GROUP: Final = re.compile(rf"[{BLANKS}]\d{{3}}(?!\d)")
_REACH: Final = 40
_EDGES: Final = '.,;:!?"*_`[]{}\u201c\u201d\u2018\u00ab\u00bb\u2026\u3002\uff0c\u3001'
# Marks of direction are drawn as nothing and may stand between a sign and its digits.
_DIRECTION: Final = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class NumberRead:
    """A number that was read, or why there is none: `no_answer` where no digit stands, else `number_unclear`.

    [start, end) is where it stands, its unit included.
    """

    value: Decimal | None
    why: Why
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Token:
    """A stretch of a plain text that is a number, sign and unit included; `value` is None where it isn't clear."""

    value: Decimal | None
    start: int
    end: int


def read_number(text: str, form: NumberFormat, start: int = 0, end: int | None = None) -> NumberRead:
    """The number that text[start:end] is, all of it: white space, markdown's and TeX's marks, quotation marks and one
    full stop around it let be, and words that say no more than that it is the answer.
    """
    end = len(text) if end is None else end
    flat = _flat(text[start:end])
    tokens = list(_tokens(flat.text, form))
    first, last = without_space(text, start, end)
    if not tokens:
        return NumberRead(None, "no_answer", first, last)
    if len(tokens) == 1 and tokens[0].value is not None and _alone(flat.text, tokens[0], form):
        at, stop = flat.span(tokens[0].start, tokens[0].end)
        return NumberRead(tokens[0].value, "", start + at, start + stop)
    return NumberRead(None, "number_unclear", first, last)


def _alone(text: str, token: _Token, form: NumberFormat) -> bool:
    """Whether nothing stands around a number that says more than that it is the answer."""
    start, end = _unwrapped(text, 0, len(text))
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead is not None and lead.end() <= token.start else start
    copula = COPULAS.match(text, token.end, end)
    stop = copula.end() if copula is not None else token.end
    while start < token.start and text[start : start + 1] + text[stop : stop + 1] in _WRAPS:
        start, stop = start + 1, stop + 1
    tail = _TAIL.match(text, stop, end)
    return start == token.start and tail is not None and tail.end() == end and not _qualified(text, token, form)


def _unwrapped(text: str, start: int, end: int) -> tuple[int, int]:
    """Without white space, pairs of marks and one full stop around it."""
    stopped = False
    while True:
        start, end = without_space(text, start, end)
        if end - start > 2 and text[start] + text[end - 1] in _WRAPS:
            start, end = start + 1, end - 1
        elif end - start > 1 and not stopped and text[end - 1] in ".\u3002\u0964" and text[end - 2] != ".":
            end, stopped = end - 1, True
        else:
            return start, end


def _flat(text: str) -> Plain:
    """`text` without marks that only dress it or are drawn as nothing, its full-width forms narrow and its minus signs
    one."""
    found = plain(text)
    bare = narrow(found.text).translate(dict.fromkeys(map(ord, MINUSES), "-"))
    if _DIRECTION.search(bare) is None:
        return Plain(bare, found.starts, found.ends, found.pairs)
    keep = [at for at, each in enumerate(bare) if _DIRECTION.match(each) is None]
    return Plain(
        "".join(bare[at] for at in keep),
        [found.starts[at] for at in keep],
        [found.ends[at] for at in keep],
        found.pairs,
    )


def find_numbers(text: str, form: NumberFormat) -> list[NumberRead]:
    """Every number in a text, in order; what has a digit and is no number under the declared format is unclear.

    A word behind a number is taken for no unit of it, unless it is a declared one, or one that makes it another number
    ("5 million", "5 %"), and so is text of a script without blanks. A number in a sentence that denies something is
    none; one beside a bound ("> 5", "at least 5") is unclear.
    """
    flat = _flat(text)
    denied, elsewhere = Denied(flat.text, words(flat.text), _LET), Sentences(flat.text)
    found: list[NumberRead] = []
    for token in _tokens(flat.text, form):
        value = token.value
        if value is not None and (denied.beside(token.start) or elsewhere.denied(token.start)):
            continue
        if value is not None and _qualified(flat.text, token, form):
            value = None
        start, end = flat.span(token.start, token.end)
        found.append(NumberRead(value, "" if value is not None else "number_unclear", start, end))
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
    return Context(prec=4 * MOST_DIGITS, rounding=ROUND_UP, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def _tokens(text: str, form: NumberFormat) -> Iterator[_Token]:
    """The stretches of a text that hold digits, each with its sign, its unit and its power of ten."""
    odd = "".join(sorted(each for each in set(text) if unicodedata.category(each) == "No"))
    if not odd and _DIGIT.search(text) is None:
        return
    run, at = _run(odd, form.decimal, form.thousands == " "), 0
    while (found := run.search(text, at)) is not None:
        token = _token(text, found, form)
        yield token
        at = max(token.end, found.end())


@lru_cache(maxsize=256)
def _run(odd: str, decimal: str, spaced: bool) -> re.Pattern[str]:
    """A number as far as it goes without a sign and a unit: digits, what may part them, and a power of ten."""
    digit = rf"[\d{re.escape(odd)}]"
    mark = ".,'\u2019\u02bc_\u066b\u066c"
    between = rf"(?:[{mark}]|[{BLANKS}](?=\d{{3}}(?!\d)))" if spaced else f"[{mark}]"
    return re.compile(
        rf"(?P<digits>(?:(?<![A-Za-z0-9{mark}])[{re.escape(decimal)}\u066b])?{digit}+(?:{between}{digit}+)*"
        r"(?:[eE][+-]?[0-9]{1,12})?)"
        rf"(?P<ten>[{BLANKS}]?[\u00d7\u2715xX\u00b7\u22c5*][{BLANKS}]?10(?:(?:\^|\*\*)[({{]?(?P<power>[+-]?\d{{1,12}})[)}}]?"
        r"|(?P<raised>[\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,12})))?"
    )


def _token(text: str, found: re.Match[str], form: NumberFormat) -> _Token:
    start, end = found.span()
    sign, behind, ahead = "", unit_behind(form), unit_ahead(form)
    units = 0
    if behind is not None and (unit := behind.match(text, end)) is not None and _ends(text, unit.end()):
        end, units = unit.end(), 1
    if text[start - 1 : start] in ("+", "-") and start:
        start, sign = start - 1, text[start - 1]
    before = ahead.search(text, max(0, start - _REACH), start) if ahead is not None else None
    if before is not None and not units and _begins(text, before.start()):
        start, units = before.start(), 1
        if not sign and start and text[start - 1] in "+-":
            start, sign = start - 1, text[start - 1]
    digits = found["digits"]
    value = value_of(sign, digits, found["power"] or found["raised"] or "", form)
    if form.required and not units:
        value = None
    cut = not digits[0].isdecimal() and text[max(0, found.start() - 1) : found.start()].isalpha()
    if cut or not clear_ahead(text, start) or not clear_behind(text, end, text[start - 1 : start] if start else ""):
        value = None
    return _Token(value, start, end)


def _ends(text: str, at: int) -> bool:
    """Whether a unit that ends at `at` is all of the unit: "km" isn't that of "5 km/h" or "5 kmol"."""
    return clear_behind(text, at, "") and not (text[at - 1].isalpha() and text[at : at + 1].isdecimal())


def _begins(text: str, at: int) -> bool:
    """Whether a unit that begins at `at` is all of the unit: "$" isn't that of "US$5"."""
    return at == 0 or clear_ahead(text, at) or text[at - 1] in "+-"


def _qualified(text: str, token: _Token, form: NumberFormat) -> bool:
    """Whether what stands beside a number makes it another, or gives it a unit that nobody declared."""
    start, end = token.start, token.end
    if form.thousands != " " and _GROUP.match(text, end) and text[end - 1].isdecimal():
        return True  # 1 000 may be a thousand, though no space is declared
    if _BOUND_BEHIND.match(text, end) or _BOUNDS.search(text, max(0, start - _REACH), start):
        return True
    if changes_behind(text, end) or changes_ahead(text, start):
        return True
    behind = _BEHIND.match(text, end)
    if behind is not None:
        units = unit_spellings(form)
        word = behind["word"].strip(_EDGES + "()")
        sign = behind["word"][0]
        symbol = sign not in _NO_UNITS and unicodedata.category(sign)[0] == "S" and not is_emoji(sign)
        unit = word in _UNITS or _PIECES.split(word, maxsplit=1)[0] in _UNITS or word[:1] == "\\"
        # "5 kmol" and "5 kms" have no unit "km".
        unit = unit or any(
            word.startswith(each) and len(word) - len(each) in (1, 2) for each in units if each.isalpha()
        )
        scale = word.casefold() in _SCALES or unit or bool(behind["half"])
        if sign in "%\u2030/\u00d7" or behind["word"] in _COMPARED or symbol or (scale and word not in units):
            return True
    ahead = text[max(0, start - _REACH) : start].rpartition("\n")[2].split()
    last = ahead[-1].lstrip(_EDGES + "(") if ahead and text[start - 1].isspace() else ""
    if last in ("-", "\u2013", *MINUSES) or last.startswith("\\"):
        return True
    if last.casefold() in _NEGATIVE or last.casefold() in _BOUND:
        return True
    return last.rstrip(".") in _CURRENCIES or unicodedata.category(last[-1:] or " ") == "Sc"
