"""How numbers are written: the marks between their digits and their unit; and the exact value of one."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal

from harness._errors import UsageError
from harness.scorers._characters import narrow, plain_digits
from harness.scorers._marks import plain

__all__ = ["BLANKS", "MOST_DIGITS", "NumberFormat", "unit_ahead", "unit_behind", "unit_spellings", "value_of"]

MOST_DIGITS: Final = 1_000
BLANKS: Final = "\u0020\u00a0\u202f\u2009\u2007"
"""Every kind of space that may part groups of digits, or a number from its unit."""

_THOUSANDS: Final = ("", ",", ".", " ", "'", "_", "\u066c")
_ALIKE: Final = {" ": BLANKS, "'": "'\u2019\u02bc\uff07"}
_SPACES: Final = f"[\t{BLANKS}]{{0,3}}"
# Marks of direction are drawn as nothing.
_DIRECTION: Final = dict.fromkeys(map(ord, "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
_SUPERSCRIPTS: Final = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b", "0123456789+-"
)
_RAISE: Final = {number: raised for raised, number in _SUPERSCRIPTS.items()}
# A unit's character, and how else it is written.
_SPELT: Final = {
    " ": _SPACES, "/": f"{_SPACES}/{_SPACES}", "\u00b7": "[\u00b7\u22c5\u2219*]", "\u00b5": "[\u00b5\u03bc]",
    "\u03bc": "[\u00b5\u03bc]", "\u2126": "[\u2126\u03a9]", "\u03a9": "[\u2126\u03a9]", "'": "['\u2032\u2019]",
    '"': '["\u2033\u201d]',
}  # fmt: skip
_RAISED: Final = re.compile(r"\^([-+]?)([0-9])(?![0-9])")
_DEGREES: Final = {"\u00b0C": "\u2103", "\u00b0F": "\u2109"}


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
            if _spelling(unit) == "" or any(each.isdecimal() for each in _spelling(unit)):
                raise UsageError(f"units: expected spellings of one unit, without digits, got {unit!a}")


def value_of(sign: str, digits: str, power: str, form: NumberFormat) -> Decimal | None:
    """The value of a number by its parts, the power of ten among them; None for one that isn't written as `form` says,
    whose digits are of two scripts, or that could be another."""
    zeros = {ord(each) - unicodedata.decimal(each) for each in digits if each.isdecimal()}
    if len(zeros) != 1:
        return None
    found = _pattern(form.decimal, form.thousands, form.lakh).fullmatch(plain_digits(digits, marks=False))
    if found is None or (power and found["power"]):
        return None
    whole = "".join(each for each in found["whole"] if "0" <= each <= "9")
    part, ten = found["part"] or "", plain_digits(power.translate(_SUPERSCRIPTS), marks=False)
    if not whole + part or len(whole + part) > MOST_DIGITS:
        return None
    shift = int(found["power"] or ten or 0) - len(part)
    number = Decimal((int(sign == "-"), tuple(map(int, whole + part)), shift))
    return number if number else Decimal(0)


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
        rf"(?P<whole>{whole})(?:[{re.escape(decimal)}\u066b](?P<part>[0-9]+))?(?:[eE](?P<power>[+-]?[0-9]{{1,12}}))?"
    )


@lru_cache(maxsize=1024)
def _spelling(unit: str) -> str:
    found = narrow(unicodedata.normalize("NFC", plain(unit).text)).translate(_DIRECTION).strip()
    return _RAISED.sub(lambda power: power[0][1:].translate(_RAISE), found)


def unit_spellings(form: NumberFormat) -> frozenset[str]:
    """The declared units as they are written plainly."""
    return frozenset(map(_spelling, form.units))


@lru_cache(maxsize=64)
def unit_behind(form: NumberFormat) -> re.Pattern[str] | None:
    """What finds a declared unit where a number ends; None where none is declared."""
    return re.compile(f"{_SPACES}(?:{_units(form)})") if form.units else None


@lru_cache(maxsize=64)
def unit_ahead(form: NumberFormat) -> re.Pattern[str] | None:
    """What finds a declared unit at the end of what stands ahead of a number."""
    return re.compile(f"(?:{_units(form)}){_SPACES}\\Z") if form.units else None


def _units(form: NumberFormat) -> str:
    return "|".join(map(_unit, sorted(unit_spellings(form), key=len, reverse=True)))


def _unit(unit: str) -> str:
    made = ""
    for each in unit:
        plainly = each.translate(_SUPERSCRIPTS)
        made += f"(?:{each}|\\^{re.escape(plainly)})" if plainly != each else _SPELT.get(each, re.escape(each))
    for ours, one in _DEGREES.items():
        if unit in (ours, one):
            made = f"(?:\u00b0{_SPACES}{ours[1]}|{one})"
    if unit.endswith("\u00b0"):
        # 60 ° C is a temperature.
        made += f"(?!{_SPACES}[CFK](?![A-Za-z]))"
    composed = unicodedata.normalize("NFD", unit)
    return made if composed == unit else f"{made}|{re.escape(composed)}"
