"""Lines of JSON that a person gave, and how bad ones are told: where each stands, how it begins, and why it is bad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness._json import JSONError, loads

__all__ = ["bad_line", "excerpt", "first_faults", "json_lines", "not_lines"]

_TOLD: Final = 3
_LONGEST: Final = 60
_WHY: Final = 400


def json_lines(text: str) -> list[tuple[int, str]]:
    """Each line that has something, with its number. They end with LF or CRLF; with CR in a file that has no LF."""
    lines = text.split("\n" if "\n" in text else "\r")
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def excerpt(line: str) -> str:
    """How a line begins, in quotes, what isn't drawn escaped."""
    bare = line.strip()
    return repr(bare) if len(bare) <= _LONGEST else f"{bare[:_LONGEST]!r}…"


def first_faults(rows: Sequence[tuple[str, str]]) -> str:
    """The first three of some bad lines, and why each is: `line 1: …; line 2: …`."""
    told = "; ".join(bad_line(where, why) for where, why in rows[:_TOLD])
    return told + (f"; and {len(rows) - _TOLD} more" if len(rows) > _TOLD else "")


def bad_line(where: str, why: str) -> str:
    """One bad line as it is told: where it stands, and why it is bad, however long that is."""
    return f"{where}: {why if len(why) <= _WHY else why[:_WHY] + '…'}"


def not_lines(text: str) -> str:
    """What else a text without one JSON object a line may be, and what makes lines of it; "" where nothing is known."""
    try:
        whole = loads(text)
    except JSONError:
        return ""
    if isinstance(whole, list) and whole and all(isinstance(each, Mapping) for each in whole):
        return ". It is one JSON list: `jq -c '.[]' FILE` makes lines of it"
    return ". It is one JSON object over several lines: `jq -c . FILE` makes one line of it" * isinstance(
        whole, Mapping
    )
