"""A resume that is killed with SIGKILL wherever it stands, and resumed: every link of the ledger still holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.experiments import Experiment
from tests.harness.models import Answer, ModelServer, model_server
from tests.harness.test_resume import killed
from tests.harness.test_run import perfect, wait_for


def kill_resumes(lab: Experiment, points: list[int]) -> None:
    """Kill a run of 30 cells early; then a resume of it once the ledger has so many events more; then resume it."""
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.02)) as server:
        for events in points:
            run = killed(lab, server, 4)
            kill_one(lab, server, run, events)
            done = lab.resume(run)
            assert (done["status"], done["planned"]) == ("complete", 30)
    said = lab.ledger("verify", "--deep", "--db", str(lab.db))
    assert "every link holds" in said
    written = lab.rows("SELECT run, min(seq) AS first FROM events WHERE kind = 'resume' GROUP BY run")
    assert len(written) == len(points)


def kill_one(lab: Experiment, server: ModelServer, run: str, events: int) -> None:
    def newest() -> int:
        return int(lab.rows("SELECT max(seq) AS seq FROM events")[0]["seq"])

    before = newest()
    process = lab.start("harness", "resume", run, "--max-connections", "2")
    wait_for(lambda: newest() - before >= events or process.poll() is not None)
    process.kill()
    process.communicate(timeout=60)


def test_a_resume_killed_at_its_first_event_and_while_it_asks_is_resumed_and_every_link_holds(tmp_path: Path) -> None:
    kill_resumes(Experiment(tmp_path / "lab"), [1, 17, 60])


@pytest.mark.long
def test_a_resume_killed_at_any_of_twenty_points_is_resumed_and_every_link_holds(tmp_path: Path) -> None:
    kill_resumes(
        Experiment(tmp_path / "lab"), [1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 37, 45, 54, 64, 76, 90, 110, 135]
    )
