"""Asking for one cell: attempts, the waits between them, and when to stop.

Whether to ask again is the reason's own advice (never, backoff, after N, give up). Every attempt and every wait is an
event. A request whose fate is unknown is never repeated here: it may have been answered, and paid for.

A refusal (429, 503, 529) says that too much was asked at once, not that this request failed: it uses up none of a
cell's retries, as long as it isn't older than the longest wait. So a cell outlives the time in which the pace is
learned, and a server that only ever refuses is left in peace after a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from harness._candidate import Candidate
from harness._capture import Exchange, Place
from harness._chat import Chat
from harness._pace import Verdict
from harness.engines import Engine
from harness.parse import Reading, ReadRules, read_fault, read_reply
from ledger import Draft, Ledger
from ledger.kinds import Wait

__all__ = [
    "Asked", "Patience", "Worn", "ask_until_settled", "named_wait", "read_exchange", "verdict_of", "write_wait",
]  # fmt: skip

_API_ONLY = ReadRules.default()
_REFUSALS = frozenset({"rate_limit", "overloaded", "http_503"})
_REFUSED_WITHIN = frozenset({"inner_429", "inner_503", "inner_529"})
_LONGEST_BACKOFF = 30
_LONGEST_AFTER_REFUSAL = 2
"""The pace sees to it that a server isn't asked too soon again; a cell's own wait need not grow as long."""


@dataclass(frozen=True)
class Patience:
    """How long to keep asking: retries after the first attempt, and the longest single wait in seconds.

    The longest wait is also how long a cell is refused (429, 503, 529) before refusals use up its retries.
    """

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


def verdict_of(exchange: Exchange, reading: Reading) -> Verdict:
    """What an exchange says of the pace: refused for asking too much, let in, or nothing."""
    if reading.status == "error" and (reading.reason in _REFUSALS or _REFUSED_WITHIN.intersection(reading.flags)):
        return "refused"
    return "lost" if exchange.wire is None else "let_in"


def named_wait(reading: Reading) -> float | None:
    """The seconds that the server asked to wait; None where it named none."""
    kind, _, asked = reading.retry.partition(":")
    return float(asked) if kind == "after" else None


def _seconds(retry: str, attempt: int, longest: int = _LONGEST_BACKOFF) -> float | None:
    """How long to wait before the next attempt, or None when there is to be none. `attempt` counts within a session."""
    kind, _, asked = retry.partition(":")
    if kind == "after":
        return float(asked)
    if kind == "backoff":
        # Imported where it is needed: most runs never wait, and it takes a fifth of a second.
        from tenacity import RetryCallState, wait_random_exponential

        state = RetryCallState(retry_object=None, fn=None, args=(), kwargs={})  # type: ignore[arg-type]
        state.attempt_number = attempt + 1
        return float(wait_random_exponential(multiplier=1, max=longest)(state))
    return None


@dataclass(slots=True)
class Worn:
    """How much of a cell's patience is used up. `refused_since` is when it was first refused, in seconds."""

    attempts: int = 0
    failed: int = 0
    refused: int = 0
    refused_since: float = 0.0

    def wait(self, reading: Reading, patience: Patience, *, refused: bool, now: float) -> float | None:
        """Seconds until it is asked again; None when it isn't. `now` is in seconds, of any clock."""
        self.attempts += 1
        if reading.status != "error" or patience.max_retries == 0:
            return None
        if refused:
            if self.refused == 0:
                self.refused_since = now
            self.refused += 1
            seconds = _seconds(reading.retry, self.refused - 1, _LONGEST_AFTER_REFUSAL)
            if now - self.refused_since > patience.max_wait:
                self.failed += 1
        else:
            seconds = _seconds(reading.retry, self.failed)
            self.failed += 1
        if seconds is None or self.failed > patience.max_retries:
            return None
        return min(seconds, patience.max_wait)


async def write_wait(ledger: Ledger, place: Place, exchange: Exchange, reading: Reading, seconds: float) -> None:
    """Record that an attempt is waited for, before it is."""
    causes = [seq for seq in (exchange.request, exchange.response, exchange.fault) if seq is not None]
    asked_for = exchange.wire.header("retry-after") if exchange.wire else None
    body = Wait(attempt=place.attempt, turn=place.turn, seconds=seconds, why=reading.reason, asked=asked_for or "")
    await ledger.append_async(Draft(body, run=place.run, cell=place.cell, causes=sorted(causes)))


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
    """Ask for one cell alone until an attempt is not an error that asking again may mend, or patience runs out.

    `note` is told of each exchange as it ends, so that a cancelled wait loses nothing of what came before it.
    """
    worn = Worn()
    while True:
        here = Place(place.run, place.cell, place.turn, place.attempt + worn.attempts, place.causes)
        exchange = await engine.ask(chat, here)
        note(exchange)
        reading = read_exchange(exchange, candidate, max_wait=patience.max_wait)
        seconds = worn.wait(reading, patience, refused=False, now=0.0)
        if seconds is None:
            return Asked(exchange, reading, worn.attempts)
        await write_wait(ledger, here, exchange, reading, seconds)
        await sleep(seconds)
