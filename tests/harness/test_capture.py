"""However an exchange ends, the ledger says how far it came: cut bodies, faults by cause, deadlines, cancellation."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from harness._capture import Exchange, Incoming, Outgoing, Place, Recorder
from harness._chat import Chat
from harness._secrets import Secrets
from harness.engines import open_engine, resolve_engine
from ledger import Draft, Event, Ledger, Refused, new_run_id
from tests.harness.asking import KEY, MESSAGES, ask, fault_of, response_of
from tests.harness.servers import (
    CLOSE,
    HANG,
    RESET,
    Pause,
    Reply,
    ScriptedServer,
    base_url,
    chunk,
    chunked_reply,
    cut_reply,
    head,
    json_reply,
    refused_port,
    trickle,
)

PROTOCOLS = ["openai", "anthropic"]
"""One over each of the two HTTP libraries."""


def _lone_fault(ledger: Ledger, exchange: Exchange, stage: str, reason: str) -> None:
    fault = fault_of(ledger, exchange)
    assert (fault.stage, fault.reason, fault.domain) == (stage, reason, "provider"), fault.detail
    assert exchange.response is None and exchange.wire is None and exchange.fault_reason == (stage, reason)
    assert ledger.event(exchange.fault or 0).causes == (exchange.request,)
    assert fault.detail and KEY not in fault.detail


NO_HEADERS: dict[str, tuple[Reply, str]] = {
    "reset": ([RESET], "connection_reset"),
    "closed": ([CLOSE], "connection_reset"),
    "reset amid headers": ([b"HTTP/1.1 200 OK\r\nContent-", Pause(0.05), RESET], "connection_reset"),
    "closed amid headers": ([b"HTTP/1.1 200 OK\r\nContent-", Pause(0.05), CLOSE], "connection_reset"),
    "no http": ([b"220 smtp.example ESMTP ready\r\n\r\n", CLOSE], "protocol"),
    "two lengths": ([head(200, [("Content-Length", "1"), ("Content-Length", "2")]) + b"ab", CLOSE], "protocol"),
    "hangs": ([HANG], "timeout"),
    "hangs amid headers": ([b"HTTP/1.1 200 OK\r\nContent-", HANG], "timeout"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NO_HEADERS)
def test_without_headers_there_is_a_fault_alone(ledger: Ledger, protocol: str, name: str) -> None:
    script, reason = NO_HEADERS[name]
    with ScriptedServer(script) as server:
        (exchange,) = ask(ledger, server, protocol, timeout=0.4)
        assert len(server.requests) == 1, "nothing but our own policy may try again"
    _lone_fault(ledger, exchange, "transport", reason)


CUT: dict[str, tuple[Reply, bytes, str, str]] = {
    "short": (cut_reply(b'{"a":', 100), b'{"a":', "reply", "short_body"),
    "nothing of it": (cut_reply(b"", 100), b"", "reply", "short_body"),
    "reset": (cut_reply(b'{"a":', 100, RESET), b'{"a":', "transport", "connection_reset"),
    "unterminated": (chunked_reply(b"data: 1\n\n", end=False), b"data: 1\n\n", "reply", "stream_cut"),
    "amid a chunk": (
        [*chunked_reply(b"data: 1\n\n", end=False)[:-1], b"10\r\nhalf", Pause(0.05), CLOSE],
        b"data: 1\n\nhalf", "reply", "stream_cut",
    ),
    "no chunk": (
        [*chunked_reply(b"data: 1\n\n", end=False)[:-1], Pause(0.05), b"zz\r\nhalf\r\n", CLOSE],
        b"data: 1\n\n", "transport", "protocol",
    ),
    "reset stream": (
        [*chunked_reply(b"data: 1\n\n", end=False)[:-1], Pause(0.05), RESET],
        b"data: 1\n\n", "transport", "connection_reset",
    ),
    "stall": ([*chunked_reply(b"data: 1\n\n", end=False)[:-1], HANG], b"data: 1\n\n", "transport", "timeout"),
    "stall without framing": ([head(200, []) + b"data: 1\n\n", HANG], b"data: 1\n\n", "transport", "timeout"),
    "reset without framing": (
        [head(200, []) + b"data: 1\n\n", Pause(0.05), RESET], b"data: 1\n\n", "transport", "connection_reset",
    ),
}  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", CUT)
def test_once_headers_came_there_is_a_cut_response_and_the_fault_names_the_cut(
    ledger: Ledger, protocol: str, name: str
) -> None:
    script, body, stage, reason = CUT[name]
    with ScriptedServer(script) as server:
        (exchange,) = ask(ledger, server, protocol, timeout=0.6, stream=True)
    response, fault = response_of(ledger, exchange), fault_of(ledger, exchange)
    assert (fault.stage, fault.reason) == (stage, reason), fault.detail
    assert not response.whole and response.status == 200
    assert ledger.blob(exchange.response or 0, "body") == body
    assert exchange.wire is not None
    assert (exchange.wire.body, exchange.wire.whole, exchange.wire.fault) == (body, False, (stage, reason))
    assert ledger.event(exchange.fault or 0).causes == (exchange.request, exchange.response)


def test_a_body_that_ends_with_its_connection_is_whole(ledger: Ledger) -> None:
    with ScriptedServer([head(200, [("Connection", "close")]) + b"data: 1", CLOSE]) as server:
        (exchange,) = ask(ledger, server)
    assert exchange.fault is None and exchange.wire is not None and exchange.wire.body == b"data: 1"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nobody_listens(ledger: Ledger, protocol: str) -> None:
    (exchange,) = ask(ledger, f"http://127.0.0.1:{refused_port()}", protocol)
    _lone_fault(ledger, exchange, "transport", "connect_refused")
    (by_name,) = ask(ledger, f"http://localhost:{refused_port()}", protocol)
    _lone_fault(ledger, by_name, "transport", "connect_refused")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_name_that_does_not_resolve(ledger: Ledger, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (exchange,) = ask(ledger, "http://no-such-host.invalid:1/v1", protocol)
    _lone_fault(ledger, exchange, "transport", "dns")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_speaks_no_tls(ledger: Ledger, protocol: str) -> None:
    with PlainServer() as port:
        (exchange,) = ask(ledger, f"https://127.0.0.1:{port}", protocol, timeout=3)
    _lone_fault(ledger, exchange, "transport", "tls")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_trickle_cannot_outlive_the_deadline(ledger: Ledger, protocol: str) -> None:
    with ScriptedServer(trickle(0.3)) as server:
        ask(ledger, server, protocol, timeout=0.05)  # the SDK's import is no part of an attempt
        start = time.monotonic()
        (exchange,) = ask(ledger, server, protocol, timeout=1)
        assert time.monotonic() - start < 1.5
    fault = fault_of(ledger, exchange)
    assert (fault.reason, fault.total_ms) == ("timeout", pytest.approx(1000, abs=300))
    assert ledger.blob(exchange.response or 0, "body") == b"   "


def test_after_a_fault_the_same_engine_asks_on(ledger: Ledger) -> None:
    scripts = [cut_reply(b"{", 9), [RESET], [HANG], json_reply({"n": 4})]
    with ScriptedServer(*scripts) as server:
        exchanges = ask(ledger, server, times=4, timeout=0.4)
    reasons = [exchange.fault_reason and exchange.fault_reason[1] for exchange in exchanges]
    assert reasons == ["short_body", "connection_reset", "timeout", None]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("script", [[HANG], [*chunked_reply(b"data: 1\n\n", end=False)[:-1], HANG]])
def test_a_cancelled_attempt_leaves_what_had_come(ledger: Ledger, protocol: str, script: Reply) -> None:
    run = new_run_id()
    with ScriptedServer(script) as server:
        candidate = resolve_engine(f"{protocol}/m", base_url=base_url(server, protocol), environ={})

        async def go() -> None:
            async with open_engine(candidate, ledger, timeout=30) as engine:
                task = asyncio.create_task(engine.ask(Chat(tuple(MESSAGES)), Place(run, 1)))
                while not server.requests:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        asyncio.run(go())
    events = list(ledger.events(run=run))
    began = len(script) > 1
    assert [event.kind for event in events] == ["request", *(["response"] if began else []), "fault"]
    fault = ledger.body(events[-1])
    assert fault.model_dump()["reason"] == "fate_unknown" and fault.model_dump()["stage"] == "harness"
    assert events[-1].causes == tuple(event.seq for event in events[:-1])
    if began:
        assert ledger.blob(events[1], "body") == b"data: 1\n\n"


class _Watched:
    """A ledger that notes what happens when."""

    def __init__(self, ledger: Ledger, story: list[str]) -> None:
        self._ledger = ledger
        self._story = story

    async def append_async(self, *drafts: Draft) -> list[Event]:
        events = await self._ledger.append_async(*drafts)
        self._story += [f"{event.kind} is durable" for event in events]
        return events


def test_the_request_is_durable_before_it_leaves_and_the_response_before_it_is_handed_on(ledger: Ledger) -> None:
    story: list[str] = []

    async def chunks():
        story.append("a chunk")
        yield b"x"

    async def close() -> None: ...

    async def send() -> Incoming:
        story.append("sent")
        return Incoming(200, (), chunks(), close)

    async def go() -> None:
        recorder = Recorder(_Watched(ledger, story), Secrets(), timeout=5)
        await recorder.record(Place(new_run_id(), 1), Outgoing("POST", "http://h/", (), b"q"), send)
        story.append("handed on")

    asyncio.run(go())
    assert story == ["request is durable", "sent", "a chunk", "response is durable", "handed on"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_a_durable_request_nothing_leaves(ledger: Ledger, protocol: str) -> None:
    run = new_run_id()
    with ScriptedServer(json_reply({})) as server:
        candidate = resolve_engine(f"{protocol}/m", base_url=base_url(server, protocol), environ={})

        async def go() -> None:
            async with open_engine(candidate, ledger, timeout=5) as engine:
                await engine.ask(Chat(tuple(MESSAGES)), Place(run, 1))
                await engine.ask(Chat(tuple(MESSAGES)), Place(run, 1))

        with pytest.raises(Refused, match="claimed"):
            asyncio.run(go())
        assert len(server.requests) == 1


def test_a_body_without_end_is_cut_at_the_limit(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness._capture.MAX_RESPONSE", 1000)
    with ScriptedServer([head(200, [("Transfer-Encoding", "chunked")]), *[chunk(b"x" * 400)] * 50]) as server:
        (exchange,) = ask(ledger, server)
    assert fault_of(ledger, exchange).reason == "protocol"
    assert 1000 < len(ledger.blob(exchange.response or 0, "body")) <= 400 * 50


class PlainServer:
    """Takes a connection, reads a little, answers in plain HTTP: no TLS server."""

    def __enter__(self) -> int:
        self._listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    peer, _ = self._listener.accept()
                except OSError:
                    return
                with peer:
                    peer.recv(100)
                    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        return self._listener.getsockname()[1]

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_cancelled_before_it_left_a_request_is_not_left_open(ledger: Ledger) -> None:
    run = new_run_id()
    sent: list[str] = []

    class Slow:
        async def append_async(self, *drafts: Draft) -> list[Event]:
            await asyncio.sleep(0.1)
            return await ledger.append_async(*drafts)

    async def send() -> Incoming:
        sent.append("sent")
        raise AssertionError("nothing may leave")

    async def go() -> None:
        recorder = Recorder(Slow(), Secrets(), timeout=5)
        task = asyncio.create_task(recorder.record(Place(run, 1), Outgoing("POST", "http://h/", (), b"q"), send))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    request, fault = ledger.events(run=run)
    assert (request.kind, fault.kind, fault.causes) == ("request", "fault", (request.seq,))
    assert ledger.body(fault).model_dump()["reason"] == "fate_unknown" and sent == []
