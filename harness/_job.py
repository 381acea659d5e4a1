"""The main job from names to numbers: find the suite and its rules, resolve engines, open the ledger, run, report."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness._budget import Purse, budget_text
from harness._candidate import Candidate
from harness._carried import carried_note, portable
from harness._errors import EngineError, KeyMissing, RulesError, SuiteError, UsageError
from harness._estimate import Estimate, estimate_run
from harness._filter import read_filters
from harness._fit import check_asks, check_fit, check_golds, located
from harness._freeze import Frozen, freeze_suite
from harness._given import Given, GivenCandidate
from harness._matrix import Matrix, Row, Spec, spread
from harness._named_rules import rules_from_file
from harness._report import RunReport, read_report
from harness._rerolls import outcome_names
from harness._reuse import Takeover
from harness._rules import RuleSet, load_rules
from harness._run import Finished, Progress, RunOptions, perform_run
from harness._spend import total_spent
from harness._suite import Fixture, Suite, load_prompt, load_suite
from harness.engines import is_replay, open_replay, resolve_engine
from ledger import Ledger, printable

__all__ = [
    "Job", "JobDone", "candidate_of", "candidates_for", "check_gate", "dry_run", "freeze_job", "given_of",
    "load_rule_sets", "parse_settings", "prompt_of", "run_job",
]  # fmt: skip


@dataclass(frozen=True)
class Job:
    """What a person asked for, as they named it. `matrix` stands in the place of `engines`, `base_urls`, `parameters`
    and `stream` where it is given; `filters` keep the cases that meet them, and `note` is noted on the run. With `gate`
    the run will be held to its bars, so there have to be some."""

    suite: str
    engines: Sequence[str]
    base_urls: Sequence[str] = ()
    rules: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    options: RunOptions = field(default_factory=RunOptions)
    matrix: Matrix | None = None
    filters: Sequence[str] = ()
    note: str = ""
    purse: Purse = field(default_factory=Purse)
    gate: bool = False

    def specs(self) -> tuple[Spec, ...]:
        """Every candidate that was asked for. Raises UsageError."""
        rows = [Row(engine, url) for engine, url in zip(self.engines, _base_urls(self), strict=True)]
        return spread(self.matrix or Matrix(rows, (), self.parameters, {}, self.stream))


@dataclass(frozen=True)
class JobDone:
    """How the run ended, its report, whether the ledger was made for it, and what --reuse took over."""

    finished: Finished
    report: RunReport
    created: bool
    taken: Takeover | None = None

    @property
    def spent(self) -> str:
        """What the run spent, for people."""
        return total_spent(self.report.data["spend"])


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`key=value` settings as model parameters: a value is JSON where it reads as JSON, else text.

    null leaves a parameter out, also one that the suite sets.
    """
    found: dict[str, Any] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or not name:
            raise UsageError(f"-M: expected key=value, got {setting!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
        except RecursionError:
            raise UsageError(f"-M: the value of {name!r} is nested too deeply to be read") from None
    return found


def check_gate(job: Job, rules: Sequence[RuleSet]) -> None:
    """Raises UsageError where a gate was asked for that nothing can fail: told before anything is spent."""
    if job.gate and not any(each.bars for each in rules):
        named = ", ".join(each.name for each in rules)
        raise UsageError(f"--gate: no rule set of the run sets a bar ({named}); [[bars]] in a rule file would")


def _load(suite_name: str, rule_names: Sequence[str]) -> tuple[Suite, tuple[Fixture, ...], list[RuleSet]]:
    suite, fixtures = load_suite(suite_name)
    return suite, fixtures, load_rule_sets(suite, rule_names)


def load_rule_sets(suite: Suite, names: Sequence[str]) -> list[RuleSet]:
    """The rule sets that a person named, by name or by the path of a file; without any, those that the suite lists."""
    found = [
        rules_from_file(Path(name), suite.stages, suite) if name.endswith(".toml") else load_rules(suite, name)
        for name in dict.fromkeys(names or suite.rule_names)
    ]
    for at, each in enumerate(found):
        if any(each.name == other.name for other in found[:at]):
            raise RulesError(f"two rule sets of one run are called {each.name!r}; rename one of the files")
    return found


def _base_urls(job: Job) -> list[str | None]:
    if not job.base_urls:
        return [None] * len(job.engines)
    if len(job.base_urls) == 1:
        return [job.base_urls[0]] * len(job.engines)
    if len(job.base_urls) != len(job.engines):
        raise UsageError(
            f"expected one --base-url for all engines, or one for each of the {len(job.engines)},"
            f" got {len(job.base_urls)}"
        )
    return list(job.base_urls)


def candidates_for(
    specs: Iterable[Spec], suite: Suite, fixtures: Sequence[Fixture], stack: ExitStack, *, ask: bool = True
) -> list[Candidate]:  # fmt: skip
    """The candidates that specs mean for a suite; a replay's server stands until `stack` closes. Raises UsageError.

    A key may be missing unless they are to `ask`; of those that miss theirs all are named at once.
    """
    found: list[Candidate] = []
    keyless: list[str] = []
    for spec in specs:
        if is_replay(spec.engine):
            if spec.parameters or spec.stream or spec.prompt:
                asked = ", ".join(sorted(spec.parameters)) or ("--stream" if spec.stream else "a prompt")
                raise UsageError(f"{spec.engine} asks as it was recorded, so {asked} can't be set; leave it out")
            names = [fixture.name for fixture in fixtures]
            found += stack.enter_context(open_replay(spec.engine, suite.name, names))
        else:
            try:
                found.append(candidate_of(spec, suite, ask=ask))
            except KeyMissing as missing:
                keyless.append(str(missing))
    if keyless:
        raise EngineError("; ".join(dict.fromkeys(keyless)))
    for at, each in enumerate(found):
        twin = next((other for other in found[:at] if _same(each, other)), None)
        if twin is not None:
            raise UsageError(f"{twin.label} and {each.label} would be asked the very same; leave one out")
    return found


def candidate_of(spec: Spec, suite: Suite, *, ask: bool = True) -> Candidate:
    """The candidate that a spec means for a suite; without a key that it needs only if it isn't to `ask`. Raises
    UsageError."""
    candidate = resolve_engine(
        spec.engine, base_url=spec.base_url, parameters={**suite.parameters, **spec.parameters}, stream=spec.stream,
        environ=os.environ, ask=ask,
    )  # fmt: skip
    file = prompt_of(suite, spec.prompt)
    return replace(candidate.with_prompt(file, spec.prompt), label=spec.label or candidate.label)


def prompt_of(suite: Suite, name: str) -> bytes:
    """The file prompts/NAME.txt of a suite; the suite's own without a name. Raises SuiteError."""
    if name in ("", suite.prompt_name):
        return suite.prompt_file
    made = suite.made_prompt(name)
    if made is not None:
        return made
    folder = suite.folder / "prompts"
    if not (folder / f"{name}.txt").is_file():
        there = ", ".join(sorted(path.stem for path in folder.glob("*.txt"))) or "none"
        raise SuiteError(f"prompt: {name!r} is not in prompts/ of suite {suite.name}, which has {printable(there)}")
    return load_prompt(suite.folder, name, suite.stage_functions, suite.folder / "suite.toml")


def _same(one: Candidate, other: Candidate) -> bool:
    same = (one.label.partition("[")[0], one.protocol, one.model, one.stream, one.prompt, one.url) == (
        other.label.partition("[")[0], other.protocol, other.model, other.stream, other.prompt, other.url
    )  # fmt: skip
    return one.label != other.label and same and json.dumps(one.parameters) == json.dumps(other.parameters)


def run_job(
    job: Job, db: Path, progress: Progress, *, say: Callable[[str], object] = lambda sentence: None
) -> JobDone:  # fmt: skip
    """Do the job. Everything that can be refused is refused before the ledger is touched or a byte is sent.

    `say` is told what a person must know before the run's first request.
    """
    specs, conditions = job.specs(), read_filters(job.filters)
    suite, fixtures, rules = _load(job.suite, job.rules)
    check_gate(job, rules)
    job = _with_outcomes(job, suite)
    with ExitStack() as stack:
        candidates = candidates_for(specs, suite, fixtures, stack)
        check_fit(suite, fixtures, rules, candidates, conditions, job.options.limit)
        purse = job.purse.checked(candidates)
        for sentence in (*filter(None, [carried_note(suite.folder)]), *purse.unbounded(candidates)):
            say(sentence)
        ledger, created = Ledger.open_or_create(db)
        stack.enter_context(ledger)
        finished, taken = perform_run(
            ledger, suite, fixtures, rules, candidates, job.options, progress,
            given=given_of(job, specs, suite, rules, purse).text(),
            filters=conditions, note=job.note, purse=purse, say=say,
        )  # fmt: skip
        return JobDone(finished, read_report(ledger, finished.run), created, taken)


def dry_run(job: Job, db: Path) -> Estimate:
    """What the job would ask and may cost. Refuses what `run_job` would refuse; sends nothing and writes nothing."""
    specs, conditions = job.specs(), read_filters(job.filters)
    suite, fixtures, rules = _load(job.suite, job.rules)
    check_gate(job, rules)
    job = _with_outcomes(job, suite)
    with ExitStack() as stack:
        candidates = candidates_for(specs, suite, fixtures, stack, ask=False)
        check_fit(suite, fixtures, rules, candidates, conditions, job.options.limit)
        return estimate_run(
            suite, fixtures, candidates, job.purse.checked(candidates), db, epochs=job.options.epochs,
            limit=job.options.limit, arm=job.options.arm, filters=conditions,
            reuse=(rules, job.options.reuse_outcomes) if job.options.reuse else None, rules=rules,
        )  # fmt: skip


def _with_outcomes(job: Job, suite: Suite) -> Job:
    """The job with the names of --reuse-outcomes as they are recorded. Raises UsageError."""
    chosen = outcome_names(job.options.reuse_outcomes, "--reuse-outcomes", suite.stage_functions.reasons)
    return replace(job, options=replace(job.options, reuse_outcomes=chosen))


def given_of(job: Job, specs: Sequence[Spec], suite: Suite, rules: Sequence[RuleSet], purse: Purse) -> Given:
    """What is kept of the job for a resume."""
    asked = [
        GivenCandidate(each.engine, each.label, each.prompt, each.parameters, each.stream, each.base_url is not None)
        for each in specs
    ]
    files = {Path(name).stem: Path(name).as_posix() for name in job.rules if name.endswith(".toml")}
    return Given(
        portable(suite.folder), [each.engine for each in specs], any(each.addressed for each in asked), job.parameters,
        job.stream, asked, {each.name: files[each.name] for each in rules if each.name in files}, list(job.filters),
        budget_text(purse.budget), job.options.reuse_outcomes,
    )  # fmt: skip


def freeze_job(
    suite_name: str, rule_names: Sequence[str], db: Path, prompts: Sequence[str] = ()
) -> tuple[Frozen, bool]:  # fmt: skip
    """Freeze a suite's prompts (its own, unless others are named), fixtures and rule sets ahead of any run; also says
    whether the ledger was made.

    Raises SuiteError where they don't go together, before the ledger is touched.
    """
    suite, fixtures, rules = _load(suite_name, rule_names)
    files = {prompt_of(suite, name): name for name in prompts or ("",)}
    cases = located(suite, fixtures)
    check_golds(suite.stage_functions, rules, cases)
    for file, name in files.items():
        check_asks(suite.stage_functions, file.decode("utf-8"), cases, name or suite.prompt_name)
    ledger, created = Ledger.open_or_create(db)
    with ledger:
        return freeze_suite(ledger, suite, fixtures, rules, files), created
