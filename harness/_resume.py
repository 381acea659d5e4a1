"""Resuming a run: hold it, hold its plan against what is there now, and ask exactly what is unfinished.

    refused      anything moved that decides what a score means, or that nobody accepted; nothing is sent or written
    taken over   a request that a killed process left open gets its fault (harness, fate_unknown), and is asked again
    asked        cells never asked, of unknown fate, or in status `error`; others only where --retry-outcomes says so,
                 and then every figure says how many
    read         replies that were recorded and never scored: they are scored, not paid for again

Concurrency, retries and timeouts may be others; they decide nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness._budget import budget_again, resumed_meter
from harness._catch_up import catch_up
from harness._environment import environment, moved_environment, shifts_in_words
from harness._errors import RefusedError, UsageError
from harness._given import read_given
from harness._held import Held, hold, hold_by_the_frozen, refuse, refused
from harness._join import join_again
from harness._lookups import look_up
from harness._moved import Moved, moved_servers
from harness._plan import PlannedRun, add_cells, is_partial
from harness._recorded import Record, read_record
from harness._rederived import requests_moved
from harness._report import RunReport, read_report
from harness._rerolls import counts_text, outcome_names, to_retry, word_of
from harness._session import UNFINISHED, Finished, Progress, Session, Start
from harness._spend import total_spent
from harness._there_now import ResumeJob, missing_suite, with_keys
from harness._unfinished import is_settled, take_stock
from harness.engines import is_replay
from ledger import Draft, Ledger, find_run, hold_run, over_views, runs_set_aside
from ledger.kinds import Accept, Fault, Note, Plan, Resume

__all__ = ["ResumeJob", "Resumed", "resume_job"]

_AN_APPEND = 500
_ACCEPTABLE = ("endpoint", "code")
_NEVER = frozenset({
    "input", "gold", "case", "fixture", "prompt", "model", "protocol", "rules", "rubric", "arm", "suite", "parameters",
    "temperature", "seed", "max_tokens", "stream", "candidate", "candidates", "ask", "turns",
})  # fmt: skip
_Tell = Callable[[Record, Start, int, Sequence[str]], None]
_NOTHING = "nothing is unfinished, so nothing was asked"
_OPEN = over_views(
    "SELECT status, EXISTS (SELECT 1 FROM cells WHERE cells.run = runs.run"
    " AND status IN (SELECT value FROM json_each(?1))"
    " AND rules NOT IN (SELECT rules FROM joins WHERE run = ?2)) AS unfinished FROM runs WHERE run = ?2"
)


@dataclass(frozen=True)
class Resumed:
    """How the run stands now, its report, and what people are told of how it came to that."""

    finished: Finished
    report: RunReport
    notes: Sequence[str]
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What was told before anything was sent: what `keeps` its answer by outcome, and how many cells it `asks`."""

    @property
    def spent(self) -> str:
        """What all sessions of the run spent, for people."""
        return total_spent(self.report.data["spend"])


def resume_job(
    job: ResumeJob, db: Path, progress: Progress, *, say: Callable[[str], object] = lambda sentence: None
) -> Resumed:  # fmt: skip
    """Resume a run. `say` is told, before anything is sent, which answers stay and what is asked.

    Raises RunMoved (nothing was sent or written), RefusedError, UsageError, RunHeld, LedgerError."""
    _check(job)
    with Ledger.open(db) as ledger:
        run = find_run(ledger, job.run) if job.run else _newest(ledger, job.retry)
        with hold_run(ledger.path, run):
            told: dict[str, Any] = {}
            finished, notes = _resume(ledger, run, job, progress, _tell(say, told))
        notes += join_again(ledger, run)
        if finished.asked:
            notes += catch_up(ledger, run)
        return Resumed(finished, read_report(ledger, run), notes, told)


