"""A disk that is full stops a run before its next request, leaves a sound ledger, and `harness resume` ends the run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ledger._writer
from harness.cli import app
from ledger import Ledger, verify
from ledger.cli import run_app
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect


class Filling:
    """A connection to a disk that is full from some moment on, as `is_full` says: no page more than there are then."""

    def __init__(self, connection: sqlite3.Connection, is_full: Callable[[], bool]) -> None:
        self._connection, self._is_full = connection, is_full

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, statement: str, *parameters: Any) -> Any:
        if statement == "BEGIN IMMEDIATE" and self._is_full():
            (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
            self._connection.execute(f"PRAGMA max_page_count={pages}")
        return self._connection.execute(statement, *parameters)

    def close(self) -> None:
        self._connection.close()


@pytest.mark.parametrize("room", [0, 7])
def test_a_full_disk_stops_a_run_before_its_next_request_and_resume_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], room: int
) -> None:
    lab = Experiment(tmp_path)
    monkeypatch.chdir(tmp_path)
    Ledger.create(lab.db).close()
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        asked = [
            "run", "authority/v0", "--epochs", "5", "--engine", "ollama/m", "--base-url", server.url,
            "--max-connections", "2", "--max-retries", "0", "--db", str(lab.db),
        ]  # fmt: skip
        with monkeypatch.context() as full:
            real = ledger._writer.connect_writer
            full.setattr(
                ledger._writer,
                "connect_writer",
                lambda path: Filling(real(path), lambda: len(server.requests) >= room),
            )
            status = run_app(app, "harness", asked)
        said = capsys.readouterr().err
        assert status == 3, said
        (error,) = [line for line in said.splitlines() if line.startswith("error: ")]
        assert "database or disk is full; nothing of this append was written; " in error
        assert "make room there, then go on (a run that was stopped: `harness resume`)" in error
        assert verify(lab.db).verdict == "CONSISTENT"
        sent = len(server.requests)
        claimed = lab.rows("SELECT count(*) AS n FROM events WHERE kind = 'request'")[0]["n"]
        # Each request that left stands in the ledger, and once the disk was full there were a few at most.
        assert room <= sent <= claimed <= room + 4
        plans = lab.rows("SELECT run FROM events WHERE kind = 'plan'")
        if plans:
            assert run_app(app, "harness", ["resume", "latest", "--max-retries", "0", "--db", str(lab.db)]) == 0
            assert lab.rows("SELECT status, asked FROM runs") == [{"status": "complete", "asked": 30}]
        else:
            assert run_app(app, "harness", asked) == 0
    assert verify(lab.db).verdict == "CONSISTENT"
