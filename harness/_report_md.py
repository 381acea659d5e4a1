"""A report as Markdown (GitHub's flavour): every foreign text stands in a code span that it can't end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness._report_document import Cell, Chart, Document, Grid, Heading, Name, Sentence, Text
from ledger import printable

__all__ = ["OPENING", "md_document", "md_name"]

OPENING = "<!-- eval-ledger report -->"
_MARKUP = re.compile(r"[\\|<*_\[\]&]")


def md_name(text: str) -> str:
    """Foreign text as a code span: controls, bidi marks, backticks and pipes as visible escapes.

    In a code span nothing is a link, an image, an entity or HTML; only a backtick could end it, and only a pipe a cell.
    """
    shown = printable(text).replace("`", "\\x60").replace("|", "\\x7c")
    return f"`{shown}`" if shown.strip() else "–" if not shown else f"`({len(shown)} blanks)`"


def _text(parts: Sequence[Text]) -> str:
    return "".join(md_name(part) if isinstance(part, Name) else _own(part) for part in parts)


def _own(text: str) -> str:
    # Our own words hold no markup but code spans.
    return _MARKUP.sub(r"\\\g<0>", text)


def _cell(cell: Cell) -> str:
    return _text([cell] if isinstance(cell, str) else cell)


def _grid(grid: Grid) -> list[str]:
    rule = ["---:" if column in grid.right else "---" for column in grid.columns]
    lines = [f"{_text(grid.caption)}:", "", _line(grid.columns), _line(rule)]
    return [*lines, *(_line([_cell(cell) for cell in row]) for row in grid.rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _sentence(sentence: Sentence) -> str:
    return ("> " if sentence.tone else "") + _text(sentence.parts)


def md_document(document: Document, data: str) -> str:
    """The document, with `data` (JSON text) in a fenced block at its end."""
    parts: list[str] = [OPENING]
    for block in document:
        match block:
            case Heading():
                parts.append(f"{'#' * block.level} {_text(block.text)}")
            case Sentence():
                parts.append(_sentence(block))
            case Grid():
                parts.append("\n".join(_grid(block)))
            case Chart():
                pass
    # No line of JSON text can end the fence: a line of it that starts with a backtick would be no JSON.
    parts.append(f"The data that this report is made of:\n\n```json\n{data}\n```")
    return "\n\n".join(parts) + "\n"
