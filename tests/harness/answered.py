"""Runs of the authority suite with replies as they are told, written event by event and derived as a run does it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._candidate import Candidate
from harness._derivations import Spot, derivations, score_without_reply, unmeasured
from harness._derive import Reply
from harness._freeze import Frozen, freeze_suite
from harness._plan import PlannedRun, plan_run
from harness._rules import RuleSet, load_rules
from harness._session import UNFINISHED
from harness._suite import Suite, load_suite
from harness._tally import tally_draft
from harness.engines import expected_body, expected_url, request_bytes
from harness.parse import Wire
from ledger import Draft, Event, Ledger, new_run_id
from ledger.kinds import Close, Fault, Request, Response, Resume, Score, Tally
from tests.harness.test_run import perfect

__all__ = [
    "FENCED",
    "OPEN",
    "UNASKED",
    "Answered",
    "Down",
    "answered_run",
    "ask_again",
    "envelope",
    "events_of",
    "rules_of",
]

ROOT = Path(__file__).resolve().parents[2] / "fixtures"
FENCED, OPEN, UNASKED = "fenced", "open", "unasked"


@dataclass(frozen=True)
class Down:
    """No response came."""

    stage: str = "transport"
    reason: str = "timeout"


@dataclass
class Answered:
    """A run as it was written."""

    run: str
    suite: Suite
    rules: list[RuleSet]
    frozen: Frozen
    planned: PlannedRun
    scores: dict[str, dict[int, Score]]


def rules_of(*names: str, suite: Suite | None = None) -> list[RuleSet]:
    return [load_rules(suite or load_suite("authority", ROOT)[0], name) for name in names]


def envelope(text: str) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"id": "c", "model": "m-1", "choices": [choice]}).encode()


def answered_run(
    ledger: Ledger, answers: Mapping[int, object] | None = None, *, rules: Sequence[str | RuleSet] = ("strict-cite",),
    epochs: int = 1, closed: bool = True, via: Any = "live",
) -> Answered:  # fmt: skip
    """A run over v0 (6 cases). `answers` by cell: a text, FENCED (the perfect answer in a fence), bytes (the whole
    body), Down, OPEN, or UNASKED; any other cell gets the perfect answer. With `closed` false, nothing is scored that
    wasn't answered, and there is neither tally nor close: the process was killed."""
    suite, fixtures = load_suite("authority/v0", ROOT)
    sets = [load_rules(suite, each) if isinstance(each, str) else each for each in rules]
    candidate = Candidate("openai/m", "openai", "m", {"temperature": 0}, base_url="http://127.0.0.1:1/v1")
    candidate = candidate.with_prompt(suite.prompt_file)
    frozen = freeze_suite(ledger, suite, fixtures, sets)
    run = new_run_id()
    planned = plan_run(
        ledger, run, suite=suite, fixtures=fixtures, rules=sets, candidates=[candidate], frozen=frozen, epochs=epochs,
        limit=None, via=via,
    )  # fmt: skip
    made = Answered(run, suite, sets, frozen, planned, {each.label: {} for each in sets})
    for measurement in planned.measurements:
        answer(ledger, made, measurement.cell, (answers or {}).get(measurement.cell, "perfect"), closed=closed)
    if closed:
        close(ledger, made)
    return made


