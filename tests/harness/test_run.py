"""Whole runs through the command line: real HTTP on loopback, a real ledger file, real processes."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import started
from tests.harness.models import Answer, ModelServer, model_server
from tests.started import Started

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
GOLD = {
    case["id"]: case
    for fixture in ("v0", "v1")
    for case in map(json.loads, (ROOT / f"fixtures/authority/{fixture}/cases.jsonl").read_text("utf-8").splitlines())
}

ITEM = re.compile(r"^\s*(?:[-*+]|[0-9]+[.)])\s+(.*\S)\s*$", re.MULTILINE)


def perfect(prompt: str) -> str:
    """What a model that knew the key would write: the case is recognised by its items."""
    for case in GOLD.values():
        if all(item in prompt for item in ITEM.findall(case["input"]["text"])):
            proposals = [
                {
                    "type": wanted["type"], "source_item_id": wanted["source"], "target_item_id": wanted["target"],
                    "cited_evidence_span": reference["span"], "scope_terms": reference["terms"], "rationale": "as told",
                    "confidence": 0.9,
                }
                for wanted, reference in zip(case["gold"]["expected"], case["gold"]["reference"], strict=True)
            ]  # fmt: skip
            return json.dumps({"proposals": proposals})
    raise AssertionError(f"no case fits the prompt: {prompt[-300:]}")


def start(*arguments: str, key: str = "sk-test-not-a-real-key") -> Started:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LEDGER", "HARNESS"))}
    environ |= {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key}
    return started.start("harness", arguments, cwd=ROOT, environ=environ)


def harness(*arguments: str, expect: int = 0) -> Any:
    process = start(*arguments, "--json")
    out, errors = process.communicate(timeout=120)
    assert process.returncode == expect, f"exit {process.returncode}\n{out}\n{errors}"
    assert "Traceback" not in errors
    return json.loads(out)


def verdict(db: Path) -> Any:
    return json.loads(started.finished("ledger", ["verify", "--db", db, "--json"], cwd=ROOT, environ=os.environ).stdout)


def rows(db: Path, statement: str, *parameters: object) -> list[dict[str, Any]]:
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(statement, parameters)]
    finally:
        connection.close()


def figures(report: Any, metric: str, rules: str) -> tuple[int, int, int]:
    for row in report["scoreboard"]:
        if row["metric"] == metric and row["rules"].startswith(rules + "@"):
            return row["k"], row["n"], row["planned"]
    raise AssertionError(f"{metric} under {rules} is not on the scoreboard")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("engine", ["ollama", "openai", "anthropic"])
def test_a_model_that_knows_the_key_scores_everything_over_each_protocol(engine: str, db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        url = server.openai if engine == "openai" else server.url
        done = harness("run", "authority", "--engine", f"{engine}/scripted", "--base-url", url, "--db", str(db))
        report = harness("report", done["run"], "--db", str(db))
    assert done["status"] == "complete"
    assert done["planned"] == 24 == len(server.requests)
    assert all(counts == {"correct": 24} for counts in done["outcomes"].values())
    for rules in ("strict-cite", "fence-cite"):
        assert figures(report, "exact", rules) == (16, 16, 16)
        assert figures(report, "direction", rules) == (16, 16, 16)
        assert figures(report, "negative_pass", rules) == (8, 8, 8)
        assert figures(report, "false_fire_without_confirmer", rules) == (0, 8, 8)
    assert report["unmeasured"] == []
    assert report["candidates"] == [f"{engine}/scripted"]
    assert verdict(db)["verdict"] == "CONSISTENT"


def test_a_server_that_fences_its_json_is_unmeasured_when_strict_and_measured_when_fences_are_allowed(db: Path) -> None:
    with model_server(lambda prompt: Answer(f"```json\n{perfect(prompt)}\n```")) as server:
        done = harness(
            "run", "authority/v0", "--engine", "ollama/scripted", "--base-url", server.url, "--db", str(db), expect=0
        )
        report = harness("report", "latest", "--db", str(db))
    by_rules = {label.split("@")[0]: counts for label, counts in done["outcomes"].items()}
    assert by_rules == {"strict-cite": {"unmeasured": 6}, "fence-cite": {"correct": 6}}
    (row,) = report["unmeasured"]
    assert (row["stage"], row["reason"], row["domain"], row["count"]) == ("parse", "fenced", "model", 6)
    assert figures(report, "exact", "strict-cite") == (0, 0, 4)
    assert figures(report, "exact", "fence-cite") == (4, 4, 4)


def test_no_credit_is_billing_and_neither_a_miss_nor_a_pass(db: Path) -> None:
    body = json.dumps(
        {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low."}}
    ).encode()
    with model_server(lambda prompt: Answer(status=400, body=body)) as server:
        done = harness(
            "run", "authority/v0", "--engine", "anthropic/scripted", "--base-url", server.url, "--db", str(db), expect=3
        )
        report = harness("report", done["run"], "--db", str(db))
    assert done["status"] == "incomplete"
    assert all(counts == {"unmeasured": 6} for counts in done["outcomes"].values())
    billing = [row for row in report["unmeasured"] if row["reason"] == "billing"]
    assert {(row["stage"], row["domain"]) for row in billing} == {("api", "provider")}
    for row in report["scoreboard"]:
        assert (row["k"], row["n"], row["rate"], row["low"], row["high"]) == (0, 0, None, None, None)
        assert (row["worst"], row["best"]) == (0.0, 1.0)


def test_when_one_provider_runs_out_of_credit_it_is_asked_no_more_and_the_other_goes_on(db: Path) -> None:
    broke = json.dumps({"error": {"message": "no quota", "code": "insufficient_quota"}}).encode()
    with (
        model_server(lambda prompt: Answer(status=429, body=broke, delay=0.05)) as poor,
        model_server(lambda prompt: Answer(perfect(prompt))) as rich,
    ):
        done = harness(
            "run", "authority/v1", "--engine", "openai/poor", "--engine", "ollama/rich", "--base-url", poor.openai,
            "--base-url", rich.url, "--max-connections", "2", "--db", str(db), expect=3,
        )  # fmt: skip
    assert len(poor.requests) == 2
    assert len(rich.requests) == 18
    failures = rows(db, "SELECT DISTINCT candidate, reason, count FROM failures WHERE run = ?", done["run"])
    assert sorted((row["candidate"], row["reason"], row["count"]) for row in failures) == [
        ("openai/poor", "billing", 2),
        ("openai/poor", "not_asked", 16),
    ]


def test_an_account_without_credit_is_not_asked_for_its_other_models_either(db: Path) -> None:
    broke = json.dumps({"error": {"message": "no quota", "code": "insufficient_quota"}}).encode()

    def answer(prompt: str) -> Answer:
        return Answer(status=429, body=broke) if len(server.requests) > 3 else Answer(perfect(prompt))

    with model_server(answer) as server:
        done = harness(
            "run", "authority/v1", "--engine", "openai/a", "--engine", "openai/b", "--base-url", server.openai,
            "--max-connections", "1", "--db", str(db), expect=3,
        )  # fmt: skip
    # Each of the two workers has at most one request under way when the first refusal is read.
    assert len(server.requests) <= 5
    assert done["status"] == "incomplete"
    closed = json.loads(rows(db, "SELECT body FROM events WHERE kind = 'close'")[0]["body"])
    assert closed["reason"] == f"stopped asking openai at {server.openai}"


def test_what_the_ledger_holds_is_what_the_server_received_and_sent_byte_for_byte(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        harness("run", "authority/v0", "--engine", "openai/scripted", "--base-url", server.openai, "--db", str(db))
    stored = {
        kind: sorted(
            row["data"]
            for row in rows(
                db, "SELECT data FROM blobs JOIN events ON events.seq = blobs.seq WHERE events.kind = ?", kind
            )
        )
        for kind in ("request", "response")
    }
    assert stored["request"] == sorted(body for _, body in server.requests)
    assert stored["response"] == sorted(server.answers)


@pytest.mark.parametrize("engine", ["openai", "anthropic"])
def test_no_key_is_anywhere_in_the_database_file(engine: str, db: Path) -> None:
    key = "sk-live-3141592653589793238462643383279"

    def echo(prompt: str) -> Answer:
        return Answer(status=401, body=json.dumps({"error": {"message": f"Incorrect API key: {key}"}}).encode())

    with model_server(echo) as server:
        url = server.openai if engine == "openai" else server.url
        process = start("run", "authority/v0", "--engine", f"{engine}/m", "--base-url", url, "--db", str(db), key=key)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    for path in db.parent.glob("ledger.db*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path
    assert key not in out + errors


def test_limit_makes_a_partial_run_and_epochs_ask_again(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        done = harness(
            "run", "authority/v1", "--engine", "ollama/m", "--base-url", server.url, "--limit", "3", "--epochs", "2",
            "--db", str(db),
        )  # fmt: skip
    assert (done["status"], done["planned"], len(server.requests)) == ("partial", 6, 6)
    cells = rows(db, 'SELECT DISTINCT "case", epoch, identity FROM cells WHERE run = ?', done["run"])
    assert len({row["identity"] for row in cells}) == 6
    assert sorted({row["epoch"] for row in cells}) == [0, 1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_closes_the_run_as_interrupted_and_every_cell_has_an_outcome(number: signal.Signals, db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.4)) as server:
        process = start(
            "run", "authority", "--engine", "ollama/m", "--base-url", server.url, "--max-connections", "2", "--db",
            str(db), "--json",
        )  # fmt: skip
        wait_for(lambda: len(server.requests) >= 4)
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    done = json.loads(out)
    assert done["status"] == "interrupted"
    assert process.returncode == 3
    reconcile(db, done["run"])
    reasons = {row["reason"] for row in rows(db, "SELECT reason FROM failures WHERE run = ?", done["run"])}
    assert "not_asked" in reasons
    assert reasons <= {"not_asked", "fate_unknown"}
    listed = ledger_runs(db)
    assert listed[0]["status"] == "interrupted"
    assert verdict(db)["verdict"] == "CONSISTENT"


def kill_during_a_run(db: Path, after: int, server: ModelServer) -> None:
    before = len(server.requests)
    process = start(
        "run", "authority", "--engine", "ollama/m", "--base-url", server.url, "--max-connections", "3", "--db", str(db)
    )
    wait_for(lambda: len(server.requests) - before >= after or process.poll() is not None)
    process.kill()
    process.communicate(timeout=60)


def test_a_killed_process_leaves_a_consistent_ledger_and_a_run_that_reads_as_interrupted(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.01)) as server:
        for after in (1, 7, 15):
            kill_during_a_run(db, after, server)
            check_after_kill(db, server)


@pytest.mark.long
def test_fifty_killed_runs_lose_nothing_that_was_acknowledged(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.01)) as server:
        for attempt in range(50):
            kill_during_a_run(db, 1 + attempt * 7 % 23, server)
            check_after_kill(db, server)


def check_after_kill(db: Path, server: ModelServer) -> None:
    found = verdict(db)
    assert found["verdict"] == "CONSISTENT", found["problems"]
    # A byte left only after its request event was durable, so whatever the server saw stands in the ledger.
    stored = [
        row["data"] for row in rows(db, "SELECT data FROM blobs JOIN events USING (seq) WHERE events.kind = 'request'")
    ]
    for _, body in server.requests:
        assert body in stored
    run = ledger_runs(db)[0]
    assert run["status"] == "interrupted"
    reconcile(db, run["run"])


def ledger_runs(db: Path) -> Any:
    done = subprocess.run([BIN / "ledger", "runs", "--db", db, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["runs"]


def reconcile(db: Path, run: str) -> None:
    """Every planned cell has exactly one outcome under each rule set, in the views, whatever happened to the run."""
    (planned,) = rows(db, "SELECT body ->> '$.cells' AS cells FROM events WHERE run = ? AND kind = 'plan'", run)
    written = rows(db, "SELECT count(*) AS n FROM events WHERE run = ? AND kind = 'cell'", run)[0]["n"]
    for row in rows(
        db, "SELECT rules, count(*) AS n, count(DISTINCT cell) AS d FROM cells WHERE run = ? GROUP BY 1", run
    ):
        assert row["n"] == row["d"] == written <= planned["cells"]
    for row in rows(db, "SELECT * FROM scoreboard WHERE run = ?", run):
        assert 0 <= row["k"] <= row["n"] <= row["planned"]


def wait_for(condition: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def test_the_scoreboard_the_tally_and_an_independent_count_agree(db: Path) -> None:
    answers = iter(range(10_000))

    def answer(prompt: str) -> Answer:
        turn = next(answers)
        if turn % 5 == 0:
            return Answer("not JSON at all")
        if turn % 5 == 1:
            return Answer(json.dumps({"proposals": []}))
        return Answer(perfect(prompt))

    with model_server(answer) as server:
        done = harness(
            "run", "authority", "--engine", "openai/m", "--base-url", server.openai, "--epochs", "2", "--db", str(db)
        )
    report = harness("report", done["run"], "--db", str(db))
    events = rows(db, "SELECT kind, cell, body FROM events WHERE run = ? ORDER BY seq", done["run"])
    scores = {
        (body["rules"], event["cell"]): body
        for event in events
        if event["kind"] == "score" and (body := json.loads(event["body"]))
    }
    tallies = {body["rules"]: body for e in events if e["kind"] == "tally" and (body := json.loads(e["body"]))}
    assert len(report["scoreboard"]) == 10
    for row in report["scoreboard"]:
        of_rules = [score for (rules, _), score in scores.items() if rules == row["rules"]]
        applies = [score for score in of_rules if row["metric"] in score["applies"]]
        values = [score["metrics"][row["metric"]] for score in applies if row["metric"] in score["metrics"]]
        k, n, planned = int(sum(values)), len(values), len(applies)
        assert (row["k"], row["n"], row["planned"]) == (k, n, planned)
        assert 0 < n < planned
        told = next(m for m in tallies[row["rules"]]["metrics"] if m["metric"] == row["metric"])
        assert (told["k"], told["n"], told["planned"]) == (k, n, planned)
        low, high = wilson(k, n)
        assert row["low"] == pytest.approx(low, abs=1e-12)
        assert row["high"] == pytest.approx(high, abs=1e-12)
        assert row["worst"] == pytest.approx(k / planned)
        assert row["best"] == pytest.approx((k + planned - n) / planned)


def wilson(k: int, n: int) -> tuple[float, float]:
    z, p = 1.959963984540054, k / n
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def told(db: Path, *arguments: str) -> tuple[int, str, str]:
    process = start("report", *arguments, "--db", str(db))
    out, errors = process.communicate(timeout=60)
    return process.returncode, out, errors


def test_a_report_says_which_run_it_is_and_how_far_it_came(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        done = harness(
            "run", "authority/v1", "--engine", "ollama/m", "--base-url", server.url, "--limit", "2", "--epochs", "3",
            "--name", "small", "--db", str(db),
        )  # fmt: skip
    status, out, _ = told(db, "latest")
    first, second, *_ = out.splitlines()
    assert status == 0
    assert first.startswith(f"run {done['run']} (small), partial, 6 of 6 cells asked, 3 epochs, only the first 2 cases")
    assert "asked more than once" in second and "draws whole cases" in second
    assert harness("report", "latest", "--db", str(db))["status"] == "partial"


def test_a_probe_has_no_report_and_is_not_the_latest_run(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt) if "Memory:" in prompt else "Hi.")) as server:
        done = harness("run", "authority/v0", "--engine", "ollama/m", "--base-url", server.url, "--db", str(db))
        probed = harness("probe", "ollama/m", "--base-url", server.url, "--prompt", "Say hi.", "--db", str(db))
    assert harness("report", "latest", "--db", str(db))["run"] == done["run"]
    status, _, errors = told(db, probed["run"])
    assert status == 2
    assert "is a probe, which no scoreboard counts" in errors


def test_a_parameter_set_to_null_is_left_out_of_the_request(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        harness(
            "run", "authority/v0", "--limit", "1", "--engine", "openai/m", "--base-url", server.openai, "-M",
            "max_tokens=null", "-M", "max_completion_tokens=99", "--db", str(db),
        )  # fmt: skip
    sent = json.loads(server.requests[0][1])
    assert "max_tokens" not in sent
    assert sent["max_completion_tokens"] == 99


def test_the_same_files_are_frozen_once(db: Path) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        for _ in range(2):
            harness("run", "authority/v0", "--engine", "ollama/m", "--base-url", server.url, "--db", str(db))
    frozen = rows(db, "SELECT what, name FROM freezes")
    assert sorted((row["what"], row["name"]) for row in frozen) == [
        ("fixture", "authority/v0"), ("prompt", "authority/propose"), ("rules", "fence-cite"), ("rules", "strict-cite"),
    ]  # fmt: skip
    assert [run["status"] for run in ledger_runs(db)] == ["complete", "complete"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "nothing-like-it", "--engine", "ollama/m"), "expected a suite"),
        (("run", "authority"), "name whom to ask: --engine provider/model"),
        (("run", "authority", "--engine", "gpt"), "gpt"),
        (("run", "authority", "--engine", "nobody/gpt"), "nobody"),
        (("run", "authority", "--rules", "lax", "--engine", "ollama/m"), "lax"),
        (("run", "authority", "--engine", "ollama/m", "-M", "x"), "key=value"),
        (("run", "authority", "--engine", "replay/ledger.db", "--temperature", "1"), "as it was recorded"),
        (("run", "authority", "--engine", "replay/ledger.db", "--stream"), "as it was recorded"),
        (("report", "latest"), "no ledger"),
    ],
)
def test_wrong_usage_is_one_sentence_and_touches_nothing(arguments: tuple[str, ...], words: str, db: Path) -> None:
    process = start(*arguments, "--db", str(db))
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert words in errors
    assert len(errors.strip().splitlines()) == 1
    assert out == ""
    assert not db.exists()
