"""A real server on loopback, a real Chromium, and what a page did in it: for tests, screenshots and benches.

Debian's Chromium is driven by Playwright; nothing is downloaded, and what needs a browser is skipped without one.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import uvicorn

from ledger.web import make_datasette

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request, Response

__all__ = ["Record", "Site", "at_rest", "chromium", "launched", "opened", "serious", "serve"]

NARROW, WIDE = 400, 1280


@dataclass(frozen=True)
class Site:
    """Ledgers as they are served: `url` is where their pages start, without a slash at the end."""

    url: str
    root: str
    datasette: Any


@contextmanager
def serve(*paths: Path, **settings: Any) -> Iterator[Site]:
    """These ledgers behind a real HTTP server on a free port of loopback, until the block ends."""
    datasette = make_datasette(*paths, **settings)
    server = uvicorn.Server(uvicorn.Config(datasette.app(), log_level="warning", lifespan="on", access_log=False))
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        until = time.monotonic() + 30
        while not server.started:
            assert thread.is_alive(), "the server ended before it started"
            assert time.monotonic() < until, "the server didn't start within 30 s"
            time.sleep(0.01)
        root = f"http://127.0.0.1:{listening.getsockname()[1]}"
        base = str(settings.get("base_url", "/"))
        yield Site(f"{root}{base}-/ledger", root, datasette)
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()


def chromium() -> str | None:
    """Where Chromium is: the variable CHROMIUM, or what stands on the PATH."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser, until the block ends. Skips the test that asks where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright isn't installed")
    where = chromium()
    if where is None:
        pytest.skip("no Chromium on the PATH (on Debian: apt-get install chromium)")
    # Chromium has no sandbox for root, and none is needed: all that it opens is ours, on loopback.
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    quiet = ["--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=[*alone, *quiet])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Record:
    """What happened on a page since it was opened: each list is empty on a page that is well."""

    host: str
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Everything that is wrong, in sentences."""
        told = {
            "console": self.console, "error": self.errors, "request failed": self.failed, "refused": self.refused,
            "asked another host": self.outside, "dialog": self.dialogs,
        }  # fmt: skip
        return [f"{what}: {each}" for what, several in told.items() for each in several]

    def watch(self, page: Page) -> None:
        """Write down what happens on this page from now on."""
        page.on("console", lambda said: said.type in ("error", "warning") and self.console.append(said.text))
        page.on("pageerror", lambda problem: self.errors.append(str(problem)))
        page.on("requestfailed", lambda request: self.failed.append(f"{request.url}: {request.failure}"))
        page.on("response", self._answered)
        page.on("request", self._asked)
        page.on("dialog", self._spoke)

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.refused.append(f"{response.status} {response.url}")

    def _asked(self, request: Request) -> None:
        where = urlsplit(request.url)
        if where.scheme not in ("data", "about") and where.netloc != self.host:
            self.outside.append(request.url)

    def _spoke(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@contextmanager
def opened(
    browser: Browser, root: str, *, dark: bool = False, width: int = WIDE, script: bool = True, lawless: bool = False
) -> Iterator[tuple[Page, Record]]:
    """A page in a context of its own, and the record of what happens on it.

    `root` is the one host that may be asked (scheme and host, or `file://`). `script` off: as with JavaScript disabled.
    `lawless`: the Content-Security-Policy isn't enforced, so that axe can be put in.
    """
    context: BrowserContext = browser.new_context(
        color_scheme="dark" if dark else "light", viewport={"width": width, "height": 900}, java_script_enabled=script,
        bypass_csp=lawless, accept_downloads=True,
    )  # fmt: skip
    context.set_default_timeout(30_000)
    page = context.new_page()
    record = Record(urlsplit(root).netloc)
    record.watch(page)
    try:
        yield page, record
    finally:
        context.close()


def at_rest(page: Page, address: str) -> None:
    """Open an address and wait until nothing moves any more."""
    page.goto(address, wait_until="load")


def _axe() -> str:
    from axe_playwright_python.base import AXE_FILE_PATH

    return AXE_FILE_PATH.read_text("utf-8")


def serious(page: Page, only: Sequence[str] = ()) -> list[str]:
    """What axe-core finds serious or critical on the page as it is now; of these rules alone, where any are named.

    The page must be one of a lawless context.
    """
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(_axe())
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if only:
        options["runOnly"] = {"type": "rule", "values": list(only)}
    found: list[dict[str, Any]] = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}; {len(each['nodes'])} times, first at {node['target']}:"
        f" {node['html'][:200]} {' '.join(said['message'] for said in node['any'])[:300]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
