"""What a run has left: its cells laid out anew, each the very one that was planned, and where each stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness._attempts import read_exchange
from harness._capture import Exchange
from harness._errors import RefusedError
from harness._filter import fits_all, read_filters
from harness._given import read_given
from harness._graded import evidence_of
from harness._moved import FrozenFixture, Moved
from harness._plan import Measurement, is_partial, lay_out
from harness._recorded import Record, exchange_of
from harness._rerolls import to_retry
from harness._rules import RuleSet
from harness._session import UNFINISHED, Start
from harness._thaw import thaw_cases
from harness._there_now import Now
from ledger import Ledger
from ledger.kinds import Cell, Plan

__all__ = ["is_settled", "laid_out_again", "take_stock"]

_MODELS = (
    "SELECT DISTINCT cell.body ->> '$.candidate' AS candidate, parse.body ->> '$.model' AS model"
    " FROM main.events AS parse CROSS JOIN main.events AS cell"
    " ON cell.run = parse.run AND cell.kind = 'cell' AND cell.cell = parse.cell"
    " WHERE parse.run = ? AND parse.kind = 'parse' AND parse.body ->> '$.model' IS NOT NULL"
    " AND parse.body ->> '$.status' <> 'error'"
)


def is_settled(record: Record, retry: Sequence[str]) -> bool:
    """Whether every planned cell has its score under every planned rule set, and none is to be asked again."""
    if record.closed is None or len(record.cells) < record.plan.cells:
        return False
    for cell in record.cells:
        scores = [record.scores.get((each.label, cell)) for each in record.plan.rules]
        known = [score for score in scores if score is not None]
        if len(known) < len(scores) or any(score.status in UNFINISHED for score in known) or to_retry(known, retry):
            return False
    return True


def laid_out_again(
    ledger: Ledger, record: Record, now: Now, fixtures: Sequence[FrozenFixture]
) -> tuple[list[tuple[Measurement, Cell]], list[Moved], str]:
    """The plan's cells, built anew of what is on disk; those of them that aren't the ones that were planned; and, for
    people, what the plan left out of its fixtures (empty for nothing)."""
    plan, limit, said = record.plan, record.plan.limit, ""
    cases: list[tuple[str, Any]] = []
    for fixture in fixtures:
        here = now.fixtures[fixture.name]
        assert here is not None
        by_id = {case.id: case for case in here.cases}
        cases += [(fixture.name, by_id[case.id]) for case in fixture.cases]
    if is_partial(plan):
        every = len(cases)
        cases = _filtered(ledger, plan, cases)
        where = f"cases where {plan.filter}" if plan.filter else ""
        first = f"the first {limit} of {len(cases) if where else every} " if limit is not None else ""
        said = f"the run is limited to {first}{where or 'cases'}, and stays partial; for the others: "
        named = [flag for flag, narrows in (("--filter", where), ("--limit", limit is not None)) if narrows]
        said += f"`harness run` without {' and '.join(named)}, with --reuse"
    laid_out = lay_out(
        now.suite, cases[:limit], now.candidates, epochs=plan.epochs, arm=now.arm,
        key=bytes.fromhex(ledger.genesis.identity_key), people=plan.people or (),
        evidence={case.id: evidence_of(case) for _, case in cases} if plan.grades else {},
    )  # fmt: skip
    moved = [
        Moved("identity", f"cell {measurement.cell}", record.cells[measurement.cell][1].identity, body.identity)
        for measurement, body in laid_out
        if measurement.cell in record.cells and not _same(record.cells[measurement.cell][1], body)
    ]
    if len(laid_out) != plan.cells:
        moved.append(Moved("cells", "", str(plan.cells), str(len(laid_out))))
    return laid_out, moved, said


def _same(recorded: Cell, now: Cell) -> bool:
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


def take_stock(
    ledger: Ledger, record: Record, measurements: Sequence[Measurement], rules: Sequence[RuleSet], retry: Sequence[str]
) -> Start:
    """Where each cell stands: settled, recorded and never read, or to be asked."""
    settled: dict[tuple[str, int], Any] = {}
    prior: dict[tuple[str, int], Any] = {}
    recorded: dict[int, Exchange] = {}
    again = 0
    for measurement in measurements:
        cell = measurement.cell
        scores = {(each.label, cell): record.scores.get((each.label, cell)) for each in rules}
        known = {place: score for place, score in scores.items() if score is not None}
        last = record.last(cell)
        wanted = to_retry(list(known.values()), retry)
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
