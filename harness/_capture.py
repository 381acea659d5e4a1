"""The recorder: what crosses the wire is an event before anything else happens to it.

    request    durable before the first byte leaves
    response   durable before anything looks at its bytes; whole, or cut with a fault that names the cut
    fault      alone when no headers came

It knows no HTTP library: an adapter hands it the request that is about to leave, and a way to send it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from harness._faults import classify, describe, framing
from harness._identity import tools_digest
from harness._outcomes import Status, reason
from harness._recode import mask_body
from harness._secrets import Secrets
from harness.parse import Wire
from ledger import Draft, Earlier, Event, LedgerError
from ledger.kinds import Fault, Genesis, Request, Response

__all__ = ["MAX_RESPONSE", "AppendSink", "Exchange", "Incoming", "Outgoing", "Place", "Recorder"]

MAX_RESPONSE = 64 * 1024 * 1024
"""A body is cut here, in bytes: no reply is that long, and a server that never ends must not fill the memory."""


_MAX_DETAIL = 400
"""Characters of a fault's detail. It is cut once it is masked: half a key is no form of it that anybody looks for."""


class AppendSink(Protocol):
    """What the recorder needs of a ledger."""

    @property
    def genesis(self) -> Genesis:
        """Whose key digests are keyed with."""
        ...

    async def append_async(self, *drafts: Draft) -> list[Event]:
        """Append drafts as one unit, durable on return."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attempt belongs: run, cell, turn and attempt (both from 0), and the events that it follows from."""

    run: str
    cell: int
    turn: int = 0
    attempt: int = 0
    causes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is about to leave."""

    method: str
    url: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Incoming:
    """A response whose headers came; `chunks` gives its body de-chunked, with any content coding still on."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One attempt as it stands in the ledger, by the seqs of its events.

    `wire` is what was recorded (None when no headers came), `fault_reason` the (stage, reason) of the fault, `at` when
    the last of the events was recorded. `request` is None only when the harness could not even make the request.
    """

    request: int | None
    response: int | None
    fault: int | None
    wire: Wire | None
    fault_reason: tuple[str, str] | None
    at: datetime

    @property
    def evidence(self) -> int:
        """The seq of the event that says most: the response, else the fault, else the request."""
        found = self.response or self.fault or self.request
        assert found is not None, "an exchange stands on at least one event"
        return found


@dataclass(slots=True)
class _Heard:
    """What has come so far."""

    started: float = field(default_factory=time.monotonic)
    incoming: Incoming | None = None
    headers_ms: int = 0
    body: bytearray = field(default_factory=bytearray)

    def elapsed(self) -> int:
        return int((time.monotonic() - self.started) * 1000)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Why an exchange isn't whole."""

    stage: str
    reason: str
    detail: str


def _status_of(name: str) -> Status:
    return "fate_unknown" if name == "fate_unknown" else "error"


