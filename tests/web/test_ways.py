"""Ways through the pages in a real Chromium: to the raw bytes, while a run appends, from a disk, behind a prefix."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from ledger import Draft, Ledger, find_run, kinds
from ledger.web._files import write_pages
from tests.browsing import NARROW, Site, opened, serious, serve
from tests.web.crawling import address, read
from tests.web.states import MARKER, hostile

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def site(history: Path) -> Iterator[Site]:
    with serve(history) as served:
        yield served


def the_run(path: Path, name: str) -> str:
    with Ledger.open(path, read_only=True) as ledger:
        return find_run(ledger, name)


@pytest.mark.parametrize("name", ["qwen1.5b-v1", "w73h"])
def test_three_clicks_lead_from_a_number_of_the_scoreboard_to_the_bytes_it_came_from(
    name: str, history: Path, site: Site, browser: Browser
) -> None:
    run = the_run(history, name)
    with opened(browser, site.root) as (page, record):
        page.goto(f"{site.url}/history/run/{run}")
        number = page.locator("#scoreboard ~ section td a:has(data)").first
        k = int(number.inner_text().replace(",", ""))
        number.click()
        page.wait_for_load_state()
        cells = page.locator("table.matrix tbody tr")
        assert cells.count() == k, "the number leads to as many cells as it counts"
        cells.first.locator("a").first.click()
        page.wait_for_load_state()
        at = address(page.url)
        assert at is not None and at.route == "cell"
        link = page.locator("a[href$='/raw']", has_text="bytes").last
        with page.expect_download() as told:
            link.click()
        target = re.search(r"/event/([0-9]+)/blob/([^/]+)/raw$", told.value.url)
        assert target is not None
        assert record.console == record.errors == record.refused == record.outside == []
        data = Path(told.value.path()).read_bytes()
    with Ledger.open(history, read_only=True) as ledger:
        event = ledger.event(int(target[1]))
        assert (event.kind, event.run, event.cell) == ("response", run, int(at.parts["cell"]))
        assert data == ledger.blob(event, target[2])


def test_the_notice_appears_when_the_run_on_the_page_is_touched_and_drawing_again_shows_it(
    history: Path, tmp_path: Path, browser: Browser
) -> None:
    path = Path(shutil.copyfile(history, tmp_path / "moving.db"))
    run, other = the_run(path, "qwen1.5b-v1"), the_run(path, "smollm2")
    target = kinds.Target(what="run", id=run)
    with serve(path) as site, opened(browser, site.root) as (page, record):
        page.goto(f"{site.url}/moving/run/{run}")
        assert page.locator("#moved").is_hidden()
        with Ledger.open(path) as ledger:
            plan = ledger.sql("SELECT seq FROM events WHERE run = ? AND kind = 'plan'", (run,)).fetchone()[0]
            ledger.append(Draft(kinds.Note(text="beside"), run=other))
        page.wait_for_timeout(6_000)
        assert page.locator("#moved").is_hidden(), "another run's note changes nothing here"
        with Ledger.open(path) as ledger:
            ledger.append(Draft(kinds.Taint(target=target, reason="its gold is wrong"), causes=[plan]))
        page.locator("#moved").wait_for(state="visible", timeout=20_000)
        assert "its gold is wrong" not in page.locator("main").inner_text()
        page.get_by_role("link", name="Draw it again").click()
        page.wait_for_load_state()
        until = time.monotonic() + 20
        while "its gold is wrong" not in page.locator("main").inner_text():
            # What is dear is worked out beside the pages; until then they say as of when they speak.
            assert "being worked out again" in page.locator("main").inner_text()
            assert time.monotonic() < until, "the page stays as it was"
            page.wait_for_timeout(200)
            page.reload()
        assert page.locator("#moved").is_hidden()
        assert record.problems() == []


def _size(text: str) -> int:
    found = re.search(r"as it stood at event (?:<[^>]*>)?([0-9]+)", text)
    assert found is not None
    return int(found[1])


def _head(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT max(seq) FROM events").fetchone()[0])


def test_pages_stay_whole_and_current_while_a_run_appends(history: Path, tmp_path: Path) -> None:
    """Each is of one moment between the head before and after it was asked for, and what it counts adds up."""
    path, replies = tmp_path / "moving.db", tmp_path / "replies.db"
    for copy in (path, replies):
        shutil.copyfile(history, copy)
    before = _head(path)
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("HARNESS_", "LEDGER_"))}
    command = [BIN / "harness", "run", ROOT / "fixtures/authority", "--engine", f"replay/{replies}", "--db", path]
    sizes: list[int] = []
    with serve(path) as site, httpx.Client(timeout=60) as client:
        home = f"{site.url}/moving"
        writer = subprocess.Popen(
            command, cwd=tmp_path, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            run, until = "", time.monotonic() + 120
            while writer.poll() is None and time.monotonic() < until:
                pages = [home, f"{home}/run/{run}", f"{home}/run/{run}/cell/1"] if run else [home]
                for url in pages:
                    least = _head(path)
                    answer = client.get(url)
                    assert answer.status_code == 200, answer.text
                    size = _size(answer.text)
                    assert least <= size <= _head(path), url
                    sizes.append(size)
                    _adds_up(url, answer, path)
                if not run and _head(path) > before + 20:
                    run = the_run(path, "latest")
            _, errors = writer.communicate(timeout=60)
        finally:
            writer.kill()
        assert writer.returncode == 0, errors
        assert len(set(sizes)) > 3, "pages were drawn while the run appended"
        final = client.get(f"{home}/run/{run}")
        numbers = {number.text for number in read(f"{home}/run/{run}", final).numbers}
    assert _size(final.text) == _head(path)
    assert "72" in numbers


def _adds_up(url: str, answer: httpx.Response, path: Path) -> None:
    """Numbers of one query text agree with one another, and no count goes past what the ledger holds by now."""
    seen = read(url, answer)
    by_source: dict[tuple[str, str, str], object] = {}
    for number in seen.numbers:
        source = (number.command, number.pointer, number.query)
        assert by_source.setdefault(source, number.value) == number.value, f"{url}: {source} stands there twice"
    counted = [number for number in seen.numbers if number.query.startswith("SELECT count(*) ")]
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        for number in counted[:10]:
            now = connection.execute(number.query).fetchone()[0]
            assert "unmeasured" in number.query or number.value <= now, f"{url}: {number.query}"


def _from_disk(page: Page, folder: Path) -> list[Path]:
    """Open every page of the folder that links lead to from its first one."""
    waiting = [folder / "index.html"]
    known = set(waiting)
    for file in waiting:
        page.goto(file.as_uri())
        assert page.locator("h1").count() == 1, file
        for link in page.eval_on_selector_all("a[href]", "all => all.map(each => each.getAttribute('href'))"):
            name = str(link).partition("#")[0].partition("?")[0]
            target = (file.parent / name).resolve() if name else file
            assert target.is_relative_to(folder) and target.is_file(), f"{file} leads to {link}"
            if target.suffix == ".html" and target not in known:
                known.add(target)
                waiting.append(target)
    return waiting


def test_pages_written_as_files_open_from_a_disk_and_ask_for_nothing(
    history: Path, tmp_path: Path, browser: Browser
) -> None:
    write_pages(history, tmp_path / "out", run="hd3w", report=None, told=print)
    with opened(browser, "file://") as (page, record):
        opened_files = _from_disk(page, (tmp_path / "out").resolve())
        assert record.problems() == []
    assert len(opened_files) > 20
    with opened(browser, "file://", width=NARROW, lawless=True) as (page, _):
        for name in ("index.html", "run.html", "lineage.html"):
            if (tmp_path / "out" / name).exists():
                page.goto((tmp_path / "out" / name).as_uri())
                assert serious(page) == []
                assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


def test_hostile_pages_written_as_files_run_and_load_nothing(tmp_path: Path, browser: Browser) -> None:
    write_pages(hostile(tmp_path / "hostile.db"), tmp_path / "out", run=None, report=None, told=print)
    files = sorted((tmp_path / "out").rglob("*.html"))
    assert len(files) > 40
    marked = 0
    with opened(browser, "file://") as (page, record):
        for file in files[:: max(1, len(files) // 60)]:
            page.goto(file.as_uri())
            assert page.evaluate("document.scripts.length") == 0, file
            marked += MARKER in page.locator("main").inner_text()
        assert record.problems() == []
    assert marked > 20


def test_behind_a_prefix_every_link_and_file_stays_below_it(history: Path, browser: Browser) -> None:
    with serve(history, base_url="/evals/") as site, opened(browser, site.root) as (page, record):
        home = f"{site.url}/history"
        for path in ("", f"/run/{the_run(history, 'smollm2')}", "/event/20", "/search?q=authority"):
            page.goto(f"{home}{path}")
            links = page.eval_on_selector_all("[href]", "all => all.map(each => each.getAttribute('href'))")
            odd = [each for each in links if not str(each).startswith(("/evals/", "#", "?", "data:,"))]
            assert odd == [], path
        page.locator("main a").first.click()
        page.wait_for_load_state()
        assert record.problems() == []


def test_datasettes_own_pages_of_a_ledger_are_well_too(history: Path, site: Site, browser: Browser) -> None:
    with opened(browser, site.root) as (page, record):
        for path in ("/history", "/history/events", "/history/blobs", "/history/edges", "/history/scores",
                     "/history/scoreboard", "/history/events/300"):  # fmt: skip
            page.goto(f"{site.root}{path}")
            assert page.locator("h1").count() == 1, path
        page.goto(f"{site.root}/history")
        canned = page.eval_on_selector_all("a[href^='/history/']", "all => all.map(each => each.getAttribute('href'))")
        for path in [each for each in canned if "/" not in each[len("/history/") :] and "?" not in each]:
            page.goto(f"{site.root}{path}")
        page.wait_for_timeout(300)
        assert record.problems() == []
