"""Every page that can be reached from the first one, and what stands on it: links, numbers, digits without a source."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import httpx

from ledger.web._pages import PageMissing, find_route

__all__ = ["Address", "Number", "Seen", "address", "crawl", "read"]

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
EXEMPT = frozenset(
    {"data", "code", "pre", "time", "bdi", "a", "nav", "caption", "title", "label", "option", "dt"}
    | {"style", "script"}
)
EXEMPT_CLASSES = frozenset({"nav", "quoted"})
"""Where a digit may stand without a source: names, times, hashes, what a person or program wrote, ways about."""

NAMES = re.compile(r"\b(?:BLAKE3|UTF-8|SHA-256|Ed25519|RFC [0-9]+|95% interval|U\+[0-9A-F]{4})\b")
"""Words that have digits, and state no number of a ledger."""


@dataclass(frozen=True)
class Number:
    """A number as a page shows it: the attributes of its <data> and its text."""

    page: str
    text: str
    value: Any
    form: str
    command: str
    pointer: str
    query: str


@dataclass
class Seen:
    """A page as it was answered."""

    url: str
    status: int
    headers: httpx.Headers
    html: str
    seconds: float = 0.0
    title: str = ""
    links: list[str] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    digits: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Address:
    """What an address under the pages names: a route, its parts and its query."""

    route: str
    parts: dict[str, str]
    query: dict[str, list[str]]


def address(url: str) -> Address | None:
    """What a URL names, None where it is no page of a ledger."""
    where = urlsplit(url)
    found = re.fullmatch(r"(?:/.*?)?/-/ledger(?:/([^/]+)(?:/(.*))?)?", where.path)
    if found is None or found[1] == "-":
        return None
    try:
        route, parts = find_route(found[2] or "")
    except PageMissing:
        return None
    return Address(route.name, {part: unquote(value) for part, value in parts.items()}, parse_qs(where.query))


class _Reader(HTMLParser):
    def __init__(self, seen: Seen) -> None:
        super().__init__(convert_charrefs=True)
        self._seen = seen
        self._open: list[tuple[str, bool]] = []
        self._number: dict[str, str] | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("a", "form"):
            target = given.get("href", given.get("action"))
            if target is not None:
                self._seen.links.append(urljoin(self._seen.url, target))
        if re.fullmatch("h[1-6]", tag):
            self._seen.headings.append(int(tag[1]))
        if "id" in given:
            self._seen.ids.append(given["id"])
        if "style" in given or any(name.startswith("on") for name in given):
            self._seen.inline.append(f"<{tag} {given}>")
        if tag == "data":
            self._number, self._text = given, []
        if tag not in VOID:
            exempt = bool(self._open and self._open[-1][1])
            exempt = exempt or tag in EXEMPT or bool(EXEMPT_CLASSES & set(given.get("class", "").split()))
            self._open.append((tag, exempt))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            closed, _ = self._open.pop()
            if closed == tag:
                break
        if tag == "data" and self._number is not None:
            given = self._number
            value = json.loads(given["value"]) if "value" in given else None
            self._seen.numbers.append(
                Number(
                    self._seen.url, "".join(self._text), value, given.get("data-form", ""), given.get("data-cli", ""),
                    given.get("data-at", ""), given.get("data-sql", ""),
                )
            )  # fmt: skip
            self._number = None

    def handle_data(self, data: str) -> None:
        if self._number is not None:
            self._text.append(data)
        if self._open and self._open[-1][0] == "title":
            self._seen.title += data
        if not (self._open and self._open[-1][1]) and re.search(r"\d", NAMES.sub("", data)):
            self._seen.digits.append(" ".join(data.split())[:200])


def read(url: str, answer: httpx.Response) -> Seen:
    """A page, taken apart. Of what isn't HTML only status and headers are told."""
    kind = answer.headers.get("content-type", "")
    seen = Seen(url, answer.status_code, answer.headers, answer.text if kind.startswith("text/html") else "")
    seen.seconds = answer.elapsed.total_seconds() if hasattr(answer, "_elapsed") else 0.0
    reader = _Reader(seen)
    reader.feed(seen.html)
    reader.close()
    return seen


def crawl(client: httpx.Client, starts: Iterable[str], wanted: Callable[[str, Address], bool]) -> Iterator[Seen]:
    """Every page that links lead to from `starts` and that is `wanted`, nearest first, each once."""
    waiting = deque(starts)
    known = set(waiting)
    while waiting:
        url = waiting.popleft()
        while ' data-awaits="' in (answer := client.get(url)).text and "/-/ledger" in url:
            time.sleep(0.05)
        seen = read(url, answer)
        yield seen
        for link in seen.links:
            link = link.partition("#")[0]
            target = address(link)
            if target is not None and link not in known and wanted(link, target):
                known.add(link)
                waiting.append(link)
