"""The trigger arm's first half: a live target writes on tasks of a suite of judging, in a run of its own.

Its suite is called what the judge's is, its stages are `written`, its one fixture `tasks`, one case a task. What it
writes is then graded like any other run's answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from harness._errors import UsageError
from harness._fit import check_fit
from harness._job import Job, candidates_for, given_of
from harness._rules import RuleSet, builtin_rules
from harness._run import Finished, Progress, RunOptions, perform_run
from harness._suite import Fixture, Suite, parse_cases
from harness.engines import is_replay
from harness.suites import stages
from ledger import Ledger
from ledger.kinds import Plan

__all__ = ["TASKS", "as_writer", "is_written", "task_fixture", "write_job"]

TASKS = "tasks"
"""What the fixture is called."""
_STAGES = "written"


def as_writer(suite: Suite) -> Suite:
    """The suite under which a target writes on the tasks of `suite`."""
    return replace(
        suite, stages=_STAGES, ask="text", prompt_name="", prompt_file=stages(_STAGES).prompt.encode(), parameters={},
        fixtures=(TASKS,), rule_names=("default",), made=None,
    )  # fmt: skip


def is_written(plan: Plan, suite: Suite) -> bool:
    """Whether a run is what a live target wrote on the tasks of a suite."""
    return plan.suite == suite.name and plan.ask == "text" and [each.name for each in plan.fixtures] == [TASKS]


def task_fixture(suite: Suite) -> Fixture:
    """The tasks of a suite's trigger arm as cases. Raises UsageError where it has none."""
    tasks = dict(suite.made.trigger) if suite.made else {}
    if not tasks:
        raise UsageError(f"--write: suite {suite.name} has no [arms.trigger], so there is no task to write on")
    lines = [
        json.dumps({"id": name, "input": {"task": text}, "gold": {}, "meta": {"arm": "trigger"}})
        for name, text in tasks.items()
    ]
    file = "".join(line + "\n" for line in lines).encode()
    return Fixture(suite.name, TASKS, file, parse_cases(file, Path(TASKS), stages(_STAGES)))


def write_job(
    suite: Suite, asking: Job, ledger: Ledger, progress: Progress, say: Callable[[str], object]
) -> Finished:  # fmt: skip
    """Let the targets that `asking` names write on the suite's tasks. Raises UsageError, EngineError, LedgerError."""
    fixture, writer = task_fixture(suite), as_writer(suite)
    rules: Sequence[RuleSet] = [builtin_rules("default", _STAGES)]
    options: RunOptions = replace(
        asking.options, via="replay" if all(map(is_replay, asking.engines)) else "live", arm="", limit=None
    )
    asking = replace(asking, options=options)
    with ExitStack() as stack:
        specs = asking.specs()
        candidates = candidates_for(specs, writer, [fixture], stack)
        check_fit(writer, [fixture], rules, candidates)
        finished, _ = perform_run(
            ledger, writer, [fixture], rules, candidates, options, progress,
            given=given_of(asking, specs, writer, rules, asking.purse).text(),
            note=asking.note, purse=asking.purse.checked(candidates), say=say,
        )  # fmt: skip
        return finished
