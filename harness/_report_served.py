"""Who answered, as a report shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness._report_blocks import Block, Cell, Grid, Heading, Name

__all__ = ["served_blocks"]

_WORDS: Mapping[str, str] = {
    "model": "model", "fingerprint": "system fingerprint", "provider": "provider", "tools": "list of tools",
}  # fmt: skip


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
