"""What has become known of a report since the event that it stops at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness._replaced import replaced, replaced_words
from harness._report_data import AsOf, Data
from ledger import Ledger, over_views

__all__ = ["Since", "later", "redacted_since", "withheld_since"]

_WHAT = (
    'SELECT seq, "by", category, reason FROM supersessions WHERE in_force AND what = ? AND id = ?'
    " ORDER BY seq DESC LIMIT 1"
)
_CORRECTED = "SELECT seq FROM main.events WHERE kind = 'report' AND body ->> '$.corrects' = ? ORDER BY seq DESC LIMIT 1"
_REACHED = (
    "SELECT DISTINCT taints.seq AS seq, taints.what AS what, taints.id AS id, taints.reason AS reason"
    " FROM tainted_events CROSS JOIN taints ON taints.seq = tainted_events.taint"
    " WHERE tainted_events.seq = ? ORDER BY 1"
)
_NUMBERS = (
    "SELECT DISTINCT taints.seq AS seq, taints.what AS what, taints.id AS id, taints.reason AS reason,"
    " found.candidate AS candidate, found.rules AS rules"
    " FROM tainted_numbers AS found CROSS JOIN taints ON taints.seq = found.taint WHERE found.run = ? ORDER BY 1"
)
_UNTOLD = (
    "SELECT candidate, rules, count(*) AS cells FROM not_reproducible WHERE run = ? GROUP BY candidate, rules"
    " ORDER BY candidate, rules"
)
_REDACTS = "SELECT DISTINCT redact FROM withheld WHERE redact > ? ORDER BY redact"
_RULES = "SELECT rules, standing FROM rule_standing WHERE run = ? ORDER BY rules"
_MORE = (
    "SELECT sum(kind = 'request') AS asked, sum(kind = 'score') AS scored FROM main.events WHERE run = ? AND seq > ?"
)
_CLEARED = "SELECT seq, cleared_by FROM taints WHERE cleared_by IS NOT NULL"
_UNDER = (
    "SELECT count(*) AS scored FROM main.events WHERE run = ? AND kind = 'score' AND seq > ? AND body ->> '$.rules' = ?"
)

What = Literal[
    "run superseded", "report superseded", "report corrected", "basis superseded", "tainted", "withheld", "rules",
    "went on", "cleared",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Since:
    """One thing that came after. `bad` says that the report can't stand as it is any more."""

    what: What
    event: int | None
    says: str
    by: str | None = None
    bad: bool = False

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"what": self.what, "event": self.event, "by": self.by, "says": self.says, "bad": self.bad}


def later(ledger: Ledger, data: Data, size: int, report: int | None) -> list[Since]:
    """What came after event `size` of the run and of the report event (None where no event records it)."""
    run = str(data["run"]["id"])
    labels = [str(row["rules"]) for row in data["rules"]]
    return [
        *_superseded(ledger, data, run, report),
        *_tainted(ledger, data, run, labels, report),
        *_withheld(ledger, run, labels, size),
        *_went_on(ledger, data, run, labels, size),
    ]


def _superseded(ledger: Ledger, data: Data, run: str, report: int | None) -> list[Since]:
    found: list[Since] = []
    then = data["superseded"]["event"] if data["superseded"] else None
    for row in ledger.rows(over_views(_WHAT), ("run", run)):
        if row["seq"] != then:
            found.append(_said("run superseded", f"run {run}", row))
    found += _basis_superseded(ledger, data, run)
    if report is None:
        return found
    rows = ledger.rows(over_views(_WHAT), ("report", str(report)))
    found += [_said("report superseded", f"this report (event {report})", row) for row in rows]
    if not rows:
        for row in ledger.rows(_CORRECTED, (report,)):
            says = f"event {row['seq']} corrects this report (event {report})"
            found.append(Since("report corrected", row["seq"], says, str(row["seq"]), bad=True))
    return found


