"""The memory of an evaluation: an append-only, hash-chained record of events in one SQLite file.

    from ledger import Draft, Ledger, Note

`ledger` knows events, bytes, chains, lineage and views. It knows no model and no suite.
"""

from __future__ import annotations

from ledger._drafts import Draft, Earlier
from ledger._errors import (
    AppendFailed,
    BadBody,
    BadLine,
    LedgerError,
    LedgerExists,
    NotALedger,
    NotFound,
    Refused,
    RunHeld,
)
from ledger._event import Event, new_run_id
from ledger.kinds import KINDS, Body
from ledger._lock import hold_run, run_is_held
from ledger._store import Ledger

__all__ = [
    "KINDS",
    "AppendFailed",
    "BadBody",
    "BadLine",
    "Body",
    "Draft",
    "Earlier",
    "Event",
    "Ledger",
    "LedgerError",
    "LedgerExists",
    "NotALedger",
    "NotFound",
    "Refused",
    "RunHeld",
    "hold_run",
    "new_run_id",
    "run_is_held",
]
