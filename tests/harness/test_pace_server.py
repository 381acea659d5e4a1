"""Whole runs against a server that limits its rate, dies of credit, refuses everything, or isn't there."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger import over_views
from tests.harness.limited import Limited, questions
from tests.harness.limiters import Bucket, FixedWindow, Limiter, SlidingWindow
from tests.harness.models import Answer, model_server
from tests.harness.servers import refused_port
from tests.harness.test_run import rows, verdict
from tests.started import finished

PRICES = """
["openai/*"]
input = "250"
output = "1000"
currency = "USD"
as_of = "2026-11-30"
"""


def cost(*servers: Limited) -> str:
    """What the servers charged by their own count, in words."""
    tokens = sum((server.tokens for server in servers), Counter[str]())
    amount = (250 * tokens["input"] + 1000 * tokens["output"]) * Decimal("0.000001")
    whole, _, rest = f"{amount:f}".partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')} USD"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return tmp_path


def harness(lab: Path, *arguments: str, expect: int = 0) -> tuple[Any, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LEDGER", "HARNESS"))}
    done = finished(
        "harness", [*arguments, "--db", lab / "ledger.db", "--json"], cwd=lab,
        environ=environ | {"OPENAI_API_KEY": "sk-test-not-a-real-key"}, timeout=900,
    )  # fmt: skip
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout), done.stderr


def run(lab: Path, engines: Sequence[tuple[str, str]], *flags: str, expect: int = 0) -> tuple[Any, str]:
    named = [part for engine, url in engines for part in ("--engine", f"openai/{engine}", "--base-url", url)]
    return harness(lab, "run", "numbers", *named, *flags, expect=expect)


def used(lab: Path, candidate: str) -> dict[str, int]:
    """The tokens of a candidate as the ledger's views have them."""
    (row,) = rows(
        lab / "ledger.db",
        over_views("SELECT sum(input_tokens) AS input, sum(output_tokens) AS output FROM usage WHERE candidate = ?"),
        candidate,
    )
    return row


def outcomes(lab: Path, run: str, candidate: str) -> dict[str, int]:
    found = rows(
        lab / "ledger.db",
        "SELECT cell.body ->> '$.candidate' AS candidate, score.body ->> '$.outcome' AS outcome, count(*) AS n"
        " FROM (SELECT max(seq) AS seq FROM events WHERE kind = 'score' AND run = ? GROUP BY cell) AS last"
        " JOIN events AS score USING (seq)"
        " JOIN events AS cell ON cell.run = score.run AND cell.kind = 'cell' AND cell.cell = score.cell"
        " GROUP BY 1, 2",
        run,
    )
    return {row["outcome"]: row["n"] for row in found if row["candidate"] == candidate}


def a_credit_that_ends(lab: Path, cells: int, limiter: Limiter, credit: int) -> Limited:
    """Two candidates at two addresses, one of them limited and without credit after a while; then resumed with credit.

    Everything but the pace is asserted here.
    """
    questions(lab, cells)
    (lab / "prices.toml").write_text(PRICES)
    poor, rich = Limited(limiter, credit), Limited()
    with model_server(poor) as at_poor, model_server(rich) as at_rich:
        engines = [("poor", at_poor.openai), ("rich", at_rich.openai)]
        done, told = run(lab, engines, expect=3)
        assert poor.count("let_in") == credit
        assert poor.count("broke") <= 8
        assert ("openai/poor: the server says too many requests; slowed to" in told) == (poor.count("refused") > 0)
        assert "openai/poor: billing; not asking it any more" in told
        assert rich.count("let_in") == cells
        assert outcomes(lab, done["run"], "openai/rich") == {"correct": cells}
        assert outcomes(lab, done["run"], "openai/poor") == {"correct": credit, "unmeasured": cells - credit}
        assert used(lab, "openai/poor") == dict(poor.tokens)
        assert done["spent"] == cost(poor, rich)
        first = Limited(asked=list(poor.asked))
        poor.credit = None
        resumed, _ = harness(lab, "resume", done["run"])
    assert resumed["status"] == "complete"
    assert resumed["spent"] == cost(poor, rich)
    assert rich.count("let_in") == cells
    assert poor.count("let_in") == cells
    assert outcomes(lab, done["run"], "openai/poor") == {"correct": cells}
    for candidate, server in (("openai/poor", poor), ("openai/rich", rich)):
        assert used(lab, candidate) == dict(server.tokens)
    assert verdict(lab / "ledger.db")["verdict"] == "CONSISTENT"
    return first


