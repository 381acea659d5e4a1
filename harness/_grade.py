"""Grading: a judge over the answers of any run, in a run of its own, whose grades join the run that it graded.

    1  the run is found, and refused where its answers are unsafe to build on, still come in, or are a judge's own
    2  its answers are read out of the recorded bytes and frozen as cases; what can't be read isn't shown to a judge
    3  the judge is asked, cell by cell, each cell caused by the answer that it grades
    4  its scores join the graded run (harness._join)

Asked again, a judge grades anew in another run, and says so ahead; with --reuse the replies that it gave to the very
same requests are taken over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness._budget import Purse
from harness._candidate import Candidate
from harness._errors import HarnessError, RefusedError, UsageError
from harness._estimate import Estimate, estimate_run
from harness._fit import check_fit
from harness._graded import GRADED, Answer, answers_of, evidence_of, graded_fixture
from harness._job import Job, candidates_for, check_gate, given_of, load_rule_sets
from harness._join import ARMS, Joined, join_judge, judges_of
from harness._matrix import Spec
from harness._replies import read_places, read_plan
from harness._report import RunReport, read_report
from harness._reuse import Takeover
from harness._rules import RuleSet
from harness._run import Finished, Progress, perform_run
from harness._sides import named_labels
from harness._spend import total_spent
from harness._suite import Fixture, Suite, load_suite
from harness._thaw import thaw_cases
from harness._written import is_written, write_job
from harness.engines import is_replay
from ledger import Ledger, printable, run_is_held, standing_of

__all__ = ["GradeDone", "GradeJob", "grade_estimate", "grade_job", "judge_suite", "run_to_grade"]

_MOST_SAID = 6


@dataclass(frozen=True)
class GradeJob:
    """What a person asked for. `target` is RUN or RUN@CANDIDATE, `asking` how the judge is asked (its `suite` is the
    suite of judging).

    `reference` shows each case's gold to the judge; `even_superseded` and `even_tainted` grade what is set aside all
    the same. `writing` is how live targets are asked to write first, in the place of a `target`: the trigger arm.
    """

    target: str
    asking: Job
    reference: bool = False
    even_superseded: bool = False
    even_tainted: bool = False
    writing: Job | None = None


@dataclass(frozen=True)
class GradeDone:
    """How the judge's run ended, its report, what joined, and the graded run's report under the joined rule sets (None
    where nothing joined). `unread` counts answers that no judge was shown, by status and reason."""

    graded: str
    finished: Finished
    report: RunReport
    joined: tuple[Joined, ...]
    board: RunReport | None
    unread: Mapping[str, int]
    taken: Takeover | None

    def sentences(self, db: str) -> list[str]:
        """What people are told at the end; `db` is the ledger as a command line takes it."""
        said = list(self.taken.sentences()) if self.taken else []
        said += [*([self.finished.reason] if self.finished.reason else []), *self.finished.advice]
        for each in self.joined:
            if each.note:
                said.append(each.note)
            else:
                counts = ", ".join(f"{name} {count}" for name, count in (each.outcomes or {}).items())
                said.append(f"the grades of {each.candidate} joined run {each.run} as {each.label}: {counts}")
        run = self.finished.run
        said.append(f"run {run} is {self.finished.status} ({total_spent(self.report.data['spend'])} spent):")
        said[-1] += f" `harness report {run} --db {db}` has the judge's figures,"
        said[-1] += f" `harness report {self.graded} --db {db}` those of the run it graded."
        if self.finished.failed or self.finished.status in ("interrupted", "aborted"):
            said.append(f"`harness resume {run} --db {db}` asks what is unfinished, and joins it.")
        return said

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        finished = self.finished
        return {
            "run": finished.run, "graded": self.graded, "status": finished.status, "planned": finished.planned,
            "asked": finished.asked, "reused": finished.reused,
            "outcomes": {label: dict(counts) for label, counts in finished.outcomes.items()},
            "unread": dict(self.unread), "joined": [each.as_json() for each in self.joined],
            "spent": total_spent(self.report.data["spend"]),
        }  # fmt: skip


def judge_suite(reference: str, engines: Sequence[str], urls: Sequence[str]) -> tuple[Suite, list[str], list[str]]:
    """The suite of judging, and whom to ask and where: those given, else its own. Raises UsageError."""
    suite, _ = load_suite(reference)
    if suite.made is None:
        raise UsageError(f"--judge: {suite.name} is no suite of judging: it has no criteria to grade by")
    if engines:
        return suite, list(engines), list(urls)
    if not suite.made.engine:
        raise UsageError(
            f"name the judge: --engine provider/model, or engine under [judge] in"
            f" {printable(str(suite.folder / 'suite.toml'))}, which names none"
        )
    return suite, [suite.made.engine], list(urls) or ([suite.made.base_url] if suite.made.base_url else [])


def grade_job(
    job: GradeJob, db: Path, progress: Progress, *, say: Callable[[str], object] = lambda sentence: None
) -> GradeDone:
    """Grade. Everything that can be refused is refused before anything is written or sent.

    `say` is told what a person must know before the judge's first request. Raises RefusedError, UsageError, RunHeld,
    LedgerError.
    """
    suite, engines, urls = judge_suite(job.asking.suite, job.asking.engines, job.asking.base_urls)
    asking = replace(job.asking, engines=engines, base_urls=urls)
    rules = load_rule_sets(suite, asking.rules)
    check_gate(asking, rules)
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.open_or_create(db)[0] if job.writing else Ledger.open(db))
        if job.writing is not None:
            # The judge's names are resolved ahead, so that a mistake in them costs no writing.
            candidates_for([each for each in asking.specs() if not is_replay(each.engine)], suite, [], stack)
            written = write_job(suite, job.writing, ledger, progress, say)
            say(f"run {written.run}: what was written, {written.status}")
            job = replace(job, target=written.run)
        run, labels = run_to_grade(ledger, job)
        arm = "trigger" if is_written(read_plan(ledger, run)[1], suite) else GRADED
        asking = replace(asking, options=replace(asking.options, via=_via(engines), arm=arm))
        fixture, unread = _fixture(ledger, suite, run, labels, arm, reference=job.reference)
        specs = asking.specs()
        candidates = candidates_for(specs, suite, [fixture], stack)
        check_fit(suite, [fixture], rules, candidates, (), asking.options.limit)
        purse = asking.purse.checked(candidates)
        for sentence in [*_before(ledger, suite, run), *_not_shown(run, unread), *purse.unbounded(candidates)]:
            say(sentence)
        finished, taken = _ask(ledger, suite, fixture, rules, candidates, asking, specs, purse, run, progress, say)
        joined = join_judge(ledger, finished.run)
        return GradeDone(
            run, finished, read_report(ledger, finished.run), joined, _board(ledger, run, joined), unread, taken
        )


def grade_estimate(job: GradeJob, db: Path) -> Estimate:
    """What the judge would be asked and may cost. Refuses what `grade_job` would refuse; sends and writes nothing."""
    suite, engines, urls = judge_suite(job.asking.suite, job.asking.engines, job.asking.base_urls)
    if job.writing is not None:
        raise UsageError("--dry-run: what a target would write is not known ahead; let it write, and then grade that")
    asking = replace(job.asking, engines=engines, base_urls=urls)
    rules = load_rule_sets(suite, asking.rules)
    check_gate(asking, rules)
    with Ledger.open(db, read_only=True) as ledger, ExitStack() as stack:
        run, labels = run_to_grade(ledger, job)
        arm = "trigger" if is_written(read_plan(ledger, run)[1], suite) else GRADED
        fixture, _ = _fixture(ledger, suite, run, labels, arm, reference=job.reference)
        candidates = candidates_for(asking.specs(), suite, [fixture], stack, ask=False)
        check_fit(suite, [fixture], rules, candidates, (), asking.options.limit)
        return estimate_run(
            suite, [fixture], candidates, asking.purse.checked(candidates), db, epochs=asking.options.epochs,
            limit=asking.options.limit, arm=arm, rules=rules,
        )  # fmt: skip


def _via(engines: Sequence[str]) -> Any:
    return "replay" if all(map(is_replay, engines)) else "live"


def _ask(
    ledger: Ledger, suite: Suite, fixture: Fixture, rules: Sequence[RuleSet], candidates: Sequence[Candidate],
    asking: Job, specs: Sequence[Spec], purse: Purse, run: str, progress: Progress, say: Callable[[str], object],
) -> tuple[Finished, Takeover | None]:  # fmt: skip
    return perform_run(
        ledger, suite, [fixture], rules, candidates, asking.options, progress,
        given=given_of(asking, specs, suite, rules, purse).text(),
        note=asking.note, purse=purse, say=say, grades=[run],
        evidence={case.id: evidence_of(case) for case in fixture.cases},
    )  # fmt: skip


def _refuse_grades(ledger: Ledger, run: str) -> None:
    """Raises RefusedError for a judge's own run, and names what to grade in its place."""
    _, plan = read_plan(ledger, run)
    if plan.grades:
        graded = ", ".join(plan.grades)
        raise RefusedError(f"run {run} is a judge's own: its replies are grades of run {graded}; grade that one")


