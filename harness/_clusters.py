"""A 95% interval that takes a case, with all its repeats, as the unit: a percentile bootstrap over cases.

Field and Welsh 2007 ("Bootstrapping clustered data"): whole cases are drawn with replacement. Plain Python with a fixed
seed, so that a report gives the same digits on every machine and no library decides them: what
`random.Random(seed).random()` gives is promised to stay.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

__all__ = ["RESAMPLES", "SEED", "case_interval", "clustered_intervals"]

RESAMPLES = 1_000
SEED = 20260701

_VALUES = (
    "SELECT scores.rules AS rules, figure.key AS metric, coalesce(cell.body ->> '$.candidate', ("
    " SELECT candidate FROM cell_candidates AS planned WHERE planned.seq = cell.seq)) AS candidate,"
    " coalesce((cell.body ->> '$.input') || ' ' || (cell.body ->> '$.twin') || ' ' || (cell.body ->> '$.arm'),"
    " 'cell ' || cell.cell) AS cluster, sum(figure.value) AS total, count(*) AS n"
    " FROM scores CROSS JOIN json_each(scores.metrics) AS figure"
    " CROSS JOIN events AS cell ON cell.run = scores.run AND cell.kind = 'cell' AND cell.cell = scores.cell"
    " WHERE scores.run = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, min(cell.cell)"
)

Place = tuple[str, str, str]


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
    rows: Callable[[str, Sequence[Any]], list[dict[str, Any]]], run: str, wanted: Collection[tuple[str, str]]
) -> Mapping[Place, tuple[float, float]]:
    """The interval of each figure by (rule set, metric, candidate), for the (rule set, metric) pairs `wanted`.

    `rows` runs a query over the views.
    """
    if not wanted:
        return {}
    cases: dict[Place, list[tuple[float, int]]] = {}
    for row in rows(_VALUES, (run,)):
        if (row["rules"], row["metric"]) in wanted:
            place = (row["rules"], row["metric"], row["candidate"])
            cases.setdefault(place, []).append((float(row["total"]), int(row["n"])))
    found = {place: case_interval(each) for place, each in cases.items()}
    return {place: interval for place, interval in found.items() if interval is not None}
