"""What a run will measure: the plan event, and one cell event for every planned measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Literal

from harness._candidate import Candidate
from harness._environment import environment
from harness._errors import UsageError
from harness._filter import Condition, filters_text, keep
from harness._freeze import Frozen
from harness._identity import candidate_digest, digest, identity, twins
from harness._people import people_digest
from harness._rules import RuleSet
from harness._suite import Case, Fixture, Suite
from harness.suites import Metric
from ledger import Draft, Ledger
from ledger.kinds import Cell, Plan, PlanCandidate, PlanFixture, PlanMetric, PlanRules

__all__ = [
    "Measurement",
    "PlannedRun",
    "add_cells",
    "applies_to",
    "arms_of",
    "code_digests",
    "digest_of_candidate",
    "is_partial",
    "lay_out",
    "make_plan",
    "plan_causes",
    "plan_run",
]

_CELLS_AN_APPEND = 500


@dataclass(frozen=True)
class Measurement:
    """One planned cell: its ordinal, what is asked of whom, and its identity. `rests_on` are the events that its case
    was made of, where it was made of answers."""

    cell: int
    case: Case
    fixture: str
    candidate: Candidate
    epoch: int
    twin: int
    identity: str
    seq: int = 0
    rests_on: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlannedRun:
    """A run whose plan and cells stand in the ledger."""

    run: str
    plan: int
    partial: bool
    measurements: tuple[Measurement, ...]


def applies_to(metric: Metric, groups: frozenset[str]) -> bool:
    """Whether a metric counts a case that is in these groups."""
    return metric.applies == "all" or metric.applies in groups


@cache
def code_digests() -> Mapping[str, str]:
    """The digest of each of our two packages' sources, as they lie on disk when first asked for."""
    from blake3 import blake3

    found: dict[str, str] = {}
    for package in ("ledger", "harness"):
        digest_of = blake3()
        for name, data in sorted(_sources(files(package), package)):
            digest_of.update(f"{name} {len(data)}\n".encode())
            digest_of.update(data)
        found[package] = digest_of.hexdigest()
    return found


