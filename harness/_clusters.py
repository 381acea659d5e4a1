"""A 95% interval that takes a case, with all its repeats, as the unit: a percentile bootstrap over cases.

A case is an input. Its repeats are its epochs, and its twins: cases that ask the very same input again.

Field and Welsh 2007 ("Bootstrapping clustered data"): whole cases are drawn with replacement. Plain Python with a fixed
seed, so that a report gives the same digits on every machine and no library decides them: what
`random.Random(seed).random()` gives is promised to stay.

Resampling fewer than ten cases, or cases that all agree, gives an interval that is too narrow or has no width at all.
There Wilson's interval stands in, with the number of cases as n: a case's mean lies in [0, 1], and nothing in [0, 1]
varies more than a yes or a no of the same mean.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness._stats import wilson_of_mean

__all__ = [
    "FEWEST", "RESAMPLES", "SEED", "CaseInterval", "InputOfPlace", "Place", "case_interval", "clustered_intervals",
    "has_twins", "interval_by_case", "place_of_case",
]  # fmt: skip

RESAMPLES = 1_000
SEED = 20260701
FEWEST = 10
"""So many cases must there be before they are resampled."""

# A case is known by its place among the cells of its candidate and epoch, also where a cell's body is withheld: a
# plan's cells stand candidate by candidate, epoch by epoch, with the cases in one order. `place_of_case` says the same.
# Places of one input are twins; `InputOfPlace` puts them together.
_VALUES = (
    "SELECT scores.rules AS rules, figure.key AS metric, coalesce(cell.body ->> '$.candidate', ("
    " SELECT candidate FROM cell_candidates AS planned WHERE planned.seq = cell.seq)) AS candidate,"
    " (cell.cell - 1) % max(1, (plan.body ->> '$.cells') / max(1, json_array_length(plan.body, '$.candidates')"
    " * (plan.body ->> '$.epochs'))) AS cluster, max(cell.body ->> '$.input') AS input,"
    " sum(figure.value) AS total, count(*) AS n"
    " FROM scores CROSS JOIN json_each(scores.metrics) AS figure"
    " CROSS JOIN events AS cell ON cell.run = scores.run AND cell.kind = 'cell' AND cell.cell = scores.cell"
    " CROSS JOIN events AS plan ON plan.run = scores.run AND plan.kind = 'plan'"
    " WHERE scores.run = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, min(cell.cell)"
)

_TWINS = (
    "SELECT EXISTS (SELECT 1 FROM events WHERE run = ? AND kind = 'cell' AND body ->> '$.twin' > 0) AS twins"
)  # fmt: skip

Rows = Callable[[str, Sequence[Any]], list[dict[str, Any]]]
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class CaseInterval:
    """The 95% interval over cases. `by` says how: "cases" (resampled) or "cases, wilson" (too few of them, or no
    spread). `resampled` is what resampling alone gives, None where that says nothing. `mean_by_case` is there where
    cases were measured unequally often: the mean in which each counts once, and no part of `low` and `high`."""

    low: float
    high: float
    by: Literal["cases", "cases, wilson"]
    resampled: tuple[float, float] | None
    mean_by_case: float | None = None


def place_of_case(cell: int, *, planned: int, candidates: int, epochs: int) -> int:
    """Which of a plan's cases a cell is of, from 0: the same for every epoch and candidate."""
    return (cell - 1) % max(1, planned // max(1, candidates * epochs))


class InputOfPlace:
    """Which cluster a place among a plan's cases is of: that of its input, as far as any of its cells tells it, else
    one of its own."""

    def __init__(self, told: Iterable[tuple[int, str | None]]) -> None:
        self._inputs = {place: digest for place, digest in told if digest is not None}

    def __getitem__(self, place: int) -> str | int:
        return self._inputs.get(place, place)


def interval_by_case(cases: Sequence[tuple[float, int]]) -> CaseInterval | None:
    """The interval of the mean over cases given as (sum, count) of figures in [0, 1]; None without a case."""
    if not cases:
        return None
    resampled, by_case = case_interval(cases), _by_case(cases)
    if resampled is not None and len(cases) >= FEWEST:
        return CaseInterval(*resampled, "cases", resampled, by_case)
    mean = math.fsum(total for total, _ in cases) / sum(count for _, count in cases)
    return CaseInterval(*wilson_of_mean(min(1.0, max(0.0, mean)), len(cases)), "cases, wilson", resampled, by_case)


def _by_case(cases: Sequence[tuple[float, int]]) -> float | None:
    """The mean in which each case counts once; None where that is the mean of all answers anyway."""
    if len({count for _, count in cases}) < 2:
        return None
    return math.fsum(total / count for total, count in cases) / len(cases)


def case_interval(cases: Sequence[tuple[float, int]]) -> tuple[float, float] | None:
    """The interval of the mean over cases given as (sum, count) of their figures.

    None with fewer than two cases, and where all of them agree: a resample of what has no spread says nothing.
    """
    many = len(cases)
    if many < 2 or len({total / count for total, count in cases}) < 2:
        return None
    draw = random.Random(SEED).random  # noqa: S311 - a resample, no secret
    means: list[float] = []
    for _ in range(RESAMPLES):
        drawn = [cases[int(draw() * many)] for _ in range(many)]
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    tail = RESAMPLES // 40
    return means[tail], means[-tail - 1]


def clustered_intervals(
    rows: Rows, run: str, board: Sequence[Mapping[str, Any]], *, epochs: int
) -> Mapping[Place, CaseInterval]:
    """The interval over cases of each figure of a run's scoreboard that needs one, by (rule set, metric, candidate):
    of every mean, and of every rate in which a case was asked more than once.

    `rows` runs a query over the views; `board` has rows with their rules, metric and kind.
    """
    means = {(row["rules"], row["metric"]) for row in board if row["kind"] == "mean"}
    every = {(row["rules"], row["metric"]) for row in board}
    wanted = every if every != means and (epochs > 1 or has_twins(rows, run)) else means
    if not wanted:
        return {}
    values = rows(_VALUES, (run,))
    inputs = InputOfPlace((row["cluster"], row["input"]) for row in values)
    clusters: dict[Place, dict[str | int, list[tuple[float, int]]]] = {}
    for row in values:
        if (row["rules"], row["metric"]) in wanted:
            place = (row["rules"], row["metric"], row["candidate"])
            mine = clusters.setdefault(place, {}).setdefault(inputs[row["cluster"]], [])
            mine.append((float(row["total"]), int(row["n"])))
    found: dict[Place, CaseInterval] = {}
    for place, cases in clusters.items():
        if epochs > 1 or place[:2] in means or any(len(each) > 1 for each in cases.values()):
            interval = interval_by_case([_together(each) for each in cases.values()])
            if interval is not None:
                found[place] = interval
    return found


def has_twins(rows: Rows, run: str) -> bool:
    """Whether cases of a run ask the very same input."""
    return any(row["twins"] for row in rows(_TWINS, (run,)))


def _together(twins: Sequence[tuple[float, int]]) -> tuple[float, int]:
    return math.fsum(total for total, _ in twins), sum(count for _, count in twins)