def answer(ledger: Ledger, made: Answered, cell: int, what: object, *, closed: bool = True, attempt: int = 0) -> None:
    measurement = made.planned.measurements[cell - 1]
    stages, case = made.suite.stage_functions, measurement.case
    request: Event | None = None
    if what != UNASKED:
        candidate = measurement.candidate
        sent = request_bytes(expected_body(candidate, stages.messages(candidate.prompt, case.input)))
        url = expected_url(candidate.protocol, candidate.base_url)
        body = Request(attempt=attempt, turn=0, method="POST", url=url, headers=[])
        draft = Draft(body, run=made.run, cell=cell, causes=[measurement.seq], blobs={"body": sent})
        (request,) = ledger.append(draft)
    if what in (UNASKED, OPEN) or request is None:
        for rules in made.rules if closed else ():
            name: Any = "not_asked" if what == UNASKED else "fate_unknown"
            score = unmeasured(rules, stages, case, name, name)
            spot = Spot(made.run, cell, measurement.seq, measurement.seq)
            ledger.append(score_without_reply(spot, score, made.frozen.rules[rules.label]))
            made.scores[rules.label][cell] = score
        return
    if isinstance(what, Down):
        fault = Fault(
            attempt=attempt, turn=0, stage=what.stage, reason=what.reason, domain="provider", detail="", total_ms=1
        )
        (evidence,) = ledger.append(Draft(fault, run=made.run, cell=cell, causes=[request.seq]))
        reply = Reply(None, (what.stage, what.reason), "openai", stream=False)
    else:
        text = perfect(str(case.input["text"])) if what in ("perfect", FENCED) else what  # type: ignore[index,call-overload]
        data = text if isinstance(text, bytes) else envelope(f"```json\n{text}\n```" if what == FENCED else str(text))
        response = Response(
            attempt=attempt, turn=0, status=200, headers=[("content-type", "application/json")], whole=True,
            headers_ms=1, total_ms=1,
        )  # fmt: skip
        (evidence,) = ledger.append(
            Draft(response, run=made.run, cell=cell, causes=[request.seq], blobs={"body": data})
        )
        reply = Reply(Wire(200, tuple(response.headers), data), None, "openai", stream=False)
    spot = Spot(made.run, cell, measurement.seq, evidence.seq)
    events, scores = derivations(
        reply, spot, ask=made.suite.ask, stages=stages, case=case, rules=made.rules, frozen=made.frozen.rules
    )
    ledger.append(*events)
    for score in scores:
        made.scores[score.rules][cell] = score


def ask_again(ledger: Ledger, made: Answered, cell: int, what: object, attempt: int = 1) -> None:
    """Another attempt of a cell, as a resume makes it, and a new tally."""
    closes = [event.seq for event in ledger.events(kind="close", run=made.run)]
    resume = Resume(retry=[], accept=[], reason="")
    ledger.append(Draft(resume, run=made.run, causes=[made.planned.plan, *closes[-1:]]))
    answer(ledger, made, cell, what, attempt=attempt)
    close(ledger, made)


def close(ledger: Ledger, made: Answered) -> None:
    """Tally and close as a session does."""
    tallies: list[int] = []
    outcomes: dict[str, dict[str, int]] = {}
    for rules in made.rules:
        draft = tally_draft(made.planned, rules, made.scores[rules.label], made.frozen.rules[rules.label])
        assert isinstance(draft.body, Tally)
        outcomes[rules.label] = dict(draft.body.outcomes)
        tallies += [event.seq for event in ledger.append(draft)]
    scores = [(cell, score.status) for each in made.scores.values() for cell, score in each.items()]
    failed = any(status in UNFINISHED for _, status in scores)
    body = Close(
        status="incomplete" if failed else "partial" if made.planned.partial else "complete",
        planned=len(made.planned.measurements), asked=len({cell for cell, status in scores if status != "not_asked"}),
        outcomes=outcomes, reason="",
    )  # fmt: skip
    ledger.append(Draft(body, run=made.run, causes=[made.planned.plan, *tallies]))


def events_of(ledger: Ledger, after: int) -> list[tuple[object, ...]]:
    """What was appended after an event, as far as it is told by what was done: no salt, no hash, no time."""
    found: list[tuple[object, ...]] = []
    for event in ledger.events(after=after):
        body = json.loads(event.body or "null")
        body.pop("blobs", None)
        found.append((event.seq, event.kind, event.run, event.cell, event.causes, json.dumps(body)))
    return found
