"""How the answers of a run came about: asked in this run, or taken over; what was accepted on the way, and noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ledger import Ledger

__all__ = ["History", "read_history"]

_ANSWERS = (
    "SELECT cell.body ->> '$.candidate' AS candidate,"
    " sum(EXISTS (SELECT 1 FROM main.events AS asked"
    " WHERE asked.run = cell.run AND asked.kind = 'request' AND asked.cell = cell.cell)) AS fresh,"
    " sum(EXISTS (SELECT 1 FROM main.events AS taken"
    " WHERE taken.run = cell.run AND taken.kind = 'reuse' AND taken.cell = cell.cell)"
    " AND NOT EXISTS (SELECT 1 FROM main.events AS asked"
    " WHERE asked.run = cell.run AND asked.kind = 'request' AND asked.cell = cell.cell)) AS reused"
    " FROM main.events AS cell WHERE cell.run = ? AND cell.kind = 'cell' AND cell.body IS NOT NULL"
    " GROUP BY 1 ORDER BY min(cell.cell)"
)
_ACCEPTS = (
    "SELECT seq, at, body ->> '$.component' AS component, body ->> '$.before' AS before,"
    " body ->> '$.after' AS after, body ->> '$.reason' AS reason"
    " FROM main.events WHERE run = ? AND kind = 'accept' ORDER BY seq"
)
_NOTES = "SELECT seq, at, body ->> '$.text' AS text FROM main.events WHERE run = ? AND kind = 'note' ORDER BY seq"


@dataclass(frozen=True)
class History:
    """`answers` counts, by candidate, the cells asked in the run (`fresh`) and those whose response was taken over
    (`reused`); `accepted` lists the accept events and `notes` what was noted on the run, whose texts are None where
    they were withheld."""

    answers: Sequence[Mapping[str, Any]]
    accepted: Sequence[Mapping[str, Any]]
    notes: Sequence[Mapping[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "answers": [dict(row) for row in self.answers], "accepted": [dict(row) for row in self.accepted],
            "notes": [dict(row) for row in self.notes],
        }  # fmt: skip

    def noted(self) -> list[str]:
        """Each note on the run, with its event."""
        return [
            f"Note (event {row['seq']}): {row['text'] if row['text'] is not None else 'withheld since'}"
            for row in self.notes
        ]

    def sentences(self) -> list[str]:
        """What to say above the run's numbers; nothing for a run that was asked whole, as planned."""
        said = [
            f"REUSED: {row['reused']} cells of {row['candidate']} take over responses of earlier runs;"
            f" {row['fresh']} were asked in this one"
            for row in self.answers
            if row["reused"]
        ]
        for row in self.accepted:
            what = f"{row['component']} moved from {row['before']} to {row['after']}: {row['reason']}"
            said.append(f"ACCEPTED by event {row['seq']}: {what if row['component'] is not None else 'withheld since'}")
        return said


def read_history(ledger: Ledger, run: str) -> History:
    """Read the events of one run."""
    return History(ledger.rows(_ANSWERS, (run,)), ledger.rows(_ACCEPTS, (run,)), ledger.rows(_NOTES, (run,)))
