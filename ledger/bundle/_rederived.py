"""Deriving again what a bundle shows: `ledger` knows how to ask, and another package how to do it.

A package offers it as an entry point of the group `eval_ledger.rederive`: a function of an opened ledger and a Part,
which returns a Rederived and appends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ledger._errors import LedgerError
from ledger._store import Ledger
from ledger.bundle._derivers import GROUP, derivers
from ledger.bundle._listed import Case
from ledger.bundle._read import BundleFile, Told
from ledger.bundle._scratch import scratch_ledger
from ledger.bundle._seen import Seen
from ledger.kinds import Genesis

__all__ = ["GROUP", "Part", "Rederived", "rederive"]

_DERIVED = ("parse", "confirm", "score", "tally")


@dataclass(frozen=True)
class Part:
    """What of a run is to be derived again: all of it (None), or some cells, whose cases are given as fixture and
    line; `told` stands for a plan that is hidden."""

    run: str
    cells: tuple[int, ...] | None
    cases: tuple[Case, ...]
    told: Told | None


@dataclass(frozen=True)
class Rederived:
    """What came of it: `reproduced` of `total` derivations; `lines` say the rest. `ok`: nothing came out otherwise."""

    ok: bool
    reproduced: int
    total: int
    lines: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"ok": self.ok, "reproduced": self.reproduced, "total": self.total, "lines": list(self.lines)}


def rederive(bundle: BundleFile, seen: Seen, cases: Sequence[Case]) -> Rederived:
    """Derive again what can be: everything where nothing is hidden, else what the seed drew.

    `total` counts every parse, confirm, score and tally of the runs that were asked for, shown or hidden. Raises
    LedgerError where nobody can.
    """
    runs = bundle.about.asked.runs
    total = sum(len(seen.of(kind, run)) for run in runs for kind in _DERIVED)
    parts = _parts(bundle, seen, cases)
    if not parts or not isinstance(seen.bodies.get(1), Genesis):
        return Rederived(True, 0, total)
    check = _loaded()
    lines: list[str] = []
    ok, reproduced = True, 0
    with scratch_ledger(bundle) as ledger:
        for part in parts:
            found = check(ledger, part)
            ok, reproduced = ok and found.ok, reproduced + found.reproduced
            lines += found.lines
    return Rederived(ok, reproduced, total, tuple(lines))


def _parts(bundle: BundleFile, seen: Seen, cases: Sequence[Case]) -> list[Part]:
    about = bundle.about
    told: Mapping[str, Told] = about.told or {}
    if not about.hide and all(why == "redacted" for why in seen.hidden.values()):
        return [Part(run, None, (), None) for run in about.asked.runs]
    drawn = about.reveal.drawn if about.reveal is not None else []
    return [
        Part(run, tuple(sorted(each.cell for each in drawn if each.run == run)), tuple(cases), told.get(run))
        for run in about.asked.runs if any(each.run == run for each in drawn)
    ]  # fmt: skip


def _loaded() -> Callable[[Ledger, Part], Rederived]:
    points = derivers()
    if not points:
        raise LedgerError("no package that derives again is installed; eval-ledger whole brings `harness`")
    try:
        return cast("Callable[[Ledger, Part], Rederived]", points[0].load())
    except (ImportError, AttributeError) as problem:
        raise LedgerError(f"{points[0].name!a} ({points[0].value}) can't be loaded: {problem}") from None
