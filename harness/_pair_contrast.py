"""Two judges on the same pairs: how often they come to the same outcome, and where they part."""

from __future__ import annotations

from collections.abc import Sequence

from harness._kappa import agreement
from harness._pair_outcomes import JudgedPair, pair_outcomes
from harness.suites._companion import Column, Record, StudyTable

__all__ = ["pair_contrast"]

_MOST_LISTED = 200


def pair_contrast(a: Sequence[Record], b: Sequence[Record]) -> tuple[StudyTable, ...]:
    """Agreement on the outcomes of pairs, and every pair on which the two part; nothing without a pair of both."""
    theirs = {(each.pair, each.epoch): each for each in pair_outcomes(b)}
    both = [
        (each, theirs[each.pair, each.epoch]) for each in pair_outcomes(a) if (each.pair, each.epoch) in theirs
    ]  # fmt: skip
    if not both:
        return ()
    measured = [pair for pair in both if "unmeasured" not in (pair[0].outcome, pair[1].outcome)]
    return (_agreement(measured, len(both)), *_apart(both))


def _agreement(measured: Sequence[tuple[JudgedPair, JudgedPair]], planned: int) -> StudyTable:
    notes: list[str] = []
    said = [(one.outcome, other.outcome) for one, other in measured]
    found = agreement([(str(one), str(other)) for one, other in said])
    if found.why == "one_label":
        notes.append("Kappa is undefined: both came to one and the same outcome throughout.")
    row = (
        found.n, found.agreed, found.share, found.low, found.high, found.kappa, found.kappa_low, found.kappa_high,
        planned,
    )  # fmt: skip
    columns = (
        Column("n", "count"), Column("alike", "count"), Column("share", "percent"), Column("low", "percent"),
        Column("high", "percent"), Column("kappa", "decimal"), Column("kappa low", "decimal"),
        Column("kappa high", "decimal"), Column("pairs of both", "count"),
    )  # fmt: skip
    return StudyTable(
        "Agreement on pairs",
        "The share of pairs with one outcome (Wilson interval), and Cohen's kappa with its 95% interval: of A wins,"
        " B wins, tie and inconsistent, over the pairs that both judges measured.",
        columns, (row,), tuple(notes),
    )  # fmt: skip


def _apart(both: Sequence[tuple[JudgedPair, JudgedPair]]) -> list[StudyTable]:
    rows = [(one.pair, one.case, one.outcome, other.outcome) for one, other in both if one.outcome != other.outcome]
    if not rows:
        return []
    left = len(rows) - _MOST_LISTED
    return [
        StudyTable(
            "Pairs on which the judges part", "Every pair with another outcome for either.",
            tuple(map(Column, ("pair", "case", "judge A says", "judge B says"))), tuple(rows[:_MOST_LISTED]),
            (f"{left} more aren't listed.",) if left > 0 else (),
        )
    ]  # fmt: skip
