"""What rests on withheld evidence: numbers that nobody can derive again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from ledger._store import Ledger

__all__ = ["Resting", "not_reproducible", "rests_on"]

_RESTING = (
    "SELECT resting.seq AS seq, resting.kind AS kind, resting.run AS run, resting.cell AS cell,"
    " CASE WHEN event.kind IN ('score', 'tally') THEN event.body ->> '$.rules' END AS rules,"
    " CASE event.kind WHEN 'publish' THEN event.body ->> '$.to' END AS recipient, event.body IS NULL AS withheld"
    " FROM resting_on_withheld AS resting CROSS JOIN main.events AS event ON event.seq = resting.seq"
    " ORDER BY resting.seq"
)
_GIVEN = {"withheld": "SELECT value AS seq FROM json_each(?1)"}
_NUMBERS = "SELECT candidate, rules, count(*) AS cells FROM not_reproducible WHERE run = ? GROUP BY candidate, rules"


@dataclass(frozen=True, slots=True)
class Resting:
    """An event that rests on others: where it stands, the rule set of a score or tally, the recipient of a publish.

    `withheld` is 1 where its body is gone already.
    """

    seq: int
    kind: str
    run: str
    cell: int
    rules: str | None
    recipient: str | None
    withheld: int


def rests_on(ledger: Ledger, seqs: Iterable[int]) -> list[Resting]:
    """Everything that rests on the events `seqs`, these included, in order of seq: what the view
    `resting_on_withheld` would say if they were withheld."""
    from ledger._views import over_views

    rows = ledger.rows(over_views(_RESTING, _GIVEN), (json.dumps(sorted(set(seqs))),))
    return [Resting(**row) for row in rows]


def not_reproducible(ledger: Ledger, run: str) -> dict[tuple[str | None, str], int]:
    """How many scores that count rest on something withheld, by (candidate, rule set). Empty without redactions."""
    from ledger._views import over_views

    rows = ledger.rows(over_views(_NUMBERS), (run,))
    return {(row["candidate"], str(row["rules"])): int(row["cells"]) for row in rows}
