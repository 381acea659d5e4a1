"""Opens the engine of a candidate, for one worker."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Protocol

from harness._candidate import Candidate
from harness._capture import AppendSink, Exchange, Place, Recorder
from harness._chat import Chat
from harness._errors import EngineError
from harness._secrets import Secrets, secrets_in_url
from harness.engines._address import check_url, proxy_for

__all__ = ["Engine", "open_engine"]


class Engine(Protocol):
    """Asks one candidate, one attempt at a time."""

    async def ask(self, chat: Chat, place: Place) -> Exchange:
        """Exactly one attempt, recorded. Never raises for what the far side does: LedgerError, CancelledError only."""
        ...


@asynccontextmanager
async def open_engine(
    candidate: Candidate, ledger: AppendSink, *, timeout: float, keys: Iterable[str] = ()
) -> AsyncGenerator[Engine]:
    """An engine with a client of its own; one a worker. `timeout` is the total deadline of an attempt in seconds.

    `keys` are further secrets that must not be stored, such as the keys of a run's other candidates. Raises EngineError
    when the candidate's address can't be used.
    """
    if candidate.protocol == "command":
        from harness.engines._command import CommandEngine

        yield CommandEngine(candidate, Recorder(ledger, Secrets([candidate.api_key, *keys]), timeout=timeout))
        return
    check_url(candidate.url, "the base URL")
    proxy = proxy_for(candidate.url)
    if proxy is not None:
        _check_proxy(proxy)
    secrets = Secrets([candidate.api_key, *keys, *secrets_in_url(candidate.url), *secrets_in_url(proxy)])
    recorder = Recorder(ledger, secrets, timeout=timeout)
    if candidate.protocol == "anthropic":
        from harness.engines._anthropic import AnthropicEngine

        engine = AnthropicEngine(candidate, recorder, proxy=proxy)
    else:
        from harness.engines._http import HttpEngine

        engine = HttpEngine(candidate, recorder, proxy=proxy)
    try:
        yield engine
    finally:
        await engine.aclose()


def _check_proxy(proxy: str) -> None:
    """Raises EngineError for a proxy that the HTTP libraries can't go through."""
    if not proxy.startswith(("http://", "https://")):
        scheme = proxy.partition(":")[0]
        raise EngineError(
            f"expected the environment's proxy to be http or https, got {scheme!r}; set NO_PROXY or unset it"
        )
    check_url(proxy, "the environment's proxy")
