"""Events that derive well enough, and have no place in their run: cells that the plan hasn't and what was derived for
them, scores of a run that has no plan, and responses taken over from a cell of another identity.
"""

from __future__ import annotations

from harness._replay_compare import Difference
from ledger import Ledger

__all__ = ["strays_of", "unplanned_runs"]

_STRAYS = (
    "SELECT seq, kind, cell, CASE kind WHEN 'cell' THEN '' ELSE body ->> '$.rules' END FROM main.events"
    " WHERE run = ?1 AND kind IN ('cell', 'parse', 'confirm', 'score') AND cell > ?2"
    " UNION ALL SELECT seq, kind, cell, body ->> '$.rules' FROM main.events"
    " WHERE run = ?1 AND kind = 'tally' AND ?2 = 0 ORDER BY seq"
)
_UNPLANNED = (
    "SELECT DISTINCT run FROM main.events WHERE kind IN ('cell', 'parse', 'confirm', 'score', 'tally')"
    " AND run NOT IN (SELECT run FROM main.events WHERE kind = 'plan')"
)
# A response of another ledger is no cause; what was withheld can't be held against anything.
_REUSED = (
    "SELECT reuse.seq, reuse.cell, coalesce(mine.body ->> '$.case', ''), theirs.body ->> '$.identity',"
    " mine.body ->> '$.identity' FROM main.events AS reuse"
    " CROSS JOIN json_each(reuse.causes) AS cause"
    " CROSS JOIN main.events AS origin ON origin.seq = cause.value AND origin.kind = 'response'"
    " JOIN main.events AS mine ON mine.run = reuse.run AND mine.kind = 'cell' AND mine.cell = reuse.cell"
    " JOIN main.events AS theirs ON theirs.run = origin.run AND theirs.kind = 'cell' AND theirs.cell = origin.cell"
    " WHERE reuse.run = ? AND reuse.kind = 'reuse' AND mine.body IS NOT NULL AND theirs.body IS NOT NULL"
    " AND theirs.body ->> '$.identity' <> mine.body ->> '$.identity' ORDER BY reuse.seq"
)


def strays_of(ledger: Ledger, run: str, planned: int) -> tuple[Difference, ...]:
    """The strays of a run whose plan has so many cells (0: it has no plan), in order of their events."""
    of = f"one of the {planned} planned" if planned else "a run with a plan"
    found = [
        Difference(run, cell, "", kind, label or "", seq, (("cell", str(cell), of),))
        for seq, kind, cell, label in ledger.sql(_STRAYS, (run, planned))
    ]
    found += [
        Difference(run, cell, case, "reuse", "", seq, (("identity", str(theirs)[:12], str(mine)[:12]),))
        for seq, cell, case, theirs, mine in ledger.sql(_REUSED, (run,))
    ]
    return tuple(sorted(found, key=lambda each: each.seq))


def unplanned_runs(ledger: Ledger) -> list[str]:
    """Runs that have cells or numbers, and no plan."""
    return [run for (run,) in ledger.sql(_UNPLANNED)]
