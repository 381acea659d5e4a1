"""A run: freeze, plan, ask, derive, tally, close. Asking and deriving are two halves that never mix.

Every planned cell ends in exactly one outcome under each rule set, also when the run is interrupted, when a provider
runs out of credit, and when the harness itself fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from harness._attempts import Patience, ask_until_settled
from harness._candidate import Candidate
from harness._capture import Exchange, Place
from harness._derive import Derived, Reply, derive, unmeasured_score
from harness._freeze import freeze_suite
from harness._outcomes import Status
from harness._outcomes import reason as known_reason
from harness._plan import Measurement, PlannedRun, plan_run
from harness._rules import RuleSet
from harness._suite import Fixture, Suite
from harness._tally import tally_draft
from harness.engines import Engine, open_engine
from ledger import Draft, Earlier, Event, Ledger, LedgerError, hold_run, new_run_id
from ledger.kinds import Close, Fault, RunStatus, Score, Tally

__all__ = ["Finished", "Progress", "RunOptions", "SilentProgress", "perform_run"]

_SCORES_AN_APPEND = 500


@dataclass(frozen=True)
class RunOptions:
    """How to run; none of it decides what a score means. `max_connections` counts for each candidate apart."""

    epochs: int = 1
    limit: int | None = None
    max_connections: int = 8
    timeout: float = 300.0
    patience: Patience = field(default_factory=Patience)
    name: str = ""
    tags: tuple[str, ...] = ()
    via: Literal["live", "replay"] = "live"


@dataclass(frozen=True)
class Finished:
    """How a run ended: `outcomes` by rule set label and outcome; `failed` says that a cell is an error or unasked."""

    run: str
    status: RunStatus
    planned: int
    outcomes: Mapping[str, Mapping[str, int]]
    failed: bool


class Progress(Protocol):
    """What is told while a run goes on."""

    def started(self, run: str, planned: int) -> None: ...
    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None: ...
    def stopped(self, candidate: str, reason: str) -> None: ...
    def ended(self) -> None: ...


class SilentProgress:
    """Tells nobody."""

    def started(self, run: str, planned: int) -> None: ...
    def settled(self, measurement: Measurement, scores: Sequence[Score]) -> None: ...
    def stopped(self, candidate: str, reason: str) -> None: ...
    def ended(self) -> None: ...


class _Run:
    """One run while it goes on: what is still to be asked, and the last score of each cell under each rule set."""

    def __init__(
        self, ledger: Ledger, suite: Suite, rules: Sequence[RuleSet], planned: PlannedRun, frozen: Mapping[str, int],
        options: RunOptions, progress: Progress,
    ) -> None:  # fmt: skip
        self.ledger = ledger
        self.suite = suite
        self.stages = suite.stage_functions
        self.rules = rules
        self.planned = planned
        self.frozen = frozen
        self.options = options
        self.progress = progress
        self.scores: dict[tuple[str, int], Score] = {}
        # Every key in use is masked in every candidate's record: one server may echo what another was sent.
        self.keys = sorted({each.candidate.api_key for each in planned.measurements} - {""})
        self.latest: dict[int, Exchange] = {}
        # By provider, not by candidate: an account without credit has none for its other models either.
        self.stopped: set[tuple[str, str]] = set()

    async def ask_all(self) -> None:
        """Ask every cell, each candidate with its own workers, each worker with its own client."""
        _let_sigterm_cancel()
        by_candidate: dict[str, deque[Measurement]] = {}
        for measurement in self.planned.measurements:
            by_candidate.setdefault(measurement.candidate.label, deque()).append(measurement)
        async with asyncio.TaskGroup() as group:
            for waiting in by_candidate.values():
                for _ in range(min(self.options.max_connections, len(waiting))):
                    group.create_task(self._work(waiting))

    async def _work(self, waiting: deque[Measurement]) -> None:
        candidate = waiting[0].candidate if waiting else None
        if candidate is None:
            return
        async with open_engine(candidate, self.ledger, timeout=self.options.timeout, keys=self.keys) as engine:
            while waiting and _provider(candidate) not in self.stopped:
                await self._settle(engine, waiting.popleft())

    async def _settle(self, engine: Engine, measurement: Measurement) -> None:
        candidate, case = measurement.candidate, measurement.case
        messages = self.stages.messages(candidate.prompt, case.input)
        place = Place(self.planned.run, measurement.cell, 0, 0, (measurement.seq,))
        asked = await ask_until_settled(
            engine, self.ledger, candidate, messages, place, self.options.patience,
            note=lambda exchange: self.latest.update({measurement.cell: exchange}),
        )  # fmt: skip
        if "stop_run" in asked.reading.flags and _provider(candidate) not in self.stopped:
            self.stopped.add(_provider(candidate))
            self.progress.stopped(candidate.label, asked.reading.reason)
        deriving = asyncio.ensure_future(self._derive(measurement, asked.exchange))
        try:
            await asyncio.shield(deriving)
        except asyncio.CancelledError:
            # What was answered is read to the end first: an interrupt must not turn a measured cell into an unknown.
            await deriving
            raise

    async def _derive(self, measurement: Measurement, exchange: Exchange) -> None:
        drafts, scores = self._drafts(measurement, exchange)
        await self.ledger.append_async(*drafts)
        self._note(measurement, scores)

    def _note(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        for score in scores:
            self.scores[score.rules, measurement.cell] = score
        self.progress.settled(measurement, scores)

    def _drafts(self, measurement: Measurement, exchange: Exchange) -> tuple[list[Draft], list[Score]]:
        candidate = measurement.candidate
        reply = Reply(exchange.wire, exchange.fault_reason, candidate.protocol, candidate.stream, exchange.at)
        evidence = exchange.evidence
        drafts: list[Draft] = []
        scores: list[Score] = []
        for rules in self.rules:
            try:
                derived = derive(reply, ask=self.suite.ask, stages=self.stages, case=measurement.case, rules=rules)
            except Exception as problem:  # noqa: BLE001  a fault in our own code is an outcome of the cell, by name
                drafts += self._internal(measurement, rules, evidence, problem, len(drafts))
            else:
                drafts += self._derived(measurement, rules, evidence, derived, len(drafts))
            body = drafts[-1].body
            assert isinstance(body, Score)
            scores.append(body)
        return drafts, scores

    def _derived(
        self, measurement: Measurement, rules: RuleSet, evidence: int, derived: Derived, position: int
    ) -> list[Draft]:
        run, cell = self.planned.run, measurement.cell
        drafts: list[Draft] = []
        last: int | Earlier = evidence
        if derived.parse is not None:
            causes = sorted([self.frozen[rules.label], evidence])
            drafts.append(Draft(derived.parse, run=run, cell=cell, causes=causes, blobs=derived.parse_blobs))
            last = Earlier(position)
        if derived.confirm is not None:
            drafts.append(Draft(derived.confirm, run=run, cell=cell, causes=[last]))
            last = Earlier(position + 1)
        drafts.append(Draft(derived.score, run=run, cell=cell, causes=[measurement.seq, last]))
        return drafts

    def _internal(
        self, measurement: Measurement, rules: RuleSet, evidence: int, problem: Exception, position: int
    ) -> list[Draft]:
        run, cell = self.planned.run, measurement.cell
        fault = Fault(
            attempt=None, turn=None, stage="harness", reason="internal", domain="harness",
            detail=f"deriving under {rules.label}: {problem!a}"[:2000], total_ms=None,
        )  # fmt: skip
        return [
            Draft(fault, run=run, cell=cell, causes=sorted([self.frozen[rules.label], evidence])),
            Draft(
                self._unmeasured(measurement, rules, "error", "internal"), run=run, cell=cell,
                causes=[measurement.seq, Earlier(position)],
            ),
        ]  # fmt: skip

    def _unmeasured(self, measurement: Measurement, rules: RuleSet, status: Status, name: str) -> Score:
        found = known_reason(status, name)
        return unmeasured_score(
            rules, self.stages, measurement.case, status=found.status, stage=str(found.stage), reason=found.name,
            domain=str(found.domain),
        )  # fmt: skip

    def settle_the_rest(self) -> None:
        """Give every cell that has no score yet the one that says how far it came."""
        for measurement in self.planned.measurements:
            exchange = self.latest.get(measurement.cell)
            if exchange is not None and (self.rules[0].label, measurement.cell) not in self.scores:
                read, scores = self._drafts(measurement, exchange)
                self.ledger.append(*read)
                self._note(measurement, scores)
        sent = {
            row["cell"]
            for row in self.ledger.rows(
                "SELECT DISTINCT cell FROM main.events WHERE run = ? AND kind = 'request'", (self.planned.run,)
            )
        }
        drafts: list[Draft] = []
        for measurement in self.planned.measurements:
            for rules in self.rules:
                if (rules.label, measurement.cell) in self.scores:
                    continue
                how_far: Status = "fate_unknown" if measurement.cell in sent else "not_asked"
                score = self._unmeasured(measurement, rules, how_far, how_far)
                self.scores[rules.label, measurement.cell] = score
                drafts.append(
                    Draft(
                        score, run=self.planned.run, cell=measurement.cell,
                        causes=sorted([self.frozen[rules.label], measurement.seq]),
                    )
                )  # fmt: skip
        for start in range(0, len(drafts), _SCORES_AN_APPEND):
            self.ledger.append(*drafts[start : start + _SCORES_AN_APPEND])

    def close(self, status: RunStatus | None, reason: str) -> Finished:
        """Tally under each rule set, and close the run with the reconciliation of planned against outcome."""
        tallies: list[Event] = []
        outcomes: dict[str, dict[str, int]] = {}
        for rules in self.rules:
            scores = {m.cell: self.scores[rules.label, m.cell] for m in self.planned.measurements}
            draft = tally_draft(self.planned, rules, scores, self.frozen[rules.label])
            tallies += self.ledger.append(draft)
            assert isinstance(draft.body, Tally)
            outcomes[rules.label] = dict(draft.body.outcomes)
        statuses = Counter(score.status for score in self.scores.values())
        failed = any(statuses[name] for name in ("error", "not_asked", "fate_unknown"))
        if status is None:
            status = "incomplete" if failed else "partial" if self.planned.partial else "complete"
        asked = {cell for (_, cell), score in self.scores.items() if score.status != "not_asked"}
        body = Close(
            status=status, planned=len(self.planned.measurements), asked=len(asked), outcomes=outcomes, reason=reason
        )
        causes = [self.planned.plan, *(event.seq for event in tallies)]
        self.ledger.append(Draft(body, run=self.planned.run, causes=causes))
        return Finished(self.planned.run, status, body.planned, outcomes, failed)


def perform_run(
    ledger: Ledger,
    suite: Suite,
    fixtures: Sequence[Fixture],
    rules: Sequence[RuleSet],
    candidates: Sequence[Candidate],
    options: RunOptions,
    progress: Progress,
) -> Finished:
    """Run a suite and return how it ended. Ctrl-C closes the run as interrupted; what was in flight says so.

    Raises UsageError before anything is asked, and LedgerError when the ledger can't be written: the run then stays
    open in the file and reads as interrupted.
    """
    run = new_run_id()
    with hold_run(ledger.path, run):
        prompts = [candidate.prompt.encode("utf-8") for candidate in candidates]
        frozen = freeze_suite(ledger, suite, fixtures, rules, prompts)
        planned = plan_run(
            ledger, run, suite=suite, fixtures=fixtures, rules=rules, candidates=candidates, frozen=frozen,
            epochs=options.epochs, limit=options.limit, via=options.via, name=options.name, tags=options.tags,
        )  # fmt: skip
        going = _Run(ledger, suite, rules, planned, frozen.rules, options, progress)
        progress.started(run, len(planned.measurements))
        status: RunStatus | None = None
        reason = ""
        try:
            asyncio.run(going.ask_all())
        except (KeyboardInterrupt, asyncio.CancelledError):
            status, reason = "interrupted", "stopped by the person who ran it"
        except BaseExceptionGroup as group:
            problem = _first(group)
            if isinstance(problem, LedgerError):
                raise problem from None
            status, reason = "aborted", f"the harness failed: {problem!a}"[:2000]
        finally:
            progress.ended()
        if going.stopped and status is None:
            reason = "stopped asking " + ", ".join(f"{protocol} at {url}" for protocol, url in sorted(going.stopped))
        going.settle_the_rest()
        return going.close(status, reason)


def _provider(candidate: Candidate) -> tuple[str, str]:
    return candidate.protocol, candidate.base_url


def _let_sigterm_cancel() -> None:
    """A polite kill ends a run as Ctrl-C does; where that can't be had (Windows, a thread), it reads interrupted."""
    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _first(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = cast("BaseExceptionGroup[BaseException]", problem).exceptions[0]
    return problem
