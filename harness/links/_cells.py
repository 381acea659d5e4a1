"""Links of cells: each is the one that the plan's product has at its place, with the digests of its frozen case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness._errors import IdentityError
from harness._identity import identity
from harness._people import people_digest
from harness._replies import seqs_in
from harness._typed import typed
from harness.links._broken import Finder
from harness.links._plans import Kept, Laid, PlanLinks, arm_of
from ledger.kinds import Cell

__all__ = ["CellLinks"]

_CELLS = "SELECT seq, cell, causes, body FROM main.events WHERE run = ? AND kind = 'cell' ORDER BY seq"
_BEGUN = "SELECT min(seq) FROM main.events WHERE run = ? AND kind IN ('request', 'reuse', 'import', 'score', 'close')"


@dataclass
class CellLinks:
    """The cells of one run. After `check`: `at` is the seq of each cell by ordinal, `kept` its case as frozen, where
    both agree on which one that is."""

    planned: PlanLinks
    finder: Finder
    run: str
    at: dict[int, int] = field(default_factory=dict[int, int])
    kept: dict[int, Kept] = field(default_factory=dict[int, Kept])
    candidate: dict[int, str] = field(default_factory=dict[int, str])
    _arms: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])

    def check(self) -> None:
        """Hold every cell of the run against the plan's product, in one pass over both."""
        ledger, plan = self.planned.freezes.ledger, self.planned.plan
        key = bytes.fromhex(ledger.genesis.identity_key)
        laid: Iterator[Laid] | None = self.planned.laid_out() if self.planned.kept is not None else None
        labels = {each.label: each for each in plan.candidates}
        for seq, cell, causes, text in ledger.sql(_CELLS, (self.run,)):
            expected = len(self.at) + 1
            if cell in self.at:
                self.finder.broken("cell.once", seq, "cell", cell, self.at[cell], "planned already", cell=cell)
                continue
            if not self.finder.hold("cell.order", seq, "cell", cell, self.planned.seq, expected, cell=cell):
                continue
            self.at[cell] = seq
            row = next(laid, None) if laid is not None else None
            if laid is not None and row is None:
                plan_cells = f"one of the {plan.cells} planned"
                self.finder.broken("cell.product", seq, "cell", cell, self.planned.seq, plan_cells, cell=cell)
            if self.planned.seq not in seqs_in(causes):
                self.finder.broken("cell.causes", seq, "causes", causes, self.planned.seq, "its plan", cell=cell)
            if text is None:
                if row is not None:
                    self.kept[cell], self.candidate[cell] = row.kept, row.candidate.label
                continue
            body = typed(Cell, text, f"event {seq}")
            self.candidate[cell] = body.candidate
            if body.candidate not in labels:
                names = ", ".join(labels)
                self.finder.broken("cell.product", seq, "candidate", body.candidate, self.planned.seq, names, cell=cell)
            elif plan.purpose != "probe":
                whose = labels[body.candidate].digest
                follows = identity(
                    suite=plan.suite, input_digest=body.input, candidate=whose, arm=body.arm, epoch=body.epoch,
                    twin=body.twin, key=key,
                )  # fmt: skip
                self.finder.hold("cell.identity", seq, "identity", body.identity, self.planned.seq, follows, cell=cell)
            if row is not None and self._is_the_case(seq, cell, body, row):
                self.kept[cell] = row.kept
            self._arm(seq, cell, body)
        self._all_there()

    def _is_the_case(self, seq: int, cell: int, body: Cell, row: Laid) -> bool:
        """Whether a cell is the one that the product has there, with the digests of the frozen case."""
        kept, plan = row.kept, self.planned
        said: tuple[Any, ...] = (body.fixture, body.case, body.candidate, body.epoch)
        follows = (kept.fixture, kept.frozen.case.id, row.candidate.label, row.epoch)
        held = self.finder.hold(
            "cell.product", seq, "fixture, case, candidate, epoch", said, plan.seq, follows, cell=cell
        )
        if (body.fixture, body.case) != follows[:2]:
            return False
        frozen = kept.frozen
        held &= self.finder.hold("cell.input", seq, "input", body.input, kept.freeze, frozen.input, cell=cell)
        held &= self.finder.hold("cell.gold", seq, "gold", body.gold, kept.freeze, frozen.gold, cell=cell)
        held &= self.finder.hold("cell.twin", seq, "twin", body.twin, kept.freeze, kept.twin, cell=cell)
        self._people(seq, cell, body, kept)
        return held

    def _people(self, seq: int, cell: int, body: Cell, kept: Kept) -> None:
        """A plan that names no fields of people's, as one of schema 1, has cells that carry no digest of any."""
        key = bytes.fromhex(self.planned.freezes.ledger.genesis.identity_key)
        try:
            follows = people_digest(kept.frozen.case.meta_text, self.planned.plan.people or (), key)
        except IdentityError as error:
            self.finder.broken("cell.people", seq, "people", body.people, kept.freeze, str(error), cell=cell)
            return
        self.finder.hold("cell.people", seq, "people", body.people, kept.freeze, follows, cell=cell)

    def _arm(self, seq: int, cell: int, body: Cell) -> None:
        arms = self.planned.plan.arms
        arm = arm_of(self.planned.plan, body.fixture)
        if arm is not None:
            self.finder.hold("cell.arm", seq, "arm", body.arm, self.planned.seq, arm, cell=cell)
            return
        # A plan of schema 1 names its arms and not whose they are: all cells of a fixture had one, and it is named.
        first, before = self._arms.setdefault(body.fixture, (seq, body.arm))
        self.finder.hold("cell.arm", seq, "arm", body.arm, first, before, cell=cell)
        if body.arm and body.arm not in arms:
            self.finder.broken("cell.arm", seq, "arm", body.arm, self.planned.seq, ", ".join(arms), cell=cell)

    def _all_there(self) -> None:
        """Every planned cell stands before anything is asked; a run that was stopped while it was planned has none."""
        plan, ledger = self.planned.plan, self.planned.freezes.ledger
        if len(self.at) >= plan.cells:
            return
        (begun,) = ledger.sql(_BEGUN, (self.run,)).fetchone()
        if begun is not None:
            self.finder.hold("cell.all", begun, "cells that stand", len(self.at), self.planned.seq, plan.cells)
