"""A redaction takes no measurement away: reports keep their numbers and say which can't be reproduced; replays, resumes
and later runs don't build on what is gone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.harness.models import Answer, model_server
from tests.harness.test_run import figures, harness, perfect, rows, verdict
from tests.started import finished

RULES = ("strict-cite", "fence-cite")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def redact(db: Path, *targets: object) -> Any:
    why = ("--reason", "a test", "--category", "other", "--db", str(db), "--json")
    done = finished("ledger", ["redact", *targets, *why], cwd=db.parent, environ=os.environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_v0(db: Path, *more: str) -> Any:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        return harness(
            "run", "authority/v0", "--engine", "openai/scripted", "--base-url", server.openai, "--db", str(db), *more
        )


def plain(report: Any) -> list[dict[str, Any]]:
    return [{name: each for name, each in row.items() if name != "reproducible"} for row in report["scoreboard"]]


def test_a_report_keeps_its_numbers_and_says_which_nobody_can_reproduce(db: Path) -> None:
    run_v0(db)
    before = harness("report", "latest", "--db", str(db))
    assert before["not_reproducible"] == []
    assert all(row["reproducible"] for row in before["scoreboard"])
    redact(db, "--run", "latest", "--cell", 1)
    redact(db, "--run", "latest", "--cell", 2)
    after = harness("report", "latest", "--db", str(db))
    assert plain(after) == plain(before)
    assert after["unmeasured"] == before["unmeasured"] == []
    assert {(each["rules"].split("@")[0], each["cells"]) for each in after["not_reproducible"]} == {
        (rules, 2) for rules in RULES
    }
    assert not any(row["reproducible"] for row in after["scoreboard"])
    shown = finished("harness", ["report", "latest", "--db", db], cwd=db.parent, environ=os.environ)
    words = " ".join(shown.stdout.split())
    assert words.count("NOT REPRODUCIBLE: 2 of the scores of openai/scripted under ") == 2
    assert words.count("[not reproducible]") == 2
    every = finished("harness", ["report", "--db", db], cwd=db.parent, environ=os.environ)
    assert "[not" in every.stdout
    assert verdict(db)["withheld_by"][0]["bodies"] >= 5


def test_a_withheld_recording_is_not_replayed_and_its_cell_stays_in_the_denominator(db: Path, tmp_path: Path) -> None:
    run_v0(db)
    (gone,) = rows(db, "SELECT seq FROM events WHERE kind = 'response' AND cell = 3")
    redact(db, f"{gone['seq']}:body")
    replayed = tmp_path / "replayed.db"
    done = harness("run", "authority/v0", "--engine", f"replay/{db}", "--db", str(replayed), expect=3)
    report = harness("report", "latest", "--db", str(replayed))
    assert done["planned"] == 6
    assert all(counts == {"correct": 5, "unmeasured": 1} for counts in done["outcomes"].values())
    assert {(row["reason"], row["count"]) for row in report["unmeasured"]} == {("no_recording", 1)}
    for rules in RULES:
        assert figures(report, "exact", rules)[2] == 4


@pytest.mark.parametrize("what", ["the request", "the response", "what was sent"])
def test_whatever_of_a_recording_is_withheld_it_doesnt_count(db: Path, tmp_path: Path, what: str) -> None:
    run_v0(db)
    kind = "response" if what == "the response" else "request"
    (gone,) = rows(db, "SELECT seq FROM events WHERE kind = ? AND cell = 1", kind)
    redact(db, f"{gone['seq']}:body" if what == "what was sent" else gone["seq"])
    replayed = tmp_path / "replayed.db"
    done = harness("run", "authority/v0", "--engine", f"replay/{db}", "--db", str(replayed), expect=3)
    assert all(counts == {"correct": 5, "unmeasured": 1} for counts in done["outcomes"].values())


def test_resuming_asks_what_is_unfinished_although_its_earlier_attempts_are_withheld(db: Path) -> None:
    down = True

    def answer(prompt: str) -> Answer:
        return Answer(status=500, body=b"{}") if down else Answer(perfect(prompt))

    with model_server(answer) as server:
        harness(
            "run", "authority/v0", "--engine", "openai/scripted", "--base-url", server.openai, "--db", str(db),
            "--max-retries", "0", expect=3,
        )  # fmt: skip
        for row in rows(db, "SELECT seq FROM events WHERE kind IN ('request', 'response', 'parse') AND cell = 2"):
            redact(db, row["seq"])
        down = False
        done = harness("resume", "latest", "--db", str(db), "--max-retries", "0")
    assert done["status"] == "complete"
    assert all(counts == {"correct": 6} for counts in done["outcomes"].values())
    asked = rows(db, "SELECT cell, count(*) AS times FROM events WHERE kind = 'request' GROUP BY cell")
    assert {row["times"] for row in asked} == {2}
    assert verdict(db)["verdict"] == "CONSISTENT"
    report = harness("report", "latest", "--db", str(db))
    assert report["not_reproducible"] == [], "what counts now rests on the second attempt alone"


def test_a_new_run_freezes_anew_what_was_withheld(db: Path) -> None:
    first = run_v0(db)
    frozen = rows(db, "SELECT seq FROM events WHERE kind = 'freeze' AND body ->> '$.what' = 'fixture'")
    assert len(frozen) == 1
    redact(db, f"{frozen[0]['seq']}:file")
    report = harness("report", first["run"], "--db", str(db))
    assert {each["cells"] for each in report["not_reproducible"]} == {6}
    second = run_v0(db)
    frozen = rows(db, "SELECT seq FROM events WHERE kind = 'freeze' AND body ->> '$.what' = 'fixture'")
    assert len(frozen) == 2
    assert harness("report", second["run"], "--db", str(db))["not_reproducible"] == []


def test_a_withheld_cell_is_still_known_to_be_its_candidates(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt) if len(server.requests) % 3 else "no")) as server:
        harness(
            "run", "authority/v0", "--engine", "openai/a", "--engine", "ollama/b", "--base-url", server.openai,
            "--base-url", server.url, "--epochs", "2", "--limit", "5", "--db", str(db),
        )  # fmt: skip
    cells = "SELECT cell, rules, candidate, outcome FROM cells ORDER BY cell, rules"
    before, report = rows(db, cells), harness("report", "latest", "--db", str(db))
    assert {row["candidate"] for row in before} == {"openai/a", "ollama/b"}
    assert len({row["outcome"] for row in before}) > 1
    redact(db, *(row["seq"] for row in rows(db, "SELECT seq FROM events WHERE kind = 'cell'")))
    assert rows(db, cells) == before
    after = harness("report", "latest", "--db", str(db))
    assert plain(after) == plain(report)
    assert after["unmeasured"] == report["unmeasured"]
