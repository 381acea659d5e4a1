"""What a newer release has written, and why no number of ours is made of it."""

from __future__ import annotations

from ledger._errors import Refused
from ledger._store import Ledger
from ledger.kinds import KINDS

__all__ = ["refuse_newer"]

# With max(), the other columns are those of its row.
_NEWEST = (
    "SELECT kind, max(body ->> '$.schema') AS schema, seq FROM main.events WHERE run IN (?, '') AND body IS NOT NULL"
    " GROUP BY kind"
)


def refuse_newer(ledger: Ledger, run: str) -> None:
    """Raises Refused where a body of a run, or of no run, is of a schema that only a newer release knows.

    Views of a newer release are no reason: numbers come from this release's own. An unknown kind is none either.
    """
    for row in ledger.rows(_NEWEST, (run,)):
        model = KINDS.get(str(row["kind"]))
        if model is not None and row["schema"] > model.latest():
            raise Refused(
                f"event {row['seq']} is a {row['kind']} of schema {row['schema']}, and this release knows up to"
                f" {model.latest()}: a newer one wrote it, so no number is made of run {run} here; use that release"
            )
