"""Text of models, servers and strangers on pages: shown as it is; nothing of it runs, loads, hides or breaks out."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import pytest

from ledger import Ledger
from tests.browsing import Site, opened, serious, serve
from tests.web.crawling import Address, Seen, address, crawl
from tests.web.states import ATTACKS, HOSTILE_RUN, MARKER, hostile

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FILES = frozenset({"line", "raw", "body", "head"})
FORBIDDEN = "img, iframe, object, embed, base, frame, meta[http-equiv], link[href^='http:'], form[action^='http']"

WHERE_TO = """() => [...document.querySelectorAll("[href], [src], [action]")].map(each => new URL(
    each.getAttribute("href") ?? each.getAttribute("src") ?? each.getAttribute("action"), document.baseURI).href)"""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile(tmp_path_factory.mktemp("hostile") / "hostile.db")


@pytest.fixture(scope="module")
def site(ledger: Path) -> Iterator[Site]:
    with serve(ledger) as served:
        yield served


@pytest.fixture(scope="module")
def pages(site: Site) -> list[Seen]:
    """Of every kind of page so many that each attack stands on one."""
    most = {"cell": 34, "blob": 26, "event": 26, "run": 10, "search": 14, "compare": 4}
    met: Counter[tuple[object, ...]] = Counter()

    def wanted(url: str, at: Address) -> bool:
        kind = (at.route, *sorted(at.query))
        if at.route in FILES or (at.route == "run" and met[kind] == 2) or met["all", at.route] == most.get(at.route, 4):
            return False
        met[kind] += 1
        met["all", at.route] += 1
        return True

    home = f"{site.url}/hostile"
    starts = [home, f"{home}/search?q={MARKER}", *(f"{home}/search?{httpx.QueryParams(q=each)}" for each in ATTACKS)]
    with httpx.Client(timeout=60) as client:
        return list(crawl(client, starts, wanted))


def test_every_page_is_drawn(pages: list[Seen]) -> None:
    assert [f"{page.status} {page.url}" for page in pages if page.status != 200] == []
    routes = Counter(found.route for page in pages if (found := address(page.url)) is not None)
    assert routes["cell"] >= len(ATTACKS)
    assert routes["blob"] >= len(ATTACKS)
    assert routes["event"] >= 2 * len(ATTACKS)


def test_nothing_runs_loads_or_leads_away_in_a_browser(pages: list[Seen], site: Site, browser: Browser) -> None:
    with opened(browser, site.root) as (page, record):
        for seen in pages:
            page.goto(seen.url)
            assert page.url == seen.url
            assert page.evaluate("document.scripts.length") == 1, seen.url
            assert page.locator(FORBIDDEN).count() == 0, seen.url
            assert page.locator("[onload], [onerror], [onfocus], [onmouseover], [style]").count() == 0, seen.url
            away = [each for each in page.evaluate(WHERE_TO) if not each.startswith((f"{site.root}/", "data:,"))]
            assert away == [], seen.url
        page.wait_for_timeout(300)
        assert record.problems() == []


def test_a_page_lays_out_what_was_sent_at_either_width(pages: list[Seen], site: Site, browser: Browser) -> None:
    chosen = {found.route: page.url for page in pages if (found := address(page.url)) is not None}
    longest = max((page for page in pages if "/cell/" in page.url), key=lambda page: len(page.html))
    with opened(browser, site.root, width=400, lawless=True) as (page, _):
        for url in (*chosen.values(), longest.url):
            page.goto(url)
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, url
            assert serious(page) == [], url


def test_what_a_model_sent_stands_on_its_page_as_text(pages: list[Seen], site: Site, browser: Browser) -> None:
    """The very characters, where they are characters: escaping neither eats nor doubles."""
    with opened(browser, site.root) as (page, _):
        for cell, attack in ((1, ATTACKS[0]), (2, ATTACKS[1]), (3, ATTACKS[2]), (6, ATTACKS[5])):
            page.goto(f"{site.url}/hostile/run/{HOSTILE_RUN}/cell/{cell}")
            assert attack in page.locator("main").inner_text()


def test_no_control_or_direction_of_foreign_text_is_left_in_a_page(pages: list[Seen]) -> None:
    acting = {chr(each) for each in (*range(9), 11, 12, *range(14, 32), *range(127, 160))} | set(
        "\u200b\u200d\ufeff\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )
    for page in pages:
        # What only programs read is exact: values of forms, and sources of numbers.
        html = re.sub(r' (?:value|data-sql|data-cli|data-at)="[^"]*"', "", page.html)
        left = sorted({f"U+{ord(each):04X}" for each in html if each in acting})
        assert not left, f"{page.url}: {left}"


def test_a_long_line_makes_no_long_page_and_none_is_slow(pages: list[Seen]) -> None:
    slow = sorted(((page.seconds, page.url) for page in pages), reverse=True)
    print("slowest:", *(f"\n  {seconds:.3f} s {url}" for seconds, url in slow[:5]))
    assert slow[0][0] < 3, slow[:5]
    assert max(len(page.html) for page in pages) < 1_000_000


def test_blobs_are_sent_as_files_that_no_browser_shows(site: Site, ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        seqs = [seq for (seq,) in connection.execute("SELECT seq FROM events WHERE kind = 'response' ORDER BY seq")]
    with Ledger.open(ledger, read_only=True) as held, httpx.Client(timeout=60) as client:
        for seq in seqs:
            answer = client.get(f"{site.url}/hostile/event/{seq}/blob/body/raw")
            assert answer.status_code == 200
            assert answer.content == held.blob(seq, "body")
            assert answer.headers["content-type"] == "application/octet-stream"
            assert answer.headers["content-disposition"].startswith("attachment;")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_address_that_attacks_is_answered_in_a_sentence(site: Site, attack: str) -> None:
    quoted = quote(attack, safe="")
    paths = [path.format(quoted) for path in ("run/{}", "event/{}", "lineage/{}", "event/1/blob/{}", "{}")]
    queries = ["compare?a={0}&b={0}&rules={0}", f"run/{HOSTILE_RUN}?rules={{0}}&reason={{0}}&sort={{0}}&page={{0}}"]
    with httpx.Client(timeout=60) as client:
        for path in paths:
            answer = client.get(f"{site.url}/hostile/{path}")
            assert answer.status_code in (400, 404), path
            assert attack not in answer.text
        for query in queries:
            answer = client.get(f"{site.url}/hostile/{query.format(quoted)}")
            assert answer.status_code < 500, answer.text
            assert "<script>alert" not in answer.text
