"""A run's pages as plain files in a folder, to hand to somebody: `ledger serve --static`.

The same functions and templates as behind a server. What a page links to is written as well, where it belongs to the
run; every other link is bare text. No file asks for anything outside the folder, and none has a script.
"""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import quote

from markupsafe import Markup

from ledger._errors import LedgerError
from ledger._store import Ledger
from ledger.web._changed import PageUnreadable
from ledger.web._folder import new_folder
from ledger.web._memory import Memory
from ledger.web._pages import Download, Page, View, all_pages, route_named
from ledger.web._render import asset_bytes, draw, draw_problem
from ledger.web._scope import Scope, scope_of
from ledger.web._verdict import VerdictShown, verdict_of

__all__ = ["FileLinks", "Written", "write_pages"]

_LEAVES: Mapping[str, frozenset[str]] = {
    "": frozenset({"rules", "page"}), "compare": frozenset({"rules", "page", "pair", "metric"}),
}  # fmt: skip
_TOP = frozenset({"index.html", "run.html", "lineage.html", "runs", "cells", "events", "blobs", "compare"})
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_DOWNLOADS = {"line": "events/{seq}.line.txt", "body": "events/{seq}.body.json", "raw": "blobs/{seq}-{name}.bin"}
_EVENT_ROUTES = frozenset({"event", "blob", *_DOWNLOADS})
# How far into a blob pages go; the .bin beside them has all of it.
_MOST_AT = {"hex": 64 << 10, "text": 1 << 20}
_SAID_EACH = 5.0
_UNDRAWN = (
    "this page can't be drawn ({}): either what it reads is not what was written, or this program has a fault;"
    " `ledger verify` says which"
)

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Written:
    """What was written: the first page, and how many pages and files, of how many bytes.

    `tampered` says that the ledger isn't what was written, as every page of it says too.
    """

    index: Path
    pages: int
    files: int
    bytes: int
    tampered: bool


@dataclass(frozen=True)
class _Address:
    """A page by its route, its parts and its query, in one spelling each."""

    route: str
    parts: Query
    query: Query

    def part(self, name: str) -> str:
        return dict(self.parts).get(name, "")

    @property
    def filters(self) -> Query:
        """What narrows it: the query without what only turns the leaves of a page."""
        leaves = _LEAVES.get(self.route, _LEAVES[""])
        return tuple(each for each in self.query if each[0] not in leaves)


def write_pages(
    db: Path, folder: Path, *, run: str | None, report: int | None, told: Callable[[str], None]
) -> Written:  # fmt: skip
    """Write the pages of a run (the newest, without a word), or of a report and its run, as they stand now.

    `told` hears of the progress. Raises NotALedger, NotFound and FolderRefused; the folder appears whole or not at all.
    """
    with Ledger.open(db, read_only=True) as ledger, ledger.at_one_moment():
        scope = scope_of(ledger, run, report)
        with new_folder(folder, _TOP) as made:
            site = _Site(ledger, made, scope, Memory(db))
            site.write(told)
    return Written(folder / "index.html", site.pages, site.files, site.bytes, site.chain.tampered)


class FileLinks:
    """How one page links to the others in the folder: relative to the file that it becomes."""

    def __init__(self, site: _Site, page: _Address, file: str) -> None:
        self._site = site
        self._page = page
        self._up = "../" * file.count("/")

    def to(self, route: str, query: Mapping[str, object] | None = None, /, **parts: object) -> str | None:
        address = _address(route, query, parts)
        found = self._site.file_for(address, self._page) if address is not None else None
        return self._up + quote(found) if found is not None else None

    def table(self, name: str, row: object = None, /, **filters: object) -> str | None:
        return None

    def asset(self, package: str, name: str) -> str | None:
        return None