def run_to_grade(ledger: Ledger, job: GradeJob) -> tuple[str, list[str]]:
    """The run to grade and its candidates. Raises RefusedError where its answers are none to be graded."""
    try:
        run, labels = named_labels(ledger, job.target)
    except HarnessError as error:
        if "is a probe" in str(error):
            raise RefusedError(f"{error}; run a suite, and grade that") from None
        raise
    _refuse_grades(ledger, run)
    if run_is_held(ledger.path, run):
        raise RefusedError(f"run {run} is going on, so its answers still come in; grade it once it has ended")
    standing = standing_of(ledger, run)
    if standing.superseded is not None and not job.even_superseded:
        by = f" by {standing.by}, which is the one to grade" if standing.by else ""
        raise RefusedError(
            f"run {run} was superseded{by} ({standing.reason}); to grade it all the same: --even-superseded"
        )
    if standing.taints and not job.even_tainted:
        mark = standing.taints[0]
        raise RefusedError(
            f"run {run} rests on what is tainted by event {mark.taint} ({mark.reason}), and a grade would too; to grade"
            " it all the same: --even-tainted"
        )
    return run, labels


def _fixture(
    ledger: Ledger, suite: Suite, run: str, labels: Sequence[str], arm: str, *, reference: bool
) -> tuple[Fixture, Mapping[str, int]]:
    _, plan = read_plan(ledger, run)
    cases = thaw_cases(ledger, plan)
    places = [each for each in read_places(ledger, run, plan, list(cases)) if each.candidate in labels]
    answers: list[Answer] = []
    unread: Counter[str] = Counter()
    told: set[int] = set()
    for each in answers_of(ledger, plan, places, cases):
        told.add(each.place.cell)
        if each.text is None:
            unread[f"{each.reading.status} ({each.reading.reason})"] += 1
        else:
            answers.append(each)
    for place in places:
        if place.cell not in told:
            unread["withheld" if place.state == "answered" else "never answered"] += 1
    if not answers:
        why = ", ".join(f"{name} {count}" for name, count in unread.most_common(_MOST_SAID)) or "it has no cells"
        raise UsageError(f"nothing of run {run} can be graded: no answer reads as a text ({why})")
    return graded_fixture(suite, run, answers, arm=arm, condition=ARMS[arm], reference=reference), unread


def _before(ledger: Ledger, suite: Suite, run: str) -> list[str]:
    """That the run was graded by this suite before: a grade is asked for anew, never twice in silence."""
    earlier = [judge for judge in judges_of(ledger, run) if read_plan(ledger, judge)[1].suite == suite.name]
    if not earlier:
        return []
    return [
        f"run {run} was graded by {suite.name} before (run {', '.join(earlier[-3:])}); this asks anew and stands beside"
        " it, and with --reuse takes over replies to the very same requests"
    ]


def _not_shown(run: str, unread: Mapping[str, int]) -> list[str]:
    if not unread:
        return []
    said = ", ".join(f"{name} {count}" for name, count in sorted(unread.items(), key=lambda each: -each[1]))
    return [f"{sum(unread.values())} cells of run {run} have no answer to grade, and stay unmeasured: {said}"]


def _board(ledger: Ledger, run: str, joined: Sequence[Joined]) -> RunReport | None:
    labels = [each.label for each in joined if each.label]
    return read_report(ledger, run, labels) if labels else None
