"""Text that somebody else wrote, as a page may show it: escaped, and what would act or hide made visible.

Controls show as their pictures (U+2400 …), what is invisible or turns text around as its code point in a box (Unicode
TR36; "Trojan Source", Boucher and Anderson 2021), each with its name in a tooltip. Nothing else on any page is marked
as safe to draw.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

from markupsafe import Markup, escape

from ledger._screen import printable
from ledger._screen import shown as is_drawn

__all__ = ["MOST_SHOWN", "Excerpt", "Mark", "excerpts", "name", "visible", "visible_bytes", "when"]

MOST_SHOWN = 64 << 10
"""How many bytes of one text a page shows at once."""

_AROUND = 2 << 10
_MOST_DRAWN = 1 << 20
_LEAST_SHOWN = 1 << 10
_MOST_EXCERPTS = 8
_UNUSUAL = re.compile(r"[^ -~\n\t]+")
_CONTROLS = (
    "NULL", "START OF HEADING", "START OF TEXT", "END OF TEXT", "END OF TRANSMISSION", "ENQUIRY", "ACKNOWLEDGE", "BELL",
    "BACKSPACE", "CHARACTER TABULATION", "LINE FEED", "LINE TABULATION", "FORM FEED", "CARRIAGE RETURN", "SHIFT OUT",
    "SHIFT IN", "DATA LINK ESCAPE", "DEVICE CONTROL ONE", "DEVICE CONTROL TWO", "DEVICE CONTROL THREE",
    "DEVICE CONTROL FOUR", "NEGATIVE ACKNOWLEDGE", "SYNCHRONOUS IDLE", "END OF TRANSMISSION BLOCK", "CANCEL",
    "END OF MEDIUM", "SUBSTITUTE", "ESCAPE", "FILE SEPARATOR", "GROUP SEPARATOR", "RECORD SEPARATOR", "UNIT SEPARATOR",
)  # fmt: skip
_Errors = Literal["surrogatepass", "surrogateescape"]
_OTHER = {"Cc": "CONTROL", "Cs": "LONE SURROGATE", "Co": "PRIVATE USE", "Cn": "UNASSIGNED"}


def name(text: object, most: int = 0) -> Markup:
    """A name, a label or a reason on one line: isolated from the direction of the text around it (Unicode UAX 9).

    `most` cuts the middle out of what is longer, with the whole of it in a tooltip.
    """
    shown = printable(str(text))
    if most and len(shown) > most:
        tail = (most - 1) // 2
        short = shown[: most - 1 - tail] + "…" + shown[len(shown) - tail :]
        return Markup('<bdi title="{}">{}</bdi>').format(shown, short)
    return Markup("<bdi>{}</bdi>").format(shown)


def when(at: str | None) -> Markup:
    """An event's time, to the second, UTC. A clock's claim, and nothing that orders."""
    if not at:
        return Markup("–")
    return Markup('<time datetime="{}">{} {}Z</time>').format(at, escape(at[:10]), escape(at[11:19]))


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of a text to highlight: from byte `start` to before byte `end` of its UTF-8 form.

    `kind` is the class that it is drawn with ("read", "cited"), `title` its tooltip, `anchor` an id to link to.
    """

    start: int
    end: int
    kind: str
    title: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a text, drawn: which bytes of it (`start` to before `end`)."""

    start: int
    end: int
    drawn: Markup


def visible(text: str, marks: Sequence[Mark] = ()) -> Markup:
    """A whole text, for a <pre>: newlines and tabs as they are, all else that acts or hides made visible.

    Marks may be nested and overlap; what reaches past the text or into the middle of a character is rounded outwards
    to what there is. A <pre> swallows a first newline, so write one of your own before it.
    """
    return _drawn(text.encode("utf-8", "surrogatepass"), marks, "surrogatepass")


def visible_bytes(data: bytes, marks: Sequence[Mark] = ()) -> Markup:
    """Bytes as the UTF-8 text they are, like `visible`; bytes that are none show as `\\xff`."""
    return _drawn(data, marks, "surrogateescape")


def excerpts(text: str | bytes, marks: Sequence[Mark] = (), most: int = MOST_SHOWN) -> list[Excerpt]:
    """What a page shows of a text: its first `most` bytes, and for each mark past them (the first few) what is around.

    In order, without overlap. One excerpt that ends where the text ends is the whole of it.
    """
    errors: _Errors = "surrogatepass" if isinstance(text, str) else "surrogateescape"
    data = text.encode("utf-8", errors) if isinstance(text, str) else text
    wanted = [(0, min(most, len(data)))]
    past = sorted(mark.start for mark in marks if most < mark.end and mark.start < min(mark.end, len(data)))
    for start in past:
        begin, end = max(0, start - _AROUND), min(len(data), start + 2 * _AROUND)
        if begin <= wanted[-1][1]:
            wanted[-1] = (wanted[-1][0], max(wanted[-1][1], end))
        elif len(wanted) <= _MOST_EXCERPTS:
            wanted.append((begin, end))
    return [_excerpt(data, _whole(data, begin, errors)[0], end, marks, errors) for begin, end in wanted]


def _excerpt(data: bytes, begin: int, end: int, marks: Sequence[Mark], errors: _Errors) -> Excerpt:
    """A piece of the text; less of it where nearly every character of it has to be spelled out."""
    while True:
        end = _whole(data, end, errors)[0]
        here = [
            replace(mark, start=mark.start - begin, end=mark.end - begin)
            for mark in marks if mark.start < end and begin < mark.end
        ]  # fmt: skip
        drawn = _drawn(data[begin:end], here, errors)
        if len(drawn) <= _MOST_DRAWN or end - begin <= _LEAST_SHOWN:
            return Excerpt(begin, end, drawn)
        end = begin + (end - begin) // 2


def _whole(data: bytes, at: int, errors: _Errors) -> tuple[int, int]:
    """Where the character that `at` lies in begins and ends; twice `at` where it lies in none, but between two."""
    at = min(max(at, 0), len(data))
    for start in range(at - 1, max(at - 4, -1), -1):
        lead = data[start]
        if lead & 0xC0 == 0x80:
            continue
        end = start + (4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1)
        if end <= at:
            break
        try:
            data[start:end].decode("utf-8", "surrogatepass" if errors == "surrogatepass" else "strict")
        except UnicodeDecodeError:
            break
        return start, end
    return at, at


def _drawn(data: bytes, marks: Sequence[Mark], errors: _Errors) -> Markup:
    found = [(_whole(data, each.start, errors)[0], _whole(data, each.end, errors)[1], each) for each in marks]
    spans = sorted((each for each in found if each[0] < each[1]), key=lambda each: each[0])
    cuts = sorted({0, len(data), *(place for start, end, _ in spans for place in (start, end))})
    pieces: list[Markup] = []
    active: list[tuple[int, int, Mark]] = []
    position = 0
    for start, end in pairwise(cuts):
        active = [each for each in active if each[1] > start]
        while position < len(spans) and spans[position][0] <= start:
            active.append(spans[position])
            position += 1
        piece = Markup(_escaped(data[start:end].decode("utf-8", errors), errors))  # noqa: S704 - escaped just there
        pieces.append(_marked(piece, start, active) if active else piece)
    return Markup("").join(pieces)


def _marked(piece: Markup, start: int, active: Sequence[tuple[int, int, Mark]]) -> Markup:
    kinds = " ".join(dict.fromkeys(mark.kind for _, _, mark in active))
    titles = "; ".join(dict.fromkeys(printable(mark.title) for _, _, mark in active if mark.title))
    anchors = [mark.anchor for begin, _, mark in active if begin == start and mark.anchor]
    title = Markup(' title="{}"').format(titles) if titles else Markup("")
    anchor = Markup(' id="{}"').format(anchors[0]) if anchors else Markup("")
    return Markup('<mark class="{}"{}{}>{}</mark>').format(kinds, anchor, title, piece)


def _escaped(text: str, errors: _Errors) -> str:
    return _UNUSUAL.sub(lambda found: _run(found[0], errors), str(escape(text)))


def _run(run: str, errors: _Errors) -> str:
    if run.isprintable() and printable(run) == run:
        return run
    return "".join(_same(character, len(list(same)), errors) for character, same in groupby(run))


def _same(character: str, count: int, errors: _Errors) -> str:
    number = ord(character)
    point = f"U+{number:04X}"
    if number < 0x20 or number == 0x7F:
        picture = "\u2421" if number == 0x7F else chr(0x2400 + number)
        title = "DELETE" if number == 0x7F else _CONTROLS[number]
        return f'<span class="ctl" title="{title}, {point}">{picture * count}</span>'
    if errors == "surrogateescape" and 0xDC80 <= number <= 0xDCFF:
        shown_byte = f"\\x{number - 0xDC00:02x}"
        return f'<span class="ctl" title="a byte that is no UTF-8">{shown_byte * count}</span>'
    category = unicodedata.category(character)
    title = unicodedata.name(character, _OTHER.get(category, "INVISIBLE"))
    if category == "Zs":
        return f'<span class="sp" title="{title}, {point}">{character * count}</span>'
    if is_drawn(character):
        return character * count
    return f'<span class="inv" title="{title}, {point}">{point}</span>' * count
