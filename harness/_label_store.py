"""Labels in the ledger: a person's file as it is, on record as an import that rests on the plan of the run it is about.

    import   format labels/1, grade text, blob `file`: the file's bytes; causes: the plan of the labelled run

The event is of no run. One of the run itself would say that the run's answers were imported, and no rule set of it
would be confirmatory any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness._errors import RefusedError
from harness._identity import file_digest
from harness._labels import LabelFile, Scale, Target, read_labels
from harness._replies import read_plan
from ledger import Draft, Ledger, NotFound, RunHeld, hold_run
from ledger.kinds import Import

__all__ = ["FORMAT", "Rows", "StoredLabels", "record_labels", "stored_labels", "targets_of"]

FORMAT = "labels/1"
Rows = Callable[[str, Sequence[Any]], list[dict[str, Any]]]
"""Runs a query over `events` and `edges`, as of some event of the chain."""

_TARGETS = (
    "SELECT cell, body ->> '$.case' AS \"case\", body ->> '$.fixture' AS fixture, body ->> '$.candidate' AS candidate,"
    " body ->> '$.epoch' AS epoch FROM events WHERE run = ? AND kind = 'cell' ORDER BY cell"
)
_STORED = (
    "SELECT told.seq AS seq, told.body AS body FROM events AS plan CROSS JOIN edges ON edges.cause = plan.seq"
    " CROSS JOIN events AS told ON told.seq = edges.effect"
    " WHERE plan.run = ? AND plan.kind = 'plan' AND told.kind = 'import' AND told.run = '' ORDER BY told.seq"
)


@dataclass(frozen=True, slots=True)
class StoredLabels:
    """A file of labels by the event that has it; `data` is None where a redaction withholds it."""

    seq: int
    digest: str
    data: bytes | None


def targets_of(rows: Rows, run: str) -> list[Target]:
    """The cells of a run that can be labelled; of one whose own event is withheld only its number is known."""
    return [
        Target(row["cell"], row["case"] or "", row["fixture"] or "", row["candidate"] or "", row["epoch"] or 0)
        for row in rows(_TARGETS, (run,))
    ]


def stored_labels(ledger: Ledger, rows: Rows, run: str) -> list[StoredLabels]:
    """Every file of labels about a run, oldest first."""
    found: list[StoredLabels] = []
    for row in rows(_STORED, (run,)):
        body: dict[str, Any] = json.loads(row["body"]) if row["body"] is not None else {"format": FORMAT, "digest": ""}
        if body["format"] == FORMAT:
            data: bytes | None = None
            try:
                data = ledger.blob(row["seq"], "file") if row["body"] is not None else None
            except NotFound:
                data = None
            found.append(StoredLabels(row["seq"], body["digest"], data))
    return found


def record_labels(
    ledger: Ledger, run: str, data: bytes, path: Path, scales: Mapping[str, Scale]
) -> tuple[LabelFile, int, bool]:
    """Put a file of labels on record, unless it stands there: its labels, its event, and whether that was appended now.

    Everything is read and checked before anything is written. Raises UsageError as `read_labels` does, and RefusedError
    while somebody else records the same file.
    """
    rows = ledger.rows
    found = read_labels(data, path, targets_of(rows, run), scales, run)
    digest = file_digest(data)
    # Two at once would both find nothing and both append; the lock is by content.
    try:
        with hold_run(ledger.path, digest[:32]):
            for each in stored_labels(ledger, rows, run):
                if each.digest == digest and each.data is not None:
                    return found, each.seq, False
            plan, _ = read_plan(ledger, run)
            claimed = {
                "run": run, "labels": str(len(found.labels)), "raters": str(len(found.raters)),
                "criteria": str(len(found.criteria)),
            }  # fmt: skip
            body = Import(
                format=FORMAT,
                tool=f"eval-ledger {version('eval-ledger')}",
                grade="text",
                digest=digest,
                claimed=claimed,
            )
            (event,) = ledger.append(Draft(body, causes=[plan], blobs={"file": data}))
    except RunHeld:
        raise RefusedError("another process records the same labels just now; wait for it, then ask again") from None
    return found, event.seq, True
