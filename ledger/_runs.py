"""Runs: finding one by what a person calls it, and the list of them with what the lock adds to the view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ledger._errors import NotFound
from ledger._lock import run_is_held
from ledger._standing import Standing, standing_of_runs
from ledger._store import Ledger

__all__ = ["find_run", "fitting_runs", "list_runs", "run_status"]

_PLANS = (
    "SELECT run, body ->> '$.name' AS name, body ->> '$.purpose' AS purpose FROM main.events WHERE kind = 'plan'"
    " ORDER BY seq DESC"
)
_ACCEPTED = (
    "SELECT run, body ->> '$.component' AS component FROM main.events WHERE kind = 'accept' AND body IS NOT NULL"
    " ORDER BY seq"
)
_JSON_COLUMNS = ("candidates", "rules", "tags")


def fitting_runs(ledger: Ledger, wanted: str) -> list[str]:
    """The ids of the runs that `wanted` may name, the newest first: `latest`, an id, a run's name, the start of an id.

    The first of those that fits counts alone. `latest` is the newest evaluation; a probe where there is nothing else.
    """
    plans = ledger.rows(_PLANS)
    ids = [str(plan["run"]) for plan in plans]
    if wanted == "latest":
        return ([str(plan["run"]) for plan in plans if plan["purpose"] == "evaluation"] or ids)[:1]
    if wanted in ids:
        return [wanted]
    named = [str(plan["run"]) for plan in plans if plan["name"] == wanted]
    return named or [run for run in ids if wanted and run.startswith(wanted)]


def find_run(ledger: Ledger, wanted: str) -> str:
    """The id of the run that `wanted` names: `latest`, an id, the start of one, or the name the run was given.

    Raises NotFound, also when more than one run fits.
    """
    fits = fitting_runs(ledger, wanted)
    if len(fits) == 1:
        return fits[0]
    if fits:
        shown = ", ".join(fits[:5]) + (", …" if len(fits) > 5 else "")
        raise NotFound(f"{wanted!r} fits {len(fits)} runs ({shown}); give more of the id")
    if not ledger.rows(_PLANS + " LIMIT 1"):
        raise NotFound(f"{ledger.path} holds no run yet")
    raise NotFound(f"no run fits {wanted!r}; `ledger runs` lists them")


def run_status(ledger: Ledger, run: str, stored: str) -> str:
    """A run's status as people are told it: one that the view calls open while nobody holds it was interrupted."""
    return "interrupted" if stored == "open" and not run_is_held(ledger.path, run) else stored


def list_runs(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """The rows of the view `runs`, newest first; a run that is open while nobody holds it was interrupted.

    `accepted` names the components that a person let move under a run. Superseded and tainted runs are marked as this
    release understands it, whichever release's view the file has.
    """
    standing = standing_of_runs(ledger)
    accepted: dict[str, list[str]] = {}
    for each in ledger.rows(_ACCEPTED):
        accepted.setdefault(str(each["run"]), []).append(str(each["component"]))
    for row in ledger.view("runs", order_by="seq desc"):
        row["status"] = run_status(ledger, str(row["run"]), str(row["status"]))
        for name in _JSON_COLUMNS:
            if isinstance(row.get(name), str):
                row[name] = json.loads(row[name])
        stands = standing.get(str(row["run"]), Standing())
        row["superseded"] = stands.superseded is not None
        row["superseded_by"] = stands.by
        row["accepted"] = list(dict.fromkeys(accepted.get(str(row["run"]), [])))
        row["tainted"] = bool(stands.taints)
        row["taints"] = [mark.taint for mark in stands.taints]
        yield row
