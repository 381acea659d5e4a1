"""The cells that an auditor's seed draws, and what is shown of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ledger._errors import LedgerError, NotFound
from ledger._event import Event
from ledger._store import Ledger
from ledger.bundle._select import Selection, pages
from ledger.tree import to_base64

__all__ = ["Drawn", "DrawnCase", "case_lines", "draw", "drawn_cases", "rank", "revealed"]

_CELLS = "SELECT run, cell FROM main.events WHERE kind = 'cell' AND run = ?"
_DRAW = "eval-ledger/draw@v1\n"

Drawn = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class DrawnCase:
    """The case of a drawn cell: the fixture by the plan's name for it, where its line stands, and the line."""

    fixture: str
    place: tuple[int, int]
    line: str


def rank(root: bytes, run: str, cell: int, seed: str) -> bytes:
    """By what (run, cell) is drawn: the smallest come first."""
    return sha256(f"{_DRAW}{to_base64(root)}\n{run}\n{cell}\n{seed}".encode()).digest()


def draw(ledger: Ledger, runs: Sequence[str], root: bytes, count: int, seed: str) -> Drawn:
    """The `count` cells of the runs that the seed draws. Raises NotFound where there are fewer."""
    cells = [(str(row["run"]), int(row["cell"])) for run in runs for row in ledger.rows(_CELLS, (run,))]
    if count > len(cells):
        raise NotFound(f"--reveal {count}: there are {len(cells)} cells to draw from; ask for as many at most")
    return tuple(sorted(cells, key=lambda each: rank(root, each[0], each[1], seed))[:count])


def revealed(ledger: Ledger, selection: Selection, drawn: Drawn) -> frozenset[int]:
    """The events that are shown whole: genesis, those of drawn cells, and what these rest on in other cells.

    Another cell's own `cell` event isn't among them: its digests are of a case that wasn't drawn.
    """
    if not drawn:
        return frozenset()
    cells = set(drawn)
    causes: dict[int, tuple[int, ...]] = {}
    shown: set[int] = {1}
    others: set[int] = set()
    for event in pages(ledger, selection.seqs):
        causes[event.seq] = event.causes
        if (event.run, event.cell) in cells:
            shown.add(event.seq)
        elif event.cell and event.kind != "cell":
            others.add(event.seq)
    waiting = [cause for seq in shown for cause in causes.get(seq, ())]
    while waiting:
        seq = waiting.pop()
        if seq in others and seq not in shown:
            shown.add(seq)
            waiting += causes[seq]
    return frozenset(shown)


def drawn_cases(ledger: Ledger, selection: Selection, drawn: Drawn) -> list[DrawnCase]:
    """The cases of the drawn cells, by fixture and place in the file; none for what a redaction withholds."""
    freezes: dict[str, dict[str, int]] = {}
    wanted: dict[int, dict[str, str]] = {}
    for run, cell in drawn:
        for event in ledger.events(kind="cell", run=run, cell=cell):
            if event.body is None:
                continue
            body = json.loads(event.body)
            if run not in freezes:
                freezes[run] = _freezes(ledger, run)
            freeze = freezes[run].get(body["fixture"])
            if freeze is not None:
                wanted.setdefault(freeze, {})[body["case"]] = body["fixture"]
    found: list[DrawnCase] = []
    for freeze, cases in wanted.items():
        for number, line, case in case_lines(ledger, ledger.event(freeze)):
            if case.get("id") in cases:
                found.append(DrawnCase(cases[case["id"]], (freeze, number), line))
    return sorted(found, key=lambda each: (each.fixture, each.place))


def _freezes(ledger: Ledger, run: str) -> dict[str, int]:
    """The freezes of a run's fixtures, by the names that its plan has for them."""
    (plan,) = ledger.events(kind="plan", run=run)
    body: dict[str, Any] = json.loads(plan.body or "{}")
    return {each["name"]: int(each["freeze"]) for each in body.get("fixtures", ())}


def case_lines(ledger: Ledger, freeze: Event) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The cases of a frozen fixture: number of the line, from 1, its text, and what it says. None where withheld."""
    for name in ("jsonl", "file"):
        try:
            data = ledger.blob(freeze, name)
        except LedgerError:
            continue
        for number, raw in enumerate(data.split(b"\n"), start=1):
            try:
                line = raw.removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
                case = json.loads(line)
            except ValueError:
                continue
            if isinstance(case, dict):
                yield number, line, case
        return
