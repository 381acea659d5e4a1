"""Asking again: when the reason's advice says so, as long as patience lasts, with every attempt and wait an event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.servers import Reply, ScriptedServer, head, json_reply, openai_answer
from tests.harness.test_run import harness, rows

GOOD = json_reply(openai_answer('{"proposals": []}'))


def failing(status: int, *headers: tuple[str, str], message: str = "no") -> Reply:
    return json_reply({"error": {"message": message}}, status, headers=headers)


def ask(db: Path, *replies: Reply, retries: int = 3, wait: str = "5", expect: int = 0) -> tuple[Any, int]:
    with ScriptedServer(*replies) as server:
        done = harness(
            "run", "authority/v0", "--limit", "1", "--engine", "openai/m", "--base-url", f"{server.url}/v1",
            "--max-retries", str(retries), "--max-wait", wait, "--db", str(db), expect=expect,
        )  # fmt: skip
        # What is looked up at a server that gave no answer (which models it lists) is no question asked again.
        return done, sum(each.head.startswith(b"POST ") for each in server.requests)


def waits(db: Path) -> list[dict[str, Any]]:
    return [json.loads(row["body"]) for row in rows(db, "SELECT body FROM events WHERE kind = 'wait' ORDER BY seq")]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_a_server_that_asks_for_a_wait_gets_it_and_the_answer_after_it_counts(db: Path) -> None:
    done, asked = ask(db, failing(429, ("Retry-After", "0.2")), GOOD)
    assert asked == 2
    assert all("unmeasured" not in counts for counts in done["outcomes"].values())
    (wait,) = waits(db)
    assert (wait["seconds"], wait["asked"], wait["why"], wait["attempt"]) == (0.2, "0.2", "rate_limit", 0)
    attempts = rows(db, "SELECT attempt, http_status FROM attempts ORDER BY attempt")
    assert [(row["attempt"], row["http_status"]) for row in attempts] == [(0, 429), (1, 200)]


def test_a_failure_that_may_pass_is_asked_again_until_patience_ends(db: Path) -> None:
    done, asked = ask(db, failing(500), retries=2, wait="0.05", expect=3)
    assert asked == 3
    assert [wait["attempt"] for wait in waits(db)] == [0, 1]
    assert all(wait["seconds"] <= 0.05 for wait in waits(db))
    assert {row["reason"] for row in rows(db, "SELECT reason FROM failures WHERE run = ?", done["run"])} == {"http_500"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (failing(400), "bad_request"),
        (failing(404, message="model m not found"), "model_missing"),
        (failing(429, ("Retry-After", "100000")), "rate_limit"),
        (json_reply(openai_answer('{"proposals": [', "length")), "stop_length"),
        ([head(302, [("Location", "http://127.0.0.1:9/"), ("Content-Length", "0")])], "redirect"),
    ],
)
def test_what_asking_again_can_not_mend_is_asked_once(reply: Reply, reason: str, db: Path) -> None:
    expect = 0 if reason == "stop_length" else 3
    done, asked = ask(db, reply, expect=expect)
    assert asked == 1
    assert waits(db) == []
    assert {row["reason"] for row in rows(db, "SELECT reason FROM failures WHERE run = ?", done["run"])} == {reason}


def test_a_wait_is_never_longer_than_the_person_allows(db: Path) -> None:
    _, asked = ask(db, failing(503), failing(503), GOOD, wait="0.01")
    assert asked == 3
    assert all(wait["seconds"] <= 0.01 for wait in waits(db))
