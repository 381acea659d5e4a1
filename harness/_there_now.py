"""What a run would be if it were asked for again now: the suite on disk, its rule sets, and every candidate, in the
plan's order, out of what the plan keeps of the asking and what a resume gives in its place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness._candidate import Candidate
from harness._carried import suite_folder
from harness._errors import EngineError, RulesError, RunMoved, SuiteError, UsageError
from harness._given import Given, GivenCandidate, read_given
from harness._job import prompt_of
from harness._moved import Moved
from harness._named_rules import rules_from_file
from harness._recorded import Record
from harness._rules import RuleSet, load_rules
from harness._run import RunOptions
from harness._suite import Fixture, Suite, has_fixture, load_suite
from harness._written import TASKS, as_writer, task_fixture
from harness.engines import resolve_engine
from harness.rubrics import PAIR, pair_suite
from ledger.kinds import Plan

__all__ = ["Now", "ResumeJob", "look", "missing_suite", "with_keys"]


@dataclass(frozen=True)
class ResumeJob:
    """What a person asked for. An empty `run` is the newest that can be resumed.

    `accept` names components that may have moved, `reason` says why. `retry` names statuses or reasons of unmeasured
    cells that are asked again. What is given of `suite`, `engines`, `base_urls`, `rules`, `parameters`, `stream` and
    `arm` stands in the place of what the run was asked for, and is compared like everything else.
    `max_cost` ("none" lifts it) and `max_tokens_total` stand in the place of the run's budget, which counts all its
    sessions.
    """

    run: str = ""
    accept: Sequence[str] = ()
    reason: str = ""
    retry: Sequence[str] = ()
    suite: str = ""
    engines: Sequence[str] = ()
    base_urls: Sequence[str] = ()
    rules: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool | None = None
    arm: str | None = None
    options: RunOptions = field(default_factory=RunOptions)
    max_cost: str = ""
    max_tokens_total: int | None = None


@dataclass(frozen=True)
class Now:
    """What is on disk and asked for now. The candidates have their keys where the environment has them."""

    suite: Suite
    fixtures: Mapping[str, Fixture | None]
    rules: Mapping[str, RuleSet | None]
    candidates: Sequence[Candidate]
    arm: str


def missing_suite(plan: Plan, job: ResumeJob) -> Path | None:
    """The folder that a plan's suite was in, where there is none any more; None where there is, and where somebody
    names what is to stand in its place."""
    if job.suite or job.engines or job.base_urls or job.rules or job.parameters or job.stream is not None:
        return None
    if job.arm is not None:
        return None
    folder = suite_folder(_reference(plan, job))
    return None if (folder / "suite.toml").exists() else folder


def look(record: Record, job: ResumeJob, made: Mapping[str, Fixture] = MappingProxyType({})) -> Now:
    """What is there now for the run of `record`. `made` are fixtures that no folder holds, by name.

    Raises RunMoved for another suite, for one that can't be read any more, and for a prompt that is gone.
    """
    plan = record.plan
    given = read_given(plan.given)
    try:
        suite, fixtures = _load_suite(plan, _reference(plan, job), made)
        if suite.name != plan.suite:
            raise RunMoved(
                f"run {record.run} measured the suite {plan.suite}, and {job.suite or suite.folder} is {suite.name}",
                record.run, [Moved("suite", "", plan.suite, suite.name).as_json()],
            )  # fmt: skip
        files: Mapping[str, str] = given.rules if given else {}
        rules = {
            Path(name).stem if name.endswith(".toml") else name: _rules(suite, name, files, asked=bool(job.rules))
            for name in job.rules or [each.name for each in plan.rules]
        }
        candidates = _resolve(record, job, given, suite, ask=False)
    except (SuiteError, RulesError) as error:
        if job.suite or job.rules:
            raise
        said = f"run {record.run} is not resumed: its suite can't be read any more: {error}. Nothing was sent; put it"
        gone = Moved("suite", "", plan.suite, f"unreadable: {error}")
        raise RunMoved(f"{said} back, or start a new run", record.run, [gone.as_json()]) from None
    return Now(suite, fixtures, rules, candidates, _asked_arm(plan, suite, made) if job.arm is None else job.arm)


def with_keys(record: Record, job: ResumeJob, now: Now) -> Now:
    """The same, to be asked. Raises EngineError where a key is missing."""
    return replace(now, candidates=_resolve(record, job, read_given(record.plan.given), now.suite, ask=True))


def _reference(plan: Plan, job: ResumeJob) -> str:
    given = read_given(plan.given)
    return job.suite or (given.suite if given else "") or plan.suite


def _asked_arm(plan: Plan, suite: Suite, made: Mapping[str, Fixture]) -> str:
    """The condition that the run was asked to measure, empty where it left that to the suite."""
    if not plan.arms:
        return ""
    if plan.suite_arms is None:
        return plan.arms[0] if made or not suite.arms else ""
    return "" if plan.arms == list(dict.fromkeys(plan.suite_arms.values())) else plan.arms[0]


def _rules(suite: Suite, name: str, files: Mapping[str, str], *, asked: bool) -> RuleSet | None:
    """The rule set of that name as it is on disk; None for one of the plan's that is gone."""
    path = name if name.endswith(".toml") else files.get(name, "") if not asked else ""
    if path:
        return rules_from_file(Path(path), suite.stages, suite) if asked or Path(path).is_file() else None
    there = suite.rule_file(name) is not None or name == "default"
    return load_rules(suite, name) if there or asked else None


