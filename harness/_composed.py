"""The request that a planned cell would make, and the one that an attempt made, in a form in which the two compare."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness._plan import Measurement
from harness._recorded import Attempt
from harness._suite import Suite
from harness.engines import compose_requests, recorded_key
from ledger import Ledger, NotFound
from ledger.kinds import Request

__all__ = ["RequestKey", "composed", "recorded"]

RequestKey = tuple[str, str, bytes]
"""Method, path with query, and body: what a request is recognised by. The host is no part of it."""


def composed(suite: Suite, measurements: Sequence[Measurement]) -> dict[int, RequestKey]:
    """The request that each cell would make, by cell; nothing is sent."""
    stages = suite.stage_functions
    keys = sorted({each.candidate.api_key for each in measurements} - {""})
    found: dict[int, RequestKey] = {}
    for label in dict.fromkeys(each.candidate.label for each in measurements):
        mine = [each for each in measurements if each.candidate.label == label]
        candidate = mine[0].candidate
        chats = [stages.messages(candidate.prompt, each.case.input) for each in mine]
        made = asyncio.run(compose_requests(candidate, chats, keys=keys))
        found.update({each.cell: key for each, key in zip(mine, made, strict=True) if key is not None})
    return found


def recorded(ledger: Ledger, attempt: Attempt) -> RequestKey | None:
    """The request that an attempt made; None where nobody asked here, and where it was withheld since."""
    if attempt.request is None:
        return None
    try:
        body = ledger.body(attempt.request)
        sent = ledger.blob(attempt.request, "body")
    except NotFound:
        return None
    return recorded_key(body, sent) if isinstance(body, Request) else None
