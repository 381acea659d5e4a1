"""Every kind of page in a real Chromium, on the project's history, on runs in every state, and on 200,000 events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from ledger.web._pages import all_pages
from tests.browsing import NARROW, WIDE, Site, opened, serious, serve
from tests.web.crawling import Address, address, crawl

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FILES = frozenset({"line", "raw", "body", "head"})
SEARCHES = ("search?q=case", "search?q=nothing-is-called-that")


@dataclass(frozen=True)
class Shown:
    """A ledger that is served, and a page of each kind that links lead to, narrowed and not."""

    site: Site
    home: str
    pages: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """One page of each kind."""
        return tuple({found.route: each for each in self.pages if (found := address(each)) is not None}.values())


def _sampled(home: str) -> tuple[str, ...]:
    met: Counter[tuple[object, ...]] = Counter()

    def wanted(url: str, at: Address) -> bool:
        if at.route in FILES:
            return False
        kind = (at.route, *sorted(at.query))
        met[kind] += 1
        met["all", at.route] += met[kind] == 1
        return met[kind] == 1 and met["all", at.route] <= 4

    with httpx.Client(timeout=120) as client:
        found = list(crawl(client, [home, *(f"{home}/{each}" for each in SEARCHES)], wanted))
    # Of the made ledger no cases are frozen, so its runs can't be compared; the page says so, and with which status.
    return tuple(seen.url for seen in found if seen.status != 400)


@pytest.fixture(scope="module", params=["history", "states", "large"])
def shown(request: pytest.FixtureRequest) -> Iterator[Shown]:
    ledger: Path = request.getfixturevalue(request.param)
    with serve(ledger) as site:
        home = f"{site.url}/{ledger.stem}"
        yield Shown(site, home, _sampled(home))


def test_links_lead_from_the_first_page_to_every_kind_of_page(shown: Shown) -> None:
    reached = {found.route for page in shown.pages if (found := address(page)) is not None}
    brought = {route.name for pages in all_pages() for route in pages.routes}
    assert brought - FILES - reached == set()
    assert {"home", "search", "event", "blob", "lineage", "run", "cell", "compare"} <= reached


def test_nothing_is_amiss_on_any_page_and_none_is_wider_than_a_narrow_screen(shown: Shown, browser: Browser) -> None:
    wide: list[str] = []
    with opened(browser, shown.site.root) as (page, record):
        for url in shown.pages:
            page.set_viewport_size({"width": WIDE, "height": 900})
            page.goto(url)
            wide += _too_wide(page, WIDE)
            page.set_viewport_size({"width": NARROW, "height": 900})
            wide += _too_wide(page, NARROW)
        page.wait_for_timeout(300)
        assert record.problems() == []
    assert wide == []


def _too_wide(page: Page, width: int) -> list[str]:
    needed = page.evaluate("document.documentElement.scrollWidth")
    if needed <= width:
        return []
    widest = page.evaluate(
        """width => [...document.querySelectorAll("main *, header *, footer *")]
             .filter(each => each.getBoundingClientRect().right > width + 1 && !each.closest(".wide"))
             .slice(0, 3).map(each => each.outerHTML.slice(0, 160))""",
        width,
    )
    return [f"{page.url} is {needed} wide at {width}: {widest}"]


def test_axe_finds_nothing_serious_light_and_wide_or_dark_and_narrow(shown: Shown, browser: Browser) -> None:
    found: list[str] = []
    with opened(browser, shown.site.root, lawless=True) as (page, _):
        for url in shown.kinds:
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": WIDE, "height": 900})
            page.goto(url)
            found += [f"{url}: {each}" for each in serious(page)]
            page.emulate_media(color_scheme="dark")
            page.set_viewport_size({"width": NARROW, "height": 900})
            looked = ["color-contrast", "scrollable-region-focusable", "target-size"]
            found += [f"{url}, dark and narrow: {each}" for each in serious(page, looked)]
    assert not found, f"{len(found)} findings:\n" + "\n".join(found[:30])


def test_axe_would_find_what_is_serious(shown: Shown, browser: Browser) -> None:
    with opened(browser, shown.site.root, lawless=True) as (page, _):
        page.goto(f"{shown.home}/search?q=nothing-is-called-that")
        page.evaluate("document.querySelector('h1').style.color = '#bbbbbb'")
        page.evaluate("document.querySelector('main').append(document.createElement('input'))")
        assert {each.split()[0] for each in serious(page)} == {"color-contrast", "label"}


def test_every_page_says_the_same_without_script(shown: Shown, browser: Browser) -> None:
    with opened(browser, shown.site.root) as (with_script, _), opened(browser, shown.site.root, script=False) as other:
        without, record = other
        for url in shown.kinds:
            with_script.goto(url)
            without.goto(url)
            # What only the script does is to keep the page up with its run, and it says so.
            with_script.evaluate("document.getElementById('moved').hidden = true")
            said = without.locator("main").inner_text()
            assert said == with_script.locator("main").inner_text(), url
            assert without.locator("h1").inner_text().strip(), url
        assert record.problems() == []


def test_the_keyboard_reaches_the_content_and_every_link(shown: Shown, browser: Browser) -> None:
    with opened(browser, shown.site.root) as (page, _):
        for url in shown.pages[:8]:
            page.goto(url)
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "skip", url
            box = page.locator(".skip").bounding_box()
            assert box is not None and box["x"] >= 0 and box["y"] >= 0, "what has the focus is seen"
            page.keyboard.press("Enter")
            links = page.locator("main a[href]:visible, main button:visible, main input:visible, main summary:visible")
            if links.count():
                page.keyboard.press("Tab")
                inside = page.evaluate("document.querySelector('main').contains(document.activeElement)")
                assert inside, f"{url}: after the skip link the focus is in the content"


def test_tab_goes_through_all_that_can_be_reached_on_the_first_page(shown: Shown, browser: Browser) -> None:
    with opened(browser, shown.site.root) as (page, _):
        page.goto(shown.home)
        wanted = page.evaluate(
            """() => [...document.querySelectorAll("a[href]")].filter(each => each.checkVisibility()).length"""
        )
        met: set[int] = set()
        for _ in range(wanted + 400):
            page.keyboard.press("Tab")
            at = page.evaluate("[...document.querySelectorAll('a[href]')].indexOf(document.activeElement)")
            if at >= 0 and at in met and len(met) >= wanted:
                break
            if at >= 0:
                met.add(at)
        assert len(met) >= wanted
