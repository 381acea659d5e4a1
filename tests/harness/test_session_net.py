"""The last net under deriving: a body that the ledger refuses costs its cell, by name, and never the run."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness._derivations
from harness._job import Job, run_job
from harness._session import SilentProgress
from ledger import verify
from tests.harness.models import Answer, model_server
from tests.harness.test_run import ROOT, perfect


def test_a_derived_body_that_is_refused_is_internal_for_its_cell_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, seen = harness._derivations.derive_read, []

    def spoilt(*arguments: object, **named: object) -> object:
        derived = true(*arguments, **named)  # type: ignore[arg-type]
        seen.append(derived)
        if len(seen) in (1, 2):
            object.__setattr__(derived, "parse_blobs", {})
            object.__setattr__(derived.parse, "value", "a\x00b")
        return derived

    monkeypatch.setattr(harness._derivations, "derive_read", spoilt)
    monkeypatch.chdir(ROOT)
    db = tmp_path / "ledger.db"
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        job = Job("authority/v0", ["ollama/m"], base_urls=[server.url])
        done = run_job(job, db, SilentProgress())
    assert done.finished.status == "incomplete"
    assert all(counts == {"correct": 5, "unmeasured": 1} for counts in done.finished.outcomes.values())
    assert {(row["stage"], row["reason"], row["count"]) for row in done.report.data["unmeasured"]} == {
        ("harness", "internal", 1)
    }
    assert verify(db).verdict == "CONSISTENT"
