"""What contradicts a run's figures: links that cost a digest or a count, held whenever figures are read.

The words that stand beside such figures, wherever they are shown, are made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from harness.links import held_on_read
from ledger import Ledger, over_views

__all__ = ["contradicted", "contradiction_words", "doubts", "held_words", "holds"]

_SHOWN = 3
_UNHELD = over_views("SELECT rules, held, held_why FROM scoreboard WHERE run = ? AND candidate = ? AND NOT held")


def contradicted(ledger: Ledger, run: str, size: int | None = None) -> dict[str, Any] | None:
    """The links of a run that are false, as of event `size`: how many (`count`), and the `first` few of them.

    Each of the first is as `ledger verify --deep --json` has it, and `says` is its sentence. None where all hold.
    Raises LedgerError and HarnessError.
    """
    found = [each for each in held_on_read(ledger, run) if size is None or max(each.event, each.other) <= size]
    if not found:
        return None
    first = [{**each.as_json(), "says": each.sentence()} for each in found[:_SHOWN]]
    return {"count": len(found), "first": first}


def contradiction_words(found: Mapping[str, Any]) -> str:
    """The sentence that stands ahead of figures that don't hold."""
    more = found["count"] - len(found["first"])
    rest = f"; and {more} more, which `ledger verify --deep` names" if more else ""
    said = "; ".join(str(each["says"]) for each in found["first"])
    return f"THESE NUMBERS DON'T HOLD, as the run's own events contradict them: {said}{rest}"


def held_words(row: Mapping[str, Any]) -> str:
    """The mark beside one figure of a scoreboard; empty where nothing contradicts it."""
    return "" if row.get("held", True) else f"doesn't hold: {row['held_why']}"


def holds(data: Mapping[str, Any]) -> bool:
    """Whether nothing contradicts the figures of a report's data."""
    return "contradicted" not in data and not any(held_words(row) for row in data["scoreboard"])


def doubts(ledger: Ledger, run: str, candidate: str, rules: Collection[str]) -> list[str]:
    """What contradicts a candidate's figures under rule sets of these labels, in sentences."""
    broken = contradicted(ledger, run)
    said = [] if broken is None else [contradiction_words(broken)]
    rows = [row for row in ledger.rows(_UNHELD, (run, candidate)) if row["rules"] in rules]
    return said + [f"{candidate} under {row['rules']} {held_words(row)}" for row in rows]
