"""What the requests of a run took: how many, how often again, how long, and what kept them from a whole reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from harness.web._quote import select
from ledger import Ledger, over_views
from ledger.web import Figure, sql

__all__ = ["CandidateTiming", "Timing", "Trouble", "read_timing"]

_ATTEMPTS = (files("harness.web") / "queries" / "attempts.sql").read_text("utf-8")
_WAITS = "SELECT count(*) FROM main.events WHERE run = ? AND kind = 'wait'"
_WAITED = "SELECT total(body ->> '$.seconds') FROM main.events WHERE run = ? AND kind = 'wait'"

_Row = tuple[str | None, int | None, float | None, str | None, str | None]


@dataclass(frozen=True)
class CandidateTiming:
    """One candidate's requests. Times are of the requests that came to an end; None where none did.

    `median` is the lower of the two middle ones where their number is even.
    """

    candidate: str | None
    requests: Figure
    again: Figure
    total: Figure | None
    median: Figure | None
    longest: Figure | None


@dataclass(frozen=True)
class Trouble:
    """A fault that requests ended in, and how many."""

    stage: str | None
    reason: str
    count: Figure


@dataclass(frozen=True)
class Timing:
    """By candidate in order of their first request; the waits between attempts; the faults, the commonest first."""

    candidates: Sequence[CandidateTiming]
    waits: Figure
    waited: Figure
    troubles: Sequence[Trouble]


def read_timing(ledger: Ledger, run: str) -> Timing:
    """Read the view `attempts` for one run."""
    by: dict[str | None, list[_Row]] = {}
    faults: dict[tuple[str | None, str], int] = {}
    for row in ledger.sql(over_views(_ATTEMPTS), (run,)):
        by.setdefault(row[0], []).append(row)
        if row[4] is not None:
            faults[row[3], row[4]] = faults.get((row[3], row[4]), 0) + 1
    ordered = sorted(faults.items(), key=lambda each: (-each[1], each[0][0] or "", each[0][1]))
    (waits,) = ledger.sql(_WAITS, (run,)).fetchone()
    (waited,) = ledger.sql(_WAITED, (run,)).fetchone()
    return Timing(
        [_candidate(run, candidate, rows) for candidate, rows in by.items()],
        sql(select("count(*)", "events", run=run, kind="wait"), waits),
        sql(select("total(body ->> '$.seconds')", "events", run=run, kind="wait"), waited, "decimal"),
        [
            Trouble(
                stage, reason,
                sql(select("count(*)", "attempts", run=run, stage=stage, reason=reason), count),
            )
            for (stage, reason), count in ordered
        ],
    )  # fmt: skip


def _candidate(run: str, candidate: str | None, rows: Sequence[_Row]) -> CandidateTiming:
    # The cells of a candidate, found by what the plan says: also those that a redaction withholds.
    mine = f"cell IN ({select('cell', 'cell_candidates', run=run, candidate=candidate)})"

    def of(what: str, *more: str) -> str:
        return select(what, "attempts", mine, *more, run=run)

    times = sorted(row[2] for row in rows if row[2] is not None)
    again = sum(row[1] is not None and row[1] > 0 for row in rows)
    total = median = longest = None
    if times:
        total = sql(of("sum(total_ms)"), sum(times), "ms")
        middle = f"ORDER BY total_ms LIMIT 1 OFFSET ({of('(count(total_ms) - 1) / 2')})"
        median = sql(f"{of('total_ms', 'total_ms IS NOT NULL')} {middle}", times[(len(times) - 1) // 2], "ms")
        longest = sql(of("max(total_ms)"), times[-1], "ms")
    return CandidateTiming(
        candidate, sql(of("count(*)"), len(rows)), sql(of("count(*)", "attempt > 0"), again), total, median, longest
    )
