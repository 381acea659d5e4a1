"""Resuming a run: hold it, hold its plan against what is there now, and ask exactly what is unfinished.

    refused      anything moved that decides what a score means, or that nobody accepted; nothing is sent or written
    taken over   a request that a killed process left open gets its fault (harness, fate_unknown), and is asked again
    asked        cells never asked, of unknown fate, or in status `error`; others only where --retry-outcomes says so
    read         replies that were recorded and never scored: they are scored, not paid for again

Concurrency, retries and timeouts may be others; they decide nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness._attempts import read_exchange
from harness._budget import budget_again, resumed_meter
from harness._capture import Exchange
from harness._catch_up import catch_up
from harness._errors import RefusedError, RunMoved, UsageError
from harness._filter import fits_all, read_filters
from harness._given import read_given
from harness._graded import evidence_of, thaw_made
from harness._join import join_again
from harness._moved import (
    FrozenFixture,
    FrozenRules,
    Moved,
    moved_candidates,
    moved_cases,
    moved_code,
    moved_rules,
    moved_servers,
    read_frozen_cases,
)
from harness._plan import Measurement, PlannedRun, add_cells, environment, is_partial, lay_out
from harness._recorded import Record, exchange_of, read_record
from harness._replay_check import check_run
from harness._report import RunReport, read_report
from harness._rules import RuleSet
from harness._session import UNFINISHED, Finished, Progress, Session, Start
from harness._spend import total_spent
from harness._thaw import thaw_cases, thaw_rules
from harness._there_now import Now, ResumeJob, look
from harness.engines import ask_server, is_replay
from ledger import Draft, Ledger, NotFound, find_run, hold_run, over_views, runs_set_aside
from ledger.kinds import Accept, Cell, Fault, Freeze, Note, Plan

__all__ = ["ResumeJob", "Resumed", "resume_job"]

_AN_APPEND = 500
_ACCEPTABLE = ("endpoint", "code")
_NEVER = frozenset({
    "input", "gold", "case", "fixture", "prompt", "model", "protocol", "rules", "rubric", "arm", "suite", "parameters",
    "temperature", "seed", "max_tokens", "stream", "candidate", "candidates", "ask", "turns",
})  # fmt: skip
_MODELS = (
    "SELECT DISTINCT cell.body ->> '$.candidate' AS candidate, parse.body ->> '$.model' AS model"
    " FROM main.events AS parse CROSS JOIN main.events AS cell"
    " ON cell.run = parse.run AND cell.kind = 'cell' AND cell.cell = parse.cell"
    " WHERE parse.run = ? AND parse.kind = 'parse' AND parse.body ->> '$.model' IS NOT NULL"
    " AND parse.body ->> '$.status' <> 'error'"
)
_MOVED_SHOWN = 12
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

    @property
    def spent(self) -> str:
        """What all sessions of the run spent, for people."""
        return total_spent(self.report.data["spend"])


@dataclass(frozen=True)
class _Frozen:
    """What the plan stands on, out of the ledger."""

    fixtures: Sequence[FrozenFixture]
    rules: Sequence[FrozenRules]


def resume_job(job: ResumeJob, db: Path, progress: Progress) -> Resumed:
    """Resume a run. Raises RunMoved (nothing was sent or written), RefusedError, UsageError, RunHeld, LedgerError."""
    _check(job)
    with Ledger.open(db) as ledger:
        run = find_run(ledger, job.run) if job.run else _newest(ledger, job.retry)
        with hold_run(ledger.path, run):
            finished, notes = _resume(ledger, run, job, progress)
        notes += join_again(ledger, run)
        if finished.asked:
            notes += catch_up(ledger, run)
        return Resumed(finished, read_report(ledger, run), notes)


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
        if name in ("correct", "incorrect", "graded", "parsed"):
            raise UsageError(f"--retry-outcomes: {name} is a measured outcome, and choosing among answers is no retry")


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


def _resume(ledger: Ledger, run: str, job: ResumeJob, progress: Progress) -> tuple[Finished, list[str]]:
    record = read_record(ledger, run)
    why_not = _why_not(record.plan)
    aside = runs_set_aside(ledger).get(run)
    if not why_not and aside:
        why_not = f"was {aside}, so nothing more is built on it; start a new run"
    if why_not:
        raise RefusedError(f"run {run} {why_not}")
    if _settled(record, job.retry):
        # Nothing would be asked, so nothing that moved since stands in the way of anything.
        return _as_it_stands(record), [_NOTHING]
    given = read_given(record.plan.given)
    budget = budget_again(given.budget if given else {}, job.max_cost, job.max_tokens_total)
    options = replace(job.options, meter=resumed_meter(ledger, run, record.plan, budget))
    now = look(record, job, thaw_made(ledger, record.plan))
    frozen = _thaw(ledger, record)
    moved = _compare(ledger, record, now, frozen)
    if not _refused(moved, job):
        moved += moved_servers(record, {each.label: ask_server(each) for each in now.candidates})
    accepted = [each for each in moved if each.accept and each.accept in job.accept]
    _refuse(run, [*_refused(moved, job), *_not_comparable(ledger, record, now, frozen, accepted)])
    laid_out, limit = _lay_out(ledger, record, now, frozen)
    rules = [each.rules for each in frozen.rules]
    start = _take_stock(ledger, record, [measurement for measurement, _ in laid_out], rules, job.retry)
    notes = [each.sentence() + ": accepted" for each in accepted]
    if limit:
        notes.append(limit)
    to_do = len(start.settled) < len(rules) * len(laid_out)
    if not to_do and record.closed is not None:
        return _as_it_stands(record), [*notes, _NOTHING]
    notes += _write_down(ledger, record, job, accepted)
    there = tuple(
        replace(measurement, seq=record.cells[measurement.cell][0]) for measurement, _ in laid_out[: len(record.cells)]
    )
    planned = there + add_cells(ledger, run, record.seq, laid_out[len(record.cells) :])
    session = Session(
        ledger, now.suite, rules, PlannedRun(run, record.seq, is_partial(record.plan), planned),
        {each.rules.label: rule.freeze for each, rule in zip(frozen.rules, record.plan.rules, strict=True)},
        options, progress, start,
    )  # fmt: skip
    return session.conduct(), notes


# What was frozen


def _thaw(ledger: Ledger, record: Record) -> _Frozen:
    fixtures: list[FrozenFixture] = []
    for fixture in record.plan.fixtures:
        try:
            listed = read_frozen_cases(ledger.blob(fixture.freeze, "cases"))
        except NotFound as error:
            raise RefusedError(f"run {record.run} can't be resumed: the cases of {fixture.name}: {error}") from None
        try:
            file = ledger.blob(fixture.freeze, "file")
        except NotFound:
            file = None
        fixtures.append(FrozenFixture(fixture.name, listed, file))
    rules: list[FrozenRules] = []
    for each in record.plan.rules:
        body = ledger.body(each.freeze)
        assert isinstance(body, Freeze)
        try:
            rules.append(FrozenRules(thaw_rules(ledger, each.freeze), body))
        except RefusedError as error:
            raise RefusedError(f"run {record.run} can't be resumed: {error}") from None
    return _Frozen(fixtures, rules)


# What moved


def _compare(ledger: Ledger, record: Record, now: Now, frozen: _Frozen) -> list[Moved]:
    key = bytes.fromhex(ledger.genesis.identity_key)
    moved: list[Moved] = []
    for fixture in frozen.fixtures:
        moved += moved_cases(fixture, now.fixtures[fixture.name], key)
    moved += moved_candidates(record, now.suite, now.candidates, now.arm, key)
    moved += moved_rules(record, frozen.rules, now.rules)
    return moved + moved_code(record, frozen.rules)


def _refused(moved: Sequence[Moved], job: ResumeJob) -> list[Moved]:
    return [each for each in moved if not each.accept or each.accept not in job.accept]


def _refuse(run: str, moved: Sequence[Moved]) -> None:
    """Raises RunMoved when anything is left that stands in the way."""
    if not moved:
        return
    said = "; ".join(each.sentence() for each in moved[:_MOVED_SHOWN])
    more = f"; and {len(moved) - _MOVED_SHOWN} more" if len(moved) > _MOVED_SHOWN else ""
    may = sorted({each.accept for each in moved if each.accept})
    if may and all(each.accept for each in moved):
        mend = "to go on all the same: " + " ".join(f"--accept {name}" for name in may) + " --reason WHY"
    else:
        mend = "put it back, or start a new run (`harness run … --reuse` takes over the answers that still hold)"
    raise RunMoved(
        f"run {run} is not resumed: {said}{more}. Nothing was sent; {mend}", run, [each.as_json() for each in moved]
    )


def _not_comparable(
    ledger: Ledger, record: Record, now: Now, frozen: _Frozen, accepted: Sequence[Moved]
) -> list[Moved]:
    """Moved code is comparable when it reads what was recorded to the same end; accepted or not, it must be."""
    modules = [name for each in accepted if each.component == "code" for name in each.paths]
    if not modules:
        return []
    # Their inputs and golds were found to be the frozen ones by now, also where the frozen file is withheld.
    cases = {(name, case.id): case for name, here in now.fixtures.items() if here is not None for case in here.cases}
    planned = {each.rules.label for each in frozen.rules}
    checked = check_run(ledger, record.run, cases=cases)
    cells = {each.cell for each in checked.differences if each.cell and each.rules in planned}
    if not cells:
        return []
    code = next(each for each in accepted if each.component == "code")
    shown = ", ".join(map(str, sorted(cells)[:8])) + (", …" if len(cells) > 8 else "")
    where = f"{', '.join(modules)}, which now reads the recorded replies of cells {shown} otherwise: NOT COMPARABLE,"
    return [replace(code, where=where, paths=(), accept="")]


# What is unfinished


def _lay_out(
    ledger: Ledger, record: Record, now: Now, frozen: _Frozen
) -> tuple[list[tuple[Measurement, Any]], str]:  # fmt: skip
    """The plan's cells, built anew of what is on disk, each the very one that was planned. Raises RunMoved."""
    cases: list[tuple[str, Any]] = []
    for fixture in frozen.fixtures:
        here = now.fixtures[fixture.name]
        assert here is not None
        by_id = {case.id: case for case in here.cases}
        cases += [(fixture.name, by_id[case.id]) for case in fixture.cases]
    limit, said = record.plan.limit, ""
    if is_partial(record.plan):
        every = len(cases)
        cases = _filtered(ledger, record.plan, cases)
        where = f"cases where {record.plan.filter}" if record.plan.filter else ""
        first = f"the first {limit} of {len(cases) if where else every} " if limit is not None else ""
        said = f"the run is limited to {first}{where or 'cases'}, and stays partial; for the others: "
        named = [flag for flag, narrows in (("--filter", where), ("--limit", limit is not None)) if narrows]
        said += f"`harness run` without {' and '.join(named)}, with --reuse"
    laid_out = lay_out(
        now.suite, cases[:limit], now.candidates, epochs=record.plan.epochs, arm=now.arm,
        key=bytes.fromhex(ledger.genesis.identity_key),
        evidence={case.id: evidence_of(case) for _, case in cases} if record.plan.grades else {},
    )  # fmt: skip
    moved = [
        Moved("identity", f"cell {measurement.cell}", record.cells[measurement.cell][1].identity, body.identity)
        for measurement, body in laid_out
        if measurement.cell in record.cells and not _same_measurement(record.cells[measurement.cell][1], body)
    ]
    if len(laid_out) != record.plan.cells:
        moved.append(Moved("cells", "", str(record.plan.cells), str(len(laid_out))))
    _refuse(record.run, moved)
    return laid_out, said


