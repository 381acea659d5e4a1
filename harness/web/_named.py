"""Which run an address names, and whether it would go on."""

from __future__ import annotations

from ledger import Ledger, find_run

__all__ = ["goes_on", "run_named"]

_ANY = "SELECT 1 FROM main.events WHERE run = ? LIMIT 1"


def run_named(ledger: Ledger, wanted: str) -> str:
    """The id of the run that `wanted` names, as commands take it: `latest`, an id, the start of one, or a name.

    Raises NotFound, also where more than one fits.
    """
    # An id is most of what there is, and is looked up without reading every plan.
    return wanted if ledger.sql(_ANY, (wanted,)).fetchone() else find_run(ledger, wanted)


def goes_on(via: str, status: str, superseded: object, taints: object) -> bool:
    """Whether `harness resume` is what to do about a run that has an unasked cell: not while somebody holds it, not
    where it was asked elsewhere, and not where its answers were set aside."""
    return via != "import" and status != "open" and not superseded and not taints
