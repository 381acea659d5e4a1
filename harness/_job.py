"""The main job from names to numbers: find the suite and its rules, resolve engines, open the ledger, run, report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness._candidate import Candidate
from harness._errors import UsageError
from harness._freeze import Frozen, freeze_suite
from harness._given import Given
from harness._report import RunReport, read_report
from harness._reuse import Takeover
from harness._rules import RuleSet, load_rules
from harness._run import Finished, Progress, RunOptions, perform_run
from harness._suite import Fixture, Suite, load_suite
from harness.engines import ask_server, open_replay, resolve_engine
from ledger import Ledger

__all__ = ["DEFAULT_ENGINE", "Job", "JobDone", "freeze_job", "parse_settings", "run_job"]

DEFAULT_ENGINE = "replay/ledger.db"
"""The embedded default: the project's own recorded history, asked over loopback; no key, no network."""


@dataclass(frozen=True)
class Job:
    """What a person asked for, as they named it."""

    suite: str
    engines: Sequence[str]
    base_urls: Sequence[str] = ()
    rules: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    options: RunOptions = field(default_factory=RunOptions)


@dataclass(frozen=True)
class JobDone:
    """How the run ended, its report, whether the ledger was made for it, and what --reuse took over."""

    finished: Finished
    report: RunReport
    created: bool
    taken: Takeover | None = None


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`key=value` settings as model parameters: a value is JSON where it reads as JSON, else text.

    null leaves a parameter out, also one that the suite sets.
    """
    found: dict[str, Any] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or not name:
            raise UsageError(f"-M: expected key=value, got {setting!a}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
        except RecursionError:
            raise UsageError(f"-M: the value of {name!a} is nested too deeply to be read") from None
    return found


def _load(suite_name: str, rule_names: Sequence[str]) -> tuple[Suite, tuple[Fixture, ...], list[RuleSet]]:
    suite, fixtures = load_suite(suite_name)
    names = list(dict.fromkeys(rule_names or suite.rule_names))
    return suite, fixtures, [load_rules(suite, name) for name in names]


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


def _candidates(job: Job, suite: Suite, fixtures: Sequence[Fixture], stack: ExitStack) -> list[Candidate]:
    found: list[Candidate] = []
    for engine, base_url in zip(job.engines, _base_urls(job), strict=True):
        if engine.startswith("replay/"):
            if job.parameters or job.stream:
                asked = ", ".join(sorted(job.parameters)) or "--stream"
                raise UsageError(f"{engine} asks as it was recorded, so {asked} can't be set; leave it out")
            names = [fixture.name for fixture in fixtures]
            found += stack.enter_context(open_replay(engine, suite.name, names))
        else:
            candidate = resolve_engine(
                engine, base_url=base_url, parameters={**suite.parameters, **job.parameters}, stream=job.stream,
                environ=os.environ,
            )  # fmt: skip
            found.append(candidate.with_prompt(suite.prompt_file))
    return found


def run_job(job: Job, db: Path, progress: Progress) -> JobDone:
    """Do the job. Everything that can be refused is refused before the ledger is touched or a byte is sent."""
    suite, fixtures, rules = _load(job.suite, job.rules)
    with ExitStack() as stack:
        candidates = _candidates(job, suite, fixtures, stack)
        ledger, created = Ledger.open_or_create(db)
        stack.enter_context(ledger)
        given = Given(suite.folder.as_posix(), job.engines, bool(job.base_urls), job.parameters, job.stream)
        live = job.options.via == "live"
        finished, taken = perform_run(
            ledger, suite, fixtures, rules, candidates, job.options, progress, given=given.text(),
            servers={each.label: ask_server(each) for each in candidates} if live else {},
        )  # fmt: skip
        return JobDone(finished, read_report(ledger, finished.run), created, taken)


def freeze_job(suite_name: str, rule_names: Sequence[str], db: Path) -> tuple[Frozen, bool]:
    """Freeze a suite's prompt, fixtures and rule sets ahead of any run; also says whether the ledger was made."""
    suite, fixtures, rules = _load(suite_name, rule_names)
    ledger, created = Ledger.open_or_create(db)
    with ledger:
        return freeze_suite(ledger, suite, fixtures, rules), created
