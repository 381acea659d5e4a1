"""A page as it is answered by a real Datasette over a real ledger, and what stands on it."""

from __future__ import annotations

import asyncio
import html
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ledger import Ledger
from ledger.web import make_datasette

__all__ = ["Shown", "resolve", "shown"]


@dataclass(frozen=True)
class Shown:
    """A page: its status, its HTML, and its readable text (one space for every run of white space)."""

    status: int
    html: str

    @property
    def text(self) -> str:
        body = self.html[max(0, self.html.find("<main")) :]
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())

    @property
    def links(self) -> list[str]:
        return [html.unescape(each) for each in re.findall(r'href="([^"]*)"', self.html)]

    def marked(self, kind: str) -> list[tuple[str, str]]:
        """Each highlighted stretch of a <pre> of that kind as exactly the text it shows, with its tooltip."""
        reader = _Marks(kind)
        reader.feed(self.html)
        return reader.found

    def numbers(self) -> list[tuple[str, str, str, Any]]:
        """(command, pointer, query, value) of every number on the page."""
        found: list[tuple[str, str, str, Any]] = []
        for tag in re.findall(r"<data ([^>]*)>", self.html):
            given = {name: html.unescape(value) for name, value in re.findall(r'([a-z-]+)="([^"]*)"', tag)}
            value = json.loads(given["value"]) if "value" in given else None
            found.append((given.get("data-cli", ""), given.get("data-at", ""), given.get("data-sql", ""), value))
        return found

    def around(self, start: str, end: str) -> str:
        """The readable text from one word to another."""
        return self.text.partition(start)[2].partition(end)[0]


class _Marks(HTMLParser):
    def __init__(self, kind: str) -> None:
        super().__init__(convert_charrefs=True)
        self._kind = kind
        self._in_pre = False
        self._title: str | None = None
        self._text = ""
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "pre":
            self._in_pre = True
        if tag == "mark" and self._in_pre and self._kind in (given.get("class") or "").split():
            self._title, self._text = given.get("title") or "", ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._in_pre = False
        if tag == "mark" and self._title is not None:
            self.found.append((self._text, self._title))
            self._title = None

    def handle_data(self, data: str) -> None:
        if self._title is not None:
            self._text += data


@lru_cache(maxsize=2)
def _datasette(db: Path) -> Any:
    return make_datasette(db)


def shown(db: Path, path: str) -> Shown:
    """The page at a path behind the ledger's own; one Datasette serves all pages of a ledger."""

    async def get() -> Any:
        return await _datasette(db).client.get(f"/-/ledger/{db.stem}/{path}")

    while ' data-awaits="' in (answer := asyncio.run(get())).text:
        pass
    return Shown(answer.status_code, answer.text)


def resolve(db: Path, page: Shown) -> int:
    """Hold every number of a page against the command or the query that it names; how many there are."""
    from typer.testing import CliRunner

    from harness.cli import app as harness
    from ledger._pointer import resolve as at
    from ledger.cli import app as ledger

    printed: dict[str, Any] = {}
    numbers = page.numbers()
    for command, pointer, query, value in numbers:
        if query:
            with Ledger.open(db, read_only=True) as opened:
                ((found,),) = opened.sql(query).fetchall()
        else:
            if command not in printed:
                program, *words = command.split(" ")
                done = CliRunner().invoke(
                    {"ledger": ledger, "harness": harness}[program], [*words, "--db", str(db), "--json"],
                    standalone_mode=False,
                )  # fmt: skip
                printed[command] = json.loads(done.stdout)
            found = at(printed[command], pointer)
        assert found == value, f"{command or query} {pointer}: the page has {value!r}, it has {found!r}"
    return len(numbers)