def _check(job: ResumeJob) -> None:
    for name in job.accept:
        if name in _NEVER:
            raise RefusedError(
                f"{name} can't be accepted away: with another one it is another experiment, so start a new run"
            )
        if name not in _ACCEPTABLE:
            raise UsageError(f"--accept: expected {' or '.join(_ACCEPTABLE)}, got {name!a}")
    if job.accept and not job.reason.strip():
        raise UsageError("--accept needs --reason: every later view of the run shows it")
    for name in job.retry:
        if name in ("correct", "graded", "parsed"):
            raise UsageError(f"--retry-outcomes: {name} is no outcome that anything is left to do about")


def _newest(ledger: Ledger, retry: Sequence[str]) -> str:
    """The newest run with something to ask; where none has, or outcomes are to be asked again, the newest of all."""
    newest = ""
    for event in reversed(list(ledger.events(kind="plan"))):
        body = ledger.body(event)
        if not isinstance(body, Plan) or _why_not(body):
            continue
        newest = newest or event.run
        (row,) = ledger.rows(_OPEN, (json.dumps(sorted(UNFINISHED)), event.run))
        if retry or row["unfinished"] or row["status"] not in ("complete", "partial"):
            return event.run
    if newest:
        return newest
    raise UsageError(f"{ledger.path} holds no run that can be resumed; `ledger runs` lists what there is")


def _why_not(plan: Plan) -> str:
    """Why a plan's run can't be resumed at all, or empty."""
    given = read_given(plan.given)
    if plan.purpose == "probe":
        return "is a probe: one call, over when it ended; probe again"
    if plan.via == "import":
        return "was imported: nothing here ever asked it; import again instead"
    if plan.via == "replay":
        return "is a replay of a recording, which gives each reply out once; run it again instead"
    if given is not None and any(is_replay(engine) for engine in given.engines):
        return "has a replay among its engines, which gives each reply out once; run it again instead"
    return ""


def _tell(say: Callable[[str], object], told: dict[str, Any]) -> _Tell:
    def tell(record: Record, start: Start, cells: int, retry: Sequence[str]) -> None:
        words: dict[int, str] = {}
        again: Counter[str] = Counter()
        for (_, cell), score in start.settled.items():
            words.setdefault(cell, word_of(score))
        for cell in record.cells:
            scores = [
                record.scores[each.label, cell] for each in record.plan.rules if (each.label, cell) in record.scores
            ]
            if retry and to_retry(scores, retry):
                again[word_of(scores[0])] += 1
        kept, asks = Counter(words.values()), cells - len(words) - len(start.recorded)
        told.update({"keeps": dict(kept), "reads": len(start.recorded), "asks": asks, "asks_again": dict(again)})
        said = f"keeps {len(words)} answers" + (f": {counts_text(kept)}" if kept else "")
        said += f"; scores {len(start.recorded)} that were recorded and never read" if start.recorded else ""
        more = f", {again.total()} of them although they had an answer ({counts_text(again)})" if again else ""
        say(f"{said}; asks {asks}{more}")

    return tell


def _resume(
    ledger: Ledger, run: str, job: ResumeJob, progress: Progress, tell: _Tell
) -> tuple[Finished, list[str]]:  # fmt: skip
    record = read_record(ledger, run)
    own = {score.reason for score in record.scores.values() if score.outcome == "unmeasured"}
    job = replace(job, retry=outcome_names(job.retry, "--retry-outcomes", own))
    why_not = _why_not(record.plan)
    aside = runs_set_aside(ledger).get(run)
    if not why_not and aside:
        why_not = f"was {aside}, so nothing more is built on it; start a new run"
    if why_not:
        raise RefusedError(f"run {run} {why_not}")
    done = is_settled(record, job.retry)
    gone = missing_suite(record.plan, job)
    if gone is not None:
        return _as_it_stands(record), [*hold_by_the_frozen(ledger, record, job, gone, done=done), _NOTHING]
    held = hold(ledger, record, job, done=done)
    if done:
        return _as_it_stands(record), [*held.notes, _NOTHING]
    start = take_stock(ledger, record, [measurement for measurement, _ in held.laid_out], held.rules, job.retry)
    if len(start.settled) == len(held.rules) * len(held.laid_out) and record.closed is not None:
        return _as_it_stands(record), [*held.notes, _NOTHING]
    return _go_on(ledger, record, job, held, start, progress, tell)


