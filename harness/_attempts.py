"""Asking for one cell: attempts, the waits between them, and when to stop.

Whether to ask again is the reason's own advice (never, backoff, after N, give up). Every attempt and every wait is an
event. A request whose fate is unknown is never repeated here: it may have been answered, and paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from harness._candidate import Candidate
from harness._capture import Exchange, Place
from harness._chat import Chat
from harness.engines import Engine
from harness.parse import Reading, ReadRules, read_fault, read_reply
from ledger import Draft, Ledger
from ledger.kinds import Wait

__all__ = ["Asked", "Patience", "ask_until_settled", "read_exchange"]

_API_ONLY = ReadRules.default()


@dataclass(frozen=True)
class Patience:
    """How long to keep asking: retries after the first attempt, and the longest single wait in seconds."""

    max_retries: int = 3
    max_wait: float = 60.0


@dataclass(frozen=True)
class Asked:
    """What the last attempt came to, how it reads as a transport (not as an answer), and how many there were."""

    exchange: Exchange
    reading: Reading
    attempts: int


class _Clock(Protocol):
    async def __call__(self, seconds: float, /) -> None: ...


def read_exchange(exchange: Exchange, candidate: Candidate, *, max_wait: float) -> Reading:
    """Read an exchange only as far as retrying goes: as free text, under the built-in rules."""
    if exchange.wire is None:
        stage, reason = exchange.fault_reason or ("harness", "internal")
        return read_fault(stage, reason)
    return read_reply(
        exchange.wire, protocol=candidate.protocol, stream=candidate.stream, ask="text", rules=_API_ONLY,
        max_wait=max_wait, now=exchange.at,
    )  # fmt: skip


def _seconds(retry: str, attempt: int) -> float | None:
    """How long to wait before the next attempt, or None when there is to be none. `attempt` counts within a session."""
    kind, _, asked = retry.partition(":")
    if kind == "after":
        return float(asked)
    if kind == "backoff":
        # Imported where it is needed: most runs never wait, and it takes a fifth of a second.
        from tenacity import RetryCallState, wait_random_exponential

        state = RetryCallState(retry_object=None, fn=None, args=(), kwargs={})  # type: ignore[arg-type]
        state.attempt_number = attempt + 1
        return float(wait_random_exponential(multiplier=1, max=30)(state))
    return None


async def ask_until_settled(
    engine: Engine,
    ledger: Ledger,
    candidate: Candidate,
    chat: Chat,
    place: Place,
    patience: Patience,
    *,
    note: Callable[[Exchange], None],
    sleep: _Clock = asyncio.sleep,
) -> Asked:
    """Ask until an attempt is not an error that asking again may mend, or patience runs out.

    `note` is told of each exchange as it ends, so that a cancelled wait loses nothing of what came before it.
    """
    attempt = place.attempt
    while True:
        here = Place(place.run, place.cell, place.turn, attempt, place.causes)
        exchange = await engine.ask(chat, here)
        note(exchange)
        reading = read_exchange(exchange, candidate, max_wait=patience.max_wait)
        done = attempt - place.attempt + 1
        seconds = _seconds(reading.retry, done - 1) if reading.status == "error" else None
        if seconds is None or done > patience.max_retries:
            return Asked(exchange, reading, done)
        seconds = min(seconds, patience.max_wait)
        causes = [seq for seq in (exchange.request, exchange.response, exchange.fault) if seq is not None]
        asked_for = exchange.wire.header("retry-after") if exchange.wire else None
        await ledger.append_async(
            Draft(
                Wait(attempt=attempt, turn=place.turn, seconds=seconds, why=reading.reason, asked=asked_for or ""),
                run=place.run, cell=place.cell, causes=sorted(causes),
            )
        )  # fmt: skip
        await sleep(seconds)
        attempt += 1
