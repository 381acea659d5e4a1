"""What may stand against a number without a blank: marks of a sentence and of markup, an equals sign, text of a script
without blanks. Anything else may make another number of it, and is no such side.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from harness.scorers._characters import INVISIBLE, is_unspaced

__all__ = ["clear_ahead", "clear_behind", "is_emoji"]

_TAG: Final = r"</?(?!(?:su[bp]|s|del|strike)\b)[A-Za-z][\w-]{0,40}(?:\s[^<>\n]{0,80})?/?>"
_TAG_AHEAD: Final = re.compile(_TAG + r"\Z")
_TAG_BEHIND: Final = re.compile(_TAG)
_OPENING: Final = "\"'([{\u201c\u2018\u00ab\u201e\u300c\u300e\u3010\u300a\u00bf\u00a1"
_CLOSED_AHEAD: Final = "\u3011\u300d\u300f\u300b"
_HEADING: Final = re.compile(r"(?:^|[\s])#{2,6}\Z")
_BOUNDED: Final = "<>!~\u00b1\u2264\u2265\u2260"
_ARROWS: Final = "\u2192\u21d2\u27f9\u2794\u279c\u27a1\u2234\u2022"
_MARKS: Final = "*_`"
_STOPS_AHEAD: Final = ",;?\u3001\u3002\u0964\u060c\u061b\u061f"
_STOPS: Final = ";?\u3001\u3002\u0964\u061b\u061f"
_CLOSING: Final = ")]}\u3011\u300d\u300f\u300b\u00bb"
_QUOTES: Final = {'"': '"', "\u201d": "\u201c", "'": "'", "\u2019": "\u2018"}
# Turkish puts the endings of a number behind an apostrophe.
_ENDING: Final = re.compile(
    r"['\u2019](?:[dt][iıuü]r|[dt][ae]n?|[ynsş]?[iıuüae]n?|l[ae]r|n[iıuü]n)(?![^\W_])", re.IGNORECASE
)
_IN_BRACKETS: Final = re.compile(r"\(([^()\n]{1,20})\)")
_REACH: Final = 120


def clear_ahead(text: str, at: int) -> bool:
    """Whether what ends with text[at - 1] can stand against a number that begins at `at`, sign and unit included."""
    at -= 1
    # Behind marks that only dress it or open something, as behind the number: f(3, a[3 and 2*3 are more than a 3.
    while at >= 0 and (text[at] in INVISIBLE or text[at] in _MARKS or text[at] in _OPENING):
        at -= 1
    if at < 0 or text[at].isspace():
        return True
    mark, before = text[at], text[at - 1] if at else " "
    if is_unspaced(mark) or mark in _ARROWS or is_emoji(mark):
        return True
    if mark == ":":
        return not before.isdecimal()
    if mark in "=\u2248\u2252\u2243":
        return before not in _BOUNDED
    if mark == ">":
        return before == "-" or _TAG_AHEAD.search(text, max(0, at - _REACH), at + 1) is not None
    if mark == "#":
        return before == "#" and _HEADING.search(text, max(0, at - _REACH), at + 1) is not None
    if mark in "\u2014\u2015":
        return before == mark or before.isalpha()
    if mark in ".!)]":
        return is_unspaced(before)
    return mark in _STOPS_AHEAD or mark in _CLOSED_AHEAD


def clear_behind(text: str, at: int, ahead: str) -> bool:
    """Whether what begins with text[at] can stand against a number that ends there; `ahead` is the character before
    the number."""
    while at < len(text) and (text[at] in INVISIBLE or text[at] in _MARKS):
        at += 1
    mark, after = text[at : at + 1], text[at + 1 : at + 2]
    if not mark or mark.isspace() or is_unspaced(mark) or mark in _ARROWS or is_emoji(mark):
        return True
    if mark == ".":
        return not after or after.isspace() or not (_holds(after) or after in ".\u2026-")
    if mark in ",\u060c":
        return not (after.isdecimal() or after == "-")
    if mark in ":\u2014\u2015":
        return not after.isdecimal()
    if mark == "<":
        return _TAG_BEHIND.match(text, at) is not None
    if mark in _QUOTES:
        return (_opened(text, at, ahead) and _leaves(after)) or _ENDING.match(text, at) is not None
    if mark in _CLOSING:
        # (5) may be -5.
        return not (mark == ")" and ahead == "(") and _leaves(after)
    if mark == "(":
        inside = _IN_BRACKETS.match(text, at)
        return inside is not None and all(map(is_unspaced, inside[1]))
    return mark == "=" or mark in _STOPS


def _opened(text: str, at: int, ahead: str) -> bool:
    """Whether the quotation mark text[at] closes what another opened, and is no sign of inches or minutes."""
    mark = text[at]
    line = text[text.rfind("\n", max(0, at - _REACH), at) + 1 : at]
    if mark == '"':
        return line.count(mark) % 2 == 1
    return ahead == _QUOTES[mark] or (mark == "\u201d" and _QUOTES[mark] in line)


def _leaves(after: str) -> bool:
    """Whether what stands behind a closing mark leaves what is inside alone: a power or a factorial doesn't."""
    return after not in tuple("^!*/%+\u00b2\u00b3\u2030\u00b0\u00d7\u00f7_")


def _holds(character: str) -> bool:
    """Whether a character is a letter or a digit that belongs to what stands beside it."""
    return character.isalnum() and not is_unspaced(character)


def is_emoji(character: str) -> bool:
    """Whether a character is a picture or a tick, and no sign of a unit."""
    code = ord(character)
    return unicodedata.category(character) == "So" and (0x2600 <= code < 0x2C00 or code >= 0x1F000)
