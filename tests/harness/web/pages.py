"""Pages of a ledger as Datasette answers them, without a socket, and taken apart."""

from __future__ import annotations

import asyncio
import re
import time
from html import unescape
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from ledger.web import make_datasette
from tests.web.crawling import Seen, read

__all__ = ["ROW", "Pages", "cells_of", "words"]

ROW = re.compile(r'<td class="right nav">(?:<a [^>]*>)?(\d+)(?:</a>)?</td>')


class Pages:
    """The pages of one ledger. A `with` block ends its loop."""

    def __init__(self, db: Path, **settings: Any) -> None:
        self.db = db
        self._loop = asyncio.new_event_loop()
        self._datasette = make_datasette(db, **settings)
        self._loop.run_until_complete(self._datasette.invoke_startup())

    def __enter__(self) -> Pages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def at(self, url: str) -> Seen:
        """The page at a link's address, a path from the root of the server, once it awaits nothing."""
        while ' data-awaits="' in (seen := self.first(url)).html:
            time.sleep(0.05)
        return seen

    def first(self, url: str) -> Seen:
        """The page as whoever asks first sees it."""
        return read(url, self._loop.run_until_complete(self._datasette.client.get(url)))

    def data(self, url: str) -> Any:
        """The JSON at an address."""
        return self._loop.run_until_complete(self._datasette.client.get(url)).json()

    def run(self, run: str, **query: object) -> Seen:
        """The page of a run, with a question behind its address."""
        asked = f"?{urlencode(query)}" if query else ""
        return self.at(f"/-/ledger/{self.db.stem}/run/{run}{asked}")


def words(page: Seen) -> str:
    """The page as text, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.html)).split())


def cells_of(page: Seen) -> list[int]:
    """The ordinals of the cells in a page's matrix, in its order."""
    assert page.status == 200
    return [int(each) for each in ROW.findall(page.html.partition('class="matrix"')[2].partition("</table>")[0])]
