"""Who answered, as a report shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness._report_blocks import Block, Cell, Grid, Heading, Name

__all__ = ["served_blocks", "served_words"]

_WORDS: Mapping[str, str] = {
    "model": "model", "fingerprint": "system fingerprint", "provider": "provider", "tools": "list of tools",
}  # fmt: skip
_SHOWN = 3
_LONGEST = 80


def served_words(served: Sequence[Mapping[str, Any]]) -> str:
    """Who answered, in one line for people; empty where no reply tells it, or every candidate's mark does already."""
    told: dict[str, dict[str, list[str]]] = {}
    for row in served:
        if (row["what"], row["name"]) != ("tools", "none"):
            told.setdefault(str(row["candidate"]), {}).setdefault(row["what"], []).append(str(row["name"]))
    alone = [
        f"{candidate} by " + ", ".join(f"{_WORDS[what]} {names[0][:_LONGEST]}" for what, names in each.items())
        for candidate, each in told.items() if all(len(names) == 1 for names in each.values())
    ]  # fmt: skip
    more = f"; and {len(alone) - _SHOWN} candidates more (--json)" if len(alone) > _SHOWN else ""
    return f"Answered, as the replies tell it: {'; '.join(alone[:_SHOWN])}{more}." if alone else ""


def served_blocks(served: Sequence[Mapping[str, Any]]) -> Iterable[Block]:
    """Who answered, as the replies tell it; nothing for reports of releases that said nothing of it."""
    if not served:
        return
    yield Heading(2, ["Who answered"])
    rows: list[Sequence[Cell]] = [
        [Name(row["candidate"]), _WORDS[row["what"]], Name(row["name"]), str(row["cells"])] for row in served
    ]
    columns = ("candidate", "what", "name", "cells")
    caption = ["What the replies tell of who answered, and the tools that were sent; what isn't told has no line"]
    yield Grid(caption, columns, rows, frozenset({"cells"}))
