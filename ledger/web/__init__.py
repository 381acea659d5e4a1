"""A ledger in a browser: pages under `/-/ledger` of Datasette, read-only, and the same pages as plain files.

    from ledger.web import make_datasette

This package is also the Datasette plugin (entry point `datasette`): its hooks stand in `ledger.web._plugin`.
"""

from __future__ import annotations

from ledger._event import hash_of
from ledger._withheld import withheld_by
from ledger.web._changed import readable
from ledger.web._datasette import make_datasette
from ledger.web._desk import Desk
from ledger.web._figure import Figure, Source, cli, sql
from ledger.web._literal import literal
from ledger.web._memory import Kept, Memory
from ledger.web._pages import Answer, Crumb, Data, Download, Headline, Page, PageMissing, Pages, Route, View
from ledger.web._plugin import (
    canned_queries,
    database_actions,
    extra_css_urls,
    filters_from_request,
    get_metadata,
    handle_exception,
    menu_links,
    register_routes,
    render_cell,
    startup,
    table_actions,
    view_actions,
)
from ledger.web._text import MOST_SHOWN, Excerpt, Mark, excerpts, name, visible, visible_bytes
from ledger.web._tree import tree

__all__ = [
    "MOST_SHOWN",
    "Answer",
    "Crumb",
    "Data",
    "Desk",
    "Download",
    "Excerpt",
    "Figure",
    "Headline",
    "Kept",
    "Mark",
    "Memory",
    "Page",
    "PageMissing",
    "Pages",
    "Route",
    "Source",
    "View",
    "canned_queries",
    "cli",
    "database_actions",
    "excerpts",
    "extra_css_urls",
    "filters_from_request",
    "get_metadata",
    "handle_exception",
    "hash_of",
    "literal",
    "make_datasette",
    "menu_links",
    "name",
    "readable",
    "register_routes",
    "render_cell",
    "sql",
    "startup",
    "table_actions",
    "tree",
    "view_actions",
    "visible",
    "visible_bytes",
    "withheld_by",
]
