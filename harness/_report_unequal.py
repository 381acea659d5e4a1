"""What a report says where cases were measured unequally often: its rates weigh answers, not cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["unequal_words"]


def unequal_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence on the rows of a scoreboard whose cases have unequal repeats; empty where none has."""
    found = [row for row in rows if row.get("rate_by_case") is not None]
    if not found:
        return ""
    several = len({row["candidate"] for row in found}) > 1
    said = ", ".join(
        f"{row['metric']}{' of ' + row['candidate'] if several else ''} {100 * row['rate_by_case']:.1f}%"
        for row in found
    )
    return (
        "Not every case was measured equally often, and the rates weigh each answer alike, so a case with more of them"
        f" counts for more. With each case counting once they are: {said}."
    )
