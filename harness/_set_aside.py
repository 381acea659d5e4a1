"""The runs that nothing may be built on any more."""

from __future__ import annotations

from ledger import Ledger
from ledger.kinds import Clear, Supersede, Taint

__all__ = ["set_aside"]


def set_aside(ledger: Ledger) -> dict[str, str]:
    """The runs that were superseded, or tainted without a clear; with the word for which."""
    found: dict[str, str] = {}
    tainted: dict[int, str] = {}
    for event in (event for kind in ("supersede", "taint", "clear") for event in ledger.events(kind=kind)):
        body = ledger.body(event)
        if isinstance(body, Supersede) and body.target.what == "run":
            found[body.target.id] = "superseded"
        elif isinstance(body, Taint) and body.target.what == "run":
            tainted[event.seq] = body.target.id
        elif isinstance(body, Clear):
            tainted.pop(body.taint, None)
    return {**dict.fromkeys(tainted.values(), "tainted"), **found}
