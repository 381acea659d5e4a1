"""What a redaction of an answer leaves with the judges that were shown it, and the commands that withhold it there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from harness._errors import RefusedError
from harness._replay_check import check_run
from harness._resume import ResumeJob, resume_job
from harness._run import SilentProgress
from ledger import Ledger, verify
from ledger._redact_preview import Preview, preview
from ledger._redact_targets import cell_targets
from ledger.cli import app, run_app
from tests.harness.judged import Bench, judge
from tests.harness.models import Answer

SECRET = "her name is Ada Quill"
COMMAND = re.compile(r"`ledger (redact [^`]*)`")


def said(bench: Bench, run: str, cell: int = 1) -> Preview:
    with bench.ledger() as ledger:
        return preview(ledger, cell_targets(ledger, run, cell))


def perform(bench: Bench, command: str) -> None:
    given = [*shlex.split(command), "--category", "personal", "--reason", "she asked", "--db", str(bench.db)]
    assert run_app(app, "ledger", given) == 0, command


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def leaking(prompt: str) -> Answer:
    return Answer(f"It rains, and {SECRET}.")


def test_the_preview_names_what_the_judge_was_shown_and_the_commands_that_withhold_it_do(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bench.run(leaking, limit=2)
    quoting = judge(reasons=f"It says: {SECRET}")
    first, second = (bench.grade(run, quoting, model=name).finished.run for name in ("one", "two"))
    found = said(bench, run)
    for judged in (first, second):
        (line,) = [each for each in found.readable if each.startswith(f"run {judged}, a judge's")]
        assert "what it was sent and replied in cells 1, and its frozen cases" in line
    commands = [match[1] for each in found.advice for match in COMMAND.finditer(each)]
    assert len(commands) == 4, "the frozen cases and one cell of either judge"
    perform(bench, f"redact --run {run} --cell 1")
    assert all(command in capsys.readouterr().out for command in commands[:1]), "people are told, too"
    for command in commands:
        perform(bench, command)
    # The other answer says the same, and is asked about apart.
    for command in [f"redact --run {run} --cell 2", *_left(bench, run, 2)]:
        perform(bench, command)
    assert said(bench, run).advice == said(bench, run, 2).advice == ()
    assert SECRET.encode() not in bench.db.read_bytes()
    assert verify(bench.db).verdict == "CONSISTENT"


def _left(bench: Bench, run: str, cell: int) -> list[str]:
    found = said(bench, run, cell)
    assert not any("--blob" in each for each in found.advice), "the cases of both cells are one file"
    return [match[1] for each in found.advice for match in COMMAND.finditer(each)]


def test_after_it_the_grades_stand_marked_and_what_cannot_be_told_is_counted_apart(bench: Bench) -> None:
    run = bench.run(leaking, limit=2)
    done = bench.grade(run)
    perform(bench, f"redact --run {run} --cell 1")
    rows = bench.rows("SELECT run, cell, rules FROM not_reproducible ORDER BY seq")
    assert [(row["run"], row["cell"]) for row in rows] == [(run, 1), (done.finished.run, 1), (run, 1)]
    with bench.ledger() as ledger:
        assert check_run(ledger, run).ok
        assert check_run(ledger, done.finished.run).ok
    assert len(bench.rows("SELECT * FROM grades WHERE graded_run = ?", run)) == 2, "which cell it was stays known"


def test_a_judge_whose_cases_are_withheld_is_not_resumed_on_others(bench: Bench) -> None:
    run = bench.run(leaking, limit=1)
    done = bench.grade(run, lambda prompt: Answer("x", status=401))
    (freeze,) = bench.rows("SELECT seq FROM freezes WHERE name = 'essays/graded'")
    perform(bench, f"redact {freeze['seq']} --blob file")
    with pytest.raises(RefusedError, match="the cases of graded"):
        resume_job(ResumeJob(done.finished.run), bench.db, SilentProgress())


def test_a_ledger_without_judges_has_nothing_to_say_of_them(bench: Bench) -> None:
    run = bench.run(leaking, limit=1)
    with Ledger.open(bench.db) as ledger:
        assert not any("judge" in each for each in preview(ledger, cell_targets(ledger, run, 1)).readable)