class Recorder:
    """Records every attempt of one candidate. `timeout` is the total deadline of an attempt in seconds."""

    def __init__(self, ledger: AppendSink, secrets: Secrets, *, timeout: float) -> None:
        self._ledger = ledger
        self._secrets = secrets
        self._timeout = timeout

    async def record(self, place: Place, outgoing: Outgoing, send: Callable[[], Awaitable[Incoming]]) -> Exchange:
        """Send one request and record what comes of it. Raises LedgerError and CancelledError only.

        A cancelled one leaves its request, what had come, and a fault (harness, fate_unknown).
        """
        request = await self._claim(place, outgoing)
        heard = _Heard()
        try:
            cut = await self._hear(heard, send)
        except asyncio.CancelledError:
            lost = _Cut("harness", "fate_unknown", "cancelled while the request was under way")
            await self._finish_although_cancelled(self._conclude(place, request, heard, lost))
            raise
        return await self._conclude(place, request, heard, cut)

    async def fail(self, place: Place, error: Exception) -> Exchange:
        """Record that no request could be made at all: a fault (harness, internal). Raises LedgerError."""
        fault = self._fault(place, _Cut("harness", "internal", describe(error)), None)
        (event,) = await self._ledger.append_async(Draft(fault, run=place.run, cell=place.cell, causes=place.causes))
        return Exchange(None, None, event.seq, None, ("harness", "internal"), _when(event))

    async def _claim(self, place: Place, outgoing: Outgoing) -> int:
        url, masked = self._secrets.mask_url(outgoing.url)
        headers, in_headers = self._secrets.mask_headers(outgoing.headers)
        body, in_body = self._secrets.mask(outgoing.body, "body")
        claim = Request(
            attempt=place.attempt, turn=place.turn, method=outgoing.method, url=url, headers=headers,
            masked=[*masked, *in_headers, *in_body],
            tools=tools_digest(body, lambda: bytes.fromhex(self._ledger.genesis.identity_key)),
        )  # fmt: skip
        draft = Draft(claim, run=place.run, cell=place.cell, causes=place.causes, blobs={"body": body})
        append = asyncio.ensure_future(self._ledger.append_async(draft))
        try:
            (event,) = await asyncio.shield(append)
        except asyncio.CancelledError:
            await self._finish_although_cancelled(self._abandon(place, append))
            raise
        return event.seq

    async def _abandon(self, place: Place, append: asyncio.Future[list[Event]]) -> None:
        (event,) = await append
        lost = _Cut("harness", "fate_unknown", "cancelled before the request left")
        await self._conclude(place, event.seq, _Heard(), lost)

    async def _hear(self, heard: _Heard, send: Callable[[], Awaitable[Incoming]]) -> _Cut | None:
        scope = asyncio.timeout(self._timeout)
        try:
            async with scope:
                heard.incoming = await send()
                heard.headers_ms = heard.elapsed()
                async for chunk in heard.incoming.chunks:
                    heard.body += chunk
                    if len(heard.body) > MAX_RESPONSE:
                        await heard.incoming.close()
                        return _Cut("transport", "protocol", f"the body is longer than {MAX_RESPONSE} bytes")
        except Exception as error:  # noqa: BLE001 - whatever the far side brings about is a fault, never a crash
            if scope.expired():
                return _Cut("transport", "timeout", f"the deadline of {self._timeout:g} s passed")
            stage, name = classify(error, framing(heard.incoming.headers) if heard.incoming else None)
            return _Cut(stage, name, describe(error))
        return None

    async def _conclude(self, place: Place, request: int, heard: _Heard, cut: _Cut | None) -> Exchange:
        drafts: list[Draft] = []
        wire: Wire | None = None
        fault_reason = (cut.stage, cut.reason) if cut else None
        total = heard.elapsed()
        if heard.incoming is not None:
            draft, wire = self._response(place, request, heard, heard.incoming, fault_reason, total)
            drafts.append(draft)
        if cut is not None:
            causes = (request, Earlier(0)) if drafts else (request,)
            drafts.append(Draft(self._fault(place, cut, total), run=place.run, cell=place.cell, causes=causes))
        events = await self._ledger.append_async(*drafts)
        return Exchange(
            request,
            events[0].seq if wire else None,
            events[-1].seq if cut else None,
            wire,
            fault_reason,
            _when(events[-1]),
        )

    def _response(
        self, place: Place, request: int, heard: _Heard, incoming: Incoming, fault: tuple[str, str] | None, total: int
    ) -> tuple[Draft, Wire]:
        headers, masked = self._secrets.mask_headers(incoming.headers)
        codings = [value.decode("latin-1") for name, value in incoming.headers if name.lower() == b"content-encoding"]
        body, in_body = mask_body(self._secrets, bytes(heard.body), ", ".join(codings))
        response = Response(
            attempt=place.attempt, turn=place.turn, status=incoming.status, headers=headers, whole=fault is None,
            headers_ms=heard.headers_ms, total_ms=total, masked=[*masked, *in_body],
        )  # fmt: skip
        draft = Draft(response, run=place.run, cell=place.cell, causes=(request,), blobs={"body": body})
        return draft, Wire(incoming.status, tuple(headers), body, fault is None, fault)

    def _fault(self, place: Place, cut: _Cut, total: int | None) -> Fault:
        found = reason(_status_of(cut.reason), cut.reason)
        domain = found.domain
        assert domain, "a fault lies with somebody"
        return Fault(
            attempt=place.attempt, turn=place.turn, stage=cut.stage, reason=cut.reason, domain=domain,
            detail=self._secrets.mask_text(cut.detail)[:_MAX_DETAIL], total_ms=total,
        )  # fmt: skip

    async def _finish_although_cancelled(self, work: Awaitable[object]) -> None:
        """See an append through in a task that is being cancelled; a second cancel lets go of it, not of its commit."""
        with contextlib.suppress(LedgerError, asyncio.CancelledError):
            await asyncio.shield(asyncio.ensure_future(work))


def _when(event: Event) -> datetime:
    return datetime.strptime(event.at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
