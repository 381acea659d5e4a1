"""The first page: what this ledger is, whether its chain holds, and its runs, newest first."""

from __future__ import annotations

from ledger.web._pages import Crumb, Page, View

__all__ = ["home"]


def home(view: View) -> Page:
    """The first page."""
    return Page("Runs", "ledger/home.html", {"genesis": view.ledger.genesis}, [Crumb("Runs")])
