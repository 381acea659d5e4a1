"""The work of a rescore: batches of cells become events ready to be appended, here or in other processes.

The events of a batch, and the batches, don't depend on how many processes there are. Other processes read and derive;
only the caller appends.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from harness._derivations import Spot, derivations, score_without_reply, unmeasured
from harness._errors import IncompleteError, RefusedError
from harness._replies import Place, read_plan, read_replies
from harness._rules import RuleSet, ruleset_from_frozen
from harness._suite import Ask, Case
from harness._thaw import thaw_cases
from harness.suites import Stages, stages
from ledger import Ledger, Prepared, Salts
from ledger.kinds import PlanCandidate, Score

__all__ = ["Batch", "Deriver", "Job", "batches_of", "derived_by"]

_EVENTS_A_BATCH = 1_500
_BYTES_A_BATCH = 16 * 1024 * 1024
_AHEAD = 2

Batch = Sequence[tuple[Place, tuple[str, ...]]]
"""Cells, each with the labels of the rule sets that it has no score under."""


def batches_of(todo: Batch, rules: int) -> list[Batch]:
    """`todo` cut into appends of a bounded number of events and of bytes read, for `rules` rule sets."""
    most = max(1, _EVENTS_A_BATCH // (3 * rules))
    found: list[list[tuple[Place, tuple[str, ...]]]] = []
    size = 0
    for item in todo:
        if not found or len(found[-1]) >= most or size + item[0].size > _BYTES_A_BATCH:
            found.append([])
            size = 0
        found[-1].append(item)
        size += item[0].size
    return list(found)


class Deriver:
    """Derives cells of one run under some rule sets: reads what was recorded, and asks and appends nothing."""

    def __init__(
        self, ledger: Ledger, run: str, ask: Ask, candidates: Sequence[PlanCandidate], entry: Stages,
        cases: Mapping[tuple[str, str], Case], rules: Sequence[RuleSet], frozen: Mapping[str, int],
    ) -> None:  # fmt: skip
        self._ledger = ledger
        self._run = run
        self._ask: Ask = ask
        self._candidates = {each.label: each for each in candidates}
        self._stages = entry
        self._cases = cases
        self._rules = rules
        self._frozen = frozen

    def derive(self, batch: Batch) -> tuple[list[Prepared], list[Score]]:
        """The events of a batch, cell by cell and rule set by rule set, and the scores among them."""
        answered = [place for place, _ in batch if place.state == "answered"]
        replies = read_replies(self._ledger, answered, self._candidates)
        events: list[Prepared] = []
        scores: list[Score] = []
        salts = Salts(_EVENTS_A_BATCH)
        for place, labels in batch:
            case, rules = self._case(place), [each for each in self._rules if each.label in labels]
            reply = next(replies)[1] if place.state == "answered" else None
            if reply is not None:
                made, found = derivations(
                    reply, Spot(self._run, place.cell, place.planned, place.evidence), ask=self._ask,
                    stages=self._stages, case=case, rules=rules, frozen=self._frozen, position=len(events),
                    salts=salts,
                )  # fmt: skip
                events += made
                scores += found
                continue
            for each in rules:
                if place.state == "answered":
                    score = unmeasured(each, self._stages, case, "error", "withheld")
                    spot = Spot(self._run, place.cell, place.planned, place.evidence)
                else:
                    how_far = "fate_unknown" if place.state == "open" else "not_asked"
                    score = unmeasured(each, self._stages, case, how_far, how_far)
                    spot = Spot(self._run, place.cell, place.planned, place.planned)
                events.append(score_without_reply(spot, score, self._frozen[each.label]).prepared(salts))
                scores.append(score)
        return events, scores

    def _case(self, place: Place) -> Case:
        case = self._cases.get(place.case)
        if case is None:
            fixture, name = place.case
            raise RefusedError(f"cell {place.cell} of run {self._run}: no case {name!a} is in the frozen {fixture!a}")
        return case


@dataclass(frozen=True)
class Job:
    """What another process needs to do the same work: small, hashable, and nothing that is open.

    `rules` holds name, file, stage name, digest and the seq of the freeze.
    """

    path: Path
    run: str
    rules: tuple[tuple[str, bytes, str, str, int], ...]


@cache
def _deriver(job: Job) -> Deriver:
    ledger = Ledger.open(job.path, read_only=True)
    _, plan = read_plan(ledger, job.run)
    rules: list[RuleSet] = []
    for name, file, stage_name, digest, _ in job.rules:
        rules.append(ruleset_from_frozen(name, file, stage_name))
        if rules[-1].digest != digest:
            raise RefusedError(f"the code of rule set {name} moved while it was applied; run the command again")
    frozen = {each.label: seq for each, (*_, seq) in zip(rules, job.rules, strict=True)}
    entry = stages(job.rules[0][2])
    return Deriver(
        ledger, job.run, cast("Ask", plan.ask), plan.candidates, entry, thaw_cases(ledger, plan), rules, frozen
    )


def _derive_elsewhere(job: Job, batch: Batch) -> list[Prepared]:
    return _deriver(job).derive(batch)[0]


def _in_a_worker() -> None:
    """Ctrl-C is the parent's to answer; and a worker outlives no parent, however that ends."""
    import multiprocessing
    from multiprocessing import connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_wait() -> Generator[None]:
    """Ctrl-C waits until the block has ended: a process that is started in it never hears of one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def derived_by(job: Job, batches: Sequence[Batch], workers: int) -> Generator[tuple[list[Prepared], list[Score]]]:
    """What `Deriver.derive` gives for each batch, in order, worked out by so many processes.

    Raises IncompleteError when one of them dies.
    """
    waiting: deque[Future[list[Prepared]]] = deque()
    with _pool(workers) as pool:
        try:
            for batch in batches:
                with _interrupts_wait():
                    waiting.append(pool.submit(_derive_elsewhere, job, batch))
                if len(waiting) >= workers * _AHEAD:
                    yield _with_scores(waiting.popleft().result())
            while waiting:
                yield _with_scores(waiting.popleft().result())
        except BrokenProcessPool:
            raise IncompleteError(
                "a worker process died (out of memory, or killed); what was derived before it stands whole, and the"
                " same command, with fewer --workers if need be, does the rest"
            ) from None


def _with_scores(events: list[Prepared]) -> tuple[list[Prepared], list[Score]]:
    # Bodies are as small as they get, and a score is read off its own.
    return events, [Score.model_validate_json(event.body) for event in events if event.kind == "score"]


@contextmanager
def _pool(workers: int) -> Generator[ProcessPoolExecutor]:
    from multiprocessing import get_context

    # Spawned, not forked: a fork would share the ledger's connections.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_in_a_worker)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
