"""A ledger in a browser: pages under `/-/ledger` of Datasette, read-only, and the same pages as plain files.

    from ledger.web import make_datasette

This package is also the Datasette plugin (entry point `datasette`): its hooks stand in `ledger.web._plugin`.
"""

from __future__ import annotations

from ledger.web._datasette import make_datasette
from ledger.web._figure import Figure, Source, cli, sql
from ledger.web._memory import Kept
from ledger.web._pages import Answer, Crumb, Data, Download, Headline, Page, PageMissing, Pages, Route, View
from ledger.web._plugin import register_routes
from ledger.web._text import name

__all__ = [
    "Answer",
    "Crumb",
    "Data",
    "Download",
    "Figure",
    "Headline",
    "Kept",
    "Page",
    "PageMissing",
    "Pages",
    "Route",
    "Source",
    "View",
    "cli",
    "make_datasette",
    "name",
    "register_routes",
    "sql",
]