def _same_measurement(recorded: Cell, now: Cell) -> bool:
    """Whether two cells plan the same; one that was written in an older schema says less, and nothing else."""
    later = dict.fromkeys(recorded.unsaid())
    return recorded == now.model_copy(update={"version": recorded.version, **later})


def _filtered(ledger: Ledger, plan: Plan, cases: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The cases that a plan's conditions kept, by the labels that were frozen: those on disk decide nothing."""
    given = read_given(plan.given)
    conditions = read_filters(given.filters) if given is not None and plan.filter else ()
    if plan.filter and not conditions:
        raise RefusedError(f"the plan keeps only cases where {plan.filter}, and doesn't say how that was asked for")
    if not conditions:
        return cases
    frozen = thaw_cases(ledger, plan)
    return [(name, case) for name, case in cases if fits_all(conditions, name, frozen[name, case.id])]


def _take_stock(
    ledger: Ledger, record: Record, measurements: Sequence[Measurement], rules: Sequence[RuleSet], retry: Sequence[str]
) -> Start:
    settled: dict[tuple[str, int], Any] = {}
    prior: dict[tuple[str, int], Any] = {}
    recorded: dict[int, Exchange] = {}
    again = 0
    for measurement in measurements:
        cell = measurement.cell
        scores = {(each.label, cell): record.scores.get((each.label, cell)) for each in rules}
        known = {place: score for place, score in scores.items() if score is not None}
        last = record.last(cell)
        wanted = _to_retry(list(known.values()), retry)
        again += wanted
        whole = len(known) == len(rules) and not any(score.status in UNFINISHED for score in known.values())
        if whole and not wanted:
            settled.update(known)
            continue
        prior.update(known)
        exchange = exchange_of(ledger, last) if last is not None and not last.open and not wanted else None
        if exchange is not None:
            status = read_exchange(exchange, measurement.candidate, max_wait=0).status
            if status not in UNFINISHED:
                recorded[cell] = exchange
    models: dict[str, frozenset[str]] = {}
    for row in ledger.rows(_MODELS, (record.run,)):
        models[row["candidate"]] = models.get(row["candidate"], frozenset()) | {row["model"]}
    attempts = {each.cell: record.next_attempt(each.cell) for each in measurements}
    reason = f"asked again by --retry-outcomes {' '.join(retry)}: {again} cells" if again else ""
    return Start(settled, prior, recorded, attempts, models, record.reused, reason)


def _settled(record: Record, retry: Sequence[str]) -> bool:
    """Whether every planned cell has its score under every planned rule set, and none is to be asked again."""
    if record.closed is None or len(record.cells) < record.plan.cells:
        return False
    for cell in record.cells:
        scores = [record.scores.get((each.label, cell)) for each in record.plan.rules]
        known = [score for score in scores if score is not None]
        if len(known) < len(scores) or any(score.status in UNFINISHED for score in known) or _to_retry(known, retry):
            return False
    return True


def _to_retry(scores: Sequence[Any], retry: Sequence[str]) -> bool:
    """Whether a cell is unmeasured under every rule set, and for one of these statuses or reasons under some."""
    unmeasured = bool(scores) and all(score.outcome == "unmeasured" for score in scores)
    return unmeasured and any(name in (score.status, score.reason) for score in scores for name in retry)


# What is written down before anything is asked


def _write_down(ledger: Ledger, record: Record, job: ResumeJob, accepted: Sequence[Moved]) -> list[str]:
    drafts: list[Draft] = []
    for attempts in record.attempts.values():
        for attempt in attempts:
            if attempt.open and attempt.request is not None:
                lost = Fault(
                    attempt=attempt.number, turn=0, stage="harness", reason="fate_unknown", domain="harness",
                    detail="the process that asked is gone; whoever resumed the run wrote this", total_ms=None,
                )  # fmt: skip
                place = attempt.request
                drafts.append(Draft(lost, run=record.run, cell=place.cell, causes=[place.seq]))
    notes = [f"{len(drafts)} requests had been left open; what became of them is unknown"] if drafts else []
    said = {(each.component, each.before, each.after) for each in accepted}
    for component, before, after in sorted(said):
        body = Accept(component=component, before=before, after=after, reason=job.reason.strip())
        drafts.append(Draft(body, run=record.run, causes=[record.seq]))
    here = environment()
    other = [
        f"{name} {record.plan.environment.get(name, 'unknown')} to {here.get(name, 'unknown')}"
        for name in sorted({*here, *record.plan.environment})
        if here.get(name) != record.plan.environment.get(name)
    ]
    if other:
        text = "resumed in another environment: " + "; ".join(other)
        drafts.append(Draft(Note(text=text), run=record.run, causes=[record.seq]))
    for start in range(0, len(drafts), _AN_APPEND):
        ledger.append(*drafts[start : start + _AN_APPEND])
    return notes


def _as_it_stands(record: Record) -> Finished:
    closed = record.closed
    assert closed is not None
    return Finished(record.run, closed.status, closed.planned, closed.outcomes, failed=False, reason=closed.reason)
