"""The engine that speaks through Anthropic's SDK, with our transport under it and its retries off.

Imported only when it is used: the SDK takes a second and more to load.
"""

from __future__ import annotations

from anthropic import AsyncAnthropic

from harness._candidate import Candidate
from harness._capture import Exchange, Place, Recorder
from harness._chat import Chat
from harness.engines._bodies import anthropic_fields
from harness.engines._over_httpx2 import make_client
from harness.engines._tap import Tap

__all__ = ["AnthropicEngine"]

_NO_KEY = "none"
"""The SDK refuses to go without a key; a server on this machine may well want none."""


class AnthropicEngine:
    """One worker's connection to an Anthropic-shaped server."""

    def __init__(self, candidate: Candidate, recorder: Recorder, *, proxy: str | None) -> None:
        self._candidate = candidate
        self._tap = Tap(recorder)
        client = make_client(self._tap, url=candidate.url, proxy=proxy, headers={"Accept-Encoding": "identity"})
        self._client = AsyncAnthropic(
            api_key=candidate.api_key or _NO_KEY,
            base_url=candidate.url,
            http_client=client,
            max_retries=0,
            timeout=None,
            open_telemetry=False,
        )

    async def ask(self, chat: Chat, place: Place) -> Exchange:
        """Exactly one attempt. Raises LedgerError and CancelledError only."""

        async def send() -> None:
            fields, body = anthropic_fields(self._candidate, chat)
            # No deadline of the SDK's own: with one, it refuses long answers that aren't streamed.
            await self._client.messages.with_raw_response.create(**fields, extra_body=body or None, timeout=None)

        return await self._tap.around(place, send)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
