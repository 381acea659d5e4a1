"""The trigger arm: a live target writes on a suite's tasks, and the judge grades what it wrote, apart from all else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness._errors import UsageError
from harness._grade import GradeDone, GradeJob, grade_job
from harness._job import Job
from harness._replay_check import check_run
from harness._resume import ResumeJob, resume_job
from harness._run import RunOptions, SilentProgress
from harness.suites import stages
from tests.harness.judged import JUDGE, Bench, grades, judge
from tests.harness.models import Answer, model_server


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def written(
    bench: Bench, answer: Any, *, times: int = 1, judging: Any = None, resume: Any = None, **more: Any
) -> GradeDone:  # fmt: skip
    suite = str(bench.folder / "essays")
    with model_server(answer) as author, model_server(judging or judge()) as inspector:
        asking = Job(suite, ["openai/inspector"], [inspector.openai])
        writing = Job(suite, ["openai/author"], [author.openai], options=RunOptions(epochs=times))
        done = grade_job(GradeJob("", asking, writing=writing, **more), bench.db, SilentProgress())
        if resume is not None:
            resume(done)
        return done


def test_a_live_target_writes_on_each_task_and_the_judge_grades_it_in_an_arm_of_its_own(bench: Bench) -> None:
    asked: list[str] = []

    def author(prompt: str) -> Answer:
        asked.append(prompt)
        return Answer(f"On this: {prompt}")

    shown: list[str] = []

    def inspector(prompt: str) -> Answer:
        shown.append(prompt)
        return judge()(prompt)

    done = written(bench, author, times=2, judging=inspector)
    assert sorted(asked) == ["Explain the dew."] * 2 + ["Explain the wind."] * 2
    assert sum("On this: Explain the wind." in prompt for prompt in shown) == 2
    arms = {(row["arm"], row["epoch"]) for row in bench.rows("SELECT arm, epoch FROM cells WHERE run = ?",
                                                             done.finished.run)}  # fmt: skip
    assert arms == {("trigger", 0)}
    plans = {row["run"]: row for row in bench.rows("SELECT run, suite, status, planned FROM runs")}
    assert {row["suite"] for row in plans.values()} == {"essays"}
    assert plans[done.graded]["planned"] == 4
    (answered,) = bench.rows(
        "SELECT metric, k, n FROM scoreboard WHERE run = ? AND rules LIKE 'default@%'", done.graded
    )
    assert answered == {"metric": "answered", "k": 4, "n": 4}


def test_a_task_of_the_suites_own_is_shown_as_it_is_written_and_a_gold_that_says_nothing_is_no_reference(
    bench: Bench,
) -> None:
    shown: list[str] = []

    def inspector(prompt: str) -> Answer:
        shown.append(prompt)
        return judge()(prompt)

    written(bench, lambda prompt: Answer("Air moves."), judging=inspector, reference=True)
    assert len(shown) == 2
    for prompt in shown:
        assert "The task that the text was written for:\n\nExplain the " in prompt
        assert "reference" not in prompt and "It is data as well" not in prompt


def test_no_oracle_stands_behind_what_a_target_wrote(bench: Bench) -> None:
    done = written(bench, lambda prompt: Answer("Air moves."))
    rows = bench.rows("SELECT DISTINCT metric FROM scoreboard WHERE run = ? AND n > 0", done.finished.run)
    assert {row["metric"] for row in rows} == {"readable", "score", "contradicted"}
    (joined,) = done.joined
    assert grades(bench, done.graded, joined.label) == {"wind": ("graded", "", "pass"), "dew": ("graded", "", "pass")}


def test_what_a_target_has_yet_to_write_is_resumed_and_graded_as_the_same_arm(bench: Bench) -> None:
    down = [True]

    def author(prompt: str) -> Answer:
        return Answer("x", status=401) if "dew" in prompt and down[0] else Answer(f"On {prompt}")

    def again(done: GradeDone) -> None:
        down[0] = False
        assert resume_job(ResumeJob(done.graded), bench.db, SilentProgress()).finished.status == "complete"

    done = written(bench, author, resume=again)
    (joined,) = done.joined
    assert grades(bench, done.graded, joined.label)["dew"] == ("unmeasured", "not_graded", "")
    later = bench.grade(done.graded)
    assert {row["arm"] for row in bench.rows("SELECT arm FROM grades WHERE run = ?", later.finished.run)} == {"trigger"}
    with bench.ledger() as ledger:
        for run in (done.graded, done.finished.run, later.finished.run):
            assert check_run(ledger, run).ok


def test_a_suite_without_a_trigger_arm_has_nothing_to_write_on(bench: Bench) -> None:
    bench.manifest(JUDGE.partition("[arms.trigger]")[0])
    with pytest.raises(UsageError, match=r"essays has no \[arms.trigger\]"):
        written(bench, lambda prompt: Answer("x"))


def test_the_stages_of_writing_ask_the_task_and_score_nothing_but_that_there_is_an_answer() -> None:
    entry = stages("written")
    (message,) = entry.messages(entry.prompt, {"task": "Say {{ task }}."}).messages
    assert message == {"role": "user", "content": "Say {{ task }}."}
    assert entry.check_case({"task": ""}, {}) is not None
    assert entry.check_case({"task": "x"}, {}) is None
    assert entry.check_prompt("no place") is not None
    with pytest.raises(ValueError, match="expected an input"):
        entry.messages(entry.prompt, {"text": "x"})
    with pytest.raises(ValueError, match="nothing that a target writes is confirmed"):
        entry.confirm_rules({"x": 1})
