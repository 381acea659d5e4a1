"""A text without the marks that only dress it: TeX's and Markdown's, with where each character that is left came from.

What a mark stands for stays: `\\%` is a per cent sign, `{,}` a comma, `\\times` a sign of multiplication.
A command that isn't known here stays as it is written, so that what it does to a number is never overlooked.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Plain", "dollars", "plain"]

_SYMBOLS: Final = {
    "times": "\u00d7", "cdot": "\u00b7", "div": "\u00f7", "pm": "\u00b1", "mp": "\u2213", "approx": "\u2248",
    "simeq": "\u2248", "sim": "\u2248", "le": "\u2264", "leq": "\u2264", "leqslant": "\u2264", "ge": "\u2265",
    "geq": "\u2265", "geqslant": "\u2265", "lt": "<", "gt": ">", "ne": "\u2260", "neq": "\u2260", "sqrt": "\u221a",
    "degree": "\u00b0", "degrees": "\u00b0", "textdegree": "\u00b0", "celsius": "\u00b0C", "textcelsius": "\u00b0C",
    "percent": "%", "permil": "\u2030", "textperthousand": "\u2030", "textdollar": "$", "euro": "\u20ac",
    "texteuro": "\u20ac", "EUR": "\u20ac", "pounds": "\u00a3", "textsterling": "\u00a3", "yen": "\u00a5",
    "textyen": "\u00a5", "cents": "\u00a2", "textcent": "\u00a2", "mu": "\u03bc", "textmu": "\u03bc",
    "micro": "\u03bc", "Omega": "\u03a9", "ohm": "\u03a9", "infty": "\u221e", "prime": "\u2032", "to": "\u2192",
    "rightarrow": "\u2192", "Rightarrow": "\u2192", "implies": "\u2192", "therefore": "\u2234", "ldots": "\u2026",
    "dots": "\u2026", "cdots": "\u2026", "quad": " ", "qquad": " ", "thinspace": " ", "enspace": " ", "space": " ",
    "nobreakspace": " ", "left": "", "right": "", "big": "", "Big": "", "bigl": "", "bigr": "", "displaystyle": "",
    "textstyle": "", "rm": "", "bf": "", "it": "",
}  # fmt: skip
_WRAPPERS: Final = re.compile(
    "boxed|fbox|framebox|text|text(?:bf|it|rm|sf|tt|normal)|emph|math(?:bf|rm|it|sf|tt|normal)|operatorname|mbox|hbox|bm"
    "|boldsymbol|underline|ensuremath|num|unit|si|SI|qty"
)
# These take a second argument, the unit.
_QUANTITIES: Final = frozenset(("SI", "qty"))
_TEX: Final = re.compile(
    r"(?P<aside>\\(?:tag|label|hspace|vspace|phantom|textcolor|color|begin|end)\*?\{[^{}]*\})"
    r"|\^\s?(?:\{\s?\\circ\s?\}|\\circ(?=[CFK]?(?![A-Za-z]))|(?P<degree>\{\s?\\circ(?![A-Za-z])))"
    r"|\^\{(?P<power>[-+\u2212]?\w{1,9})\}"
    r"|\\(?P<name>[A-Za-z]+)(?P<open>\s?\{)?"
    r"|\\(?P<math>[()\[\]])"
    r"|\\(?P<space>[,;:> \\])|(?P<back>\\!)"
    r"|\\(?P<escaped>[%$#&_{}*])"
    r"|\{(?P<mark>[,.'\u2019]|\\,)\}|\{\\(?P<group>[%$#&])\}|(?P<none>\{\})"
    r"|(?<=[0-9}])~(?=[0-9]|\\?[A-Za-z%\u00b0\u20ac$])"
    r"|(?P<brace>[{}])"
)
_LONG: Final = re.compile(r"\$\$((?:[^$\\]|\\.)+?)\$\$", re.DOTALL)
_SHORT: Final = re.compile(r"(?<![\\$A-Za-z0-9])\$(?!\$)((?:[^$\\\n]|\\.)+)\$(?![0-9$])")
_NUMBER_ALONE: Final = re.compile(r"\s*[-+\u2212]?[0-9.][0-9.,]*\s*")
_COMMAND: Final = re.compile(r"\\[A-Za-z]+(?:\s?\{[^{}]*\})?|\\.")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
# Emphasis, as CommonMark 0.31 (6.2) has it but for digits: one beside the marks is another number, or a power.
_BEFORE: Final = r"(?<![A-Za-z0-9_)\]}\\])(?<![0-9][.,])"
_AFTER: Final = r"(?![0-9(])(?![.,][0-9])"
_EMPHASIS: Final = (
    re.compile(rf"{_BEFORE}(?<!`)(`+)(?!`)([^`\n]+)(?<!`)(\1)(?!`){_AFTER}"),
    re.compile(rf"{_BEFORE}(?<!\*)(\*{{1,3}})(?![\s*])([^*\n]+)(?<!\s)(\1)(?!\*){_AFTER}"),
    re.compile(r"(?<!\w)(_{1,3})(?![\s_])([^_\n]+)(?<!\s)(\1)(?!\w)"),
)

_Edit = tuple[int, int, str]
_Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Plain:
    """`text`, and [starts[i], ends[i]) of the given text, which its character i stands for.

    `pairs` are the marks that were taken off in pairs, each mark with the far end of its partner: (where the first
    begins, where the second ends), and (where the second begins, where the first begins), by where they stand.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    pairs: Sequence[tuple[int, int]] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """[start, end) of the given text for [start, end) of this one; where it holds one mark of a pair, both."""
        first, last = self.starts[start], self.ends[end - 1]
        inside = slice(bisect_left(self.pairs, (first,)), bisect_left(self.pairs, (last,)))
        for at, partner in self.pairs[inside]:
            first, last = min(first, at, partner), max(last, at + 1, partner)
        return first, last