def _load_suite(
    plan: Plan, reference: str, made: Mapping[str, Fixture]
) -> tuple[Suite, dict[str, Fixture | None]]:  # fmt: skip
    """The suite, and the plan's own fixtures: others beside them are no part of the run. None for one that is gone."""
    folder = suite_folder(reference)
    fixtures: dict[str, Fixture | None] = {}
    suite: Suite | None = None
    for fixture in plan.fixtures:
        fixtures[fixture.name] = made.get(fixture.name)
        if fixture.name not in made and has_fixture(folder, fixture.name):
            suite, (fixtures[fixture.name],) = load_suite(f"{folder}/{fixture.name}")
    if suite is None:
        suite, _ = load_suite(reference)
    if suite.made is not None and plan.ask == "text":
        # What a target wrote on a judge's tasks stands under the judge's suite, and isn't judged by it yet.
        return as_writer(suite), {TASKS: task_fixture(suite)}
    return (pair_suite(suite) if PAIR in made else suite), fixtures


# Candidates


def _resolve(record: Record, job: ResumeJob, given: Given | None, suite: Suite, *, ask: bool) -> list[Candidate]:
    plan = record.plan
    asked = _with_engines(given.asked() if given else _of_plan(plan), job.engines)
    found: list[Candidate] = []
    for position, (each, address) in enumerate(zip(asked, _addresses(record, job, asked), strict=True)):
        parameters = {**suite.parameters, **each.parameters} if given else _as_planned(plan, position, suite)
        candidate = resolve_engine(
            each.engine, base_url=address, parameters={**parameters, **job.parameters},
            stream=each.stream if job.stream is None else job.stream, environ=os.environ, ask=ask,
        )  # fmt: skip
        candidate = candidate.with_prompt(_prompt(record, suite, each, position), each.prompt)
        found.append(replace(candidate, label=each.label or candidate.label))
    return found


def _of_plan(plan: Plan) -> tuple[GivenCandidate, ...]:
    """The candidates of a plan that kept no record of what was given."""
    stream = plan.candidates[0].stream if plan.candidates else False
    return tuple(GivenCandidate(each.label, "", "", {}, stream, addressed=True) for each in plan.candidates)


def _with_engines(asked: Sequence[GivenCandidate], engines: Sequence[str]) -> list[GivenCandidate]:
    """Other engines in the place of the run's: one for each candidate, or one for each engine it had.

    As many as fit neither are a list of their own: that the candidates moved is then said.
    """
    if not engines:
        return list(asked)
    distinct = list(dict.fromkeys(each.engine for each in asked))
    if len(engines) == len(asked):
        new = list(engines)
    elif len(engines) == len(distinct):
        of = dict(zip(distinct, engines, strict=True))
        new = [of[each.engine] for each in asked]
    else:
        first = asked[0]
        return [replace(first, engine=engine, label="", prompt="") for engine in engines]
    return [
        replace(each, engine=engine, label=each.label if engine == each.engine else "")
        for each, engine in zip(asked, new, strict=True)
    ]


def _addresses(record: Record, job: ResumeJob, asked: Sequence[GivenCandidate]) -> list[str | None]:
    """Where each is asked: as is given now, else as the run was given, as that was last accepted."""
    if not job.base_urls:
        return [_address(record, each, at) if each.addressed else None for at, each in enumerate(asked)]
    distinct = list(dict.fromkeys(each.engine for each in asked))
    if len(job.base_urls) == len(asked):
        return list(job.base_urls)
    if len(job.base_urls) == 1:
        return [job.base_urls[0]] * len(asked)
    if len(job.base_urls) == len(distinct):
        of = dict(zip(distinct, job.base_urls, strict=True))
        return [of[each.engine] for each in asked]
    raise UsageError(f"expected one --base-url, or one for each of the {len(distinct)} engines")


def _address(record: Record, asked: GivenCandidate, position: int) -> str | None:
    """The address that a run was given for a candidate, as it was last accepted."""
    if position >= len(record.plan.candidates) or asked.engine.startswith("command/"):
        return None
    address = record.accepted("endpoint", record.plan.candidates[position].base_url)
    if "*" in address:
        raise EngineError(f"the address {address} was recorded without its secret; give it again with --base-url")
    return address


def _prompt(record: Record, suite: Suite, asked: GivenCandidate, position: int) -> bytes:
    other = asked.prompt not in ("", suite.prompt_name) and position < len(record.plan.candidates)
    if other and not _has_prompt(suite, asked.prompt):
        before = record.plan.candidates[position].prompt
        gone = Moved("prompt", f"suite {suite.name}, prompts/{asked.prompt}.txt", before, "absent")
        said = f"run {record.run} is not resumed: {gone.sentence()}. Nothing was sent; put it back, or start a new run"
        raise RunMoved(said, record.run, [gone.as_json()])
    return prompt_of(suite, asked.prompt)


def _has_prompt(suite: Suite, name: str) -> bool:
    if suite.made is None:
        return (suite.folder / "prompts" / f"{name}.txt").is_file()
    try:
        return suite.made_prompt(name) is not None
    except SuiteError:
        return False


def _as_planned(plan: Plan, position: int, suite: Suite) -> Mapping[str, Any]:
    """The parameters of a plan that kept no record of what was given: a body doesn't tell 1 from 1.0, a suite does."""
    planned = plan.candidates[min(position, len(plan.candidates) - 1)].parameters
    found = {name: suite.parameters.get(name) if suite.parameters.get(name) == planned[name] else planned[name]
             for name in planned}  # fmt: skip
    temperature = found.get("temperature")
    if isinstance(temperature, int) and suite.parameters.get("temperature") != temperature:
        found["temperature"] = float(temperature)
    return found
