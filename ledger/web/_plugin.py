"""The Datasette plugin: hooks that put a ledger's pages, and nothing that could write, into any Datasette.

Written for Datasette 0.65; what 1.0 names otherwise is looked for with `hasattr`. A hook only gathers and hands on:
what it answers is worked out elsewhere.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any

from datasette import hookimpl  # pyright: ignore[reportMissingTypeStubs]

from ledger._errors import LedgerError
from ledger._screen import printable
from ledger.web import _answering, _canned, _faults, _later, _narrow, _tables
from ledger.web._datasette import verifies_at_once
from ledger.web._fresh import keep_fresh
from ledger.web._home import start_warming
from ledger.web._render import read_templates
from ledger.web._shelves import is_ledger, ledger_names, may_see, shelf_of, stale, tables_end
from ledger.web._verdict import start_verifying

__all__ = [
    "canned_queries", "database_actions", "extra_css_urls", "filters_from_request", "get_metadata", "handle_exception",
    "menu_links", "register_routes", "render_cell", "startup", "table_actions", "view_actions",
]  # fmt: skip

Links = list[dict[str, str]]

_WARM_SECONDS = 2.0


@hookimpl
def register_routes() -> list[tuple[str, Callable[..., Any]]]:
    """The pages, under /-/ledger."""
    return [
        (r"^/-/ledger/-/assets/(?P<package>[a-z]+)/(?P<file>[A-Za-z0-9._-]+)$", _answering.asset),
        (r"^/-/ledger/?$", _answering.first),
        (r"^/-/ledger/(?P<database>[^/]+)/?(?P<path>.*)$", _answering.page),
    ]


@hookimpl
def startup(datasette: Any) -> Callable[[], Awaitable[None]]:
    """Settings that stay quick at a million events, a first page that is ready, and a word on what can't be seen."""

    async def start() -> None:
        names = await ledger_names(datasette)
        if names:
            await asyncio.to_thread(read_templates)
        for name in names:
            # No facet of a ledger's columns is worth the seconds that looking for some takes.
            datasette._settings["suggest_facets"] = False
            _narrow.bound_counts(datasette, name)
            keep_fresh(datasette, name)
            await _say_what_is_stale(datasette, name)
            await _later.tell(datasette, name)
            shelf = shelf_of(datasette, name)
            if shelf is not None:
                # The first visitor of the first page doesn't wait for what every visitor is shown. A server that is
                # asked before it is ready is slower at it than one that comes a moment later.
                await asyncio.to_thread(start_warming(shelf).join, _WARM_SECONDS)
                if verifies_at_once(datasette):
                    await asyncio.to_thread(start_verifying, shelf)

    return start


async def _say_what_is_stale(datasette: Any, name: str) -> None:
    shelf = shelf_of(datasette, name)
    if shelf is None or datasette.databases[name].is_mutable:
        return
    try:
        with shelf.reading() as ledger:
            size, _ = ledger.head()
    except LedgerError:
        return
    said = stale(name, await tables_end(datasette, name), size)
    if said:
        print(printable(f"warning: {said}"), file=sys.stderr, flush=True)


@hookimpl(hookwrapper=True)
def handle_exception(datasette: Any, request: Any, exception: Exception) -> Generator[None, Any, None]:
    """One sentence for what went wrong, after what other plugins answer."""
    outcome = yield
    if not datasette.pdb:
        others = _faults.without_default(outcome.get_result())
        outcome.force_result([*others, _faults.answer_of(datasette, request, exception)])


@hookimpl
def get_metadata(datasette: Any) -> dict[str, Any]:
    """Titles and descriptions of every ledger that is served, its tables, views and columns."""
    return _tables.metadata(datasette)


@hookimpl
def render_cell(row: Any, value: Any, column: str, table: str | None, database: str | None, datasette: Any) -> Any:
    """A cell of Datasette's own tables: seqs, runs and hashes as links, JSON folded, foreign text made harmless."""
    return _tables.cell(datasette, database, table, column, value, row) if is_ledger(datasette, database) else None


@hookimpl
def filters_from_request(request: Any, database: str, table: str, datasette: Any) -> Any:
    """One run at a time, where a view of a large ledger can't be shown whole."""
    return _narrow.narrowed(datasette, request, database, table) if is_ledger(datasette, database) else None


@hookimpl
def canned_queries(datasette: Any, database: str, actor: Any) -> Callable[[], Awaitable[Mapping[str, Any]]]:
    """The questions that people ask of a ledger, for whoever may see it."""

    async def find() -> Mapping[str, Any]:
        if not is_ledger(datasette, database) or not await may_see(datasette, actor, database):
            return {}
        return await _canned.queries(datasette, database)

    return find


@hookimpl
def extra_css_urls(database: str | None, datasette: Any) -> list[str]:
    """The sheet for what we put into Datasette's own pages."""
    return [_tables.sheet(datasette, database)] if database and is_ledger(datasette, database) else []


@hookimpl
def menu_links(datasette: Any, actor: Any) -> Callable[[], Awaitable[Links]]:
    """From anywhere in Datasette to the pages of each ledger."""

    async def find() -> Links:
        found = [name for name in await ledger_names(datasette) if await may_see(datasette, actor, name)]
        return [
            {"href": _address(datasette, name, "home"), "label": "Ledger" if len(found) == 1 else f"Ledger {name}"}
            for name in found
        ]

    return find


@hookimpl
def database_actions(datasette: Any, actor: Any, database: str) -> Callable[[], Awaitable[Links]]:
    """From a database's page to its pages."""
    return _actions(datasette, actor, database, "")


@hookimpl
def table_actions(datasette: Any, actor: Any, database: str, table: str) -> Callable[[], Awaitable[Links]]:
    """From a table to the ledger's pages."""
    return _actions(datasette, actor, database, table)


@hookimpl(optionalhook=True)
def view_actions(datasette: Any, actor: Any, database: str, view: str) -> Callable[[], Awaitable[Links]]:
    """The same from a view, which Datasette 1.0 tells from a table."""
    return _actions(datasette, actor, database, view)


def _actions(datasette: Any, actor: Any, database: str, table: str) -> Callable[[], Awaitable[Links]]:
    async def find() -> Links:
        if not is_ledger(datasette, database) or not await may_see(datasette, actor, database):
            return []
        links: Sequence[tuple[str, str]] = [("home", "Runs, and whether the chain holds"), ("search", "Search")]
        return [
            {"href": address, "label": text}
            for route, text in links
            if (address := _address(datasette, database, route))
        ]

    return find


def _address(datasette: Any, name: str, route: str) -> str:
    return _answering.links_of(datasette, name).to(route) or ""
