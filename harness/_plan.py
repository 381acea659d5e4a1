"""What a run will measure: the plan event, and one cell event for every planned measurement."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

from harness._candidate import Candidate
from harness._errors import UsageError
from harness._freeze import Frozen
from harness._identity import candidate_digest, digest, identity, twins
from harness._rules import RuleSet
from harness._suite import Case, Fixture, Suite
from harness.suites import Metric
from ledger import Draft, Ledger
from ledger.kinds import Cell, Plan, PlanCandidate, PlanFixture, PlanMetric, PlanRules

__all__ = ["Measurement", "PlannedRun", "applies_to", "code_digests", "plan_run"]

_CELLS_AN_APPEND = 500
_PACKAGES = ("eval-ledger", "anthropic", "httpx", "httpx2", "pydantic", "orjson", "rfc8785", "blake3")


@dataclass(frozen=True)
class Measurement:
    """One planned cell: its ordinal, what is asked of whom, and its identity."""

    cell: int
    case: Case
    fixture: str
    candidate: Candidate
    epoch: int
    twin: int
    identity: str
    seq: int = 0


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


def _environment() -> dict[str, str]:
    found = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return {**found, **_git()}


@cache
def _git() -> Mapping[str, str]:
    """The commit that the working folder stands at, and whether it is dirty: information, never identity."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
        state = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"git_commit": commit.stdout.strip(), "git_dirty": "yes" if state.stdout.strip() else "no"}


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


def _plan_candidate(candidate: Candidate, turns: str, prompt_freeze: int | None, key: bytes) -> PlanCandidate:
    return PlanCandidate(
        label=candidate.label,
        protocol=candidate.protocol,
        model=candidate.model,
        parameters=dict(candidate.parameters),
        prompt=candidate.prompt_digest,
        prompt_freeze=prompt_freeze,
        stream=candidate.stream,
        digest=_candidate_digest(candidate, turns, key),
        base_url=candidate.base_url,
    )


def _candidate_digest(candidate: Candidate, turns: str, key: bytes) -> str:
    return candidate_digest(
        protocol=candidate.protocol,
        model=candidate.model,
        parameters={**candidate.parameters, "stream": candidate.stream},
        prompt=candidate.prompt,
        turns=turns,
        key=key,
    )


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
) -> PlannedRun:
    """Append the plan and its cells. Raises UsageError for two candidates of one name.

    `limit` keeps the first cases, in file order over the fixtures asked for.
    """
    labels = [candidate.label for candidate in candidates]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"the candidate {label} was given twice; its two rows could not be told apart")
    stages = suite.stage_functions
    key = bytes.fromhex(ledger.genesis.identity_key)
    every = [(fixture.name, case) for fixture in fixtures for case in fixture.cases]
    asked = every if limit is None else every[:limit]
    input_digests = [digest(case.input_text, key) for _, case in asked]
    gold_digests = [digest(case.gold_text, key) for _, case in asked]
    twin_numbers = twins(input_digests)
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
            _plan_candidate(candidate, stages.turns, frozen.prompts.get(candidate.prompt_digest), key)
            for candidate in candidates
        ],
        arms=[],
        epochs=epochs,
        limit=limit if limit is not None and limit < len(every) else None,
        cells=len(asked) * epochs * len(candidates),
        via=via,
        environment=_environment(),
        code=dict(code_digests()),
    )
    causes = sorted({*frozen.prompts.values(), *frozen.fixtures.values(), *frozen.rules.values()})
    (plan,) = ledger.append(Draft(body, run=run, causes=causes))
    planned: list[Measurement] = []
    drafts: list[Draft] = []
    for candidate in candidates:
        candidate_key = _candidate_digest(candidate, stages.turns, key)
        for epoch in range(epochs):
            for (fixture, case), input_digest, gold_digest, twin in zip(
                asked, input_digests, gold_digests, twin_numbers, strict=True
            ):
                found = identity(
                    suite=suite.name, input_digest=input_digest, candidate=candidate_key, arm="", epoch=epoch,
                    twin=twin, key=key,
                )  # fmt: skip
                planned.append(Measurement(len(planned) + 1, case, fixture, candidate, epoch, twin, found))
                cell = Cell(
                    case=case.id, fixture=fixture, identity=found, input=input_digest, gold=gold_digest,
                    candidate=candidate.label, arm="", epoch=epoch, twin=twin,
                )  # fmt: skip
                drafts.append(Draft(cell, run=run, cell=len(planned), causes=[plan.seq]))
    seqs: list[int] = []
    for start in range(0, len(drafts), _CELLS_AN_APPEND):
        seqs += [event.seq for event in ledger.append(*drafts[start : start + _CELLS_AN_APPEND])]
    placed = tuple(
        Measurement(each.cell, each.case, each.fixture, each.candidate, each.epoch, each.twin, each.identity, seq)
        for each, seq in zip(planned, seqs, strict=True)
    )
    return PlannedRun(run, plan.seq, body.limit is not None, placed)
