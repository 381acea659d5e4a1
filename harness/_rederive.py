"""Deriving again what an evidence bundle shows of a run: all of it, or the cells that an auditor's seed drew.

The ledger is a scratch one, of what the bundle shows alone. What is derived again is what `harness._replay_check`
checks, by the code that is here; and a drawn cell's case must be the very one that was measured, by its digests. Of a
run that is shown whole every link is held too (harness.links), as far as it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness._errors import HarnessError
from harness._identity import digest
from harness._replay_check import Checked, check_cells, check_run
from harness._replies import read_plan
from harness._suite import Case, case_of_line
from harness.links import Broken, check_links, said_of_run
from ledger import Ledger, LedgerError
from ledger.bundle import Part, Rederived
from ledger.kinds import Cell, Plan, PlanCandidate

__all__ = ["rederive"]

_UNTOLD = "0" * 64
_MOST_SHOWN = 20


def rederive(ledger: Ledger, part: Part) -> Rederived:
    """Derive again what `part` names. A run that nobody can derive again, a probe for one, is said to be none."""
    broken: Sequence[Broken] = ()
    try:
        if part.cells is None:
            broken = (*check_links(ledger, part.run).broken, *said_of_run(ledger, part.run))
            return _said(part, check_run(ledger, part.run, joined=False), broken)
        cases, problems = _cases(ledger, part)
        if problems:
            return Rederived(False, 0, 0, tuple(problems))
        return _said(part, check_cells(ledger, part.run, _plan(ledger, part), cases, part.cells))
    except (HarnessError, LedgerError) as problem:
        # Where a draw was asked for, what can't be derived again is a failure; else it is said.
        said = f"run {part.run} was not derived again: {problem}"
        return Rederived(part.cells is None and not broken, 0, 0, (*_shown(broken), said))


def _said(part: Part, found: Checked, broken: Sequence[Broken] = ()) -> Rederived:
    differences = [each for rules in found.rules for each in rules.differences] + list(found.strays)
    lines = [f"run {part.run}, {rules.sentence()}" for rules in found.rules]
    lines += _shown(broken)
    lines += [each.sentence() for each in differences[:_MOST_SHOWN]]
    if len(differences) > _MOST_SHOWN:
        lines.append(f"and {len(differences) - _MOST_SHOWN} more that are derived otherwise")
    unfit = any(rules.fault for rules in found.rules) and part.cells is not None
    return Rederived(not differences and not broken and not unfit, found.reproduced, found.total, tuple(lines))


def _shown(broken: Sequence[Broken]) -> list[str]:
    more = [f"and {len(broken) - _MOST_SHOWN} more links that are false"] if len(broken) > _MOST_SHOWN else []
    return [each.sentence() for each in broken[:_MOST_SHOWN]] + more


def _plan(ledger: Ledger, part: Part) -> Plan:
    """The run's plan; where it is hidden, one of what the maker told of it, and of nothing else."""
    told = part.told
    if told is None:
        return read_plan(ledger, part.run)[1]
    return Plan(
        name="", tags=[], purpose="evaluation", suite=told.suite, ask=told.ask, fixtures=[], rules=[],
        candidates=[
            PlanCandidate(
                label=each.label, protocol=each.protocol, model=each.model, parameters={}, prompt=_UNTOLD,
                prompt_freeze=None, stream=bool(each.stream), digest=_UNTOLD, base_url="",
            )
            for each in told.candidates
        ],
        arms=[], epochs=1, limit=None, cells=max(part.cells or (1,)), via="live", environment={}, code={},
    )  # fmt: skip


def _cases(ledger: Ledger, part: Part) -> tuple[dict[tuple[str, str], Case], list[str]]:
    """The cases given, and what is wrong with them: each cell's has the digests that its own event names."""
    given: dict[tuple[str, str], Case] = {}
    for number, (fixture, line) in enumerate(part.cases, start=1):
        case = case_of_line(line.encode("utf-8"), number, f"cases.jsonl, line {number}")
        given[fixture, case.id] = case
    key = bytes.fromhex(ledger.genesis.identity_key)
    problems: list[str] = []
    for event in ledger.events(kind="cell", run=part.run):
        if event.cell not in (part.cells or ()) or event.body is None:
            continue
        body = ledger.body(event)
        assert isinstance(body, Cell)
        case = given.get((body.fixture, body.case))
        where = f"cell {event.cell} of run {part.run}: case {body.case!a} of {body.fixture!a}"
        if case is None:
            problems.append(f"{where} is not among those given")
        elif (digest(case.input_text, key), digest(case.gold_text, key)) != (body.input, body.gold):
            problems.append(f"{where} is not the one that was measured: its digests are others")
    return given, problems
