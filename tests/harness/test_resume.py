"""A run that was cut short ends as if it had not been: what is unfinished is asked, and nothing else."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger
from ledger._runs import list_runs
from tests.harness.experiments import Experiment, answering, lines
from tests.harness.models import Answer, ModelServer, model_server
from tests.harness.test_run import perfect, wait_for


@pytest.fixture
def lab(tmp_path: Path) -> Experiment:
    return Experiment(tmp_path)


def killed(lab: Experiment, server: ModelServer, after: int) -> str:
    """Kill -9 a run of 30 cells once the server has seen so many requests (0: as soon as it has its plan)."""
    before = len(server.requests)
    process = lab.start(
        "harness", "run", "authority/v0", "--epochs", "5", "--engine", "ollama/m", "--base-url", server.url,
        "--max-connections", "3", "--db", str(lab.db),
    )  # fmt: skip
    if after == 0:
        assert process.stderr is not None
        assert "cells planned" in process.stderr.readline()
    else:
        wait_for(lambda: len(server.requests) - before >= after or process.poll() is not None)
    process.kill()
    process.communicate(timeout=60)
    return lab.rows("SELECT run FROM events WHERE kind = 'plan' ORDER BY seq DESC")[0]["run"]


def check_resumed(lab: Experiment, run: str, calls: int, expected: list[dict[str, Any]]) -> None:
    requests = lab.rows("SELECT count(*) AS n FROM events WHERE kind = 'request' AND run = ?", run)[0]["n"]
    lost = [body for body in lab.bodies("fault") if body["reason"] == "fate_unknown" and of(lab, body) == run]
    # A request that stands in the ledger may not have left before the kill, so calls may be fewer, and never more.
    assert requests == 30 + len(lost)
    assert 30 <= calls <= requests
    answers = Counter(
        row["cell"] for row in lab.rows("SELECT cell FROM events WHERE kind = 'response' AND run = ?", run)
    )
    assert answers == dict.fromkeys(range(1, 31), 1)
    assert lab.scoreboard(run) == expected
    (row,) = lab.rows("SELECT status, planned, asked FROM runs WHERE run = ?", run)
    assert row == {"status": "complete", "planned": 30, "asked": 30}


def of(lab: Experiment, body: Any) -> str:
    return lab.rows("SELECT run FROM events WHERE seq = ?", body["seq"])[0]["run"]


def kill_and_resume(lab: Experiment, points: list[int]) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.02)) as server:
        whole = lab.run(server, "--epochs", "5", "--max-connections", "8")
        expected = lab.scoreboard(whole["run"])
        assert {row["n"] for row in expected} == {10, 20}
        for after in points:
            before = len(server.requests)
            run = killed(lab, server, after)
            held = lab.rows("SELECT * FROM events ORDER BY seq")
            done = lab.resume(run)
            assert done["status"] == "complete"
            check_resumed(lab, run, len(server.requests) - before, expected)
            assert lab.rows("SELECT * FROM events ORDER BY seq")[: len(held)] == held
    assert lab.verified() == "CONSISTENT"


def test_a_killed_run_is_resumed_to_the_scoreboard_of_one_that_was_not(lab: Experiment) -> None:
    kill_and_resume(lab, [0, 9, 22])


@pytest.mark.long
def test_a_run_killed_at_any_of_twenty_points_is_resumed_to_the_scoreboard_of_one_that_was_not(lab: Experiment) -> None:
    kill_and_resume(lab, [0, 1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 17, 19, 21, 23, 25, 27, 29, 30])


def test_a_resume_that_is_killed_is_resumed_too(lab: Experiment) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.05)) as server:
        run = killed(lab, server, 5)
        for more in (8, 7):
            before = len(server.requests)
            process = lab.start("harness", "resume", run, "--max-connections", "2")
            wait_for(lambda before=before, more=more: len(server.requests) - before >= more)
            process.kill()
            process.communicate(timeout=60)
        assert lab.resume()["status"] == "complete"
        expected = lab.scoreboard(lab.run(server, "--epochs", "5")["run"])
    assert lab.scoreboard(run) == expected
    claims = lab.rows(
        "SELECT cell, body ->> '$.attempt' AS attempt FROM events WHERE kind = 'request' AND run = ? ORDER BY seq", run
    )
    by_cell: dict[int, list[int]] = {}
    for row in claims:
        by_cell.setdefault(row["cell"], []).append(row["attempt"])
    assert all(attempts == list(range(len(attempts))) for attempts in by_cell.values())


def test_of_two_resumes_at_once_one_asks_and_the_other_says_who_holds_the_run(lab: Experiment) -> None:
    answer = answering(6)
    slow = threading.Event()

    def paced(prompt: str) -> Answer:
        said = answer(prompt)
        return Answer(said.text, said.status, said.body, said.headers, delay=1.0 if slow.is_set() else 0.0)

    with model_server(paced) as server:
        run = lab.run(server, "--epochs", "2", expect=3)["run"]
        asked = len(server.requests)
        answer.left[0] = 1000
        slow.set()
        both = [lab.start("harness", "resume", run, "--json", "--max-connections", "1") for _ in range(2)]
        ended = [(process.communicate(timeout=60), process.returncode) for process in both]
        again = [body for _, body in server.requests[asked:]]
    assert sorted(status for _, status in ended) == [0, 4]
    (won,) = [out for (out, _), status in ended if status == 0]
    (lost,) = [errors for (_, errors), status in ended if status == 4]
    assert json.loads(won)["asked"] == 6 == len(again)
    winner = next(process.pid for process, (_, status) in zip(both, ended, strict=True) if status == 0)
    assert f"process {winner} since " in lost
    cells = lab.rows("SELECT cell FROM events WHERE kind = 'request' AND body ->> '$.attempt' = 1")
    assert len({row["cell"] for row in cells}) == len(cells) == 6


def test_five_epochs_are_five_requests_and_a_resume_after_three_asks_two_more(lab: Experiment) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        whole = lab.run(server, "--limit", "1", "--epochs", "5")
        assert len(server.requests) == 5 == len(server.answers)
        assert whole["status"] == "partial"
    served: list[str] = []

    def answer(prompt: str) -> Answer:
        served.append(prompt)
        return Answer(perfect(prompt), delay=60.0 if len(served) == 4 else 0.0)

    with model_server(answer) as server:
        process = lab.start(
            "harness", "run", "authority/v0", "--limit", "1", "--epochs", "5", "--engine", "ollama/m", "--base-url",
            server.url, "--max-connections", "1", "--db", str(lab.db),
        )  # fmt: skip
        wait_for(lambda: len(served) == 4)
        process.kill()
        process.communicate(timeout=60)
        done = lab.resume()
        assert (done["asked"], done["status"], len(served)) == (2, "partial", 6)
    run = done["run"]
    scored = lab.rows("SELECT cell, epoch, outcome FROM cells WHERE run = ? ORDER BY cell", run)
    assert sorted({(row["cell"], row["epoch"]) for row in scored}) == [(cell + 1, cell) for cell in range(5)]
    assert {row["outcome"] for row in scored} == {"correct"}
    (lost,) = [body for body in lab.bodies("fault") if body["reason"] == "fate_unknown"]
    assert (lost["cell"], lost["attempt"], lost["stage"]) == (4, 0, "harness")


def test_errors_are_asked_again_with_the_next_attempt_and_outcomes_are_not(lab: Experiment) -> None:
    said = iter(["fine", "cut", "down", "prose", "empty", "down"])
    later: list[bool] = []

    def answer(prompt: str) -> Answer:
        kind = "fine" if later else next(said)
        text = {"fine": perfect(prompt), "prose": "I would rather not say.", "empty": ""}.get(kind)
        if text is not None:
            return Answer(text)
        return Answer(status=500, body=b"{}") if kind == "down" else Answer(body=truncated())

    with model_server(answer) as server:
        first = lab.run(server, expect=3)
        later.append(True)
        done = lab.resume()
        assert (done["asked"], done["status"], len(server.requests)) == (2, "complete", 8)
        assert lab.resume()["asked"] == 0
        assert len(server.requests) == 8
        held = len(lab.events())
        assert "expected an outcome" in lab.resume("--retry-outcomes", "no-such-reason", expect=2)["errors"]
        assert lab.resume("--retry-outcomes", "refused")["asked"] == 0
        assert len(lab.events()) == held
        assert lab.resume("--retry-outcomes", "truncated")["asked"] == 1
        assert len(server.requests) == 9
        assert "correct is no outcome" in lab.resume("--retry-outcomes", "correct", expect=2)["errors"]
    assert first["run"] == done["run"]
    attempts = lab.rows("SELECT cell, attempt FROM attempts WHERE attempt > 0 ORDER BY cell")
    assert [(row["cell"], row["attempt"]) for row in attempts] == [(2, 1), (3, 1), (6, 1)]
    assert "--retry-outcomes truncated: 1 cells" in lab.bodies("close")[-1]["reason"]
    last = lab.rows("SELECT cell, outcome FROM cells WHERE rules LIKE 'strict%' ORDER BY cell")
    assert [row["outcome"] for row in last] == ["correct"] * 3 + ["unmeasured"] * 2 + ["correct"]


def truncated() -> bytes:
    return json.dumps(
        {"model": "scripted", "message": {"role": "assistant", "content": '{"proposals": ['}, "done": True,
         "done_reason": "length"}
    ).encode()  # fmt: skip


def test_a_reply_that_was_recorded_and_never_scored_is_scored_and_not_paid_for_again(lab: Experiment) -> None:
    """What a process leaves that was killed between a response and its reading."""
    source = lab.copy_source()
    session = source / "harness" / "_session.py"
    whole = session.read_text("utf-8")
    deriving = "        drafts, scores = self._drafts(measurement, exchange)\n"
    assert deriving in whole
    with model_server(answering(1000)) as server:
        dying = f"        import os\n        if measurement.cell == 4:\n            os._exit(9)\n{deriving}"
        session.write_text(whole.replace(deriving, dying, 1), "utf-8")
        process = lab.start("harness", "run", "authority/v0", "--engine", "ollama/m", "--base-url", server.url,
                            "--max-connections", "1")  # fmt: skip
        process.communicate(timeout=60)
        assert (process.returncode, len(server.requests)) == (9, 4)
        session.write_text(whole, "utf-8")
        done = lab.resume("--accept", "code", "--reason", "the fault that killed it was mended")
        assert (done["status"], done["asked"], len(server.requests)) == ("complete", 2, 6)
    with Ledger.open(lab.db, read_only=True) as ledger:
        assert [run["accepted"] for run in list_runs(ledger)] == [["code"]]
    assert lab.rows("SELECT count(*) AS n FROM events WHERE kind = 'fault'") == [{"n": 0}]
    outcomes = lab.rows("SELECT DISTINCT outcome FROM cells")
    assert outcomes == [{"outcome": "correct"}]


def test_a_run_whose_cells_were_never_all_written_down_gets_the_rest_of_them(lab: Experiment) -> None:
    """What a process leaves that was killed while it planned: the plan, and the first two of six cells."""
    plan = lab.copy_source() / "harness" / "_plan.py"
    whole = plan.read_text("utf-8")
    appended = "        seqs += [event.seq for event in ledger.append(*drafts)]\n"
    assert appended in whole
    dying = whole.replace("_CELLS_AN_APPEND = 500", "_CELLS_AN_APPEND = 2")
    with model_server(answering(1000)) as server:
        plan.write_text(dying.replace(appended, f"{appended}        __import__('os')._exit(9)\n"), "utf-8")
        process = lab.start("harness", "run", "authority/v0", "--engine", "ollama/m", "--base-url", server.url)
        process.communicate(timeout=60)
        assert (process.returncode, len(server.requests), len(lab.bodies("cell"))) == (9, 0, 2)
        plan.write_text(whole, "utf-8")
        done = lab.resume("--accept", "code", "--reason", "the fault that killed it was mended")
        assert (done["status"], done["asked"], len(server.requests)) == ("complete", 6, 6)
    assert [body["cell"] for body in lab.bodies("cell")] == [1, 2, 3, 4, 5, 6]
    assert [body["case"] for body in lab.bodies("cell")] == [case["id"] for case in lines(lab.cases)]
    assert lab.verified() == "CONSISTENT"


def test_a_limited_run_stays_partial_and_says_how_the_other_cases_are_asked(lab: Experiment) -> None:
    answer = answering(2)
    with model_server(answer) as server:
        lab.run(server, "--limit", "3", expect=3)
        answer.left[0] = 1000
        done = lab.resume()
        assert (done["status"], done["asked"], len(server.requests)) == ("partial", 1, 4)
        assert "first 3 of 6 cases" in done["errors"]
        again = lab.resume()
        assert (again["status"], again["asked"], len(server.requests)) == ("partial", 0, 4)
    assert lab.rows("SELECT status FROM runs") == [{"status": "partial"}]


def test_interrupted_twice_is_still_interrupted_and_then_complete(lab: Experiment) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt), delay=0.3)) as server:
        process = lab.start(
            "harness", "run", "authority/v0", "--epochs", "3", "--engine", "ollama/m", "--base-url", server.url,
            "--max-connections", "2", "--db", str(lab.db),
        )  # fmt: skip
        wait_for(lambda: len(server.requests) >= 4)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 3
        assert "Traceback" not in errors
        before = len(server.requests)
        process = lab.start("harness", "resume", "--max-connections", "2", "--json")
        wait_for(lambda: len(server.requests) - before >= 3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert (json.loads(out)["status"], process.returncode) == ("interrupted", 3)
        assert lab.resume()["status"] == "complete"
    scored = lab.rows("SELECT outcome FROM cells WHERE rules LIKE 'strict%'")
    assert Counter(row["outcome"] for row in scored) == {"correct": 18}


def test_connections_retries_and_timeouts_may_be_others(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, "--timeout", "50", expect=3)
        answer.left[0] = 1000
        done = lab.harness(
            "resume", "--max-connections", "5", "--max-retries", "7", "--timeout", "9", "--max-wait", "1"
        )
    assert done["status"] == "complete"


def test_a_probe_and_a_replay_are_not_resumed_and_one_sentence_says_why(lab: Experiment) -> None:
    answer = answering(3)
    with model_server(answer) as server:
        lab.run(server, expect=3)
        replayed = lab.harness("run", "authority/v0", "--engine", f"replay/{lab.db}", "--max-retries", "0", expect=3)
        probed = lab.harness("probe", "ollama/m", "--base-url", server.url, "--prompt", "hello", expect=3)
        held, asked = lab.events(), len(server.requests)
        assert "is a replay" in one_sentence(lab.resume(replayed["run"], expect=4))
        assert "is a probe" in one_sentence(lab.resume(probed["run"], expect=4))
        assert (lab.events(), len(server.requests)) == (held, asked)
        answer.left[0] = 1000
        # Without a name it is the newest run that can be.
        assert lab.resume()["asked"] == 3


def one_sentence(refused: Any) -> str:
    (line,) = refused["errors"].strip().splitlines()
    return line


def test_a_superseded_run_is_not_resumed(lab: Experiment) -> None:
    with model_server(answering(3)) as server:
        run = lab.run(server, expect=3)["run"]
        lab.ledger("supersede", run, "--no-successor", "--category", "operator", "--reason", "wrong server")
        assert "superseded" in one_sentence(lab.resume(run, expect=4))


def test_there_is_one_sentence_where_there_is_no_run(lab: Experiment) -> None:
    assert "no ledger" in one_sentence(lab.resume(expect=2)) or "no file" in one_sentence(lab.resume(expect=2))
    lab.ledger("init", "--db", str(lab.db))
    assert "no run that can be resumed" in one_sentence(lab.resume(expect=2))


def test_without_a_name_the_newest_run_with_something_unfinished_is_taken_and_a_finished_one_says_so(
    lab: Experiment,
) -> None:
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        unfinished = killed(lab, server, 3)
        done = lab.run(server)["run"]
        assert lab.harness("resume", done)["notes"] == ["nothing is unfinished, so nothing was asked"]
        assert lab.harness("resume")["run"] == unfinished
