"""The engines that speak plain HTTP: ollama, and anything that is OpenAI-compatible."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from harness._candidate import Candidate
from harness._capture import Exchange, Place, Recorder
from harness._chat import Chat
from harness.engines._bodies import expected_body, expected_url, request_bytes
from harness.engines._over_httpx import make_client
from harness.engines._tap import Tap

__all__ = ["HttpEngine", "user_agent"]


def user_agent() -> str:
    """How the harness names itself to servers."""
    try:
        return f"eval-ledger/{version('eval-ledger')}"
    except PackageNotFoundError:
        return "eval-ledger"


class HttpEngine:
    """One worker's connection to an ollama or openai server."""

    def __init__(self, candidate: Candidate, recorder: Recorder, *, proxy: str | None) -> None:
        self._candidate = candidate
        self._tap = Tap(recorder)
        self._url = expected_url(candidate.protocol, candidate.url)
        headers = {
            "User-Agent": user_agent(),
            "Accept": "application/json" if not candidate.stream else "*/*",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        if candidate.api_key:
            headers["Authorization"] = f"Bearer {candidate.api_key}"
        self._client = make_client(self._tap, url=self._url, proxy=proxy, headers=headers)

    async def ask(self, chat: Chat, place: Place) -> Exchange:
        """Exactly one attempt. Raises LedgerError and CancelledError only."""

        async def send() -> None:
            body = request_bytes(expected_body(self._candidate, chat))
            request = self._client.build_request("POST", self._url, content=body)
            # Streamed, so that the library decodes nothing: reading is `harness.parse`'s.
            await (await self._client.send(request, stream=True)).aclose()

        return await self._tap.around(place, send)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
