"""One real, recorded call, kept out of scoreboards: what does this model answer, and how does that read?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from harness._attempts import Asked, Patience, ask_until_settled
from harness._candidate import Candidate
from harness._capture import Place
from harness._chat import Chat, user
from harness._derive import parse_body
from harness._identity import candidate_digest, identity, value_digest
from harness._plan import code_digests
from harness.engines import open_engine
from harness.parse import Ask, Reading, ReadRules, read_fault, read_reply
from ledger import Draft, Ledger, hold_run, new_run_id
from ledger.kinds import Cell, Close, Plan, PlanCandidate

__all__ = ["Probed", "probe"]

_TURNS = "probe/1: one user message"


@dataclass(frozen=True)
class Probed:
    """What the probe found. `value` is the answer, the partial text when truncated, the refusal when refused;
    `partial` is text that came beside what failed, which is no answer."""

    run: str
    reading: Reading
    attempts: int
    http_status: int | None

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        import json

        reading = self.reading
        return {
            "status": reading.status,
            "reason": reading.reason,
            "domain": str(reading.domain),
            "value": json.loads(reading.value) if reading.value is not None else None,
            "partial": reading.text if "partial_text" in reading.flags else None,
            "retry": reading.retry,
            "flags": list(reading.flags),
            "http_status": self.http_status,
            "attempts": self.attempts,
            "run": self.run,
        }


def probe(
    ledger: Ledger, candidate: Candidate, prompt: str, *, ask: Ask, rules: ReadRules, label: str, patience: Patience,
    timeout: float,
) -> Probed:  # fmt: skip
    """Ask once (and again where the reason's advice says so), record it as a run of its own, and read the answer."""
    run = new_run_id()
    key = bytes.fromhex(ledger.genesis.identity_key)
    input_digest = value_digest({"text": prompt}, key)
    digest = candidate_digest(
        protocol=candidate.protocol, model=candidate.model,
        parameters={**candidate.parameters, "stream": candidate.stream}, prompt=candidate.prompt, turns=_TURNS, key=key,
    )  # fmt: skip
    plan = Plan(
        name="", tags=[], purpose="probe", suite="", ask=ask, fixtures=[], rules=[],
        candidates=[
            PlanCandidate(
                label=candidate.label, protocol=candidate.protocol, model=candidate.model,
                parameters=dict(candidate.parameters), prompt=candidate.prompt_digest, prompt_freeze=None,
                stream=candidate.stream, digest=digest, base_url=candidate.base_url,
            )
        ],
        arms=[], epochs=1, limit=None, cells=1, via="live", environment={}, code=dict(code_digests()),
    )  # fmt: skip
    found = identity(suite="", input_digest=input_digest, candidate=digest, arm="", epoch=0, twin=0, key=key)
    cell = Cell(
        case="probe", fixture="", identity=found, input=input_digest, gold=value_digest(None, key),
        candidate=candidate.label, arm="", epoch=0, twin=0,
    )  # fmt: skip
    with hold_run(ledger.path, run):
        (opened,) = ledger.append(Draft(plan, run=run))
        (planned,) = ledger.append(Draft(cell, run=run, cell=1, causes=[opened.seq]))
        place = Place(run, 1, 0, 0, (planned.seq,))
        asked = asyncio.run(_ask(ledger, candidate, user(prompt), place, patience, timeout))
        exchange = asked.exchange
        if exchange.wire is None:
            stage, reason = exchange.fault_reason or ("harness", "internal")
            reading = read_fault(stage, reason)
        else:
            reading = read_reply(
                exchange.wire, protocol=candidate.protocol, stream=candidate.stream, ask=ask, rules=rules,
                max_wait=patience.max_wait, now=exchange.at,
            )  # fmt: skip
        _close(ledger, run, opened.seq, exchange.response, reading, label)
    return Probed(run, reading, asked.attempts, exchange.wire.status if exchange.wire else None)


async def _ask(
    ledger: Ledger, candidate: Candidate, chat: Chat, place: Place, patience: Patience, timeout: float
) -> Asked:
    async with open_engine(candidate, ledger, timeout=timeout) as engine:
        return await ask_until_settled(engine, ledger, candidate, chat, place, patience, note=lambda exchange: None)


def _close(ledger: Ledger, run: str, plan: int, response: int | None, reading: Reading, label: str) -> None:
    drafts: list[Draft] = []
    if response is not None:
        body, blobs = parse_body(
            reading, label, status=reading.status, stage=str(reading.stage), reason=reading.reason,
            domain=str(reading.domain),
        )  # fmt: skip
        drafts.append(Draft(body, run=run, cell=1, causes=[response], blobs=blobs))
    status = "incomplete" if reading.status in ("error", "fate_unknown") else "complete"
    drafts.append(
        Draft(Close(status=status, planned=1, asked=1, outcomes={}, reason="a probe"), run=run, causes=[plan])
    )
    ledger.append(*drafts)
