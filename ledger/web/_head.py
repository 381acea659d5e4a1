"""For the script of a page that is open: whether the ledger moved on past what the page shows."""

from __future__ import annotations

from ledger.web._pages import Data, View

__all__ = ["head"]


def head(view: View) -> Data:
    """The size now, and the seq of the newest event that may change the page about `run` (or any page)."""
    return Data({"size": view.size, "touched": view.memory.touched(view.ledger, view.size, view.first("run"))})
