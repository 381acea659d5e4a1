"""kill -9, wherever it falls: what is left holds, and what is resumed holds too. Real processes, a real SIGKILL."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forgeries.bases import base
from tests.forgeries.holders import commands
from tests.forgeries.honest import killed_after, run_of, slowly
from tests.forgeries.lab import Lab, grader, rows_of
from tests.harness.models import Answer, model_server

FEW = (8, 19, 34)
TWENTY = tuple(range(5, 45, 2))
"""After how many events more. A run of six cells writes 42 at least, a resume of it 28, a grade of it 48."""


def holds(lab: Lab) -> None:
    """Nothing in the ledger is false, however far it came."""
    said = commands("ledger", "verify", "--deep", "--db", lab.db)
    assert said.status == 0, said.text


def events(lab: Lab) -> int:
    return int(str(rows_of(lab.db, "SELECT count(*) FROM events")[0][0])) if lab.db.exists() else 0


def statuses(lab: Lab) -> list[object]:
    """How each run closed last."""
    last = "SELECT body ->> '$.status', max(seq) FROM events WHERE kind = 'close' GROUP BY run ORDER BY 2"
    return [status for status, _ in rows_of(lab.db, last)]


def copied(name: str, folder: Path) -> Lab:
    """A lab with one of the honest ledgers, to go on with."""
    shutil.copytree(base(name), folder, dirs_exist_ok=True)
    lab = Lab.__new__(Lab)
    lab.folder = folder
    return lab


def slow_grader(prompt: str) -> Answer:
    return Answer(grader(prompt).text, delay=0.05)


def killed_run(folder: Path, after: int) -> None:
    """A run."""
    lab = Lab(folder)
    with model_server(slowly) as server:
        assert killed_after(lab, after, signal.SIGKILL, *run_of(lab, server))
        holds(lab)
        if not rows_of(lab.db, "SELECT 1 FROM events WHERE kind = 'plan'"):
            lab.run(server)
        else:
            lab.call("harness", "resume", "latest")
    holds(lab)
    assert statuses(lab) == ["complete"]


def killed_resume(folder: Path, after: int) -> None:
    """The resume of a run that one cell alone was answered in."""
    lab, down = Lab(folder), [True]

    def answer(prompt: str) -> Answer:
        return Answer(status=500, body=b"down") if down[0] and "Rhine" not in prompt else slowly(prompt)

    with model_server(answer) as server:
        lab.run(server, "--max-retries", 0, expect=3)
        down[0] = False
        resumed = ("resume", "latest", "--max-connections", 1)
        assert killed_after(lab, events(lab) + after * 5 // 8, signal.SIGKILL, *resumed)
        holds(lab)
        lab.call("harness", "resume", "latest")
    holds(lab)
    assert statuses(lab) == ["complete"]


def killed_grade(folder: Path, after: int) -> None:
    """A judge's grading of a run."""
    lab = copied("rescored", folder)
    graded = str(rows_of(lab.db, "SELECT run FROM events WHERE kind = 'plan'")[0][0])
    with model_server(slow_grader) as server:
        grade = (
            "grade", graded, "--judge", lab.folder / "pilots", "--engine", "openai/quill", "--base-url", server.openai,
            "--max-connections", 1,
        )  # fmt: skip
        assert killed_after(lab, events(lab) + after, signal.SIGKILL, *grade)
        holds(lab)
        if len(rows_of(lab.db, "SELECT 1 FROM events WHERE kind = 'plan'")) == 2:
            lab.call("harness", "resume", "latest-judge")
        else:
            lab.call("harness", *grade)
    holds(lab)
    assert statuses(lab) == ["complete", "complete"]


KILLED: list[Callable[[Path, int], None]] = [killed_run, killed_resume, killed_grade]


@pytest.mark.parametrize("after", FEW)
@pytest.mark.parametrize("kill", KILLED)
def test_what_was_killed_holds_and_is_resumed(kill: Callable[[Path, int], None], after: int, tmp_path: Path) -> None:
    kill(tmp_path / "lab", after)


@pytest.mark.long
@pytest.mark.parametrize("after", TWENTY)
@pytest.mark.parametrize("kill", KILLED)
def test_at_twenty_points_each(kill: Callable[[Path, int], None], after: int, tmp_path: Path) -> None:
    kill(tmp_path / "lab", after)
