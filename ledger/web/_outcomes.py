"""What became of a run's planned cells under one rule set: counts, each with its query, and the lengths of a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ledger._store import Ledger
from ledger._views import over_views
from ledger.web._figure import Figure, sql
from ledger.web._literal import literal
from ledger.web._queries import query

__all__ = ["BAR_WIDTH", "OUTCOMES", "Segment", "count_outcomes", "outcome_bar"]

OUTCOMES = ("correct", "incorrect", "graded", "unmeasured")
BAR_WIDTH = 240


@dataclass(frozen=True)
class Segment:
    """One outcome: how many cells ended in it, and where it lies on a bar that is BAR_WIDTH long."""

    outcome: str
    cells: Figure
    start: float
    width: float


def count_outcomes(ledger: Ledger, run: str) -> Mapping[str, Mapping[str, int]]:
    """How many cells of the run have a score of each outcome, by rule set; of each cell the last score under it."""
    found: dict[str, dict[str, int]] = {}
    for rules, outcome, cells in ledger.sql(over_views(query("outcomes")), (run,)).fetchall():
        found.setdefault(str(rules), {})[str(outcome)] = int(cells)
    return found


def outcome_bar(run: str, rules: str, planned: int, counts: Mapping[str, int]) -> Sequence[Segment]:
    """All planned cells by outcome, in the order of OUTCOMES; whoever isn't scored otherwise is unmeasured."""
    measured = {outcome: counts.get(outcome, 0) for outcome in OUTCOMES[:-1]}
    of = f"FROM scores WHERE run = {literal(run)} AND rules = {literal(rules)} AND outcome"
    figures = {name: sql(f"SELECT count(*) {of} = '{name}'", cells) for name, cells in measured.items()}
    rest = planned - sum(measured.values())
    figures["unmeasured"] = sql(
        f"SELECT (SELECT planned FROM runs WHERE run = {literal(run)}) - (SELECT count(*) {of} <> 'unmeasured')",  # noqa: S608
        rest,
    )
    scale = BAR_WIDTH / max(planned, sum(measured.values()), 1)
    found: list[Segment] = []
    start = 0.0
    for outcome in OUTCOMES:
        width = max(0, int(figures[outcome].value or 0)) * scale
        found.append(Segment(outcome, figures[outcome], round(start, 2), round(width, 2)))
        start += width
    return found
