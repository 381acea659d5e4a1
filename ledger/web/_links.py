"""Addresses of pages: under Datasette, or of files in a folder. A page knows routes and never builds an address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote, urlencode

from ledger.web._pages import route_named

__all__ = ["Links", "LiveLinks"]


class Links(Protocol):
    """How pages reach one another. Every method gives None where there is nothing to reach."""

    def to(self, route: str, query: Mapping[str, object] | None = None, /, **parts: object) -> str | None:
        """The address of a page. `query` leaves out what is None or empty; a list stands for several values."""
        ...

    def table(self, name: str, row: object = None, /, **filters: object) -> str | None:
        """The address of a table or view in Datasette itself: narrowed by column values, or of one row."""
        ...

    def asset(self, package: str, name: str) -> str | None:
        """The address of a package's static file."""
        ...


def _query(query: Mapping[str, object] | None) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in (query or {}).items():
        values = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        pairs += [(name, str(each)) for each in values if each is not None and each != ""]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f"?{urlencode(pairs)}" if pairs else ""


class LiveLinks:
    """Addresses under a running Datasette: `base` is its base_url, `database` the name it has the ledger under."""

    def __init__(self, base: str, database: str, table_base: str, versions: Mapping[tuple[str, str], str]) -> None:
        self.database = database
        self._pages = f"{base}-/ledger/{quote(database, safe='')}"
        self._assets = f"{base}-/ledger/-/assets"
        self._table_base = table_base
        self._versions = versions

    def to(self, route: str, query: Mapping[str, object] | None = None, /, **parts: object) -> str | None:
        found = route_named(route)
        if found is None:
            return None
        path = found.fill({name: quote(str(value), safe="") for name, value in parts.items()})
        return f"{self._pages}{'/' if path else ''}{path}{_query(query)}"

    def table(self, name: str, row: object = None, /, **filters: object) -> str | None:
        if row is not None:
            return f"{self._table_base}/{name}/{quote(str(row), safe='')}"
        return f"{self._table_base}/{name}{_query({f'{column}__exact': value for column, value in filters.items()})}"

    def asset(self, package: str, name: str) -> str | None:
        version = self._versions.get((package, name), "")
        return f"{self._assets}/{package}/{name}{_query({'v': version})}"