def _sources(folder: Traversable, name: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__":
                found += _sources(entry, f"{name}/{entry.name}")
        elif entry.name.endswith((".py", ".sql", ".toml")):
            found.append((f"{name}/{entry.name}", entry.read_bytes()))
    return found


def _planned_metrics(rules: RuleSet, groups: Sequence[frozenset[str]], epochs: int) -> list[PlanMetric]:
    primary = set(rules.primary.values())
    return [
        PlanMetric(
            name=metric.name,
            kind=metric.kind,
            planned=epochs * sum(applies_to(metric, each) for each in groups),
            primary=metric.name in primary,
        )
        for metric in rules.metrics
    ]


def _plan_candidate(
    candidate: Candidate, turns: str, prompt_freeze: int | None, server: Mapping[str, str], price: Mapping[str, str],
    key: bytes,
) -> PlanCandidate:  # fmt: skip
    return PlanCandidate(
        label=candidate.label,
        protocol=candidate.protocol,
        model=candidate.model,
        parameters=dict(candidate.parameters),
        prompt=candidate.prompt_digest,
        prompt_freeze=prompt_freeze,
        stream=candidate.stream,
        digest=digest_of_candidate(candidate, turns, key),
        base_url=candidate.base_url,
        server=dict(server),
        price=dict(price),
    )


def digest_of_candidate(candidate: Candidate, turns: str, key: bytes) -> str:
    """The keyed digest of everything in a candidate that decides a request."""
    return candidate_digest(
        protocol=candidate.protocol,
        model=candidate.model,
        parameters={**candidate.parameters, "stream": candidate.stream},
        prompt=candidate.prompt,
        turns=turns,
        key=key,
    )


def lay_out(
    suite: Suite, cases: Sequence[tuple[str, Case]], candidates: Sequence[Candidate], *, epochs: int, arm: str,
    key: bytes, evidence: Mapping[str, Sequence[int]] = MappingProxyType({}), people: Sequence[str] | None = None,
) -> list[tuple[Measurement, Cell]]:  # fmt: skip
    """Every cell of a plan, in order, with its body: candidate by candidate, epoch by epoch, `cases` in their order.

    `cases` come with the name of their fixture; twins are counted among them. Each cell's arm is `arm`, or the one that
    the suite gives its fixture. `evidence` are the events that a case was made of, by its id; `people` the fields of
    `meta` that are people's, as the suite has them unless told otherwise. No measurement has its seq yet.
    """
    stages = suite.stage_functions
    names = suite.people if people is None else people
    inputs = [digest(case.input_text, key) for _, case in cases]
    golds = [digest(case.gold_text, key) for _, case in cases]
    metas = [people_digest(case.meta_text, names, key) for _, case in cases]
    numbers = twins(inputs)
    found: list[tuple[Measurement, Cell]] = []
    for candidate in candidates:
        candidate_key = digest_of_candidate(candidate, stages.turns, key)
        for epoch in range(epochs):
            for (fixture, case), asked, gold, meta, twin in zip(cases, inputs, golds, metas, numbers, strict=True):
                condition = arm or suite.arms.get(fixture, "")
                known_by = identity(
                    suite=suite.name, input_digest=asked, candidate=candidate_key, arm=condition, epoch=epoch,
                    twin=twin, key=key,
                )  # fmt: skip
                measurement = Measurement(
                    len(found) + 1, case, fixture, candidate, epoch, twin, known_by,
                    rests_on=tuple(evidence.get(case.id, ())),
                )  # fmt: skip
                body = Cell(
                    case=case.id, fixture=fixture, identity=known_by, input=asked, gold=gold,
                    candidate=candidate.label, arm=condition, epoch=epoch, twin=twin, people=meta,
                )  # fmt: skip
                found.append((measurement, body))
    return found


def arms_of(suite: Suite, fixtures: Sequence[str], arm: str) -> list[str]:
    """The conditions that a plan measures: the one asked for, or those that the suite gives its fixtures."""
    return [arm] if arm else list(dict.fromkeys(filter(None, (suite.arms.get(name, "") for name in fixtures))))


def add_cells(
    ledger: Ledger, run: str, plan: int, laid_out: Sequence[tuple[Measurement, Cell]]
) -> tuple[Measurement, ...]:
    """Append the cell events, and return the measurements with their seqs."""
    seqs: list[int] = []
    for start in range(0, len(laid_out), _CELLS_AN_APPEND):
        some = laid_out[start : start + _CELLS_AN_APPEND]
        drafts = [
            Draft(body, run=run, cell=measurement.cell, causes=sorted({plan, *measurement.rests_on}))
            for measurement, body in some
        ]
        seqs += [event.seq for event in ledger.append(*drafts)]
    return tuple(replace(measurement, seq=seq) for (measurement, _), seq in zip(laid_out, seqs, strict=True))


def plan_run(
    ledger: Ledger,
    run: str,
    *,
    suite: Suite,
    fixtures: Sequence[Fixture],
    rules: Sequence[RuleSet],
    candidates: Sequence[Candidate],
    frozen: Frozen,
    epochs: int,
    limit: int | None,
    via: Literal["live", "replay"],
    name: str = "",
    tags: Sequence[str] = (),
    arm: str = "",
    given: str = "",
    servers: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    lookups: Sequence[int] = (),
    prices: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    filters: Sequence[Condition] = (),
    grades: Sequence[str] = (),
    evidence: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> PlannedRun:
    """Append the plan and its cells. Raises UsageError for two candidates of one name.

    `filters` keep the cases that meet them, `limit` the first of those, in file order over the fixtures asked for.
    `given` is what was asked for, for a later resume; `servers` what the candidates' servers told of themselves in the
    events `lookups`, and `prices` what their tokens cost (as a plan keeps it), by candidate label. `grades` are the
    runs whose answers are judged, `evidence` the events that each case was made of then.
    """
    key = bytes.fromhex(ledger.genesis.identity_key)
    body, laid_out = make_plan(
        key, suite=suite, fixtures=fixtures, rules=rules, candidates=candidates, frozen=frozen, epochs=epochs,
        limit=limit, via=via, name=name, tags=tags, arm=arm, given=given, servers=servers, prices=prices,
        filters=filters, grades=grades, evidence=evidence,
    )  # fmt: skip
    (plan,) = ledger.append(Draft(body, run=run, causes=sorted({*plan_causes(frozen), *lookups})))
    return PlannedRun(run, plan.seq, is_partial(body), add_cells(ledger, run, plan.seq, laid_out))


def is_partial(plan: Plan) -> bool:
    """Whether a plan leaves out cases of the fixtures that it stands on."""
    return plan.limit is not None or bool(plan.filter)


def plan_causes(frozen: Frozen) -> list[int]:
    """What a plan is derived from: every freeze that it stands on."""
    prices = () if frozen.prices is None else (frozen.prices,)
    return sorted({*frozen.prompts.values(), *frozen.fixtures.values(), *frozen.rules.values(), *prices})


def make_plan(
    key: bytes,
    *,
    suite: Suite,
    fixtures: Sequence[Fixture],
    rules: Sequence[RuleSet],
    candidates: Sequence[Candidate],
    frozen: Frozen,
    epochs: int,
    limit: int | None,
    via: Literal["live", "replay", "import"],
    name: str = "",
    tags: Sequence[str] = (),
    arm: str = "",
    given: str = "",
    servers: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    prices: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    filters: Sequence[Condition] = (),
    grades: Sequence[str] = (),
    evidence: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> tuple[Plan, list[tuple[Measurement, Cell]]]:
    """The body of a plan, and its cells in order, as `plan_run` takes and appends them; writes nothing.

    `key` is the ledger's identity key. A condition that every case meets narrows nothing, and the plan doesn't say it.
    Raises UsageError for two candidates of one name, and for conditions that no case meets.
    """
    labels = [candidate.label for candidate in candidates]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"the candidate {label} was given twice; its two rows could not be told apart")
    stages = suite.stage_functions
    every = [(fixture.name, case) for fixture in fixtures for case in fixture.cases]
    kept = keep(every, filters)
    asked = kept if limit is None else kept[:limit]
    laid_out = lay_out(suite, asked, candidates, epochs=epochs, arm=arm, key=key, evidence=evidence)
    groups = [stages.group(case.gold) for _, case in asked]
    body = Plan(
        name=name,
        tags=list(tags),
        purpose="evaluation",
        suite=suite.name,
        ask=suite.ask,
        fixtures=[
            PlanFixture(name=fixture.name, freeze=frozen.fixtures[fixture.name], cases=len(fixture.cases))
            for fixture in fixtures
        ],
        rules=[
            PlanRules(
                name=each.name,
                label=each.label,
                identity=each.digest,
                freeze=frozen.rules[each.label],
                metrics=_planned_metrics(each, groups, epochs),
            )
            for each in rules
        ],
        candidates=[
            _plan_candidate(
                candidate, stages.turns, frozen.prompts.get(candidate.prompt_digest),
                servers.get(candidate.label, {}), prices.get(candidate.label, {}), key,
            )
            for candidate in candidates
        ],
        arms=arms_of(suite, [fixture.name for fixture in fixtures], arm),
        epochs=epochs,
        limit=limit if limit is not None and limit < len(kept) else None,
        cells=len(laid_out),
        via=via,
        environment=environment(),
        code=dict(code_digests()),
        given=given,
        prices=frozen.prices,
        filter=filters_text(filters) if len(kept) < len(every) else "",
        grades=list(grades),
        suite_arms={fixture.name: suite.arms[fixture.name] for fixture in fixtures if suite.arms.get(fixture.name)},
        people=list(suite.people),
    )  # fmt: skip
    return body, laid_out
