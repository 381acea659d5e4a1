"""Asks a scripted server through a real engine, and looks at what the ledger holds afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness._capture import Exchange, Place
from harness._chat import Chat
from harness.engines import open_engine, resolve_engine
from ledger import Ledger, new_run_id
from ledger.kinds import Fault, Request, Response
from tests.harness.servers import ScriptedServer, base_url

KEY = "sk-test/51+abcDEF-0123456789"
ENVIRON = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "OLLAMA_API_KEY": KEY}
MESSAGES = [{"role": "user", "content": "Où est-il? \u2028 \U0001f642"}]


def ask(
    ledger: Ledger,
    address: ScriptedServer | str,
    protocol: str = "openai",
    *,
    times: int = 1,
    timeout: float = 5,
    stream: bool = False,
    parameters: Mapping[str, Any] | None = None,
    messages: Sequence[Mapping[str, Any]] = MESSAGES,
    environ: Mapping[str, str] = ENVIRON,
) -> list[Exchange]:
    """Ask so many times over one engine, one after the other; each is an attempt of cell 1 of a new run."""
    url = address if isinstance(address, str) else base_url(address, protocol)
    candidate = resolve_engine(
        f"{protocol}/m", base_url=url, parameters=parameters or {}, stream=stream, environ=environ
    )

    async def go() -> list[Exchange]:
        run = new_run_id()
        async with open_engine(candidate, ledger, timeout=timeout) as engine:
            return [await engine.ask(Chat(tuple(messages)), Place(run, 1, 0, attempt)) for attempt in range(times)]

    return asyncio.run(go())


def request_of(ledger: Ledger, exchange: Exchange) -> Request:
    assert exchange.request is not None
    body = ledger.body(exchange.request)
    assert isinstance(body, Request)
    return body


def response_of(ledger: Ledger, exchange: Exchange) -> Response:
    assert exchange.response is not None
    body = ledger.body(exchange.response)
    assert isinstance(body, Response)
    return body


def fault_of(ledger: Ledger, exchange: Exchange) -> Fault:
    assert exchange.fault is not None
    body = ledger.body(exchange.fault)
    assert isinstance(body, Fault)
    return body


def bytes_on_disk(ledger: Ledger) -> bytes:
    """The database file and what lies beside it."""
    folder: Path = ledger.path.parent
    return b"".join(path.read_bytes() for path in sorted(folder.glob(ledger.path.name + "*")) if path.is_file())