def _address(route: str, query: Mapping[str, object] | None, parts: Mapping[str, object]) -> _Address | None:
    if route_named(route) is None:
        return None
    pairs: list[tuple[str, str]] = []
    for name, value in (query or {}).items():
        values = cast("list[object]", list(value)) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
        pairs += [(name, str(each)) for each in values if each is not None and each != ""]
    # The first page, a text from its beginning: the same as without a word. A cell is the same under every rule set.
    dull = {("page", "1"), ("view", "text"), ("at", "0")}
    kept = tuple(sorted(each for each in pairs if each not in dull and (route, each[0]) != ("cell", "rules")))
    return _Address(route, tuple(sorted((name, str(value)) for name, value in parts.items())), kept)


class _Site:
    """The folder while it is written: which pages it has, and which are still to be drawn."""

    def __init__(self, ledger: Ledger, folder: Path, scope: Scope, memory: Memory) -> None:
        self._ledger, self._folder, self._scope, self._memory = ledger, folder, scope, memory
        self._size, self._head = ledger.head()
        self._known: dict[_Address, str | None] = {}
        self._waiting: deque[_Address] = deque()
        # Drawn last: a narrowed page leads to no page that is narrowed otherwise, or there would be no end of them.
        self._narrowed: deque[_Address] = deque()
        self._sheet, self._policy = _sheet()
        self._undrawn: list[str] = []
        nowhere = FileLinks(self, _Address("home", (), ()), "")
        # Once for all pages, and before the first of them is drawn.
        self.chain: VerdictShown = verdict_of(View(ledger, self._size, self._head, nowhere, {}, memory, fixed=True))
        self.pages = self.files = self.bytes = 0

    def write(self, told: Callable[[str], None]) -> None:
        for name in ("runs", "cells", "events", "blobs", "compare"):
            (self._folder / name).mkdir()
        subject = self._scope.run
        seeds = [("event", {"seq": self._scope.report})] if self._scope.report is not None else []
        seeds += [("run", {"run": subject}), ("lineage", {"run": subject})]
        seeds += [("cell", {"run": subject, "cell": each}) for each in self._scope.cells]
        seeds += [("event", {"seq": each}) for each in sorted(self._scope.events)]
        for route, parts in seeds:
            address = _address(route, None, parts)
            if address is not None:
                self.file_for(address, None)
        said = time.monotonic()
        while self._waiting or self._narrowed:
            address = self._waiting.popleft() if self._waiting else self._narrowed.popleft()
            self._draw(address)
            if time.monotonic() - said >= _SAID_EACH:
                said = time.monotonic()
                left = len(self._waiting) + len(self._narrowed)
                told(f"{self.pages:,} pages written, {left:,} more are known")
        if self._undrawn:
            told(
                f"warning: of the {self.pages:,} pages {len(self._undrawn):,} can't be drawn, the first of them"
                f" {self._undrawn[0][:300]}; `ledger verify` says whether the ledger is as it was written"
            )

    def file_for(self, address: _Address, page: _Address | None) -> str | None:
        """The file of a page, to be drawn if it isn't yet; None for what doesn't belong here. `page` links to it."""
        if address in self._known:
            return self._known[address]
        if not self._belongs(address):
            return None
        if page is not None and page.filters and address.filters and page.filters != address.filters:
            return None
        if address.route in _DOWNLOADS:
            found = self._known[address] = self._download(address)
            return found
        found = self._known[address] = self._file(address)
        (self._narrowed if address.route == "run" and address.filters else self._waiting).append(address)
        return found

    def _belongs(self, address: _Address) -> bool:
        subject = self._scope.run
        if address.route in _EVENT_ROUTES:
            seq = address.part("seq")
            query = dict(address.query)
            at, most = query.get("at", "0"), _MOST_AT.get(query.get("view", "text"), 0)
            return seq.isdigit() and int(seq) in self._scope.events and at.isdigit() and int(at) < most
        if address.route == "cell" and not re.fullmatch("[1-9][0-9]{0,15}", address.part("cell")):
            return False
        if address.route in ("run", "lineage", "cell"):
            return address.part("run") == subject and all(name != "sort" for name, _ in address.query)
        if address.route == "compare":
            sides = [value for name, value in address.query if name in ("a", "b")]
            return bool(sides) and all(each.partition("@")[0] == subject for each in sides)
        return False

    def _file(self, address: _Address) -> str:
        seq = address.part("seq")
        match address.route:
            case "event":
                return "index.html" if seq == str(self._scope.report) else f"events/{seq}.html"
            case "blob":
                query = dict(address.query)
                at = f"-{query['at']}" if "at" in query else ""
                return f"blobs/{seq}-{_safe(address.part('name'))}.{query.get('view', 'text')}{at}.html"
            case "cell":
                return f"cells/{address.part('cell')}.html"
            case "run" if not address.query:
                return "index.html" if self._scope.report is None else "run.html"
            case "run":
                return f"runs/{_digest(repr(address.query))}.html"
            case "compare":
                return f"compare/{_digest(repr(address.query))}.html"
            case _:
                return "lineage.html"

    def _view(self, address: _Address, file: str) -> View:
        query: dict[str, list[str]] = {}
        for name, value in address.query:
            query.setdefault(name, []).append(value)
        links = FileLinks(self, address, file)
        db = self._memory.path.name
        return View(self._ledger, self._size, self._head, links, query, self._memory, fixed=True, db=db)

    def _draw(self, address: _Address) -> None:
        file = self._known[address]
        route = route_named(address.route)
        assert file is not None and route is not None
        view = self._view(address, file)
        try:
            answer = route.page(view, **dict(address.parts))
            assert isinstance(answer, Page)
            text = draw(answer, view, policy=self._policy, sheet=self._sheet, drawn_from=self.chain)
        except PageUnreadable as problem:
            self._undrawn.append(f"{file} ({problem})")
            text = draw_problem(str(problem), 500, policy=self._policy)
        except _known_errors() as problem:
            text = draw_problem(str(problem), 404, policy=self._policy)
        except OSError:
            raise
        except Exception as problem:  # noqa: BLE001 - what was changed in one event mustn't keep back all the others
            self._undrawn.append(f"{file} ({type(problem).__name__}: {problem})")
            text = draw_problem(_UNDRAWN.format(type(problem).__name__), 500, policy=self._policy)
        self.pages += 1
        self._write(file, text.encode("utf-8", "backslashreplace"))

    def _download(self, address: _Address) -> str | None:
        route = route_named(address.route)
        assert route is not None
        try:
            answer = route.page(self._view(address, ""), **dict(address.parts))
        except _known_errors():
            return None
        if not isinstance(answer, Download):
            return None
        file = _DOWNLOADS[address.route].format(seq=address.part("seq"), name=_safe(address.part("name")))
        self._write(file, answer.data)
        return file

    def _write(self, file: str, data: bytes) -> None:
        (self._folder / file).write_bytes(data)
        self.files += 1
        self.bytes += len(data)


def _known_errors() -> tuple[type[Exception], ...]:
    return (LedgerError, *(each for pages in all_pages() for each in pages.errors))


def _safe(name: str) -> str:
    # Names that differ in their case alone, or that some system reserves, would be one file there.
    return name if _PLAIN.fullmatch(name) else f"x{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sheet() -> tuple[Markup, str]:
    """Every package's style sheets as one, and the policy that allows just that text."""
    found: list[str] = []
    for pages in all_pages():
        for style in pages.styles:
            data = asset_bytes(pages.name, style)
            if data is not None:
                found.append(re.sub(r"/\*.*?\*/", "", data[0].decode("utf-8"), flags=re.DOTALL))
    text = re.sub(r"\s+", " ", "".join(found)).strip()
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return Markup(text), policy  # noqa: S704 - the sheets of installed packages, and nothing out of a ledger
