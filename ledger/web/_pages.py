"""What a page is: a route, a function that answers it, and what it answers with. No framework is known here.

A page's function takes a `View` (one moment of one ledger, and how to link) and the parts of its path; it returns a
`Page` to draw or a `Download` to send. The same functions serve Datasette and write plain files, and other packages add
theirs as an entry point of the group `eval_ledger.web` that names a `Pages`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

from ledger._errors import LedgerError, NotFound

if TYPE_CHECKING:
    from ledger._store import Ledger
    from ledger.web._figure import Figure
    from ledger.web._links import Links
    from ledger.web._memory import Memory

__all__ = [
    "GROUP", "Answer", "Crumb", "Data", "Download", "Headline", "Page", "PageMissing", "Pages", "Query", "Route",
    "View", "all_pages", "find_route", "route_named",
]  # fmt: skip

GROUP = "eval_ledger.web"
_PART = re.compile(r"\{([a-z]+)\}")


class PageMissing(NotFound):
    """There is no such page: nothing in this ledger goes by what the address names."""


@dataclass(frozen=True, slots=True)
class Crumb:
    """A step of the way to a page: its text, and the route and parts it links to (None for the page itself)."""

    text: str
    route: str | None = None
    parts: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class Page:
    """A page to draw: `template` is looked up as PACKAGE/NAME ("ledger/event.html"), `values` are its variables.

    `about` is the run that the page speaks of, for telling the reader that it moved on; empty for the whole ledger.
    `live` says that it speaks of something that is going on, and is drawn again by itself as that goes on.
    `awaits` says that some of it is being worked out, for telling the reader when that is done.
    """

    title: str
    template: str
    values: Mapping[str, Any]
    crumbs: Sequence[Crumb] = ()
    about: str = ""
    status: int = 200
    live: bool = False
    awaits: bool = False


@dataclass(frozen=True)
class Download:
    """Exact bytes, to be saved and never to be shown by a browser. `digest` is their plain BLAKE3."""

    data: bytes
    filename: str
    digest: str


@dataclass(frozen=True)
class Data:
    """JSON for a page's script."""

    value: Mapping[str, Any]


Answer = Page | Download | Data
Query = Mapping[str, Sequence[str]]
"""What stands behind the question mark of an address: each name with its values, in order."""


@dataclass(frozen=True)
class View:
    """One request: a ledger held at one moment, its size (the seq of the head) and head hash then, and how to link.

    `memory` outlives the request: what was worked out before, and what is being worked out. `fixed` says that the page
    becomes a file: no search, no sorting, and nothing that asks a server. `db` is the ledger's path as it was given.
    """

    ledger: Ledger
    size: int
    head: str
    links: Links
    query: Query
    memory: Memory
    fixed: bool = False
    db: str = ""

    def first(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(name, ())
        return values[0] if values else default

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**53 - 1) -> int:
        """A query parameter as a whole number within bounds. Raises PageMissing, saying what was expected."""
        text = self.first(name)
        if not text:
            return default
        if not re.fullmatch(r"[0-9]{1,16}", text) or not least <= int(text) <= most:
            raise PageMissing(f"{name}: expected a whole number from {least} to {most}, got {text[:40]!r}")
        return int(text)


@dataclass(frozen=True)
class Route:
    """A kind of page. `path` holds its parts in braces ("run/{run}/cell/{cell}"), each of which is free of slashes."""

    name: str
    path: str
    page: Callable[..., Answer]

    def match(self, path: str) -> dict[str, str] | None:
        """The parts of `path` where it is one of this kind."""
        pieces = _PART.split(self.path)
        pattern = "".join(
            f"(?P<{piece}>[^/]+)" if position % 2 else re.escape(piece) for position, piece in enumerate(pieces)
        )
        found = re.fullmatch(pattern, path)
        return found.groupdict() if found else None

    def fill(self, parts: Mapping[str, str]) -> str:
        """The path with its parts (quoted already) put in."""
        return _PART.sub(lambda found: parts[found[1]], self.path)


@dataclass(frozen=True)
class Headline:
    """A run's own figure for the first page: of which candidate, rule set and metric, and where the interval lies.

    `rate`, `low` and `high` are shares (None: no data); `k` and `n` figures as people are shown them. `mark` says why
    the figure doesn't hold.
    """

    candidate: str
    rules: str
    metric: str
    k: Figure
    n: Figure
    rate: Figure
    low: Figure
    high: Figure
    mark: str = ""


@dataclass(frozen=True)
class Pages:
    """What a package adds: its routes, its `templates` and `static` folders (a package's name), and `nav`: routes
    without parts that stand in every page's navigation, with their text. `errors` are exceptions whose text is a
    sentence for people. `styles` are files of its static folder that every page loads. `headlines` gives a run's
    primary figures for the first page; it may cost a glance at the run's scores, and no more. `ahead` works out what
    the page of a run keeps in memory, before anybody asks for it."""

    name: str
    package: str
    routes: Sequence[Route]
    nav: Sequence[tuple[str, str]] = ()
    errors: tuple[type[Exception], ...] = ()
    styles: Sequence[str] = ()
    headlines: Callable[[View, str], Sequence[Headline]] | None = None
    ahead: Callable[[View, str], None] | None = None


@cache
def all_pages() -> tuple[Pages, ...]:
    """Every package's pages, `ledger`'s own first. Raises LedgerError for an installed one that can't be loaded."""
    from ledger.web._own import OWN

    found: list[Pages] = [OWN]
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            found.append(cast("Pages", point.load()))
        except (ImportError, AttributeError) as problem:
            raise LedgerError(f"the pages {point.name!a} ({point.value}) can't be loaded: {problem}") from None
    return tuple(found)


@cache
def _by_name() -> Mapping[str, Route]:
    return {route.name: route for pages in all_pages() for route in pages.routes}


def route_named(name: str) -> Route | None:
    """The route of that name; None where no installed package brings it."""
    return _by_name().get(name)


def find_route(path: str) -> tuple[Route, dict[str, str]]:
    """The route that `path` (without a leading slash, still quoted) belongs to, and its parts. Raises PageMissing."""
    for route in _by_name().values():
        parts = route.match(path)
        if parts is not None:
            return route, parts
    raise PageMissing("there is no such page here")