def _basis_superseded(ledger: Ledger, data: Data, run: str) -> list[Since]:
    known = {row["event"] for row in data.get("rests_on_superseded", [])}

    def rows(query: str, parameters: Sequence[Any]) -> list[dict[str, Any]]:
        return ledger.rows(over_views(query), parameters)

    freezes = [row["seq"] for row in data.get("frozen", [])]
    fresh = [row for row in replaced(rows, run, freezes) if row["event"] not in known]
    names = [f"{replaced_words(row)[0]}, which these numbers rest on," for row in fresh]
    rows_of = ({**row, "seq": row["event"]} for row in fresh)
    return [_said("basis superseded", name, row) for name, row in zip(names, rows_of, strict=True)]


def _said(what: What, name: str, row: Mapping[str, Any]) -> Since:
    how = f"by {row['by']}" if row["by"] else "without a successor"
    says = f"{name} was superseded {how} (event {row['seq']}, {row['category']}): {row['reason']}"
    return Since(what, row["seq"], says, row["by"], bad=True)


def _tainted(ledger: Ledger, data: Data, run: str, labels: Sequence[str], report: int | None) -> list[Since]:
    known = {row["event"] for row in data["taints"]}
    candidates = set(data["run"]["candidates"])
    reached = [
        row for row in ledger.rows(over_views(_NUMBERS), (run,))
        if row["candidate"] in {None, *candidates} and row["rules"] in {None, *labels}
    ]  # fmt: skip
    if report is not None:
        reached += ledger.rows(over_views(_REACHED), (report,))
    found = {
        row["seq"]: Since(
            "tainted", row["seq"],
            f"a taint reaches these numbers (event {row['seq']}, {row['what']}:{row['id']}): {row['reason']}", bad=True,
        )
        for row in reached if row["seq"] not in known
    }  # fmt: skip
    cleared = {row["seq"]: row["cleared_by"] for row in ledger.rows(over_views(_CLEARED))}
    gone = [
        Since("cleared", cleared[seq], f"taint {seq}, which the report names, was cleared by event {cleared[seq]}")
        for seq in sorted(known & set(cleared))
    ]
    return [*(found[seq] for seq in sorted(found)), *gone]


def redacted_since(ledger: Ledger, size: int) -> list[int]:
    """The seqs of the redactions after event `size` that withhold something."""
    return [int(row["redact"]) for row in ledger.rows(over_views(_REDACTS), (size,))]


def withheld_since(ledger: Ledger, run: str, labels: Sequence[str], size: int) -> dict[tuple[str | None, str], int]:
    """How many scores that count rest on what was withheld after event `size`, by (candidate, rule set)."""
    if not redacted_since(ledger, size):
        return {}
    then = {(row["candidate"], row["rules"]): row["cells"] for row in AsOf(ledger, size).rows(_UNTOLD, (run,))}
    now = {(row["candidate"], row["rules"]): row["cells"] for row in ledger.rows(over_views(_UNTOLD), (run,))}
    return {
        place: cells - then.get(place, 0) for place, cells in now.items()
        if place[1] in labels and cells > then.get(place, 0)
    }  # fmt: skip


def _withheld(ledger: Ledger, run: str, labels: Sequence[str], size: int) -> list[Since]:
    events = ", ".join(map(str, redacted_since(ledger, size)))
    return [
        Since(
            "withheld", None,
            f"{cells} of the scores of {candidate} under {rules} rest on what was withheld since (event {events}):"
            " not reproducible", bad=True,
        )
        for (candidate, rules), cells in withheld_since(ledger, run, labels, size).items()
    ]  # fmt: skip


def _went_on(ledger: Ledger, data: Data, run: str, labels: Sequence[str], size: int) -> list[Since]:
    known = {*labels, *(row["rules"] for row in data.get("other_rules", []))}
    found = [
        Since("rules", None, f"the run was read under another rule set since: {row['rules']} ({row['standing']})")
        for row in ledger.rows(over_views(_RULES), (run,))
        if row["rules"] not in known
    ]
    (more,) = ledger.rows(_MORE, (run, size))
    if more["asked"]:
        found.append(Since("went on", None, f"the run went on: {more['asked']} requests came after event {size}"))
    for label in labels:
        (under,) = ledger.rows(_UNDER, (run, size, label))
        if under["scored"]:
            count = f"{under['scored']} scores came under {label} after event {size}"
            says = f"{count}: the run's own numbers may be others now"
            found.append(Since("went on", None, says))
    return found
