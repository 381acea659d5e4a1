"""The page of a run that goes on, in a real Chromium: it keeps up by itself, and never takes anything from a reader."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ledger import Ledger
from tests.browsing import opened, serious, serve
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
CASES = 8
LIVE, PAUSED = "This page keeps up with the run.", "Paused: this page stays as it is."
MORE, ENDED = "More was appended since this page was drawn.", "The run has stopped; this page shows how it ended."


@dataclass
class Going:
    """A real run in a process of its own, whose model answers only when the test says so."""

    db: Path
    run: str
    gate: threading.Semaphore
    process: Any

    def on(self, answers: int) -> None:
        """Let it get so many answers more, and wait until they are in the ledger."""
        before = self.count("score")
        self.gate.release(answers)
        self.until(lambda: self.count("score") >= before + answers)

    def to_its_end(self) -> None:
        self.gate.release(1000)
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors

    def count(self, kind: str) -> int:
        with Ledger.open(self.db, read_only=True) as ledger:
            return int(ledger.sql("SELECT count(*) FROM events WHERE kind = ?", (kind,)).fetchone()[0])

    def until(self, there: Any) -> None:
        for _ in range(600):
            if there():
                return
            assert self.process.poll() is None, self.process.stderr.read()
            threading.Event().wait(0.05)
        raise AssertionError("the run didn't get there within 30 s")


@contextmanager
def going(folder: Path) -> Iterator[Going]:
    """A run that waits for its first answer."""
    gate, db = threading.Semaphore(0), folder / "moving.db"
    Ledger.create(db).close()

    def answer(prompt: str) -> Answer:
        gate.acquire(timeout=120)
        return Answer(perfect(prompt))

    with model_server(answer) as server:
        words = ["--engine", "openai/slow", "--base-url", server.openai, "--max-connections", "1"]
        process = subprocess.Popen(
            [BIN / "harness", "run", ROOT / "fixtures/authority/v0", *words, "--limit", str(CASES), "--db", db],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            started = Going(db, "", gate, process)
            gate.release()
            started.until(lambda: started.count("score") >= 1)
            with Ledger.open(db, read_only=True) as ledger:
                (started.run,) = ledger.sql("SELECT run FROM events WHERE kind = 'score' LIMIT 1").fetchone()
            yield started
        finally:
            gate.release(1000)
            process.kill()
            process.communicate()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Going]:
    with going(tmp_path) as started:
        yield started


def drawn_of(page: Page) -> int:
    """The event that the page was drawn from."""
    return int(page.evaluate("document.body.dataset.size"))


def later(page: Page) -> None:
    """A while goes by for the page: it looks whether the ledger moved."""
    with page.expect_response(lambda answer: "/head" in answer.url, timeout=20_000):
        page.clock.fast_forward(5_000)
    page.wait_for_timeout(400)


def marked(page: Page) -> None:
    """Leave a mark on what is drawn, that a new drawing hasn't, and one on the page, that a reload hasn't."""
    page.evaluate("window.same = true; document.querySelector('#main h1').dataset.old = 'yes'")


def redrawn(page: Page) -> bool:
    """Whether it was drawn anew by now."""
    assert page.evaluate("window.same === true"), "it isn't loaded anew"
    return page.locator("#main h1[data-old]").count() == 0


def comes(page: Page) -> bool:
    """Whether it is drawn anew in a while: on a busy machine that takes its time."""
    page.locator("#main h1:not([data-old])").wait_for(timeout=20_000)
    return redrawn(page)


def test_a_page_keeps_up_with_its_run_until_it_ends_and_then_says_so(run: Going, browser: Browser) -> None:
    with serve(run.db) as site, opened(browser, site.root) as (page, record):
        page.goto(f"{site.url}/moving/run/{run.run}")
        page.locator("#moved", has_text=LIVE).wait_for()
        marked(page)
        size, text = drawn_of(page), page.locator("main").inner_text()
        run.on(2)
        # This once the time that passes is the clock's.
        page.locator(f"body:not([data-size='{size}'])").wait_for(timeout=20_000)
        assert redrawn(page)
        assert page.locator("main").inner_text() != text
        assert f"event {drawn_of(page)}," in page.locator("footer").inner_text()
        run.to_its_end()
        page.locator("#moved", has_text=ENDED).wait_for(timeout=20_000)
        assert redrawn(page)
        assert page.locator("#moved button").count() == 0
        ended = page.locator("main").inner_text().replace(ENDED, "")
        page.reload()
        assert page.locator("#moved").is_hidden()
        assert page.locator("main").inner_text().split() == ended.split(), "it shows what a new page shows"
        assert record.problems() == []


def test_while_the_run_does_not_move_nothing_is_drawn_again(run: Going, browser: Browser) -> None:
    with serve(run.db) as site, opened(browser, site.root) as (page, record):
        page.clock.install()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{site.url}/moving/run/{run.run}")
        later(page)
        marked(page)
        asked.clear()
        for _ in range(3):
            later(page)
        assert not redrawn(page)
        assert {url.partition("?")[0].rpartition("/")[2] for url in asked} == {"head"}
        assert record.problems() == []


def test_pause_stops_it_and_go_on_resumes_it_by_keyboard_alone(run: Going, browser: Browser) -> None:
    with serve(run.db) as site, opened(browser, site.root) as (page, record):
        page.clock.install()
        page.goto(f"{site.url}/moving/run/{run.run}")
        page.get_by_role("button", name="Pause").focus()
        page.keyboard.press("Enter")
        assert PAUSED in page.locator("#moved").inner_text()
        assert page.evaluate("document.activeElement.textContent") == "Go on", "the focus isn't lost"
        later(page)
        marked(page)
        run.on(1)
        later(page)
        assert not redrawn(page)
        assert PAUSED in page.locator("#moved").inner_text()
        page.reload()
        page.locator("#moved", has_text=PAUSED).wait_for()
        marked(page)
        run.on(1)
        later(page)
        assert not redrawn(page), "a page that is loaded again stays paused"
        page.get_by_role("button", name="Go on").focus()
        page.keyboard.press("Enter")
        assert LIVE in page.locator("#moved").inner_text()
        later(page)
        assert comes(page)
        assert page.evaluate("document.activeElement.textContent") == "Pause", "a new drawing leaves the focus"
        assert record.problems() == []


def test_who_fills_in_a_form_or_marks_a_passage_is_not_interrupted(run: Going, browser: Browser) -> None:
    with serve(run.db) as site, opened(browser, site.root) as (page, record):
        page.clock.install()
        page.goto(f"{site.url}/moving")
        page.locator("#moved", has_text=LIVE).wait_for()
        field = page.locator("main input[name='q']")
        field.fill("half a wo")
        marked(page)
        run.on(1)
        later(page)
        assert not redrawn(page)
        assert MORE in page.locator("#moved").inner_text()
        assert field.input_value() == "half a wo"
        field.blur()
        page.evaluate("document.getSelection().selectAllChildren(document.querySelector('h1'))")
        later(page)
        assert not redrawn(page)
        page.evaluate("document.getSelection().removeAllRanges()")
        later(page)
        assert comes(page)
        assert LIVE in page.locator("#moved").inner_text()
        assert record.problems() == []


def test_what_was_unfolded_and_pushed_aside_stays_so(run: Going, browser: Browser) -> None:
    with serve(run.db) as site, opened(browser, site.root, width=400) as (page, record):
        page.clock.install()
        page.goto(f"{site.url}/moving/run/{run.run}")
        later(page)
        folds = page.locator("main details")
        assert folds.count() > 0
        folds.first.evaluate("each => { each.open = !each.open; }")
        states = page.eval_on_selector_all("main details", "all => all.map(each => each.open)")
        pushed = page.evaluate(
            """() => { const wide = [...document.querySelectorAll("main .wide")];
              const at = wide.findIndex(each => each.scrollWidth > each.clientWidth + 10);
              wide[at].scrollLeft = 9; return at; }"""
        )
        marked(page)
        run.on(1)
        later(page)
        assert comes(page)
        assert page.eval_on_selector_all("main details", "all => all.map(each => each.open)") == states
        assert page.evaluate("at => document.querySelectorAll('main .wide')[at].scrollLeft", pushed) == 9
        assert record.problems() == []


def test_the_notice_is_well_for_everyone_in_either_scheme(run: Going, browser: Browser) -> None:
    with serve(run.db) as site:
        for dark in (False, True):
            with opened(browser, site.root, dark=dark, width=400, lawless=True) as (page, _):
                for path in (f"/run/{run.run}", ""):
                    page.goto(f"{site.url}/moving{path}")
                    page.locator("#moved", has_text=LIVE).wait_for()
                    assert serious(page) == []
                    page.get_by_role("button", name="Pause").click()
                    assert serious(page) == []
                    page.get_by_role("button", name="Go on").click()


def test_sources_of_numbers_are_shown_by_keyboard_and_without_script(run: Going, browser: Browser) -> None:
    shown = "getComputedStyle(document.querySelector('main data[title]'), '::after').content"
    with serve(run.db) as site, opened(browser, site.root, lawless=True) as (page, _):
        page.goto(f"{site.url}/moving/run/{run.run}")
        assert page.evaluate(shown) == "none"
        page.get_by_role("checkbox", name="Show where each number comes from").focus()
        page.keyboard.press("Space")
        title = page.locator("main data[title]").first.get_attribute("title")
        assert title and title.split()[0] in page.evaluate(shown)
        assert serious(page) == []
        page.set_viewport_size({"width": 400, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.keyboard.press("Space")
        assert page.evaluate(shown) == "none"
    with serve(run.db) as site, opened(browser, site.root, script=False) as (page, record):
        page.goto(f"{site.url}/moving/run/{run.run}")
        before = page.locator("main").bounding_box()
        page.locator("#sources").check()
        after = page.locator("main").bounding_box()
        assert before and after and after["height"] > before["height"]
        assert record.problems() == []
