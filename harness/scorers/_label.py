"""The normal form of a label, a name, a short answer: what only dresses it is off, and what decides its meaning stays.

Brackets, the underscores of a name, a factorial's mark, signs, primes, raised digits, points and per cent signs decide
a meaning. Space, quotation marks, Markdown's and TeX's marks around the whole, full-width forms, the stop of a sentence
and letter case don't. Where a mark could be either, it stays: two answers that differ never get one form.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from harness.scorers._characters import (
    DASHES,
    DOUBLE_QUOTES,
    INVISIBLE,
    SINGLE_QUOTES,
    is_unspaced,
    narrow,
    plain_digits,
)
from harness.scorers._marks import plain

__all__ = ["label"]

_QUOTES: Final = str.maketrans({**dict.fromkeys(SINGLE_QUOTES, "'"), **dict.fromkeys(DOUBLE_QUOTES, '"')})
_DASH: Final = str.maketrans(dict.fromkeys(DASHES, "-"))
# Joiners are drawn as nothing and decide how what stands beside them is drawn; the rest decides nothing.
_DROPPED: Final = dict.fromkeys(map(ord, INVISIBLE - {"\u200c", "\u200d"}))
_HALF_WIDTH: Final = re.compile("[\uff65-\uff9f\uffa1-\uffdc\uffe0-\uffe6]+")
_LAYERS: Final = 32
_PASSES: Final = 16

_PAIRS: Final = {
    "\u00ab": "\u00bb", "\u2039": "\u203a", "\u300c": "\u300d", "\u300e": "\u300f", "\u3010": "\u3011",
    "\u300a": "\u300b",
}  # fmt: skip
_APOSTROPHE: Final = re.compile(r"(?<=\w)'(?=\w)")
_NAME: Final = re.compile(r"[a-z][a-z0-9]*|[A-Z][A-Z0-9]*")
_LONE: Final = re.compile(r"\(([A-Za-z])\)")
_BOLD: Final = re.compile(
    r"(?<![A-Za-z0-9_*)\]}\\])\*\*(?![\s*])([^*\n]+)(?<![\s*])\*\*(?![A-Za-z0-9_*(\[{])(?![.,][0-9])"
)
_ESCAPED: Final = re.compile(r"(?<!\\)\\([_%#&${}])")
# TeX's marks of size say nothing ahead of a bracket.
_SIZE: Final = re.compile(r"\\(?:left|right|[bB]ig{1,2}[lr]?)\s*(?=\\?[()\[\]{}|])")
_FORMULA: Final = re.compile(r"\$(?!\$)[^$]+\$|\$\$[^$]+\$\$|\\\(.*\\\)|\\\[.*\\\]", re.DOTALL)
_FRACTION: Final = re.compile(r"([+-]?)\\[dt]?frac(?:\{(\w+)\}\{(\w+)\}|([0-9])([0-9]))")

_BULLET: Final = re.compile(
    r"[*\u2022]\s+(?![\s\d.\-\u2212])|#\s+(?![\s\d.])|#{2,6}\s+(?!\s)"
    # A dash and a word of two letters or more; a minus can stand ahead of a single one, and of these.
    r"|[-\u2010-\u2015]\s+(?!(?:pi|infinity|inf|e|i|sin|cos|tan|log|ln|exp|sqrt|alpha|beta|theta|lambda|one|two|three"
    r"|four|five|six|seven|eight|nine|ten)\b)(?=[^\W\d_]{2})",
    re.IGNORECASE,
)
_AHEAD: Final = re.compile("[\u00bf\u00a1]|\u2026(?=[^\\W\\d_])|[,;:](?=\\s)")
_STOPS: Final = ".,;\u3002\u3001\uff61\uff64\u0964\u0965\u06d4\u060c\u061b"

# At the beginning it is left: ...args isn't args.
_ELLIPSIS: Final = re.compile("(?<=.)(?:\\.{3,}|\u2026+)")
_INNER: Final = re.compile(r"(?<=[\[({]) | (?=[\])},;])")
_OPERATOR: Final = re.compile("(?<=\\S) ([=+*/<>^\u2264\u2265\u2260\u00d7\u00f7\u00b7]|==|<=|>=|!=) (?=\\S)")
_MINUS: Final = re.compile(
    r"(?<=[\d)\]}]) - (?=[\d(\[{])|(?<=(?<![^\W_])[^\W\d_]) - (?=\d)|(?<=\d) - (?=[^\W\d_](?![^\W_]))"
)
_MARKED: Final = re.compile("(?<=\\d) (?=[%\u2030](?! ?[\\w(])|\u00b0)")
_COMMA: Final = re.compile(r"[\[({]|[\])}]|([,;]) (?!\d{3}(?!\d))")


def label(text: str) -> str:
    """A label's normal form; "" for a text that says nothing.

    Outer space and the stop of a sentence are off, and so are quotation marks and Markdown's and TeX's marks around the
    whole; runs of space are one, and spaces beside an operator or inside brackets none; case is folded as Unicode's
    canonical caseless matching does (The Unicode Standard, D145); typographic quotes and dashes are the plain ones,
    full-width and half-width forms the usual ones, the digits of one script ASCII's.
    """
    form = text
    for _ in range(_PASSES):
        before, form = form, _once(form)
        if form == before:
            break
    return form


def _once(text: str) -> str:
    usual = _HALF_WIDTH.sub(lambda found: unicodedata.normalize("NFKC", found[0]), narrow(text.translate(_DROPPED)))
    bare = _bare(unicodedata.normalize("NFC", usual).translate(_QUOTES))
    folded = unicodedata.normalize("NFD", bare).casefold()
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", folded)).translate(_QUOTES).translate(_DASH)
    return plain_digits(_spaced(" ".join(folded.split())))


def _bare(text: str) -> str:
    """`text` without what dresses it, layer by layer."""
    text = _BOLD.sub(r"\1", _ESCAPED.sub(r"\1", _SIZE.sub("", text)))
    for _ in range(_LAYERS):
        start, end = _edges(text)
        inner = _unwrapped(text[start:end])
        if inner == text:
            break
        text = inner
    return text


def _edges(text: str) -> tuple[int, int]:
    """[start, end) without the space, the bullets and the sentence marks at either end."""
    start, end = 0, len(text)
    while start < end:
        ahead = _AHEAD.match(text, start, end) or _BULLET.match(text, start, end)
        if _blank(text[start]):
            start += 1
        elif _blank(text[end - 1]):
            end -= 1
        elif ahead is not None:
            start = ahead.end()
        elif (stop := _stop(text, start, end)) < end:
            end = stop
        else:
            break
    return start, end


def _blank(character: str) -> bool:
    return character.isspace() or character in INVISIBLE


def _stop(text: str, start: int, end: int) -> int:
    """Where a text ends without the marks of its sentence; `end` where there are none, or they say something."""
    last = text[end - 1]
    at = end - 1
    if last in ".\u2026":
        while at > start and text[at - 1] in ".\u2026":
            at -= 1
        if end - at == 1 and last == ".":
            return at
        # 0.333… and 1, 2, … go on; Paris… doesn't.
        return at if at == start or _word_ends(text, start, _back(text, start, at)) else end
    if last in "!?\u061f\u203d":
        while at > start and text[at - 1] in "!?\u061f\u203d":
            at -= 1
        # 5!, n! and (n + 1)! are factorials; Paris! isn't.
        behind = _back(text, start, at)
        return at if at == start or _word_ends(text, start, behind, least=2) else end
    if last == ":":
        # C: may be a drive.
        return at if at == start or not text[at - 1].isalpha() or _word_ends(text, start, at, least=2) else end
    return at if last in _STOPS else end


def _back(text: str, start: int, at: int) -> int:
    while at > start and text[at - 1].isspace():
        at -= 1
    return at


def _word_ends(text: str, start: int, at: int, least: int = 1) -> bool:
    """Whether text[start:at] ends in a word of at least so many letters, a sentence of a script without blanks, or a
    closing mark behind one."""
    while at > start and text[at - 1] in "\"'*_`\u00bb\u203a\u300d\u300f\u3011\u300b":
        at -= 1
    letters = 0
    while at - letters > start and letters < least:
        each = text[at - letters - 1]
        if is_unspaced(each):
            return True
        if not (each.isalpha() or unicodedata.category(each)[0] == "M"):
            return False
        letters += 1
    return letters == least


def _unwrapped(text: str) -> str:
    """`text` without one layer of marks around the whole of it."""
    if text[:1] in _PAIRS and text[-1:] == _PAIRS[text[:1]] and _one_pair(text):
        return text[1:-1]
    if text and not text.strip("\"'"):
        return ""
    mark = text[:1]
    if mark and mark in "\"'`*_":
        run = len(text) - len(text.lstrip(mark))
        inner = text[run:-run]
        if inner and run == len(text) - len(text.rstrip(mark)) and _wraps(mark, run, inner):
            return inner
    lone = _LONE.fullmatch(text)
    if lone is not None:
        return lone[1]
    if text[:1] in ("\\", "$") or _FRACTION.fullmatch(text):
        return _without_tex(text)
    return text


def _one_pair(text: str) -> bool:
    """Whether the first mark of a pair is closed by the last character, and not before."""
    depth = 0
    for at, each in enumerate(text):
        depth += (each == text[0]) - (each == text[-1])
        if depth == 0:
            return at == len(text) - 1
    return False


def _wraps(mark: str, run: int, inner: str) -> bool:
    """Whether so many of a mark at both ends are a pair around the whole, and no part of what they enclose."""
    if mark == "'":
        inner = _APOSTROPHE.sub("", inner)
    if mark in inner:
        return False
    if mark in "*_" and (run > 3 or inner[0].isspace() or inner[-1].isspace()):
        return False
    # __init__ and __ALL__ are names; __Paris__ and __42 km__ stand out.
    return mark != "_" or run == 1 or _NAME.fullmatch(inner) is None


def _without_tex(text: str) -> str:
    found = plain(text)
    fraction = _FRACTION.fullmatch(text)
    if fraction is not None:
        return f"{fraction[1]}{fraction[2] or fraction[4]}/{fraction[3] or fraction[5]}"
    if (0, len(text)) in found.pairs or (text[0] == "\\" and _FORMULA.fullmatch(text)):
        return found.text
    return plain(text.strip("$")).text if _FORMULA.fullmatch(text) else text


def _spaced(text: str) -> str:
    """`text` with the spaces that decide nothing off: beside an operator, inside brackets, ahead of a per cent sign."""
    text = _ELLIPSIS.sub("\u2026", text)
    text = _MARKED.sub("", _MINUS.sub("-", _OPERATOR.sub(r"\1", _INNER.sub("", text))))
    if not any(each in text for each in "([{"):
        return text
    depth = 0

    def without(found: re.Match[str]) -> str:
        nonlocal depth
        if found[1] is None:
            depth = max(0, depth + (1 if found[0] in "([{" else -1))
        # 1, 234 isn't the number 1,234.
        return found[1] if found[1] is not None and depth else found[0]

    return _COMMA.sub(without, text)
