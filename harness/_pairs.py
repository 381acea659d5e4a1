"""Two sides of a comparison, paired by case: the same input, arm and twin; never a case's id, which is a label.

What either side lacks is listed with the reason and never filled. Repeats of a case are never paired with one another.
Twins, which ask the very same input again, are paired each with its own; but no figure takes them as independent cases:
`clustered` has them together, as one case with its repeats, in whatever arm each was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ledger import Ledger, over_views

__all__ = [
    "Answer", "CaseKey", "MetricPairs", "Missing", "Pair", "clustered", "metric_pairs", "missing_of", "pair_up",
    "read_side",
]  # fmt: skip

_CELLS = over_views(
    'SELECT cells.cell AS cell, cells."case" AS name, cells.fixture AS fixture, cells.arm AS arm, cells.epoch AS epoch,'
    " cells.twin AS twin, cells.outcome AS outcome, cells.status AS status, cells.stage AS stage,"
    " cells.reason AS reason, cells.value AS value, cells.metrics AS metrics, cells.seq AS seq,"
    " planned.body ->> '$.input' AS input, planned.body ->> '$.gold' AS gold, score.body -> '$.applies' AS applies"
    " FROM cells JOIN main.events AS planned ON planned.seq = cells.seq"
    " LEFT JOIN main.events AS score ON score.seq = cells.score"
    " WHERE cells.run = ? AND cells.rules = ? AND cells.candidate = ? ORDER BY cells.cell"
)


class CaseKey(NamedTuple):
    """What makes two cells the same case: the input's digest, which of its twins, and the arm ("" where the two sides
    were measured in different ones)."""

    input: str
    twin: int
    arm: str


@dataclass(frozen=True)
class Answer:
    """One cell of a side under its rule set. `metrics` holds the figures that are counted; `applies` is None where no
    score says which metrics apply. `key` is None where the cell's body was withheld: nobody can tell its case."""

    cell: int
    key: CaseKey | None
    case: str
    fixture: str
    gold: str
    epoch: int
    outcome: str
    status: str
    stage: str
    reason: str
    metrics: Mapping[str, float]
    applies: frozenset[str] | None


@dataclass(frozen=True)
class Pair:
    """One case with the cells that either side has of it, in order; a side may have none."""

    key: CaseKey
    a: tuple[Answer, ...]
    b: tuple[Answer, ...]

    @property
    def name(self) -> str:
        """What A calls the case (B, where A has none): its fixture and id."""
        first = (self.a or self.b)[0]
        return f"{first.fixture}/{first.case}" + (f" (twin {self.key.twin})" if self.key.twin else "")

    @property
    def other_name(self) -> str:
        """What B calls it, where that is something else; else empty."""
        return f"{self.b[0].fixture}/{self.b[0].case}" if self.a and self.b and _renamed(self) else ""

    @cached_property
    def applies(self) -> frozenset[str] | None:
        """The metrics that apply to the case, as far as any score of either side says."""
        told = [each.applies for each in (*self.a, *self.b) if each.applies is not None]
        return frozenset[str]().union(*told) if told else None

    def values(self, metric: str) -> tuple[list[float], list[float]]:
        """The figures of a metric on either side, one a cell that has one."""
        a, b = ([each.metrics[metric] for each in side if metric in each.metrics] for side in (self.a, self.b))
        return a, b


def _renamed(pair: Pair) -> bool:
    return (pair.a[0].fixture, pair.a[0].case) != (pair.b[0].fixture, pair.b[0].case)


@dataclass(frozen=True)
class Missing:
    """A cell, or a whole case, that one side ("a" or "b") lacks.

    `why` is "not planned", "unmeasured" (then `status`, `stage` and `reason` say how) or "withheld" (a redaction took
    the cell's body, so nobody can tell which case it was). `epoch` is None for a whole case.
    """

    side: str
    case: str
    cell: int | None
    epoch: int | None
    why: str
    status: str = ""
    stage: str = ""
    reason: str = ""
    metrics: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "side": self.side, "case": self.case, "cell": self.cell, "epoch": self.epoch, "why": self.why,
            "status": self.status, "stage": self.stage, "reason": self.reason,
            "metrics": None if self.metrics is None else list(self.metrics),
        }  # fmt: skip


