"""What rests on a target: every run, score and report, every release decision, and everybody a report was published to.

The question is the one that the view `tainted_events` answers for the taints in force, asked about any target.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ledger._standing import standing_of_runs
from ledger._store import Ledger
from ledger._targets import Found
from ledger._views import over_views

__all__ = ["Impact", "impact_of"]

_ONE_TARGET = {"taints_in_force": "SELECT 0 AS seq, '' AS at, ?1 AS what, ?2 AS id, '' AS reason"}
_REACHED = over_views("SELECT seq, kind, run FROM tainted_events", _ONE_TARGET)
_RUNS = (
    "SELECT run, body ->> '$.name' AS name, body ->> '$.suite' AS suite, seq AS plan, at AS opened_at"
    " FROM main.events WHERE kind = 'plan' AND run IN (SELECT value FROM json_each(?)) ORDER BY seq"
)
_SCORES = (
    "SELECT score.seq AS seq, score.run AS run, score.cell AS cell, cell.body ->> '$.case' AS \"case\","
    " cell.body ->> '$.candidate' AS candidate, score.body ->> '$.rules' AS rules,"
    " score.body ->> '$.outcome' AS outcome"
    " FROM json_each(?) AS wanted CROSS JOIN main.events AS score ON score.seq = wanted.value"
    " LEFT JOIN main.events AS cell ON cell.run = score.run AND cell.kind = 'cell' AND cell.cell = score.cell"
)
_TALLIES = (
    "SELECT seq, run, body ->> '$.rules' AS rules FROM main.events"
    " WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)
_REPORTS = over_views(
    "SELECT reports.seq AS seq, reports.at AS at, reports.run AS run, format, digest, superseded, superseded_by,"
    " events.causes AS causes FROM reports JOIN main.events AS events ON events.seq = reports.seq"
    " WHERE reports.seq IN (SELECT value FROM json_each(:seqs))",
    {"tainted_events": "SELECT 0 AS taint, 0 AS seq, '' AS kind, '' AS run, 0 AS cell"},
)
_PUBLISHED = (
    "SELECT seq, at, body ->> '$.report' AS report, body ->> '$.to' AS \"to\", causes FROM main.events"
    " WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)
_GATES = (
    "SELECT seq, at, body ->> '$.run' AS run, body ->> '$.against' AS against, body ->> '$.what' AS what,"
    " body ->> '$.margin' AS margin, body ->> '$.outcome' AS outcome, body -> '$.lenient' = 'true' AS lenient, causes"
    " FROM main.events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Impact:
    """What rests on `target`. Each row is plain data:

    `runs`: run, name, suite, plan, superseded, superseded_by, scores (how many of the run's rest on it)
    `scores`: seq, run, cell, case, candidate, rules, outcome      `tallies`: seq, run, rules
    `reports`: seq, run, format, digest, superseded, superseded_by, and `rests_on`, seqs of the tallies and scores
    among its causes that are listed here      `published`: seq, report, to (None where it is withheld)
    `gates`, the release decisions: seq, at, run, against, what, margin, outcome, lenient (None where it is withheld),
    and `rests_on` as reports have it
    `events` counts everything that was reached, the target's own events among it.
    """

    target: Found
    events: int
    runs: Sequence[Row]
    scores: Sequence[Row]
    tallies: Sequence[Row]
    reports: Sequence[Row]
    published: Sequence[Row]
    gates: Sequence[Row]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "target": {"what": self.target.target.what, "id": self.target.target.id},
            "events": self.events,
            "runs": [dict(row) for row in self.runs],
            "scores": [dict(row) for row in self.scores],
            "tallies": [dict(row) for row in self.tallies],
            "reports": [dict(row) for row in self.reports],
            "published": [dict(row) for row in self.published],
            "gates": [dict(row) for row in self.gates],
        }


def impact_of(ledger: Ledger, target: Found) -> Impact:
    """Everything in this ledger that rests on the target."""
    by_kind: dict[str, list[int]] = {}
    runs: set[str] = set()
    reached = ledger.sql(_REACHED, (target.target.what, target.target.id)).fetchall()
    for seq, kind, run in reached:
        by_kind.setdefault(kind, []).append(seq)
        runs.add(run)

    def seqs(kind: str) -> str:
        return json.dumps(sorted(by_kind.get(kind, [])))

    scores = ledger.rows(_SCORES, (seqs("score"),))
    tallies = ledger.rows(_TALLIES, (seqs("tally"),))
    reports = ledger.rows(_REPORTS, {"seqs": seqs("report")}) if "report" in by_kind else []
    listed = {row["seq"] for row in (*scores, *tallies)}
    gates = ledger.rows(_GATES, (seqs("gate"),))
    for row in gates:
        row["lenient"] = None if row["lenient"] is None else bool(row["lenient"])
    for row in (*reports, *gates):
        row["rests_on"] = [cause for cause in json.loads(row.pop("causes")) if cause in listed]
    for row in reports:
        row["superseded"] = bool(row["superseded"])
    published = ledger.rows(_PUBLISHED, (seqs("publish"),))
    known = {row["seq"] for row in reports}
    for row in published:
        causes = json.loads(row.pop("causes"))
        # A withheld body says no more which report it was: the line does.
        row["report"] = row["report"] or next((cause for cause in causes if cause in known), None)
    return Impact(target, len(reached), _runs(ledger, runs, scores), scores, tallies, reports, published, gates)


def _runs(ledger: Ledger, runs: set[str], scores: Sequence[Row]) -> list[dict[str, Any]]:
    per_run: dict[str, int] = {}
    for row in scores:
        per_run[row["run"]] = per_run.get(row["run"], 0) + 1
    standing = standing_of_runs(ledger, taints=False)
    found = ledger.rows(_RUNS, (json.dumps(sorted(runs - {""})),))
    for row in found:
        stands = standing.get(row["run"])
        row["superseded"] = stands is not None and stands.superseded is not None
        row["superseded_by"] = stands.by if stands else None
        row["scores"] = per_run.get(row["run"], 0)
    return found
