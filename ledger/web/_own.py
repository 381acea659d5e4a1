"""The pages that `ledger` itself brings."""

from __future__ import annotations

from ledger.web import _bytes, _event, _head, _home, _lineage, _search
from ledger.web._pages import Pages, Route

__all__ = ["OWN"]

OWN = Pages(
    name="ledger",
    package="ledger.web",
    routes=(
        Route("home", "", _home.home),
        Route("head", "head", _head.head),
        Route("search", "search", _search.search),
        Route("event", "event/{seq}", _event.event),
        Route("line", "event/{seq}/line", _bytes.line),
        Route("body", "event/{seq}/body", _bytes.body),
        Route("blob", "event/{seq}/blob/{name}", _bytes.blob),
        Route("raw", "event/{seq}/blob/{name}/raw", _bytes.raw),
        Route("lineage", "lineage/{run}", _lineage.lineage),
    ),
    nav=(("home", "Runs"), ("search", "Search")),
    styles=("ledger.css", "ledger-home.css", "ledger-event.css"),
)
