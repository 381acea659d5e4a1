"""Between an engine and its transport: which place the next request belongs to, and what became of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from harness._capture import Exchange, Incoming, Outgoing, Place, Recorder
from ledger import LedgerError

__all__ = ["KEEPALIVE_SECONDS", "Tap"]

KEEPALIVE_SECONDS = 2.0
"""Shorter than the 5 s after which common servers close an idle connection, so that we aren't the ones surprised."""


class Tap:
    """Carries a place down to the transport and the exchange back up, past whatever library lies between.

    The library may swallow or wrap what the recorder raises; so a LedgerError is kept here and raised again on top.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._place: Place | None = None
        self._exchange: Exchange | None = None
        self._trouble: LedgerError | None = None

    async def record(self, outgoing: Outgoing, send: Callable[[], Awaitable[Incoming]]) -> Exchange:
        """Called by the transport. One request a place: a second one would be a retry that nobody recorded."""
        place, self._place = self._place, None
        assert place is not None, "the client sent a request that no engine had asked for"
        try:
            self._exchange = await self._recorder.record(place, outgoing, send)
        except LedgerError as trouble:
            self._trouble = trouble
            raise
        return self._exchange

    async def around(self, place: Place, send: Callable[[], Awaitable[object]]) -> Exchange:
        """Called by the engine: what `send`, which goes through the library, came to. Raises LedgerError."""
        assert self._place is None, "an engine asks one thing at a time"
        self._place, self._exchange, self._trouble = place, None, None
        raised: Exception | None = None
        try:
            await send()
        except Exception as error:  # noqa: BLE001 - the recorder has the bytes; what a library makes of them is no news
            raised = error
        finally:
            self._place = None
        if self._trouble is not None:
            raise self._trouble
        if self._exchange is not None:
            return self._exchange
        return await self._recorder.fail(place, raised or RuntimeError("the client sent nothing"))
