"""The pages that `ledger` itself brings."""

from __future__ import annotations

from ledger.web import _head, _home
from ledger.web._pages import Pages, Route

__all__ = ["OWN"]

OWN = Pages(
    name="ledger",
    package="ledger.web",
    routes=(Route("home", "", _home.home), Route("head", "head", _head.head)),
    nav=(("home", "Runs"),),
    styles=("ledger.css",),
)
