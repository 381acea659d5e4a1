"""The case of a cell as it was frozen: found in the one line of its file, however many the file has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from harness._errors import HarnessError
from harness._identity import digest
from harness._suite import Case, case_of_line
from ledger import Ledger, LedgerError, NotFound
from ledger.kinds import Cell, Plan
from ledger.web import View

__all__ = ["FrozenCase", "frozen_case"]


@dataclass(frozen=True)
class FrozenCase:
    """A case out of its fixture's freeze, or `why` it can't be shown.

    `input_matches` and `gold_matches` say whether the digests that the cell was planned with are those of the texts
    that stand in the file, recomputed.
    """

    freeze: int | None
    case: Case | None
    why: str = ""
    input_matches: bool = False
    gold_matches: bool = False


def frozen_case(view: View, run: str, plan: Plan, cell: Cell) -> FrozenCase:
    """The case that a cell is of. What was found is kept, as a long file takes its time to be unpacked."""
    freeze = next((each.freeze for each in plan.fixtures if each.name == cell.fixture), None)
    if freeze is None:
        why = "a probe asks a text of its own and freezes none" if plan.purpose == "probe" else "no freeze names it"
        return FrozenCase(None, None, why)
    key = ("case", freeze, cell.case, cell.input, cell.gold)
    return view.memory.kept(
        view.ledger, view.size, run, key, lambda ledger: _found(ledger, freeze, cell), own=True
    ).value  # fmt: skip


def _found(ledger: Ledger, freeze: int, cell: Cell) -> FrozenCase:
    try:
        blobs = ledger.body(freeze).blobs
        data = ledger.blob(freeze, "jsonl" if "jsonl" in blobs else "file")
    except NotFound as problem:
        return FrozenCase(freeze, None, str(problem))
    except LedgerError as problem:
        return FrozenCase(freeze, None, f"{problem}")
    case = find_line(data, cell.case)
    if case is None:
        return FrozenCase(freeze, None, f"the file of event {freeze} has no case of that id")
    key = bytes.fromhex(ledger.genesis.identity_key)
    return FrozenCase(
        freeze, case, "", digest(case.input_text, key) == cell.input, digest(case.gold_text, key) == cell.gold
    )


def find_line(data: bytes, wanted: str) -> Case | None:
    """The case of that id in a file of cases; None where there is none.

    Lines that hold the id in its usual spelling are read first, as reading every line of a long file takes seconds.
    """
    seen: set[int] = set()
    for start, end in _lines_with(data, wanted):
        seen.add(start)
        case = _read(data, start, end)
        if case is not None and case.id == wanted:
            return case
    if json.dumps(wanted, ensure_ascii=False) == f'"{wanted}"' and b"\\" not in data:
        return None  # without an escape there is no other way to write it
    start = 0
    while start < len(data):
        end = _end(data, start)
        if start not in seen:
            case = _read(data, start, end)
            if case is not None and case.id == wanted:
                return case
        start = end + 1
    return None


def _lines_with(data: bytes, wanted: str) -> Iterator[tuple[int, int]]:
    spellings = {
        json.dumps(wanted, ensure_ascii=ascii).encode("utf-8", "surrogatepass") for ascii in (False, True)
    }  # fmt: skip
    for spelling in spellings:
        at = data.find(spelling)
        while at >= 0:
            start, end = data.rfind(b"\n", 0, at) + 1, _end(data, at)
            yield start, end
            at = data.find(spelling, end)


def _end(data: bytes, at: int) -> int:
    found = data.find(b"\n", at)
    return len(data) if found < 0 else found


def _read(data: bytes, start: int, end: int) -> Case | None:
    line = data[start:end]
    if not line.strip():
        return None
    try:
        return case_of_line(line, 1 + data.count(b"\n", 0, start), "the frozen file")
    except HarnessError:
        return None
