"""What each request of a run used, out of the view `usage`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._usage import Counted, Tokens

__all__ = ["UsedRequest", "used_requests"]

Rows = Callable[[str, Sequence[Any]], list[dict[str, Any]]]

_USED = (
    "SELECT request, cell, candidate, counted, input_tokens, cached_tokens, cache_write_tokens, output_tokens, apart,"
    # A whole reply may hold an error and nothing else: it was read as one, or asked again.
    " whole AND NOT EXISTS (SELECT 1 FROM edges CROSS JOIN events AS next ON next.seq = edges.effect"
    " WHERE edges.cause = usage.response AND (next.kind = 'wait' OR next.kind = 'parse' AND next.run = usage.run"
    " AND next.body ->> '$.status' = 'error'"
    " AND next.body ->> '$.reason' NOT IN ('case_unusable', 'gold_unusable'))) AS whole"
    # The plus sign: else they are looked for in the order of seqs, through every request of the ledger.
    " FROM usage WHERE run = ? ORDER BY +request"
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
    return [_used(row) for row in rows(_USED, (run,))]


def _used(row: Mapping[str, Any]) -> UsedRequest:
    counts = [row[name] for name in ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "apart")]
    tokens = None if row["counted"] != "counted" else Tokens(*map(int, counts))
    candidate = None if row["candidate"] is None else str(row["candidate"])
    return UsedRequest(int(row["request"]), int(row["cell"]), candidate, row["counted"], tokens, not row["whole"])
