"""From what came of asking to events: the parse, confirm and score drafts of one cell under each rule set.

A run makes them after asking and a rescore makes them alone, through this one function, so that both leave the same
events with the same causes:

    parse     the rule set's freeze, and the evidence (response, import, reuse)
    confirm   the parse
    score     the cell, and the last of those; without a response, the evidence (fault); with nothing at all, the freeze
    fault     (harness, internal) in the place of parse and confirm, where our own code failed: freeze and evidence
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness._derive import Derived, Read, Reply, derive_read, read_and_check, unmeasured_score
from harness._outcomes import Status
from harness._outcomes import reason as known_reason
from harness._rules import RuleSet
from harness._suite import Ask, Case
from harness.parse import ReadRules
from harness.suites import Stages
from ledger import Draft, Earlier, Prepared, Salts
from ledger.kinds import Fault, Score

__all__ = ["Spot", "derivations", "score_without_reply", "unmeasured"]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where derived events belong: run and cell, the cell's own event, and the event that holds the evidence."""

    run: str
    cell: int
    planned: int | Earlier
    evidence: int | Earlier


def derivations(
    reply: Reply, spot: Spot, *, ask: Ask, stages: Stages, case: Case, rules: Sequence[RuleSet],
    frozen: Mapping[str, int], position: int = 0, salts: Salts | None = None,
) -> tuple[list[Prepared], list[Score]]:  # fmt: skip
    """What a reply comes to under each rule set, ready to be appended, and the scores among it, one for each.

    `frozen` has the seq of each rule set's freeze by label; the first event stands at `position` of its append. What
    our own code can't do is an outcome of the cell, by name. Rule sets that read alike share one reading.
    """
    events: list[Prepared] = []
    scores: list[Score] = []
    readings: dict[ReadRules, Read] = {}
    salts = salts or Salts(4 * len(rules))
    for each in rules:
        at = position + len(events)
        try:
            read = readings.get(each.read)
            if read is None:
                read = readings[each.read] = read_and_check(reply, ask=ask, stages=stages, rules=each.read)
            derived = derive_read(read, stages=stages, case=case, rules=each)
            score = derived.score
            made = [draft.prepared(salts) for draft in _drafts(derived, spot, frozen[each.label], at)]
        except Exception as problem:  # noqa: BLE001  a fault in our own code is an outcome of the cell, by name
            score = unmeasured(each, stages, case, "error", "internal")
            made = [draft.prepared(salts) for draft in _failed(spot, each, score, frozen[each.label], problem, at)]
        events += made
        scores.append(score)
    return events, scores


def _drafts(derived: Derived, spot: Spot, freeze: int, at: int) -> list[Draft]:
    run, cell = spot.run, spot.cell
    drafts: list[Draft] = []
    last: int | Earlier = spot.evidence
    if derived.parse is not None:
        drafts.append(
            Draft(derived.parse, run=run, cell=cell, causes=[freeze, spot.evidence], blobs=derived.parse_blobs)
        )
        last = Earlier(at)
    if derived.confirm is not None:
        drafts.append(Draft(derived.confirm, run=run, cell=cell, causes=[last]))
        last = Earlier(at + 1)
    drafts.append(Draft(derived.score, run=run, cell=cell, causes=[spot.planned, last]))
    return drafts


def _failed(spot: Spot, rules: RuleSet, score: Score, freeze: int, problem: Exception, at: int) -> list[Draft]:
    fault = Fault(
        attempt=None, turn=None, stage="harness", reason="internal", domain="harness",
        detail=f"deriving under {rules.label}: {problem!a}"[:2000], total_ms=None,
    )  # fmt: skip
    return [
        Draft(fault, run=spot.run, cell=spot.cell, causes=[freeze, spot.evidence]),
        Draft(score, run=spot.run, cell=spot.cell, causes=[spot.planned, Earlier(at)]),
    ]


def score_without_reply(spot: Spot, score: Score, freeze: int) -> Draft:
    """The score of a cell that there is nothing to read for; `spot.evidence` is the cell's own event, or what is left
    of its evidence."""
    causes = [freeze, spot.planned, *([spot.evidence] if spot.evidence != spot.planned else [])]
    return Draft(score, run=spot.run, cell=spot.cell, causes=causes)


def unmeasured(rules: RuleSet, stages: Stages, case: Case, status: Status, name: str) -> Score:
    """The score of a cell without a measurement, by a name of the taxonomy."""
    found = known_reason(status, name)
    return unmeasured_score(
        rules, stages, case, status=found.status, stage=str(found.stage), reason=found.name, domain=str(found.domain)
    )
