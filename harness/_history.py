"""How the answers of a run came about: asked in this run, or taken over; what was accepted on the way, and noted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness._environment import Shift, moved_environment, named_shifts, shifts_in_words
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
# Plans that the answers taken over were recorded under, and this run's own first.
_PLANS = (
    "SELECT plan.run AS run, plan.body ->> '$.environment' AS environment FROM main.events AS plan"
    " WHERE plan.kind = 'plan' AND plan.body IS NOT NULL AND plan.run IN (SELECT ?1 UNION"
    " SELECT origin.run FROM main.events AS reuse CROSS JOIN json_each(reuse.causes) AS cause"
    " CROSS JOIN main.events AS origin ON origin.seq = cause.value AND origin.kind = 'response'"
    " WHERE reuse.run = ?1 AND reuse.kind = 'reuse') ORDER BY plan.run <> ?1, plan.seq"
)
_NOTES = "SELECT seq, at, body ->> '$.text' AS text FROM main.events WHERE run = ? AND kind = 'note' ORDER BY seq"


@dataclass(frozen=True)
class History:
    """`answers` counts, by candidate, the cells asked in the run (`fresh`) and those whose response was taken over
    (`reused`); `accepted` lists the accept events and `notes` what was noted on the run, whose texts are None where
    they were withheld. `elsewhere` has, by run, what moved in the environment since answers of it that were taken over
    came: they are read and scored anew, so it says nothing against a figure."""

    answers: Sequence[Mapping[str, Any]]
    accepted: Sequence[Mapping[str, Any]]
    notes: Sequence[Mapping[str, Any]] = ()
    elsewhere: Mapping[str, Sequence[Shift]] = field(default_factory=dict[str, Sequence[Shift]])

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "answers": [dict(row) for row in self.answers], "accepted": [dict(row) for row in self.accepted],
            "notes": [dict(row) for row in self.notes],
            "elsewhere": {run: [each.as_json() for each in shifts] for run, shifts in self.elsewhere.items()},
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
        said += [
            f"ENVIRONMENT: answers of run {run} were recorded in another one ({shifts_in_words(shifts)}); they were"
            " read and scored anew in this run's"
            for run, shifts in self.elsewhere.items()
        ]
        for row in self.accepted:
            what = f"{row['component']} moved from {row['before']} to {row['after']}: {row['reason']}"
            said.append(f"ACCEPTED by event {row['seq']}: {what if row['component'] is not None else 'withheld since'}")
        return said


def read_history(ledger: Ledger, run: str) -> History:
    """Read the events of one run."""
    return History(
        ledger.rows(_ANSWERS, (run,)), ledger.rows(_ACCEPTS, (run,)), ledger.rows(_NOTES, (run,)),
        _elsewhere(ledger, run),
    )  # fmt: skip


def _elsewhere(ledger: Ledger, run: str) -> dict[str, Sequence[Shift]]:
    first, *others = [
        (str(row["run"]), json.loads(row["environment"])) for row in ledger.rows(_PLANS, (run,))
    ] or [("", {})]  # fmt: skip
    moved = {other: named_shifts(moved_environment(there, first[1])) for other, there in others}
    return {other: shifts for other, shifts in moved.items() if shifts}
