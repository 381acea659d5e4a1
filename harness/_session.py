"""Asking and scoring the cells of one run in this process, from wherever the run stands to its close.

Every planned cell ends in exactly one outcome under each rule set, also when the run is interrupted, when a provider
runs out of credit, and when the harness itself fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from harness._advice import GivenUp, advise
from harness._attempts import Patience
from harness._candidate import Candidate
from harness._capture import Exchange, Place
from harness._chat import Chat
from harness._derivations import Spot, derivations, score_without_reply, unmeasured
from harness._derive import Reply
from harness._meter import Meter
from harness._outcomes import Status
from harness._pace import Cut, Pace
from harness._plan import Measurement, PlannedRun
from harness._pool import Pool
from harness._rules import RuleSet
from harness._suite import Suite
from harness._tally import tally_draft
from harness._told import Planned, Progress, SilentProgress
from harness.engines import load_providers, open_engine
from harness.parse import Reading
from ledger import Draft, Event, Ledger, LedgerError, Prepared
from ledger.kinds import Close, RunStatus, Score, Tally

__all__ = ["UNFINISHED", "Finished", "Progress", "RunOptions", "Session", "SilentProgress", "Start"]

_AN_APPEND = 500
UNFINISHED: frozenset[str] = frozenset({"error", "not_asked", "fate_unknown"})
"""The statuses of cells that nobody has an answer for."""


@dataclass(frozen=True)
class RunOptions:
    """How to run. `max_connections` counts for each candidate apart; `arm` names the condition that is measured.
    With `reuse`, earlier answers are taken over; where `reuse_outcomes` are named only those, the rest is asked again.

    `meter` counts what is used and says when a budget is. With a `pilot`, that many cells of each candidate are asked
    first, spread evenly; then `after_pilot` says why the others aren't asked, or nothing.
    """

    epochs: int = 1
    limit: int | None = None
    max_connections: int = 8
    timeout: float = 300.0
    patience: Patience = field(default_factory=Patience)
    name: str = ""
    tags: tuple[str, ...] = ()
    arm: str = ""
    reuse: bool = False
    reuse_outcomes: tuple[str, ...] = ()
    via: Literal["live", "replay"] = "live"
    meter: Meter | None = None
    pilot: int = 0
    after_pilot: Callable[[], str] | None = None


@dataclass(frozen=True)
class Finished:
    """How a run ended: `outcomes` by rule set label and outcome; `failed` says that a cell is an error or unasked.

    `asked` counts the cells that were asked just now, `reused` those whose response was taken over, `reason` is why the
    run stopped early, or empty; `advice` what a person may try where a candidate was given up, kept nowhere.
    """

    run: str
    status: RunStatus
    planned: int
    outcomes: Mapping[str, Mapping[str, int]]
    failed: bool
    asked: int = 0
    reused: int = 0
    reason: str = ""
    advice: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """Where a run stands when it is taken up; by default, at its beginning.

    `settled` are the scores that stay, by (rule set label, cell); `prior` those of cells that are asked again, which
    count until something newer is known. `recorded` are replies that were never read to the end. `attempts` is the
    number of each cell's next attempt, `models` what each candidate's answers came from so far.
    """

    settled: Mapping[tuple[str, int], Score] = field(default_factory=dict[tuple[str, int], Score])
    prior: Mapping[tuple[str, int], Score] = field(default_factory=dict[tuple[str, int], Score])
    recorded: Mapping[int, Exchange] = field(default_factory=dict[int, Exchange])
    attempts: Mapping[int, int] = field(default_factory=dict[int, int])
    models: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    reused: frozenset[int] = frozenset()
    reason: str = ""


class Session:
    """One run while it goes on: what is still to be asked, and the last score of each cell under each rule set."""

    def __init__(
        self, ledger: Ledger, suite: Suite, rules: Sequence[RuleSet], planned: PlannedRun, frozen: Mapping[str, int],
        options: RunOptions, progress: Progress, start: Start | None = None,
    ) -> None:  # fmt: skip
        self.ledger = ledger
        self.suite = suite
        self.stages = suite.stage_functions
        self.rules = rules
        self.planned = planned
        self.frozen = frozen
        self.options = options
        self.progress = progress
        self.start = start or Start()
        self.scores: dict[tuple[str, int], Score] = dict(self.start.settled)
        # Every key in use is masked in every candidate's record: one server may echo what another was sent.
        self.keys = sorted({each.candidate.api_key for each in planned.measurements} - {""})
        self.latest: dict[int, Exchange] = dict(self.start.recorded)
        self.asked: set[int] = set()
        # By provider, not by candidate: an account without credit has none for its other models either.
        self.broke: set[tuple[str, str]] = set()
        # By candidate, in sentences: the model moved, or nothing comes of asking.
        self.halted: dict[str, str] = {}
        # Why no candidate is asked any more: the budget, or what a pilot came to.
        self.over = ""
        self.gone: dict[str, GivenUp] = {}
        self.pools: dict[str, Pool] = {}
        self.began_after = ledger.head()[0]

    def _settled(self, measurement: Measurement) -> bool:
        return all((rules.label, measurement.cell) in self.scores for rules in self.rules)

    def conduct(self) -> Finished:
        """Ask, score and close. Ctrl-C closes the run as interrupted; what was in flight says so.

        Raises LedgerError when the ledger can't be written: the run then stays open in the file.
        """
        status: RunStatus | None = None
        reason = ""
        done = sum(self._settled(each) for each in self.planned.measurements)
        self.progress.started(self.planned.run, len(self.planned.measurements), done, self._by_candidate())
        try:
            try:
                asyncio.run(self.ask_all())
            except (KeyboardInterrupt, asyncio.CancelledError):
                status, reason = "interrupted", "stopped by the person who ran it"
            except BaseExceptionGroup as group:
                problem = _first(group)
                if isinstance(problem, LedgerError):
                    raise problem from None
                status, reason = "aborted", f"the harness failed: {problem!a}"[:2000]
            advice = self._advice() if status is None else ()
            return replace(self.close(status, reason or self._why_stopped()), advice=advice)
        finally:
            self.progress.ended()

    def _advice(self) -> tuple[str, ...]:
        for label, pool in self.pools.items():
            # Of a run of three cells nobody is given up; what to try is the same.
            if label not in self.gone and pool.in_vain is not None and not pool.candidate.recorded:
                self.gone[label] = GivenUp(pool.candidate, *pool.in_vain)
        if not self.gone:
            return ()
        return advise(self.ledger, self.planned.run, self.gone.values(), load_providers(os.environ), self.keys)

    def _by_candidate(self) -> Planned:
        found: dict[str, tuple[int, int]] = {}
        for each in self.planned.measurements:
            planned, done = found.get(each.candidate.label, (0, 0))
            found[each.candidate.label] = planned + 1, done + self._settled(each)
        return found

    def _why_stopped(self) -> str:
        reasons = [each for each in (self.start.reason, self.over) if each]
        reasons += self.halted.values()
        if self.broke:
            where = ", ".join(f"{protocol} at {url}" for protocol, url in sorted(self.broke))
            reasons.append(f"stopped asking {where}")
        return "; ".join(reasons)

    async def ask_all(self) -> None:
        """Ask every cell, each candidate at its own pace."""
        _let_sigterm_cancel()
        await self._read_recorded()
        cells: dict[str, list[Measurement]] = {}
        for measurement in self.planned.measurements:
            if not self._settled(measurement):
                cells.setdefault(measurement.candidate.label, []).append(measurement)
        if self.options.pilot:
            await self._ask({label: _spread(some, self.options.pilot) for label, some in cells.items()})
            if self.options.after_pilot is not None and not self.over:
                self._stop_all(self.options.after_pilot())
            cells = {label: [each for each in some if each.cell not in self.asked] for label, some in cells.items()}
        await self._ask(cells)

    async def _ask(self, cells: Mapping[str, Sequence[Measurement]]) -> None:
        async with asyncio.TaskGroup() as group:
            for some in cells.values():
                if some:
                    group.create_task(self._ask_candidate(some))

    async def _read_recorded(self) -> None:
        """Score the replies that are there already and were never read to the end."""
        drafts: list[Prepared] = []
        read: list[tuple[Measurement, list[Score]]] = []
        for measurement in self.planned.measurements:
            exchange = self.start.recorded.get(measurement.cell)
            if exchange is None:
                continue
            some, scores = self._drafts(measurement, exchange, len(drafts))
            drafts += some
            read.append((measurement, scores))
            if len(drafts) >= _AN_APPEND:
                await self._write(drafts, read)
                drafts, read = [], []
        if drafts:
            await self._write(drafts, read)

    async def _write(self, drafts: Sequence[Prepared], read: Sequence[tuple[Measurement, list[Score]]]) -> None:
        await self.ledger.append_async(*drafts)
        for measurement, scores in read:
            self._note(measurement, scores)

    async def _ask_candidate(self, cells: Sequence[Measurement]) -> None:
        candidate = cells[0].candidate
        pool = self.pools.get(candidate.label)
        if pool is None:
            most = self.options.max_connections
            pool = Pool(
                self, self.ledger, candidate, Pace(most, adapts=not candidate.recorded), self.options.patience, most,
                lambda: open_engine(candidate, self.ledger, timeout=self.options.timeout, keys=self.keys),
            )  # fmt: skip
            self.pools[candidate.label] = pool
            if self.start.models.get(candidate.label):
                # One goes ahead alone: should another model answer under the same name, one call shows it, not a dozen.
                await pool.ask(cells[:1])
                cells = cells[1:]
        await pool.ask(cells)

    # What the pools ask and tell (`_pool.Host`)

    def stopped(self, candidate: Candidate) -> bool:
        """Whether nothing more is asked of a candidate."""
        if not self.over and self.options.meter is not None:
            self._stop_all(self.options.meter.exhausted())
        return bool(self.over) or candidate.label in self.halted or _provider(candidate) in self.broke

    def place(self, measurement: Measurement) -> tuple[Chat, Place]:
        """What is asked for a cell, and where its first attempt of this session belongs."""
        cell = measurement.cell
        self.asked.add(cell)
        chat = self.stages.messages(measurement.candidate.prompt, measurement.case.input)
        return chat, Place(self.planned.run, cell, 0, self.start.attempts.get(cell, 0), (measurement.seq,))

    def heard(self, measurement: Measurement, exchange: Exchange, reading: Reading) -> None:
        """An attempt ended: it is counted, and may be the last that its candidate or its provider is asked for."""
        candidate, meter = measurement.candidate, self.options.meter
        self.latest[measurement.cell] = exchange
        if meter is not None:
            meter.note(candidate.label, exchange, reading)
            if candidate.label in meter.used and any(meter.prices.values()):
                self.progress.spent(candidate.label, meter.spent(candidate.label))
                self.progress.spent("", meter.spent())
        if "stop_run" in reading.flags and _provider(candidate) not in self.broke:
            self.broke.add(_provider(candidate))
            self.gone[candidate.label] = GivenUp(candidate, exchange, reading)
            self._tell_stopped(candidate.label, reading.reason)
        self._watch_model(candidate, reading.model)

    def paced(self, candidate: Candidate, cut: Cut) -> None:
        """The pace of a candidate was cut."""
        self.progress.paced(candidate.label, cut.limit, cut.rate)

    def give_up(self, candidate: Candidate, why: str, exchange: Exchange, reading: Reading) -> None:
        """Ask no more of a candidate that nothing comes of."""
        if candidate.label not in self.halted:
            self.gone[candidate.label] = GivenUp(candidate, exchange, reading)
            self.halted[candidate.label] = f"{candidate.label} is asked no more: {why}"
            self._tell_stopped(candidate.label, why)

    async def settle(self, measurement: Measurement, exchange: Exchange, reading: Reading) -> None:
        """Score a cell by its last attempt."""
        deriving = asyncio.ensure_future(self._derive(measurement, exchange))
        try:
            await asyncio.shield(deriving)
        except asyncio.CancelledError:
            # What was answered is read to the end first: an interrupt must not turn a measured cell into an unknown.
            await deriving
            raise

    def _stop_all(self, why: str) -> None:
        if why:
            self.over = why
            self._tell_stopped("", why)

    def _tell_stopped(self, candidate: str, why: str) -> None:
        self.progress.stopped(candidate, why)
        for pool in self.pools.values():
            pool.wake()

    def _watch_model(self, candidate: Candidate, model: str | None) -> None:
        """Stop a candidate whose name resolves to another model than when the run began."""
        before = self.start.models.get(candidate.label)
        if model is None or not before or model in before or candidate.label in self.halted:
            return
        why = f"{candidate.label} is answered by {model} now, and was by {', '.join(sorted(before))}; asked no more"
        self.halted[candidate.label] = why
        self._tell_stopped(candidate.label, f"the model moved from {', '.join(sorted(before))} to {model}")

    async def _derive(self, measurement: Measurement, exchange: Exchange) -> None:
        drafts, scores = self._drafts(measurement, exchange)
        await self.ledger.append_async(*drafts)
        self._note(measurement, scores)

    def _note(self, measurement: Measurement, scores: Sequence[Score]) -> None:
        for score in scores:
            self.scores[score.rules, measurement.cell] = score
        self.progress.settled(measurement, scores)

    def _drafts(
        self, measurement: Measurement, exchange: Exchange, position: int = 0
    ) -> tuple[list[Prepared], list[Score]]:
        """What follows from an exchange; the first of the events stands at `position` of its append."""
        candidate = measurement.candidate
        return derivations(
            Reply(exchange.wire, exchange.fault_reason, candidate.protocol, candidate.stream, exchange.at),
            Spot(self.planned.run, measurement.cell, measurement.seq, exchange.evidence),
            ask=self.suite.ask, stages=self.stages, case=measurement.case, rules=self.rules, frozen=self.frozen,
            position=position,
        )  # fmt: skip

    def _settle_the_rest(self) -> None:
        """Give every cell that has no score yet the one that says how far it came."""
        for measurement in self.planned.measurements:
            exchange = self.latest.get(measurement.cell)
            if exchange is not None and not self._settled(measurement):
                read, scores = self._drafts(measurement, exchange)
                self.ledger.append(*read)
                self._note(measurement, scores)
        sent, just_now = self._sent(0), self._sent(self.began_after)
        drafts: list[Draft] = []
        for measurement in self.planned.measurements:
            cell = measurement.cell
            for rules in self.rules:
                if (rules.label, cell) in self.scores:
                    continue
                prior = self.start.prior.get((rules.label, cell))
                how_far: Status = "fate_unknown" if cell in sent else "not_asked"
                if prior is not None and (cell not in just_now or prior.status == how_far):
                    self.scores[rules.label, cell] = prior
                    continue
                score = unmeasured(rules, self.stages, measurement.case, how_far, how_far)
                self.scores[rules.label, cell] = score
                spot = Spot(self.planned.run, cell, measurement.seq, measurement.seq)
                drafts.append(score_without_reply(spot, score, self.frozen[rules.label]))
        for start in range(0, len(drafts), _AN_APPEND):
            self.ledger.append(*drafts[start : start + _AN_APPEND])

    def _sent(self, after: int) -> set[int]:
        """The cells that a request stands for, among the events after that seq."""
        rows = self.ledger.rows(
            "SELECT DISTINCT cell FROM main.events WHERE run = ? AND kind = 'request' AND +seq > ?",
            (self.planned.run, after),
        )
        return {int(row["cell"]) for row in rows}

    def close(self, status: RunStatus | None, reason: str) -> Finished:
        """Tally under each rule set, and close the run with the reconciliation of planned against outcome."""
        self._settle_the_rest()
        tallies: list[Event] = []
        outcomes: dict[str, dict[str, int]] = {}
        for rules in self.rules:
            scores = {m.cell: self.scores[rules.label, m.cell] for m in self.planned.measurements}
            draft = tally_draft(self.planned, rules, scores, self.frozen[rules.label])
            tallies += self.ledger.append(draft)
            assert isinstance(draft.body, Tally)
            outcomes[rules.label] = dict(draft.body.outcomes)
        statuses = Counter(score.status for score in self.scores.values())
        failed = any(statuses[name] for name in UNFINISHED)
        if status is None:
            status = "incomplete" if failed else "partial" if self.planned.partial else "complete"
        asked = {cell for (_, cell), score in self.scores.items() if score.status != "not_asked"}
        body = Close(
            status=status, planned=len(self.planned.measurements), asked=len(asked - self.start.reused),
            outcomes=outcomes, reason=reason,
        )  # fmt: skip
        causes = [self.planned.plan, *(event.seq for event in tallies)]
        self.ledger.append(Draft(body, run=self.planned.run, causes=causes))
        return Finished(
            self.planned.run, status, body.planned, outcomes, failed, len(self.asked), len(self.start.reused), reason
        )


def _spread(cells: Sequence[Measurement], count: int) -> list[Measurement]:
    """So many of the cells, evenly over all of them."""
    return list(cells) if count >= len(cells) else [cells[at * len(cells) // count] for at in range(count)]


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
