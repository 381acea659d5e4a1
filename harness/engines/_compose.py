"""The request that a candidate would send, made by its own engine and sent to nobody.

It has the form in which a request is recorded, secrets masked, so that the two can be compared byte for byte.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from harness._candidate import Candidate
from harness._capture import Place
from harness._chat import Chat
from harness.engines._open import open_engine
from harness.engines._recordings import Key, request_key
from ledger import Draft, Event, LedgerError
from ledger.kinds import Genesis, Request

__all__ = ["compose_requests", "recorded_key"]

_NOWHERE = Place("compose", 1)


class _Stopped(LedgerError):
    """The claim is as far as a request gets here."""


class _Sink:
    """In the place of a ledger: keeps what the recorder would write ahead of sending, and refuses it."""

    def __init__(self) -> None:
        self.key: Key | None = None

    @property
    def genesis(self) -> Genesis:
        """Of no ledger: nothing is written, so any key will do."""
        return Genesis(origin="nowhere", id="0" * 32, identity_key="0" * 64, tables="0" * 64)

    async def append_async(self, *drafts: Draft) -> list[Event]:
        body = drafts[0].body
        if isinstance(body, Request):
            self.key = recorded_key(body, drafts[0].blobs["body"])
        raise _Stopped("nothing is sent and nothing is written")


def recorded_key(request: Request, body: bytes) -> Key:
    """What a recorded request is recognised by: method, path with query, body. The host is not part of it."""
    parts = urlsplit(request.url)
    return request_key(request.method, parts.path + (f"?{parts.query}" if parts.query else ""), body)


async def compose_requests(
    candidate: Candidate, asked: Iterable[Chat], *, keys: Sequence[str] = ()
) -> list[Key | None]:
    """For each chat the request it would make; None where the engine can't make it."""
    sink = _Sink()
    found: list[Key | None] = []
    async with open_engine(candidate, sink, timeout=60, keys=keys) as engine:
        for chat in asked:
            sink.key = None
            with contextlib.suppress(_Stopped):
                await engine.ask(chat, _NOWHERE)
            found.append(sink.key)
    return found