def read_side(ledger: Ledger, run: str, candidate: str, rules: str, *, with_arm: bool = True) -> list[Answer]:
    """Every planned cell of one candidate under one rule set label, in order."""
    return [_answer(row, with_arm=with_arm) for row in ledger.rows(_CELLS, (run, rules, candidate))]


def _answer(row: Mapping[str, Any], *, with_arm: bool) -> Answer:
    key = CaseKey(row["input"], row["twin"], row["arm"] if with_arm else "") if row["input"] is not None else None
    metrics: dict[str, float] = json.loads(row["metrics"] or "{}")
    return Answer(
        cell=row["cell"], key=key, case=row["name"] or "", fixture=row["fixture"] or "", gold=row["gold"] or "",
        epoch=row["epoch"] or 0, outcome=row["outcome"], status=row["status"] or "", stage=row["stage"] or "",
        reason=row["reason"] or "", metrics=metrics,
        applies=None if row["applies"] is None else frozenset(json.loads(row["applies"])),
    )  # fmt: skip


def pair_up(a: Sequence[Answer], b: Sequence[Answer]) -> list[Pair]:
    """The cases of both sides, in A's order, then those that B alone has, in B's."""
    sides: tuple[dict[CaseKey, list[Answer]], dict[CaseKey, list[Answer]]] = ({}, {})
    for side, answers in zip(sides, (a, b), strict=True):
        for answer in answers:
            if answer.key is not None:
                side.setdefault(answer.key, []).append(answer)
    keys = [*sides[0], *(key for key in sides[1] if key not in sides[0])]
    return [Pair(key, tuple(sides[0].get(key, ())), tuple(sides[1].get(key, ()))) for key in keys]


def missing_of(pairs: Sequence[Pair], a: Sequence[Answer], b: Sequence[Answer]) -> list[Missing]:
    """Everything that either side lacks, case by case; then the cells whose case a redaction withholds."""
    found: list[Missing] = []
    for pair in pairs:
        metrics = tuple(sorted(pair.applies)) if pair.applies is not None else None
        for side, answers in (("a", pair.a), ("b", pair.b)):
            if not answers:
                found.append(Missing(side, pair.name, None, None, "not planned", metrics=metrics))
            found += [
                Missing(
                    side, pair.name, each.cell, each.epoch, "unmeasured", each.status, each.stage, each.reason, metrics
                )
                for each in answers
                if each.outcome == "unmeasured"
            ]
    for side, answers in (("a", a), ("b", b)):
        found += [Missing(side, "", each.cell, None, "withheld") for each in answers if each.key is None]
    return found


@dataclass(frozen=True)
class MetricPairs:
    """The cases of one metric that both sides have figures of, and how many they lack.

    `planned` counts the inputs that it applies to on either side. `repeated` says that one was asked more than once: in
    epochs, or as twins.
    `counted_a` and `counted_b` say how many of the figures are unmeasured cells that a policy counts.
    """

    metric: str
    planned: int
    pairs: tuple[Pair, ...]
    repeated: bool
    counted_a: int
    counted_b: int

    def values(self) -> list[tuple[list[float], list[float]]]:
        """The figures of both sides, input by input: those of its twins are together."""
        found: list[tuple[list[float], list[float]]] = []
        for some in clustered(self.pairs):
            sides = [pair.values(self.metric) for pair in some]
            found.append(([each for a, _ in sides for each in a], [each for _, b in sides for each in b]))
        return found


def clustered(pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
    """The pairs of one input together, in the order in which each comes first."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.key.input, []).append(pair)
    return [tuple(some) for some in found.values()]


def metric_pairs(pairs: Sequence[Pair], metric: str) -> MetricPairs:
    """The pairs that a metric has figures of on both sides. A case that no score speaks of isn't among `planned`."""
    mine = [pair for pair in pairs if pair.applies is not None and metric in pair.applies]
    both = tuple(pair for pair in mine if all(pair.values(metric)))
    planned = len(clustered(mine))
    repeated = planned < len(mine) or any(len(pair.a) > 1 or len(pair.b) > 1 for pair in mine)
    counted_a = _counted([each for pair in both for each in pair.a], metric)
    counted_b = _counted([each for pair in both for each in pair.b], metric)
    return MetricPairs(metric, planned, both, repeated, counted_a, counted_b)


def _counted(answers: Sequence[Answer], metric: str) -> int:
    return sum(each.outcome == "unmeasured" and metric in each.metrics for each in answers)
