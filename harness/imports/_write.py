"""Writing one foreign run: plan, cells, evidence, and what derives from it, in one append.

plan                 via "import"; one candidate, which is the engine's name and nothing else that is known
cell …               every case of the fixture, also those that the artifact hasn't
import (cell 0)      the artifact, whole; what it says of itself
import (cell n)      the text that was captured; caused by its cell and the artifact's import
fault                where their words tell of a failure, ours by name and theirs as detail; caused by that import
parse confirm score  as of any reply; no request and no response, for none was seen
tally, close
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from harness._candidate import Candidate
from harness._derivations import Spot, derivations, score_without_reply, unmeasured
from harness._derive import Reply
from harness._freeze import Frozen
from harness._identity import file_digest
from harness._outcomes import reason as known_reason
from harness._plan import Measurement, PlannedRun, make_plan, plan_causes
from harness._rules import RuleSet
from harness._session import UNFINISHED
from harness._suite import Suite
from harness._tally import tally_draft
from harness.imports._files import text_claim
from harness.imports._foreign import ForeignCell, ForeignFixture, ForeignRun, Grade
from harness.parse import Wire
from ledger import Draft, Earlier, Ledger, Prepared, new_run_id
from ledger.kinds import Close, Fault, Import, Score, Tally

__all__ = ["Source", "write_run"]


@dataclass(frozen=True)
class Source:
    """Where a run comes from: format, the artifact's bytes and their plain BLAKE3, and what the plan keeps of it."""

    format: str
    grade: Grade
    artifact: bytes
    digest: str
    given: str


def write_run(
    ledger: Ledger, suite: Suite, rules: Sequence[RuleSet], fixture: ForeignFixture, frozen: Frozen, source: Source,
    run: ForeignRun,
) -> tuple[str, Mapping[str, str]]:  # fmt: skip
    """Append a foreign run as a run of its own, and return its id and each case's status under the first rule set."""
    key = bytes.fromhex(ledger.genesis.identity_key)
    candidate = Candidate(run.candidate, "text", run.candidate, {})
    body, laid_out = make_plan(
        key, suite=suite, fixtures=[fixture.fixture], rules=rules, candidates=[candidate], frozen=frozen, epochs=1,
        limit=None, via="import", name=run.name, given=source.given,
    )  # fmt: skip
    writer = _Writer(new_run_id(), suite, rules, frozen, source, [])
    writer.add(Draft(body, run=writer.run, causes=plan_causes(frozen)))
    for measurement, cell in laid_out:
        writer.add(Draft(cell, run=writer.run, cell=measurement.cell, causes=[Earlier(0)]))
    claimed = {name: text_claim(text) for name, text in run.claimed.items()}
    whole = writer.add(
        Draft(
            Import(format=source.format, tool=_tool(), grade=source.grade, digest=source.digest, claimed=claimed),
            run=writer.run, causes=[Earlier(0)], blobs={"file": source.artifact},
        )
    )  # fmt: skip
    measurements = [measurement for measurement, _ in laid_out]
    scores = {each.cell: writer.add_cell(each, run.cells.get(each.case.id), whole) for each in measurements}
    writer.close(measurements, scores)
    ledger.append(*writer.events)
    return writer.run, {each.case.id: scores[each.cell][0].status for each in measurements}


@dataclass
class _Writer:
    """The events of one append as they gather. The plan is at position 0, cell n at position n."""

    run: str
    suite: Suite
    rules: Sequence[RuleSet]
    frozen: Frozen
    source: Source
    events: list[Draft | Prepared]

    def add(self, draft: Draft) -> Earlier:
        self.events.append(draft)
        return Earlier(len(self.events) - 1)

    def add_cell(self, measurement: Measurement, found: ForeignCell | None, whole: Earlier) -> list[Score]:
        """What stands of one cell, and what it comes to under each rule set."""
        cell = measurement.cell
        if found is None:
            spot = Spot(self.run, cell, Earlier(cell), Earlier(cell))
            stages = self.suite.stage_functions
            scores = [unmeasured(each, stages, measurement.case, "not_asked", "not_asked") for each in self.rules]
            for each, score in zip(self.rules, scores, strict=True):
                self.add(score_without_reply(spot, score, self.frozen.rules[each.label]))
            return scores
        evidence = self._add_evidence(cell, found, whole)
        wire, fault = Wire(200, (), found.output), None
        if found.failure is not None:
            known = known_reason("error", found.failure[0])
            wire, fault = None, (str(known.stage), known.name)
            evidence = self._add_fault(cell, found.failure, evidence)
        made, scores = derivations(
            Reply(wire, fault, "text", stream=False), Spot(self.run, cell, Earlier(cell), evidence),
            ask=self.suite.ask, stages=self.suite.stage_functions, case=measurement.case, rules=self.rules,
            frozen=self.frozen.rules, position=len(self.events),
        )  # fmt: skip
        self.events += made
        return scores

    def _add_evidence(self, cell: int, found: ForeignCell, whole: Earlier) -> Earlier:
        claimed = {name: text_claim(text) for name, text in found.claimed.items()}
        body = Import(
            format=self.source.format, tool=_tool(), grade=self.source.grade, digest=file_digest(found.output),
            claimed=claimed,
        )  # fmt: skip
        return self.add(
            Draft(body, run=self.run, cell=cell, causes=[Earlier(cell), whole], blobs={"output": found.output})
        )

    def _add_fault(self, cell: int, failure: tuple[str, str], evidence: Earlier) -> Earlier:
        known = known_reason("error", failure[0])
        assert known.domain
        body = Fault(
            attempt=0, turn=0, stage=str(known.stage), reason=known.name, domain=known.domain,
            detail=text_claim(failure[1]), total_ms=None,
        )  # fmt: skip
        return self.add(Draft(body, run=self.run, cell=cell, causes=[evidence]))

    def close(self, measurements: Sequence[Measurement], scores: Mapping[int, Sequence[Score]]) -> None:
        """Tally under each rule set, and close with the reconciliation of planned against outcome."""
        planned = PlannedRun(self.run, 0, partial=False, measurements=tuple(measurements))
        tallies: list[Earlier] = []
        outcomes: dict[str, dict[str, int]] = {}
        for index, each in enumerate(self.rules):
            freeze = self.frozen.rules[each.label]
            body = tally_draft(planned, each, {cell: found[index] for cell, found in scores.items()}, freeze).body
            assert isinstance(body, Tally)
            tallies.append(self.add(Draft(body, run=self.run, causes=[freeze, Earlier(0)])))
            outcomes[each.label] = dict(body.outcomes)
        statuses = Counter(score.status for found in scores.values() for score in found)
        asked = sum(any(score.status != "not_asked" for score in found) for found in scores.values())
        body = Close(
            status="incomplete" if any(statuses[name] for name in UNFINISHED) else "complete",
            planned=len(measurements), asked=asked, outcomes=outcomes, reason="imported as it was recorded elsewhere",
        )  # fmt: skip
        self.add(Draft(body, run=self.run, causes=[Earlier(0), *tallies]))


def _tool() -> str:
    try:
        return f"eval-ledger {version('eval-ledger')}"
    except PackageNotFoundError:
        return "eval-ledger"
