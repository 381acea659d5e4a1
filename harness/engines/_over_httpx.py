"""The recorder under httpx."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast

import httpx

from harness._capture import Incoming, Outgoing
from harness.engines._leftover import is_clean
from harness.engines._tap import KEEPALIVE_SECONDS, Tap

__all__ = ["RecordingTransport", "make_client"]


@cache
def _trust() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class RecordingTransport(httpx.AsyncBaseTransport):
    """Sends through what `make_inner` makes; the tap's recorder has everything before the client sees any of it.

    A connection that holds more than its response is left, and the next request goes over a new one.
    """

    def __init__(self, make_inner: Callable[[], httpx.AsyncBaseTransport], tap: Tap) -> None:
        self._make_inner = make_inner
        self._inner = make_inner()
        self._tap = tap
        self._clean = True

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Record the exchange, then give the client what was recorded. Raises ReadError for a cut one."""
        body = await request.aread()
        if not self._clean:
            await self._inner.aclose()
            self._inner, self._clean = self._make_inner(), True

        async def send() -> Incoming:
            response = await self._inner.handle_async_request(request)
            chunks = cast("httpx.AsyncByteStream", response.stream)
            return Incoming(response.status_code, tuple(response.headers.raw), self._read(chunks), response.aclose)

        outgoing = Outgoing(request.method, str(request.url), tuple(request.headers.raw), body)
        wire = (await self._tap.record(outgoing, send)).wire
        if wire is None or not wire.whole:
            raise httpx.ReadError("no whole response came; the ledger says why", request=request)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in wire.headers]
        return httpx.Response(wire.status, headers=headers, stream=httpx.ByteStream(wire.body), request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _read(self, stream: httpx.AsyncByteStream) -> AsyncIterator[bytes]:
        self._clean = False
        try:
            async for chunk in stream:
                yield chunk
            self._clean = is_clean(stream)
        finally:
            # Without it a whole body's connection never goes back to the pool.
            await stream.aclose()


def make_client(tap: Tap, *, url: str, proxy: str | None, headers: dict[str, str]) -> httpx.AsyncClient:
    """A client of one worker: recorded, HTTP/1.1, no redirects, no cookies kept, no retries, no deadline of its own."""
    encrypted = url.startswith("https") or (proxy or "").startswith("https")

    def make_inner() -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(
            verify=_trust() if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            proxy=proxy,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEPALIVE_SECONDS),
        )

    return httpx.AsyncClient(
        transport=RecordingTransport(make_inner, tap),
        headers=headers,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        trust_env=False,
        follow_redirects=False,
        timeout=None,  # noqa: S113 - the recorder holds the deadline, one for the whole attempt
    )
