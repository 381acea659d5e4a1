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
from ledger.web._text import MOST_SHOWN, Excerpt, Mark, excerpts, name, visible, visible_bytes
from ledger.web._tree import tree

__all__ = [
    "MOST_SHOWN",
    "Answer",
    "Crumb",
    "Data",
    "Download",
    "Excerpt",
    "Figure",
    "Headline",
    "Kept",
    "Mark",
    "Page",
    "PageMissing",
    "Pages",
    "Route",
    "Source",
    "View",
    "cli",
    "excerpts",
    "make_datasette",
    "name",
    "register_routes",
    "sql",
    "tree",
    "visible",
    "visible_bytes",
]
