"""Which redaction withholds what."""

from __future__ import annotations

from typing import Any

from ledger._store import Ledger

__all__ = ["withheld_by"]

_BY = (
    "SELECT seq, body ->> '$.category', body ->> '$.reason' FROM main.events AS redact WHERE kind = 'redact'"
    " AND EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(redact.body) THEN redact.body ELSE '{}' END, ?)"
    " WHERE value = ?)"
)


def withheld_by(ledger: Ledger, target: int | str) -> tuple[int, str, str] | None:
    """Which redaction withholds the body of an event (by seq) or a blob (by hash): its seq, category and reason."""
    among = "$.bodies" if isinstance(target, int) else "$.blobs_withheld"
    row: Any = ledger.sql(_BY, (among, target)).fetchone()
    return (int(row[0]), str(row[1]), str(row[2])) if row else None
