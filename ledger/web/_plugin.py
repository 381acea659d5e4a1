"""The Datasette plugin: hooks that put a ledger's pages, and nothing that could write, into any Datasette.

Written for Datasette 0.65; what 1.0 names otherwise is looked for with `hasattr`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote
from weakref import WeakKeyDictionary

from datasette import Response, hookimpl  # pyright: ignore[reportMissingTypeStubs]

from ledger._errors import LedgerError, NotFound
from ledger.web._links import LiveLinks
from ledger.web._pages import Answer, Data, Download, Page, PageMissing, View, all_pages, find_route
from ledger.web._reading import Shelf
from ledger.web._render import asset_bytes, draw, draw_problem

__all__ = ["POLICY", "register_routes"]

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}  # fmt: skip
_SAFE_NAME = re.compile(r"[^A-Za-z0-9._-]")

Answered = tuple[int, bytes, Mapping[str, str]]


class _Shelves:
    """The ledgers of one Datasette, by database name."""

    def __init__(self) -> None:
        self._found: dict[str, Shelf] = {}

    def of(self, name: str, path: str | None) -> Shelf:
        known = self._found.get(name)
        if known is None or str(known.path) != path:
            known = self._found[name] = Shelf(Path(path or ""))
        return known


_SHELVES: WeakKeyDictionary[Any, _Shelves] = WeakKeyDictionary()


def _is_ledger(shelf: Shelf) -> bool:
    try:
        with shelf.reading():
            return True
    except LedgerError:
        return False


@hookimpl
def register_routes() -> list[tuple[str, Callable[..., Any]]]:
    """The pages, under /-/ledger."""
    return [
        (r"^/-/ledger/-/assets/(?P<package>[a-z]+)/(?P<file>[A-Za-z0-9._-]+)$", _asset),
        (r"^/-/ledger/?$", _first),
        (r"^/-/ledger/(?P<database>[^/]+)/?(?P<path>.*)$", _page),
    ]


def _asset(request: Any) -> Response:
    found = asset_bytes(request.url_vars["package"], request.url_vars["file"])
    if found is None:
        return _respond(_problem("there is no such file", 404))
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "max-age=31536000, immutable",
        "Content-Type": found[1],
    }
    return _respond((200, found[0], headers))


def _versions() -> Mapping[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for pages in all_pages():
        for file in (*pages.styles, "live.js"):
            asset = asset_bytes(pages.name, file)
            if asset is not None:
                found[pages.name, file] = hashlib.sha256(asset[0]).hexdigest()[:12]
    return found


def _databases(datasette: Any) -> list[tuple[str, str]]:
    return [
        (name, str(database.path)) for name, database in datasette.databases.items()
        if database.path and name != "_internal"
    ]  # fmt: skip


async def _first(datasette: Any, request: Any) -> Response:
    """The one ledger's first page; where there are several, which there are."""
    shelves = _SHELVES.setdefault(datasette, _Shelves())
    found = [
        name for name, path in _databases(datasette) if await asyncio.to_thread(_is_ledger, shelves.of(name, path))
    ]
    if len(found) == 1:
        return await _answer(datasette, request, found[0], "")
    allowed = [name for name in found if await _may_see(datasette, request.actor, name)]
    if not found:
        return _respond(_problem("none of the databases served here is a ledger", 404))
    links = [(name, f"{datasette.setting('base_url')}-/ledger/{name}") for name in allowed]
    return _respond((200, draw_problem("", 200, links).encode(), _HEADERS))


async def _page(datasette: Any, request: Any) -> Response:
    return await _answer(datasette, request, unquote(request.url_vars["database"]), request.url_vars["path"])


async def _may_see(datasette: Any, actor: Any, name: str) -> bool:
    """Whether this actor may see the tables that pages read: Datasette checks nothing of custom routes by itself."""
    for table in ("events", "blobs", "edges"):
        if hasattr(datasette, "ensure_permissions"):
            visible, _ = await datasette.check_visibility(
                actor, permissions=[("view-table", (name, table)), ("view-database", name), "view-instance"]
            )
        else:
            from datasette.resources import TableResource  # pyright: ignore

            visible = await datasette.allowed(action="view-table", resource=TableResource(name, table), actor=actor)
        if not visible:
            return False
    return True


async def _answer(datasette: Any, request: Any, name: str, path: str) -> Response:
    known = dict(_databases(datasette))
    if name not in known:
        return _respond(_problem("there is no ledger of that name here", 404))
    if not await _may_see(datasette, request.actor, name):
        return _respond(_problem("you may not see this ledger", 403))
    shelf = _SHELVES.setdefault(datasette, _Shelves()).of(name, known[name])
    links = LiveLinks(datasette.setting("base_url"), name, str(datasette.urls.database(name)), _versions())
    query = parse_qs(request.query_string, keep_blank_values=True)
    return _respond(await asyncio.to_thread(_render, shelf, links, query, path))


def _render(shelf: Shelf, links: LiveLinks, query: Mapping[str, list[str]], path: str) -> Answered:
    try:
        route, parts = find_route(path)
        with shelf.reading() as ledger:
            size, head = ledger.head()
            view = View(ledger, size, head, links, query, shelf.memory_of(ledger))
            answer = route.page(view, **{part: unquote(value) for part, value in parts.items()})
            return _answered(answer, view)
    except PageMissing as problem:
        return _problem(str(problem), 404)
    except NotFound as problem:
        return _problem(str(problem), 404)
    except _known_errors() as problem:
        return _problem(str(problem), 400)
    except sqlite3.Error as problem:
        return _problem(f"the ledger can't be read: {problem}", 500)


def _known_errors() -> tuple[type[Exception], ...]:
    return (LedgerError, *(each for pages in all_pages() for each in pages.errors))


def _answered(answer: Answer, view: View) -> Answered:
    if isinstance(answer, Page):
        return answer.status, draw(answer, view).encode("utf-8", "backslashreplace"), _HEADERS
    if isinstance(answer, Data):
        return 200, json.dumps(answer.value).encode(), {**_HEADERS, "Content-Type": "application/json"}
    return 200, answer.data, _download_headers(answer)


def _download_headers(download: Download) -> Mapping[str, str]:
    name = _SAFE_NAME.sub("_", download.filename)[:120] or "blob"
    return {
        **_HEADERS, "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Type": "application/octet-stream", "Content-Disposition": f'attachment; filename="{name}"',
        "X-Blake3": download.digest,
    }  # fmt: skip


def _problem(sentence: str, status: int) -> Answered:
    return status, draw_problem(sentence, status).encode(), _HEADERS


def _respond(answered: Answered) -> Response:
    status, body, headers = answered
    kind = headers.get("Content-Type", "text/html; charset=utf-8")
    rest = {name: value for name, value in headers.items() if name != "Content-Type"}
    return Response(body, status=status, headers=rest, content_type=kind)
