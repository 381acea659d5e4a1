"""Characters that look alike to a reader and differ to a computer, by what they stand for."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["DASHES", "DOUBLE_QUOTES", "INVISIBLE", "MINUSES", "SINGLE_QUOTES", "is_mark", "narrow"]

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

_JAMO: Final = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")

# U+FF01–U+FF5E are the ASCII characters as wide as an ideograph; U+3000 is their space.
_NARROW: Final = {0xFF01 + offset: 0x21 + offset for offset in range(0x5E)} | {0x3000: 0x20}


def narrow(text: str) -> str:
    """`text` with every full-width form of an ASCII character as that character. No other compatibility form is
    touched: `²` is not a 2.
    """
    return text.translate(_NARROW)


def is_mark(character: str) -> bool:
    """Whether a character belongs to the one before it: an accent, a vowel sign, the rest of a Hangul syllable."""
    return unicodedata.category(character).startswith("M") or bool(_JAMO.match(character))
