"""A gate's verdict as an event: what was held to what, how it ended, and the tallies that its figures come from.

A ledger that can't be written keeps no verdict; that is said, and the verdict stands all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness._answer_marks import candidate_marks
from harness._gate import Gate as MarginGate
from harness._gate_outcomes import worst_of
from harness._report import RunReport
from harness._typed import typed
from ledger import Draft, Ledger, LedgerError, printable
from ledger.kinds import Gate, Tally

__all__ = ["NOT_RECORDED", "Decision", "bars_draft", "margin_draft", "record", "record_bars"]

NOT_RECORDED = "The verdict is not recorded, as --no-record asks."

_TALLIES = (
    "SELECT tally.seq AS seq, tally.body AS body FROM main.events AS tally WHERE tally.run = ? AND tally.kind = 'tally'"
    " AND NOT EXISTS (SELECT 1 FROM main.events AS later WHERE later.run = tally.run AND later.kind = 'tally'"
    " AND later.seq > tally.seq AND later.body ->> '$.rules' = tally.body ->> '$.rules') ORDER BY tally.seq"
)
_PLAN = "SELECT seq FROM main.events WHERE run = ? AND kind = 'plan'"
_OF_BARS: Mapping[str, str] = {"met": "pass", "failed": "fail"}


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a verdict: its event, or None and `sentence` says why there is none."""

    event: int | None
    sentence: str


def margin_draft(ledger: Ledger, found: MarginGate) -> Draft:
    """The event of a run that was held against another."""
    ours, theirs = _Newest(ledger, found.run), _Newest(ledger, found.against)
    results = [
        {
            **each.as_json(), **ours.figure("", each.rules, each.candidate, each.metric),
            **theirs.figure("against_", each.rules, each.against, each.metric),
        }
        for each in found.results
    ]  # fmt: skip
    return _draft(
        "margin", found.run, found.suite, found.outcome, results, [ours, theirs], against=found.against, tag=found.tag,
        margin=str(found.margin), lenient=found.lenient,
    )  # fmt: skip


def bars_draft(ledger: Ledger, found: RunReport) -> Draft:
    """The event of a run that was held to the bars of its rule sets. One that can't be read is no pass."""
    ours = _Newest(ledger, found.run)
    results: list[dict[str, Any]] = [
        {
            **each, "outcome": _OF_BARS.get(each["status"], "inconclusive"),
            **ours.figure("", each["rules"], each["candidate"], each["metric"]),
        }
        for each in found.data["bars"]
    ]  # fmt: skip
    results += [{**each, "outcome": "inconclusive"} for each in found.data["bars_unread"]]
    outcome = "incomplete" if found.gate() == 3 else worst_of([each["outcome"] for each in results])
    return _draft("bars", found.run, found.data["run"]["suite"], outcome, results, [ours])


def record_bars(db: Path, found: RunReport) -> Decision:
    """Append the verdict of a run that was held to its bars, as `record` does."""
    with Ledger.open(db, read_only=True) as ledger:
        draft = bars_draft(ledger, found)
    return record(db, draft)


def record(db: Path, draft: Draft) -> Decision:
    """Append a verdict. Never raises for a ledger that can't be written: the verdict stands without its event."""
    try:
        with Ledger.open(db) as ledger:
            (event,) = ledger.append(draft)
    except (LedgerError, OSError) as problem:
        return Decision(None, f"The verdict is not recorded: {printable(str(problem))}")
    return Decision(event.seq, f"Recorded as event {event.seq} of {printable(str(db))}.")


class _Newest:
    """The newest tally of a run under each rule set; where there is none yet, the run's figures rest on its plan."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        rows = ledger.rows(_TALLIES, (run,))
        self._ledger, self._run = ledger, run
        self._by_rules = {
            tally.rules: (int(row["seq"]), tally)
            for row in rows
            for tally in (typed(Tally, row["body"], f"event {row['seq']}"),)
        }
        self._plan = int(ledger.rows(_PLAN, (run,))[0]["seq"])

    def figure(self, prefix: str, rules: str, candidate: str, metric: str) -> dict[str, Any]:
        """What the tally under these rules says of a candidate's metric, and which it is; null where it says nothing.

        A gate's own figures are over the cases that it holds against each other; these are over all of them.
        """
        seq, tally = self._by_rules.get(rules, (None, None))
        found = next(
            (each for each in (tally.metrics if tally else ()) if (each.candidate, each.metric) == (candidate, metric)),
            None,
        )
        figures = (found.k, found.n, found.planned) if found else (None, None, None)
        marks = "; ".join(candidate_marks(self._ledger, self._run, candidate, [rules]))
        return {
            f"{prefix}{name}": value
            for name, value in zip(("tally", "k", "n", "planned", "marks"), (seq, *figures, marks), strict=True)
        }

    def causes(self, rules: Iterable[str]) -> set[int]:
        """The tallies under these rule sets, else the plan."""
        return {self._by_rules[each][0] for each in rules if each in self._by_rules} or {self._plan}


def _draft(
    what: Literal["margin", "bars"], run: str, suite: str, outcome: Any, results: list[dict[str, Any]],
    sides: Iterable[_Newest], *, against: str = "", tag: str = "", margin: str = "", lenient: bool = False,
) -> Draft:  # fmt: skip
    rules = {str(each["rules"]) for each in results}
    body = Gate(
        what=what, run=run, against=against, tag=tag, suite=suite, margin=margin, lenient=lenient, outcome=outcome,
        results=json.loads(json.dumps(results)),
    )  # fmt: skip
    return Draft(body, causes=sorted({seq for side in sides for seq in side.causes(rules)}))
