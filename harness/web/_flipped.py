"""Which cases went which way in a comparison, with what either side read of them, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._attribution import Stand, stands_recorded
from harness._compare import Compared
from harness._contrast import CaseFlip
from harness._sides import Side
from ledger.web import Figure, Source, View

__all__ = ["Glimpse", "Turn", "Turned", "turned"]

_PER_PAGE = 20
_FREEZES = "SELECT seq FROM main.events WHERE kind = 'freeze'"


@dataclass(frozen=True)
class Glimpse:
    """One cell of one side: how it ended, and what was read of it (`value` as JSON text, None without one)."""

    run: str
    cell: int
    rules: str
    outcome: str
    status: str
    reason: str
    value: str | None


@dataclass(frozen=True)
class Turn:
    """One case that differs: the figures of either side, and its cells there. `stage` is what moved it, for two rule
    sets of one run."""

    case: str
    other_name: str
    a: Sequence[Figure]
    b: Sequence[Figure]
    cells_a: Sequence[Glimpse]
    cells_b: Sequence[Glimpse]
    stage: str = ""


@dataclass(frozen=True)
class Turned:
    """A page of the cases that differ in `metric`. `metrics` names those that can be chosen, each with how many."""

    metric: str
    metrics: Sequence[tuple[str, int]]
    turns: Sequence[Turn]
    page: int
    pages: int


def turned(view: View, source: Source, at: int, pair: Compared) -> Turned | None:
    """The cases that differ, of the metric and on the page that the address names; None where no case does.

    Raises PageMissing for a page that there isn't.
    """
    counts = _by_stage(pair) if pair.duel.mode == "rules" else {each.metric: len(each.flips) for each in pair.metrics}
    metrics = [(name, count) for name, count in counts.items() if count]
    if not metrics:
        return None
    wanted = view.first("metric")
    metric = wanted if counts.get(wanted) else metrics[0][0]
    pages = -(-counts[metric] // _PER_PAGE)
    page = view.number("page", 1, least=1, most=pages)
    some = range((page - 1) * _PER_PAGE, min(counts[metric], page * _PER_PAGE))
    find = _moved if pair.duel.mode == "rules" else _differ
    return Turned(metric, metrics, find(view, source, f"/comparisons/{at}", pair, metric, some), page, pages)


def _by_stage(pair: Compared) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for each in pair.stages:
        found[each["metric"]] = found.get(each["metric"], 0) + 1
    return found


def _differ(
    view: View, source: Source, here: str, pair: Compared, metric: str, some: Sequence[int]
) -> list[Turn]:  # fmt: skip
    place = next(place for place, each in enumerate(pair.metrics) if each.metric == metric)
    flips = [(at, pair.metrics[place].flips[at]) for at in some]
    sides = pair.duel.a, pair.duel.b
    ours, theirs = ([cell for _, each in flips for cell in cells(each)] for cells in (_cells_a, _cells_b))
    stands = _stands(view, sides[0], ours), _stands(view, sides[1], theirs)

    def values(at: int, side: str, figures: Sequence[float]) -> list[Figure]:
        where = f"{here}/metrics/{place}/flips/{at}/{side}"
        return [source.at(f"{where}/{number}", value, "plain") for number, value in enumerate(figures)]

    return [
        Turn(
            each.case, each.other_name, values(at, "a", each.a), values(at, "b", each.b),
            _glimpses(sides[0], each, stands[0], first=True), _glimpses(sides[1], each, stands[1], first=False),
        )
        for at, each in flips
    ]  # fmt: skip


def _cells_a(flip: CaseFlip) -> tuple[int, ...]:
    return flip.cells_a


def _cells_b(flip: CaseFlip) -> tuple[int, ...]:
    return flip.cells_b


def _stands(view: View, side: Side, cells: Sequence[int]) -> Mapping[int, Stand]:
    freezes = frozenset(int(seq) for (seq,) in view.ledger.sql(_FREEZES).fetchall())
    found = stands_recorded(view.ledger, side.run, cells, {side.rules}, freezes)
    return {cell: stand for (cell, _), stand in found.items()}


def _glimpses(side: Side, flip: CaseFlip, stands: Mapping[int, Stand], *, first: bool) -> list[Glimpse]:
    cells, outcomes = (flip.cells_a, flip.outcomes_a) if first else (flip.cells_b, flip.outcomes_b)
    found: list[Glimpse] = []
    for cell, outcome in zip(cells, outcomes, strict=True):
        stand = stands.get(cell)
        parse = stand.parse if stand is not None else None
        found.append(
            Glimpse(
                side.run, cell, side.rules, outcome.partition(" ")[0],
                parse.status if parse is not None else stand.score.status if stand is not None else "",
                parse.reason if parse is not None else stand.score.reason if stand is not None else "",
                parse.value if parse is not None else None,
            )
        )  # fmt: skip
    return found


def _moved(
    view: View, source: Source, here: str, pair: Compared, metric: str, some: Sequence[int]
) -> list[Turn]:  # fmt: skip
    """The cells of one run that a rule set moves, each with the stage that moved it and its switches."""
    mine = [(at, each) for at, each in enumerate(pair.stages) if each["metric"] == metric]
    return [_turn(source, f"{here}/flips/{at}", pair, each) for at, each in (mine[number] for number in some)]


def _turn(source: Source, here: str, pair: Compared, flip: Mapping[str, Any]) -> Turn:
    a, b = (
        Glimpse(side.run, flip["cell"], side.rules, "", read["status"], read["reason"], read["value"])
        for side, read in ((pair.duel.a, flip["reading_before"]), (pair.duel.b, flip["reading_after"]))
    )
    before, after = (source.at(f"{here}/{name}", flip[name], "plain") for name in ("before", "after"))
    return Turn(flip["case"], "", [before], [after], [a], [b], flip["stage"])
