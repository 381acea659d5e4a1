"""The wrong answers of a run as a section of a report file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness._report_blocks import Block, Cell, Grid, Heading, Name, Sentence, Text

__all__ = ["answer_blocks"]


def answer_blocks(found: Mapping[str, Any] | None) -> Iterable[Block]:
    """The section, of the data that `harness._report_wrong` put there."""
    if found is None:
        return
    yield Heading(2, ["Wrong answers"])
    rows: Sequence[Mapping[str, Any]] = found["rows"]
    under: list[Text] = [Name(", ".join(found["rules"]))]
    left = found["wrong"] - len(rows)
    more = f"; {left} more aren't listed, `harness cases` has them" if left else ""
    yield Sentence(
        [f"{found['wrong']} of {found['of']} cells are incorrect under ", *under, f"{more}. Long texts are cut."]
    )
    if rows:
        yield Grid(
            ["What was asked, what is right, what was read, and the reply"],
            ["case", "candidate", "asked", "gold", "read", "reply"],
            [_row(row) for row in rows],
        )


def _row(row: Mapping[str, Any]) -> Sequence[Cell]:
    case = "(withheld)" if row["case"] is None else row["case"]
    epoch = f" (epoch {row['epoch']})" if row["epoch"] else ""
    texts = [[Name(" ".join(str(row[name]).split()))] for name in ("asked", "gold", "answer", "reply")]
    return [[Name(case), epoch], [Name("(withheld)" if row["candidate"] is None else row["candidate"])], *texts]
