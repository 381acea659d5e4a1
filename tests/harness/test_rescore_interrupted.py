"""A run that was interrupted while an attempt was under way is reproduced, and rescored, as far as anybody knows."""

from __future__ import annotations

import signal
from pathlib import Path

from harness._derivations import Spot, score_without_reply, unmeasured
from harness._replay_check import check_run
from harness._rescore import rescore_run
from ledger import Draft, Earlier, Ledger
from ledger.kinds import Fault, Response, Score
from tests.harness.answered import OPEN, answered_run, rules_of
from tests.harness.experiments import NO_ANSWER, Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect, wait_for


def test_what_was_in_flight_at_ctrl_c_is_reproduced_and_keeps_its_fate_under_other_rules(tmp_path: Path) -> None:
    lab = Experiment(tmp_path)
    asked: list[str] = []

    def answer(prompt: str) -> Answer:
        asked.append(prompt)
        # The first cell is answered, the second fails and is under way again when the person stops the run.
        if len(asked) == 1:
            return Answer(perfect(prompt))
        return NO_ANSWER if len(asked) == 2 else Answer(perfect(prompt), delay=30)

    with model_server(answer) as server:
        process = lab.start(
            "harness", "run", "authority/v0", "--engine", "ollama/m", "--base-url", server.url, "--max-retries", "3",
            "--max-connections", "1", "--max-wait", "0.1", "--json",
        )  # fmt: skip
        wait_for(lambda: len(asked) >= 3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert lab.harness("replay", "--check")["ok"]
    done = lab.harness("rescore", "latest", "--rules", "fence-span")
    assert done["flips"] == []
    assert lab.harness("replay", "--check")["ok"]
    ((status,),) = {tuple(row.values()) for row in lab.rows(
        "SELECT body ->> '$.status' FROM events WHERE kind = 'score' AND cell = 2 AND body ->> '$.rules' = ?",
        done["rules"][0],
    )}  # fmt: skip
    assert status == "fate_unknown"


def test_a_reply_that_was_broken_off_by_the_person_is_of_unknown_fate_and_no_fault_of_ours(ledger: Ledger) -> None:
    made = answered_run(ledger, {1: OPEN}, closed=True)
    (request,) = ledger.events(kind="request", run=made.run, cell=1)
    body = Response(attempt=0, turn=0, status=200, headers=[], whole=False, headers_ms=1, total_ms=1)
    fault = Fault(
        attempt=0, turn=0, stage="harness", reason="fate_unknown", domain="harness", detail="cancelled", total_ms=1
    )
    came = Draft(body, run=made.run, cell=1, causes=[request.seq], blobs={"body": b'{"half'})
    ledger.append(came, Draft(fault, run=made.run, cell=1, causes=[request.seq, Earlier(0)]))
    (rules,) = made.rules
    measurement = made.planned.measurements[0]
    score = unmeasured(rules, made.suite.stage_functions, measurement.case, "fate_unknown", "fate_unknown")
    spot = Spot(made.run, 1, measurement.seq, measurement.seq)
    ledger.append(score_without_reply(spot, score, made.frozen.rules[rules.label]))
    assert check_run(ledger, made.run).ok
    done = rescore_run(ledger, made.run, rules_of("fence-cite"))
    assert not done.flips
    assert check_run(ledger, made.run).ok
    last = [ledger.body(event) for event in ledger.events(kind="score", run=made.run, cell=1)][-1]
    assert isinstance(last, Score)
    assert (last.rules, last.status, last.reason) == (done.rules[0], "fate_unknown", "fate_unknown")
