"""From a request to a page: which ledger, who may see it, one moment of it, and headers that keep a page harmless."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sqlite3
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from datasette import Response  # pyright: ignore[reportMissingTypeStubs]

from ledger._errors import LedgerError, NotALedger, NotFound
from ledger.web._links import LiveLinks
from ledger.web._pages import Answer, Data, Download, Page, View, all_pages, find_route
from ledger.web._reading import Shelf
from ledger.web._render import asset_bytes, draw, draw_problem
from ledger.web._shelves import as_given, ledger_names, may_see, shelf_of, stale, tables_end

__all__ = ["POLICY", "asset", "first", "links_of", "page"]

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}  # fmt: skip
_SAFE_NAME = re.compile(r"[^A-Za-z0-9._-]")
_MOST_QUERY = 8 << 10

Answered = tuple[int, bytes, Mapping[str, str]]


def asset(request: Any) -> Response:
    """A static file of an installed package's pages."""
    if (refused := _refused(request)) is not None:
        return refused
    found = asset_bytes(request.url_vars["package"], request.url_vars["file"])
    if found is None:
        return _respond(request, _problem("there is no such file", 404))
    headers = {
        "X-Content-Type-Options": "nosniff", "Cache-Control": "max-age=31536000, immutable", "Content-Type": found[1],
    }  # fmt: skip
    return _respond(request, (200, found[0], headers))


async def first(datasette: Any, request: Any) -> Response:
    """The one ledger's first page; where there are several, which there are."""
    if (refused := _refused(request)) is not None:
        return refused
    found = await ledger_names(datasette)
    if not found:
        return _respond(request, _problem("none of the databases served here is a ledger", 404))
    allowed = [name for name in found if await may_see(datasette, request.actor, name)]
    if not allowed:
        return _respond(request, _problem("you may not see a ledger here", 403))
    if len(found) == 1:
        return await _answer(datasette, request, found[0], "")
    links = [(name, f"{datasette.setting('base_url')}-/ledger/{quote(name, safe='')}") for name in allowed]
    return _respond(request, (200, draw_problem("", 200, links).encode(), _HEADERS))


async def page(datasette: Any, request: Any) -> Response:
    """Any page of the ledger that the address names."""
    if (refused := _refused(request)) is not None:
        return refused
    return await _answer(datasette, request, unquote(request.url_vars["database"]), request.url_vars["path"])


def links_of(datasette: Any, name: str) -> LiveLinks:
    """How pages of this database link under this Datasette."""
    return _links(datasette.setting("base_url"), name, str(datasette.urls.database(name)))


@lru_cache(64)
def _links(base: str, name: str, tables: str) -> LiveLinks:
    return LiveLinks(base, name, tables, _versions())


@cache
def _versions() -> Mapping[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for pages in all_pages():
        for file in (*pages.styles, "live.js", "ledger-tables.css"):
            data = asset_bytes(pages.name, file)
            if data is not None:
                found[pages.name, file] = hashlib.sha256(data[0]).hexdigest()[:12]
    return found


def _refused(request: Any) -> Response | None:
    if request.method not in ("GET", "HEAD"):
        status, body, headers = _problem(f"pages are only read here: {request.method[:20]} is refused", 405)
        return _respond(request, (status, body, {**headers, "Allow": "GET, HEAD"}))
    if len(request.query_string) > _MOST_QUERY:
        return _respond(request, _problem("what stands behind the question mark is too long", 414))
    return None


async def _answer(datasette: Any, request: Any, name: str, path: str) -> Response:
    shelf = shelf_of(datasette, name)
    if shelf is None:
        return _respond(request, _problem("there is no ledger of that name here", 404))
    if not await may_see(datasette, request.actor, name):
        return _respond(request, _problem("you may not see this ledger", 403))
    links = links_of(datasette, name)
    query = parse_qs(request.query_string, keep_blank_values=True, encoding="utf-8", errors="replace")
    end = await tables_end(datasette, name)
    return _respond(
        request, await asyncio.to_thread(_render, shelf, links, query, path, end, as_given(datasette, shelf.path))
    )


def _render(
    shelf: Shelf, links: LiveLinks, query: Mapping[str, list[str]], path: str, tables_end: int | None, db: str
) -> Answered:  # fmt: skip
    try:
        route, parts = find_route(path)
        with shelf.reading() as ledger:
            size, head = ledger.head()
            view = View(ledger, size, head, links, query, shelf.memory_of(ledger), db=db)
            answer = route.page(view, **{part: unquote(value) for part, value in parts.items()})
            return _answered(answer, view, stale(links.database, tables_end, size))
    except (NotFound, NotALedger) as problem:
        return _problem(str(problem), 404, links)
    except _known_errors() as problem:
        return _problem(str(problem), 400, links)
    except sqlite3.Error as problem:
        return _problem(f"the ledger can't be read: {problem}", 500, links)


def _known_errors() -> tuple[type[Exception], ...]:
    return (LedgerError, *(each for pages in all_pages() for each in pages.errors))


def _answered(answer: Answer, view: View, notice: str) -> Answered:
    if isinstance(answer, Page):
        more = {"notice": notice} if notice else {}
        return answer.status, draw(answer, view, **more).encode("utf-8", "backslashreplace"), _HEADERS
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


def _problem(sentence: str, status: int, links: LiveLinks | None = None) -> Answered:
    return status, draw_problem(sentence, status, links=links).encode("utf-8", "backslashreplace"), _HEADERS


def _respond(request: Any, answered: Answered) -> Response:
    status, body, headers = answered
    kind = headers.get("Content-Type", "text/html; charset=utf-8")
    rest = {name: value for name, value in headers.items() if name != "Content-Type"}
    return Response(b"" if request.method == "HEAD" else body, status=status, headers=rest, content_type=kind)