def _go_on(
    ledger: Ledger, record: Record, job: ResumeJob, held: Held, start: Start, progress: Progress, tell: _Tell
) -> tuple[Finished, list[str]]:
    """Ask and score what is left. What can only be told by whoever is asked is held here: keys, requests, servers."""
    run = record.run
    assert held.now is not None
    given = read_given(record.plan.given)
    budget = budget_again(given.budget if given else {}, job.max_cost, job.max_tokens_total)
    options = replace(job.options, meter=resumed_meter(ledger, run, record.plan, budget))
    now = with_keys(record, job, held.now)
    keyed = {each.label: each for each in now.candidates}
    laid_out = [(replace(each, candidate=keyed[each.candidate.label]), body) for each, body in held.laid_out]
    requests = requests_moved(ledger, record, now.suite, [each for each, _ in laid_out], held.code) if held.code else []
    refuse(run, refused(requests, job))
    looked = look_up(ledger, run, now.candidates)
    servers = moved_servers(record, looked.servers)
    refuse(run, refused(servers, job))
    accepted = [*held.accepted, *(each for each in servers if each.accept in job.accept)]
    notes = [*held.notes, *(each.sentence() + ": accepted" for each in accepted if each in servers)]
    notes += _write_down(ledger, record, job, accepted, held.behaviour, looked.events)
    written, cells = laid_out[: len(record.cells)], laid_out[len(record.cells) :]
    there = tuple(replace(measurement, seq=record.cells[measurement.cell][0]) for measurement, _ in written)
    planned = there + add_cells(ledger, run, record.seq, cells)
    session = Session(
        ledger, now.suite, held.rules, PlannedRun(run, record.seq, is_partial(record.plan), planned),
        {each.label: each.freeze for each in record.plan.rules}, options, progress, start,
    )  # fmt: skip
    tell(record, start, len(planned), job.retry)
    return session.conduct(), notes


# What is written down before anything is asked


def _write_down(
    ledger: Ledger, record: Record, job: ResumeJob, accepted: Sequence[Moved], behaviour: str, lookups: Sequence[int]
) -> list[str]:  # fmt: skip
    taken = sorted({each.accept for each in accepted})
    options = Resume(retry=list(job.retry), accept=taken, reason=job.reason)
    drafts = [Draft(options, run=record.run, causes=sorted({record.seq, record.last_close, *lookups} - {0}))]
    said = {(each.component, each.before, each.after) for each in accepted}
    for component, before, after in sorted(said):
        body = Accept(component=component, before=before, after=after, reason=job.reason)
        drafts.append(Draft(body, run=record.run, causes=[record.seq]))
    lost = [
        attempt.request
        for attempts in record.attempts.values() for attempt in attempts
        if attempt.open and attempt.request is not None
    ]  # fmt: skip
    numbers = {each.request.seq: each.number for some in record.attempts.values() for each in some if each.request}
    for request in lost:
        fault = Fault(
            attempt=numbers[request.seq], turn=0, stage="harness", reason="fate_unknown", domain="harness",
            detail="the process that asked is gone; whoever resumed the run wrote this", total_ms=None,
        )  # fmt: skip
        drafts.append(Draft(fault, run=record.run, cell=request.cell, causes=[request.seq]))
    shifts = moved_environment(record.plan.environment, environment())
    texts = [behaviour, f"resumed in another environment: {shifts_in_words(shifts)}" if shifts else ""]
    drafts += [Draft(Note(text=text), run=record.run, causes=[record.seq]) for text in texts if text]
    for start in range(0, len(drafts), _AN_APPEND):
        ledger.append(*drafts[start : start + _AN_APPEND])
    return [f"{len(lost)} requests had been left open; what became of them is unknown"] if lost else []


def _as_it_stands(record: Record) -> Finished:
    closed = record.closed
    assert closed is not None
    return Finished(record.run, closed.status, closed.planned, closed.outcomes, failed=False, reason=closed.reason)
