"""The page of a run whose figures take long: what is shown meanwhile, of which moment, and when it is whole."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ledger.web._desk as desk
import ledger.web._memory as memory
from harness._errors import UsageError
from harness.web import _facts as facts
from harness.web._run import run as draw_run
from ledger import Draft, Ledger, kinds, supersede
from ledger.web._home import warm
from ledger.web._links import LiveLinks
from ledger.web._pages import Page, View
from ledger.web._reading import Shelf
from tests.harness.reported import hostile_ledger
from tests.harness.web.pages import Pages, cells_of, words
from tests.web.sources import Sources


def test_figures_that_are_being_worked_out_again_say_of_which_event_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_TOO_LONG", 0.0)
    db = tmp_path / "moving.db"
    run = hostile_ledger(db)
    with Pages(db) as found:
        assert "Figures as of event" not in words(found.run(run))
        with Ledger.open(db) as writer:
            size = writer.head()[0]
            writer.append(Draft(kinds.Note(text="more to say"), run=run, causes=[1]))
        page = found.run(run)
        assert f"Figures as of event {size}" in words(page)
        for _ in range(200):
            page = found.run(run)
            if "Figures as of event" not in words(page):
                break
    assert "more to say" in words(page)


def test_a_page_of_an_older_state_counts_the_cells_of_that_state_and_says_which_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = facts.read_report

    def slowly(ledger: Ledger, run: str) -> Any:
        time.sleep(0.3)
        return whole(ledger, run)

    # The report takes long, and isn't made again; the cells are quick, and are read anew by whoever asks for them.
    monkeypatch.setattr(facts, "read_report", slowly)
    monkeypatch.setattr(memory, "_APART", 1e6)
    db, then = tmp_path / "moving.db", tmp_path / "then.db"
    run = hostile_ledger(db, cells=5)
    shutil.copy(db, then)
    with Pages(db) as found:
        found.run(run)
        with Ledger.open(db) as writer:
            size = writer.head()[0]
            (scored, *_) = writer.events(kind="score", run=run)
            body = writer.body(scored)
            assert isinstance(body, kinds.Score)
            gone = {"outcome": "unmeasured", "status": "error", "stage": "api", "reason": "overloaded", "metrics": {}}
            writer.append(Draft(body.model_copy(update=gone), run=run, cell=scored.cell, causes=list(scored.causes)))
            supersede(writer, run, by=None, category="operator", reason="asked of the wrong server")
        page, cells = found.run(run), found.run(run, sort="case")
    said = words(page)
    assert said.count("Figures as of event") == 1
    assert f"Figures as of event {size} , all of them" in said
    assert f"are as of event {size + 2}" in said
    assert "SUPERSEDED without a successor" in said
    assert "overloaded" not in said
    sources = Sources(then)
    assert [told for number in page.numbers if (told := sources.wrong(number))] == []
    ended = sum(number.value for number in page.numbers if '"outcome" = ' in number.query)
    planned = {number.value for number in page.numbers if number.pointer.endswith("/planned")}
    failed = sum(number.value for number in page.numbers if re.fullmatch("/unmeasured/[0-9]+/count", number.pointer))
    assert (ended, planned, failed) == (5, {5}, 3)
    # Some of the cells alone are one moment by themselves: this one.
    assert "overloaded" in words(cells)
    assert "as of event" not in words(cells).partition("Cells and stages")[2].partition("The chain")[0]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Reports of runs are worked out once it is set, and pages wait for nothing."""
    opened, whole = threading.Event(), facts.read_report

    def read(ledger: Ledger, run: str) -> Any:
        assert opened.wait(60)
        return whole(ledger, run)

    monkeypatch.setattr(facts, "read_report", read)
    monkeypatch.setattr(desk, "PATIENCE", 0.0)
    yield opened
    opened.set()


def test_a_run_whose_figures_take_long_is_shown_without_them_and_they_come(
    tmp_path: Path, gate: threading.Event
) -> None:
    db = tmp_path / "long.db"
    run = hostile_ledger(db)
    with Ledger.open(db) as writer:
        supersede(writer, run, by=None, category="operator", reason="asked of the wrong server")
    with Pages(db) as found:
        url, head = f"/-/ledger/long/run/{run}", f"/-/ledger/long/head?run={run}"
        page = found.first(url)
        said = words(page)
        assert page.status == 200
        assert "being worked out, and whether a taint reaches them." in said
        assert "SUPERSEDED without a successor" in said
        assert "asked of the wrong server" in said
        assert "Everything that decides a request beside the case" in said
        assert url in page.links
        assert (page.digits, page.inline, page.headings[0]) == ([], [], 1)
        assert [told for number in page.numbers if (told := Sources(db).wrong(number))] == []
        assert found.data(head)["awaited"] is True
        # The cells come before the report does, and stand there as soon as they are read.
        cells = words(found.at(f"{url}?sort=case"))
        assert "Cells and stages" in cells
        early = found.first(url)
        assert "The scoreboard, and all else that is counted" in words(early)
        assert cells_of(early)
        assert [told for number in early.numbers if (told := Sources(db).wrong(number))] == []
        gate.set()
        whole = found.at(url)
        assert "being worked out" not in words(whole)
        assert 'id="scoreboard"' in whole.html
        assert found.data(head)["awaited"] is False


def test_the_newest_run_s_page_is_ready_before_anybody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = tmp_path / "warm.db"
    run = hostile_ledger(db)
    shelf = Shelf(db)
    warm(shelf)
    monkeypatch.setattr(facts, "read_report", lambda ledger, run: pytest.fail("it was ready"))
    with shelf.reading() as ledger:
        links = LiveLinks("/", "warm", "/warm", {})
        view = View(ledger, *ledger.head(), links, {}, shelf.memory_of(ledger))
        page = draw_run(view, run)
    assert isinstance(page, Page)
    assert not page.awaits
    shelf.close()


def test_what_can_t_be_worked_out_is_told_and_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(ledger: Ledger, run: str) -> Any:
        raise UsageError("the run can't be read: no reason")

    monkeypatch.setattr(facts, "read_report", fail)
    monkeypatch.setattr(desk, "PATIENCE", 0.0)
    db = tmp_path / "odd.db"
    run = hostile_ledger(db)
    with Pages(db) as found:
        page = found.run(run)
    assert page.status == 400
    assert "the run can't be read: no reason" in words(page)