def test_a_server_with_a_rate_limit_that_dies_of_credit_is_asked_at_its_pace_and_resumed(lab: Path) -> None:
    seen = a_credit_that_ends(lab, 160, SlidingWindow(20), 60)
    # Slow enough to be reached on a busy machine. A storm would be several refusals for every answer.
    assert 0 < seen.count("refused") < 45


@pytest.mark.long
@pytest.mark.parametrize(
    "limiter", [SlidingWindow(50), FixedWindow(50), Bucket(50, 50)], ids=["sliding", "fixed", "bucket"]
)
def test_three_thousand_cells_go_through_a_limit_of_fifty_a_second(lab: Path, limiter: Limiter) -> None:
    seen = a_credit_that_ends(lab, 1500, limiter, 600)
    let_in, refused = seen.count("let_in", 3), seen.count("refused", 3)
    assert let_in / (seen.span() - 3) >= 45
    assert refused / (refused + let_in) < 0.05


def test_a_wait_that_the_server_names_is_kept_and_never_uses_up_a_cells_retries(lab: Path) -> None:
    questions(lab, 60)
    server = Limited(SlidingWindow(10), names_wait=True)
    with model_server(server) as at:
        done, _ = run(lab, [("m", at.openai)], "--max-retries", "1")
    assert done["outcomes"] == {next(iter(done["outcomes"])): {"correct": 60}}
    waits = rows(lab / "ledger.db", "SELECT body FROM events WHERE kind = 'wait'")
    assert len(waits) == server.count("refused") > 0
    assert all(json.loads(row["body"])["asked"] for row in waits)


def test_a_refused_cell_holds_up_no_other(lab: Path) -> None:
    questions(lab, 12)
    refused: list[str] = []

    def answer(prompt: str) -> Answer:
        if prompt.endswith(" 0") and not refused:
            refused.append(prompt)
            return Answer(status=429, body=b"{}", headers=(("Retry-After", "2"),))
        return Limited()(prompt)

    with model_server(answer) as at:
        run(lab, [("m", at.openai)], "--max-connections", "1")
    # With one connection, the one refused is asked again after all the others.
    assert b"Say 0" in at.requests[0][1]
    assert b"Say 0" in at.requests[-1][1]
    assert len(at.requests) == 13


def test_a_server_that_refuses_everything_is_left_after_a_while(lab: Path) -> None:
    questions(lab, 100)
    with model_server(lambda prompt: Answer(status=429, body=b"{}")) as at:
        done, told = run(lab, [("m", at.openai)], "--max-wait", "0.2", "--max-retries", "1", expect=3)
    assert "3 cells in a row were refused until patience ended: rate_limit; not asking it any more" in told
    assert len(at.requests) < 60
    assert done["status"] == "incomplete"
    reasons = {row["reason"] for row in rows(lab / "ledger.db", "SELECT DISTINCT reason FROM failures")}
    assert reasons == {"rate_limit", "not_asked"}


def test_a_server_that_is_not_there_is_left_after_five_cells_and_the_run_can_be_resumed(lab: Path) -> None:
    questions(lab, 60)
    with model_server(Limited()) as there:
        engines = [("gone", f"http://127.0.0.1:{refused_port()}/v1"), ("there", there.openai)]
        done, told = run(lab, engines, "--max-retries", "0", expect=3)
        assert "openai/gone: 5 cells in a row ended alike: connect_refused; not asking it any more" in told
        assert outcomes(lab, done["run"], "openai/there") == {"correct": 60}
        closed = json.loads(rows(lab / "ledger.db", "SELECT body FROM events WHERE kind = 'close'")[0]["body"])
        assert "openai/gone is asked no more: 5 cells in a row" in closed["reason"]
        asked = rows(lab / "ledger.db", "SELECT count(*) AS n FROM events WHERE kind = 'request'")[0]["n"]
        assert asked < 60 + 15
        resumed, _ = harness(
            lab, "resume", done["run"], "--base-url", there.openai, "--accept", "endpoint", "--reason", "it moved"
        )
    assert resumed["status"] == "complete"
    assert outcomes(lab, done["run"], "openai/gone") == {"correct": 60}


def test_a_server_that_answers_with_errors_is_asked_to_the_end(lab: Path) -> None:
    questions(lab, 30)
    with model_server(lambda prompt: Answer(status=500, body=b"{}")) as at:
        done, _ = run(lab, [("m", at.openai)], "--max-retries", "0", expect=3)
    assert len(at.requests) == done["asked"] == 30
    assert {row["reason"] for row in rows(lab / "ledger.db", "SELECT reason FROM failures")} == {"http_500"}
