"""For the script of a page that is open: whether the ledger moved on past it, and whether what it lacked is there."""

from __future__ import annotations

from ledger.web._pages import Data, View

__all__ = ["head"]


def head(view: View) -> Data:
    """The size now, the seq of the newest event that may change the page about `run` (or any page), and whether some of
    that page is being worked out."""
    run, memory = view.first("run"), view.memory
    return Data({
        "size": view.size, "touched": memory.touched(view.ledger, view.size, run), "awaited": memory.awaits(run),
    })  # fmt: skip
