"""What a report says of the imports that its run is of: whose file it was, and what it states of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness._report_blocks import EventSeq, Name, Sentence, Text
from harness._stated import COUNTED, STATED, imported_words

__all__ = ["imported_blocks"]


def imported_blocks(imported: Sequence[Mapping[str, Any]]) -> Iterable[Sentence]:
    """A sentence an import; and each total that it states and its rows don't bear out."""
    for row in imported:
        rest = {name: value for name, value in row["claimed"].items() if not name.startswith((STATED, COUNTED))}
        claimed = ", ".join(f"{name} {value}" for name, value in rest.items())
        what = [Name(row["format"]), ", grade ", Name(row["grade"]), ", BLAKE3 of the file ", Name(row["digest"])]
        said: list[Text] = [". It claims: ", Name(claimed)] if claimed else []
        yield Sentence(["IMPORTED by event ", EventSeq(row["event"]), ": ", *what, *said, "."])
        for words in imported_words([row]):
            yield Sentence([Name(words), "."], "bad" if words.startswith("STATED") else "")
