"""Characters that look alike to a reader and differ to a computer, by what they stand for."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = [
    "BLANK",
    "DASHES",
    "DOUBLE_QUOTES",
    "INVISIBLE",
    "MINUSES",
    "SINGLE_QUOTES",
    "ascii_digits",
    "is_mark",
    "is_unspaced",
    "narrow",
    "plain",
    "plain_digits",
    "says",
]

SINGLE_QUOTES: Final = "\u2018\u2019\u201a\u201b\u2032\u02bc\uff07"
DOUBLE_QUOTES: Final = "\u201c\u201d\u201e\u201f\u2033\uff02"
DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
MINUSES: Final = "\u2212\ufe63\uff0d"
"""What is a minus and nothing else: MINUS SIGN, and the small and the full-width hyphen-minus. A dash is none."""

INVISIBLE: Final = frozenset(
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064"
    "\u2066\u2067\u2068\u2069\ufeff"
) | frozenset(map(chr, range(0xFE00, 0xFE10)))
"""Drawn as nothing: soft hyphen, zero-width space and joiners, marks of direction, byte order mark, variation
selectors."""

BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that are drawn as nothing: the fillers of Korean, and the pattern of Braille without dots."""

_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff]"
)
_JAMO: Final = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")

# U+FF01–U+FF5E are the ASCII characters as wide as an ideograph; U+3000 is their space.
_NARROW: Final = {0xFF01 + offset: 0x21 + offset for offset in range(0x5E)} | {0x3000: 0x20}

# Latin letters that are drawn in another style, or inside a circle, a square or brackets: the same letters.
_STYLED: Final = {
    **{
        first + offset: base + offset
        for first, base in (
            (0x24B6, 0x41), (0x24D0, 0x61), (0x249C, 0x61), (0x1F110, 0x41), (0x1F130, 0x41), (0x1F150, 0x41),
            (0x1F170, 0x41),
        )
        for offset in range(26)
    },
    **{
        code: ord(folded)
        for code in (*range(0x2100, 0x2150), *range(0x1D400, 0x1D800))
        if unicodedata.decomposition(chr(code)).startswith("<font>")
        and (folded := unicodedata.normalize("NFKC", chr(code))).isascii()
        and len(folded) == 1
    },
}  # fmt: skip


def says(character: str) -> bool:
    """Whether a character says something by itself: a letter, a digit or a sign that somebody sees. White space and
    punctuation stand everywhere, and a mark says something only on a letter."""
    return unicodedata.category(character)[0] in "LNS" and character not in BLANK


def plain(text: str) -> str:
    """`narrow(text)`, with letters and digits that are styled as mathematics (bold, script, ...), circled, squared or
    bracketed as the plain ones. As long as it was, so places in one are places in the other.
    """
    return narrow(text) if text.isascii() else narrow(text).translate(_STYLED)


def narrow(text: str) -> str:
    """`text` with every full-width form of an ASCII character as that character. No other compatibility form is
    touched: `²` is not a 2.
    """
    return text.translate(_NARROW)


def is_mark(character: str) -> bool:
    """Whether a character belongs to the one before it: an accent, a vowel sign, the rest of a Hangul syllable."""
    return unicodedata.category(character).startswith("M") or bool(_JAMO.match(character))


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script that puts no blank between words, or of Hangul, whose particles and counters
    stand against what they belong to: so it is no part of a number or a Latin word that it stands against."""
    return _UNSPACED.match(character) is not None


def plain_digits(text: str, *, marks: bool = True) -> str:
    """`text` with the digits of one other script as ASCII, and (`marks`) Arabic's decimal point as one; as it is when
    two scripts are mixed, which then is no number.
    """
    zeros = {ord(character) - unicodedata.decimal(character) for character in text if character.isdecimal()}
    if len(zeros) != 1 or zeros == {0x30}:
        return text
    (zero,) = zeros
    table = {zero + digit: 0x30 + digit for digit in range(10)}
    return text.translate({**table, 0x066B: 0x2E} if marks and zero in (0x0660, 0x06F0) else table)


def ascii_digits(text: str) -> str:
    """`text` with every decimal digit, of whatever script, as ASCII's; as long as it was."""
    if text.isascii():
        return text
    return text.translate({ord(each): 0x30 + unicodedata.decimal(each) for each in set(text) if each.isdecimal()})
