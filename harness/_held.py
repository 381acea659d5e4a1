"""A run held against what is there now, whatever is left of it: the door that every resume goes through.

    hold                 against the suite on disk and what is asked for now
    hold_by_the_frozen   against the frozen files alone, where there is no suite any more

Either raises RunMoved, with each component that moved; nothing is sent and nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness._errors import RefusedError, RunMoved
from harness._frozen_alone import held_by_the_frozen
from harness._graded import thaw_made
from harness._moved import (
    FrozenCase,
    FrozenFixture,
    FrozenRules,
    Moved,
    moved_arms,
    moved_candidates,
    moved_cases,
    moved_code,
    moved_people,
    moved_people_names,
    moved_rules,
    read_frozen_cases,
)
from harness._plan import Measurement
from harness._recorded import Record
from harness._rederived import behaviour_of
from harness._rules import RuleSet
from harness._thaw import thaw_rules
from harness._there_now import Now, ResumeJob, look
from harness._unfinished import laid_out_again
from ledger import Ledger, NotFound
from ledger.kinds import Cell, Freeze, PlanFixture, PlanRules

__all__ = ["Held", "hold", "hold_by_the_frozen", "refuse", "refused"]

_MOVED_SHOWN = 12


@dataclass(frozen=True)
class Held:
    """A run that nothing stands in the way of: what it is now, its cells laid out anew, the rule sets that are applied,
    code that moved, what a person accepted, what the code here makes of what is recorded, and what people are told."""

    now: Now | None = None
    laid_out: Sequence[tuple[Measurement, Cell]] = ()
    rules: Sequence[RuleSet] = ()
    code: Sequence[Moved] = ()
    accepted: Sequence[Moved] = ()
    behaviour: str = ""
    notes: Sequence[str] = ()


def hold(ledger: Ledger, record: Record, job: ResumeJob, *, done: bool) -> Held:
    """Hold a plan against what is on disk and asked for. Raises RunMoved for whatever is in the way.

    Of a run that has nothing left, what was withheld since is passed over; nothing can be asked on it.
    """
    try:
        made = thaw_made(ledger, record.plan)
    except RefusedError:
        if not done:
            raise
        return Held(notes=["what it judged was withheld since, so it was held against nothing"])
    now = look(record, job, made)
    fixtures = [_frozen_fixture(ledger, record, each, done=done) for each in record.plan.fixtures]
    frozen = [_frozen_rules(ledger, record, each, done=done) for each in record.plan.rules]
    moved = _compare(ledger, record, now, fixtures, frozen)
    refuse(record.run, refused(moved, job))
    notes: list[str] = []
    laid_out: list[tuple[Measurement, Cell]] = []
    whole = all(each.listed and (each.file is not None or not record.plan.filter) for each in fixtures)
    if whole or not done:
        laid_out, otherwise, limit = laid_out_again(ledger, record, now, fixtures)
        refuse(record.run, otherwise)
        notes += [limit] if limit else []
    more = sorted(set(now.suite.people) - set(record.plan.people or ()))
    if more:
        notes.append(f"the suite names {', '.join(more)} as people's by now; this run doesn't hold them")
    code = moved_code(record, frozen)
    # Found to be the frozen ones by now, also where the frozen file is withheld.
    cases = {(name, case.id): case for name, here in now.fixtures.items() if here is not None for case in here.cases}
    behaviour = behaviour_of(ledger, record, code, cases)
    refuse(record.run, refused(behaviour.moved, job))
    accepted = [each for each in (*moved, *code) if each.accept and each.accept in job.accept]
    notes += [*filter(None, [behaviour.said]), *(each.sentence() + ": accepted" for each in accepted)]
    rules = [each.rules for each in frozen if each.rules is not None]
    return Held(now, laid_out, rules, code, accepted, behaviour.said, notes)


def hold_by_the_frozen(
    ledger: Ledger, record: Record, job: ResumeJob, folder: Path, *, done: bool
) -> list[str]:  # fmt: skip
    """A run whose suite is gone: complete, it is held against what was frozen; else nothing can be asked of it."""
    run = record.run
    if not done:
        raise RefusedError(
            f"run {run} can't be resumed: its suite {record.plan.suite} isn't on disk ({folder} holds none), and cells"
            " are left to ask; put it back, or say with --suite where it lies"
        )
    moved, said = held_by_the_frozen(ledger, record, folder)
    refuse(run, moved)
    frozen = [_frozen_rules(ledger, record, each, done=True) for each in record.plan.rules]
    behaviour = behaviour_of(ledger, record, moved_code(record, frozen), None)
    refuse(run, refused(behaviour.moved, job))
    return [said, *filter(None, [behaviour.said])]


def _frozen_fixture(ledger: Ledger, record: Record, fixture: PlanFixture, *, done: bool) -> FrozenFixture:
    try:
        file = ledger.blob(fixture.freeze, "file")
    except NotFound:
        file = None
    try:
        return FrozenFixture(fixture.name, read_frozen_cases(ledger.blob(fixture.freeze, "cases")), file)
    except NotFound as error:
        if not done:
            raise RefusedError(f"run {record.run} can't be resumed: the cases of {fixture.name}: {error}") from None
    told = {body.case: body for _, body in record.cells.values() if body.fixture == fixture.name}
    cases = tuple(FrozenCase(body.case, 0, body.input, body.gold) for body in told.values())
    return FrozenFixture(fixture.name, cases, None, listed=False)


def _frozen_rules(ledger: Ledger, record: Record, rules: PlanRules, *, done: bool) -> FrozenRules:
    body = ledger.body(rules.freeze)
    assert isinstance(body, Freeze)
    try:
        return FrozenRules(rules.name, rules.label, body, thaw_rules(ledger, rules.freeze))
    except RefusedError as error:
        if not done:
            raise RefusedError(f"run {record.run} can't be resumed: {error}") from None
    return FrozenRules(rules.name, rules.label, body, None)


def _compare(
    ledger: Ledger, record: Record, now: Now, fixtures: Sequence[FrozenFixture], frozen: Sequence[FrozenRules]
) -> list[Moved]:
    key = bytes.fromhex(ledger.genesis.identity_key)
    moved: list[Moved] = []
    for fixture in fixtures:
        here = now.fixtures[fixture.name]
        moved += moved_cases(fixture, here, key) + moved_people(record, fixture, here, key)
    moved += moved_people_names(record.plan, now.suite)
    moved += moved_arms(record, now.suite, now.arm)
    moved += moved_candidates(record, now.suite, now.candidates, key)
    return moved + moved_rules(frozen, now.rules)


def refused(moved: Sequence[Moved], job: ResumeJob) -> list[Moved]:
    return [each for each in moved if not each.accept or each.accept not in job.accept]


def refuse(run: str, moved: Sequence[Moved]) -> None:
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
