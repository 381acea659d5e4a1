"""Runs: finding one by what a person calls it, and the list of them with what the lock adds to the view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ledger._errors import NotFound
from ledger._lock import run_is_held
from ledger._store import Ledger

__all__ = ["find_run", "list_runs"]

_PLANS = "SELECT run, body ->> '$.name' AS name FROM main.events WHERE kind = 'plan' ORDER BY seq DESC"
_JSON_COLUMNS = ("candidates", "rules", "tags")


def find_run(ledger: Ledger, wanted: str) -> str:
    """The id of the run that `wanted` names: `latest`, an id, the start of one, or the name the run was given.

    Raises NotFound, also when more than one run fits.
    """
    plans = ledger.rows(_PLANS)
    if not plans:
        raise NotFound(f"{ledger.path} holds no run yet")
    ids = [str(plan["run"]) for plan in plans]
    if wanted == "latest":
        return ids[0]
    if wanted in ids:
        return wanted
    fits = [str(plan["run"]) for plan in plans if plan["name"] == wanted]
    fits = fits or [run for run in ids if wanted and run.startswith(wanted)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        shown = ", ".join(fits[:5]) + (", …" if len(fits) > 5 else "")
        raise NotFound(f"{wanted!r} fits {len(fits)} runs ({shown}); give more of the id")
    raise NotFound(f"no run fits {wanted!r}; `ledger runs` lists them")


def list_runs(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """The rows of the view `runs`, newest first; a run that is open while nobody holds it was interrupted."""
    for row in ledger.view("runs", order_by="seq desc"):
        if row["status"] == "open" and not run_is_held(ledger.path, str(row["run"])):
            row["status"] = "interrupted"
        for name in _JSON_COLUMNS:
            if isinstance(row.get(name), str):
                row[name] = json.loads(row[name])
        row["superseded"] = bool(row.get("superseded"))
        yield row
