"""What the run page says of a run, worked out once and kept: the report, the cells under each rule set, the timing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

from harness._report import RunReport, read_report
from harness.web._money import dearest
from harness.web._timing import Timing, read_timing
from harness.web._wrong import Wrong, read_wrong
from ledger import Ledger, over_views
from ledger.web import Desk, Kept, Memory

__all__ = ["CellRow", "Reading", "RunCells", "RunFacts", "run_cells", "run_facts"]

_CELLS = (files("harness.web") / "queries" / "cells.sql").read_text("utf-8")


@dataclass(frozen=True)
class RunFacts:
    """The report of a run as `harness report RUN --json` gives it, what its requests took, (by its place in the
    report's spend) which cases were the dearest, the cells, and its first wrong answers: all of them of one moment."""

    report: RunReport
    timing: Timing
    dearest: Sequence[int]
    cells: RunCells
    wrong: Wrong


@dataclass(frozen=True, slots=True)
class CellRow:
    """One planned measurement. What a redaction withholds is None."""

    cell: int
    case: str | None
    fixture: str | None
    candidate: str | None
    arm: str | None
    epoch: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """How a cell ended under a rule set. `applies` is None where no score says which metrics apply to it.

    Many cells end alike, and share one of these.
    """

    outcome: str
    status: str
    stage: str
    reason: str
    domain: str
    verdict: str
    value: float | None
    metrics: Mapping[str, float]
    applies: frozenset[str] | None
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunCells:
    """The cells of a run in order, and by rule set the reading of each, in the same order.

    `counts` are of outcomes, by rule set and candidate; `alike` every reading of a rule set once.
    """

    cells: Sequence[CellRow]
    readings: Mapping[str, Sequence[Reading]]
    counts: Mapping[tuple[str, str], Mapping[str, int]]
    alike: Mapping[str, Sequence[Reading]]


def run_facts(desk: Desk, run: str) -> Kept[RunFacts] | None:
    """What is said of an evaluation run. Raises UsageError for a probe, which no scoreboard counts."""
    return desk.get(run, ("harness.run.facts", run), partial(_facts, run, desk.view.memory))


def run_cells(desk: Desk, run: str) -> Kept[RunCells] | None:
    """The cells of a run. Nothing but the run's own events, or a redaction, changes them."""
    return desk.get(run, _cells_key(run), partial(_cells, run), own=True)


def _cells_key(run: str) -> tuple[str, str]:
    return ("harness.run.cells", run)


def _facts(run: str, memory: Memory, ledger: Ledger) -> RunFacts:
    size, _ = ledger.head()
    # Those of this very moment, and once for both.
    cells = memory.kept(ledger, size, run, _cells_key(run), partial(_cells, run), own=True).value
    report = read_report(ledger, run)
    spend = report.data["spend"]["cases"]
    return RunFacts(report, read_timing(ledger, run), dearest(spend), cells, read_wrong(ledger, run))


def _cells(run: str, ledger: Ledger) -> RunCells:
    cells: dict[int, CellRow] = {}
    readings: dict[str, list[Reading]] = {}
    alike: dict[tuple[Any, ...], Reading] = {}
    texts: dict[Any, Any] = {}
    for cell, rules, case, fixture, candidate, arm, epoch, *ended in ledger.sql(over_views(_CELLS), (run,)):
        if cell not in cells:
            # One text of each kind for all the cells that bear it: a run may have hundreds of thousands.
            fixture, candidate, arm = (texts.setdefault(each, each) for each in (fixture, candidate, arm))
            cells[cell] = CellRow(cell, case, fixture, candidate, arm, epoch)
        key = tuple(ended)
        known = alike.get(key)
        readings.setdefault(rules, []).append(known or alike.setdefault(key, _reading(*ended)))
    rows = tuple(cells.values())
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for rules, mine in readings.items():
        for row, reading in zip(rows, mine, strict=True):
            of = counts.setdefault((rules, row.candidate or ""), {})
            of[reading.outcome] = of.get(reading.outcome, 0) + 1
    every = {rules: tuple({id(each): each for each in mine}.values()) for rules, mine in readings.items()}
    # Rule sets in the report's order, which is that of their labels.
    return RunCells(rows, dict(sorted(readings.items())), counts, every)


def _reading(
    outcome: str, status: str, stage: str, reason: str, domain: str, verdict: str, value: float | None,
    metrics: str | None, applies: str | None, blocked_by: str | None,
) -> Reading:  # fmt: skip
    figures: dict[str, float] = json.loads(metrics) if metrics else {}
    apply = None if applies is None else frozenset(json.loads(applies))
    blocks: tuple[str, ...] = tuple(json.loads(blocked_by)) if blocked_by else ()
    return Reading(outcome, status, stage, reason, domain, verdict, value, figures, apply, blocks)
