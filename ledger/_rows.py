"""Events out of rows of the events table."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from ledger._errors import BadLine
from ledger._event import Event

__all__ = ["SELECT", "event_by_body", "event_of"]

SELECT = "SELECT seq, v, hash, prev, at, kind, run, cell, causes, body_hash, salt, body FROM main.events"
"""The columns that `event_of` takes, in its order."""
_BY_BODY = SELECT + " WHERE body_hash = ? ORDER BY seq DESC LIMIT 1"


def event_of(row: Sequence[Any]) -> Event:
    seq, v, digest, prev, at, kind, run, cell, causes, body_hash, salt, body = row
    try:
        numbers = tuple(map(int, causes[1:-1].split(","))) if causes != "[]" else ()
    except (TypeError, ValueError):  # a damaged page gives values of any type
        raise BadLine(
            f"event {seq}: expected causes as a list of seqs, got {str(causes)[:80]!r}; `ledger verify` says more"
        ) from None
    return Event(seq, v, digest, prev, at, kind, run, cell, numbers, body_hash, salt, body)


def event_by_body(reader: sqlite3.Connection, body_hash: str) -> Event | None:
    """The newest event with this commitment, which its salt makes the name of one append."""
    row = reader.execute(_BY_BODY, (body_hash,)).fetchone()
    return event_of(row) if row else None
