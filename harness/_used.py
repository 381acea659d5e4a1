"""What each request of a run used, out of the view `usage`, with those told apart whose counts aren't those of a whole
reply: the first event of a stream tells tokens too, and a stream that broke off then used more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._usage import CUT_REASONS, Counted, Tokens

__all__ = ["UsedRequest", "used_requests"]

Rows = Callable[[str, Sequence[Any]], list[dict[str, Any]]]

_USED = (
    "SELECT request, cell, candidate, response, counted, input_tokens, cached_tokens, cache_write_tokens,"
    " output_tokens FROM usage WHERE run = ? ORDER BY request"
)
_FAULTY = (
    "SELECT edges.cause AS request FROM events AS fault CROSS JOIN edges ON edges.effect = fault.seq"
    " WHERE fault.run = ? AND fault.kind = 'fault'"
)
_READ = (
    "SELECT edges.cause AS response, parse.body ->> '$.reason' AS reason FROM events AS parse"
    " CROSS JOIN edges ON edges.effect = parse.seq WHERE parse.run = ? AND parse.kind = 'parse'"
)


@dataclass(frozen=True, slots=True)
class UsedRequest:
    """One request by its event's seq: `candidate` is None where a redaction withholds it; `cut` says that no whole
    reply came of it, so that nothing could tell its tokens."""

    request: int
    cell: int
    candidate: str | None
    counted: Counted
    tokens: Tokens | None
    cut: bool


def used_requests(rows: Rows, run: str) -> list[UsedRequest]:
    """Every request of the run, in order. `rows` asks this release's views, as `Ledger.rows` or as of an event."""
    faulty = {int(row["request"]) for row in rows(_FAULTY, (run,))}
    broken = {int(row["response"]) for row in rows(_READ, (run,)) if row["reason"] in CUT_REASONS}
    return [_used(row, faulty, broken) for row in rows(_USED, (run,))]


def _used(row: Mapping[str, Any], faulty: set[int], broken: set[int]) -> UsedRequest:
    request, response = int(row["request"]), row["response"]
    cut = response is None or request in faulty or int(response) in broken
    counted: Counted = row["counted"]
    tokens = None
    if counted == "counted":
        if cut:
            counted = "unknown"
        else:
            names = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens")
            tokens = Tokens(*(int(row[name]) for name in names))
    candidate = row["candidate"]
    return UsedRequest(request, int(row["cell"]), None if candidate is None else str(candidate), counted, tokens, cut)