def plain(text: str) -> Plain:
    """`text` without TeX's and Markdown's marks."""
    found = Plain(text, range(len(text)), range(1, len(text) + 1))
    if "$" in text:
        found = _without(found, dollars(found.text))
    if "\\" in text or "{" in text or "~" in text:
        found = _edited(found, *_tex(found.text))
    for pattern in _EMPHASIS:
        pairs = [(each.start(1), each.end(1), each.start(3), each.end(3)) for each in pattern.finditer(found.text)]
        if pairs:
            found = _without(found, pairs)
    return found


def dollars(text: str) -> list[tuple[int, int, int, int]]:
    """The marks of formulas between dollars, (start and end of the first, start and end of the second): what is between
    two prices is none, for it has words."""
    found = [(each.start(), each.start() + 2, each.end() - 2, each.end()) for each in _LONG.finditer(text)]
    covered = [(start, end) for start, _, _, end in found]
    for each in _SHORT.finditer(text):
        inner = each[1]
        outer = inner[0].isspace() or inner[-1].isspace()
        formula = _NUMBER_ALONE.fullmatch(inner) or not (outer and "\\" not in inner and "=" not in inner)
        if not formula or _WORD.search(_COMMAND.sub(" ", inner)):
            continue
        if not any(start < each.end() and each.start() < end for start, end in covered):
            found.append((each.start(), each.start() + 1, each.end() - 1, each.end()))
    return sorted(found)


def _tex(text: str) -> tuple[list[_Edit], list[tuple[int, int, int, int]]]:
    edits: list[_Edit] = []
    pairs: list[tuple[int, int, int, int]] = []
    # The braces that are open: where each begins and ends that is to go, and whether a second argument follows it.
    opened: list[tuple[int, int, bool] | None] = []
    done = 0
    for found in _TEX.finditer(text):
        start, end = found.span()
        name = found["name"]
        if start < done:
            continue
        if found["brace"] == "{":
            opened.append(None)
        elif found["brace"] == "}":
            before = opened.pop() if opened else None
            if before is not None:
                second = before[2] and text.startswith("{", end)
                done = end + second
                edits.append((start, done, " " if second else ""))
                pairs.append((before[0], before[1], start, end))
                if second:
                    opened.append((end, done, False))
        elif name is not None and _WRAPPERS.fullmatch(name) and found["open"]:
            edits.append((start, end, ""))
            opened.append((start, end, name in _QUANTITIES))
        elif name is not None and name in _SYMBOLS and found["open"] and text.startswith("}", end):
            done = end + 1
            edits.append((start, done, _SYMBOLS[name]))
        elif name is not None:
            if found["open"]:
                opened.append(None)
            if name in _SYMBOLS:
                edits.append((start, start + 1 + len(name), _SYMBOLS[name]))
        elif found["degree"]:
            edits.append((start, end, "\u00b0"))
            opened.append((start, end, False))
        elif found["aside"] or found["math"] or found["back"] or found["none"]:
            edits.append((start, end, ""))
        elif found["power"] is not None:
            edits.append((start, end, "^" + found["power"]))
        elif found["escaped"] is not None or found["group"] is not None:
            edits.append((start, end, found["escaped"] or found["group"]))
        elif found["mark"] is not None:
            edits.append((start, end, " " if found["mark"] == "\\," else found["mark"]))
        else:
            edits.append((start, end, "\u00b0" if "circ" in found[0] else " "))
    return edits, pairs


def _without(found: Plain, marks: Sequence[tuple[int, int, int, int]]) -> Plain:
    """`found` without both marks of each pair, (start and end of the first, start and end of the second)."""
    edits = sorted(edit for each in marks for edit in ((each[0], each[1], ""), (each[2], each[3], "")))
    return _edited(found, edits, marks)


def _edited(found: Plain, edits: Sequence[_Edit], marks: Sequence[tuple[int, int, int, int]]) -> Plain:
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end, put in _gaps(edits, len(found.text)):
        if put is None:
            parts.append(found.text[start:end])
            starts += found.starts[start:end]
            ends += found.ends[start:end]
        else:
            parts.append(put)
            starts += [found.starts[start]] * len(put)
            ends += [found.ends[end - 1]] * len(put)
    pairs = [*found.pairs]
    for first, _, second, end in marks:
        opening, closing = found.starts[first], found.starts[second]
        pairs += [(opening, found.ends[end - 1]), (closing, opening)]
    return Plain("".join(parts), starts, ends, sorted(pairs))


def _gaps(edits: Sequence[_Edit], size: int) -> Iterator[tuple[int, int, str | None]]:
    """The edits, and what stands between them, in order."""
    at = 0
    for start, end, put in edits:
        if at < start:
            yield at, start, None
        yield start, end, put
        at = end
    if at < size:
        yield at, size, None
