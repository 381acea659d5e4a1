"""Terminal bytes in a text: what they are, and, where a rule set asks for it, what a terminal would have shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["CONTROL", "render"]

CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""C0 controls but for tab, LF and CR (ECMA-48). ESC is one of them."""

# The emulator's work grows with the screen for every sequence; past this many cell visits a text is not rendered.
_WORK: Final = 20_000_000
_COLUMNS: Final = 4096
_CLEAR: Final = re.compile(r"\x1b\[[0-9;?]*J")


def render(text: str) -> str | None:
    """The text as a terminal wide and high enough would show it, trailing blanks dropped; None when that can't be told.

    Line feeds also return the carriage, as they do on a terminal whose driver maps them.
    """
    lines = re.split(r"\r\n|\n|\r", text)
    columns = min(max(map(len, lines)) + 1, _COLUMNS)
    height = len(lines) + sum(len(line) // columns for line in lines) + 1
    controls = text.count("\x1b") + len(CONTROL.findall(text))
    clears = len(_CLEAR.findall(text))
    if controls * (columns + height) + clears * columns * height > _WORK:
        return None
    import pyte  # loaded only by rule sets that say `terminal = "render"`
    from pyte.modes import LNM

    screen = pyte.Screen(columns, height)
    screen.set_mode(LNM)
    try:
        pyte.Stream(screen).feed(text)
        rows = [_row(screen.buffer[y], columns) for y in range(height)]
    except Exception:  # noqa: BLE001  the emulator meets hostile bytes; whatever it raises, the text was not rendered
        return None
    while rows and not rows[-1]:
        rows.pop()
    return "\n".join(rows)


def _row(cells: Mapping[int, Any], columns: int) -> str:
    last = max((x for x in cells if x < columns), default=-1)
    return "".join(cells[x].data for x in range(last + 1)).rstrip(" ")
