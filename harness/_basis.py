"""What a report is of: which run, as of which event, under which rule sets; read out of data that may be altered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from harness._report_data import AsOf, Data
from ledger import Ledger

__all__ = ["Basis", "basis_of"]

_HASHED = "SELECT seq FROM main.events WHERE hash = ?"
_PLANNED = "SELECT seq FROM main.events WHERE kind = 'plan' AND run = ?"
_LABELS = "SELECT rules FROM run_rules WHERE run = ? ORDER BY rules"


@dataclass(frozen=True)
class Basis:
    """What a report is of: the run, the event it stops at, and the labels of the rule sets that it shows."""

    run: str
    size: int
    labels: tuple[str, ...]


def _get(data: Any, *path: str | int) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def basis_of(ledger: Ledger, data: Data) -> Basis | None:
    """What the data say they are of, where this ledger knows it. A digit changed in one place is made good by another:

    the hash of the head knows its seq, and the run and the rule sets are named more than once. None when nothing fits.
    """
    size, head = _get(data, "receipt", "size"), _get(data, "receipt", "head")
    known = ledger.rows(_HASHED, (head,)) if isinstance(head, str) else []
    if known:
        at = int(known[0]["seq"])
    elif (
        isinstance(size, int) and 0 < size <= ledger.head()[0] and _get(data, "receipt", "ledger") == ledger.genesis.id
    ):
        at = size
    else:
        return None
    runs = [_get(data, "receipt", "run"), _get(data, "run", "id")]
    run = next((each for each in runs if isinstance(each, str) and ledger.rows(_PLANNED, (each,))), None)
    if run is None:
        return None
    there = [row["rules"] for row in AsOf(ledger, at).rows(_LABELS, (run,))]
    shown = _labels(data)
    labels = tuple(label for label in there if label in shown)
    return Basis(run, at, labels or tuple(there))


def _labels(data: Data) -> set[str]:
    found: set[str] = set()
    for rows in (_get(data, "receipt", "rules"), data.get("rules"), data.get("scoreboard")):
        listed = cast("list[Any]", rows) if isinstance(rows, list) else []
        found |= {label for row in listed if isinstance(label := _get(row, "rules"), str)}
    return found
