"""Runs of which somebody changed what stands in the file: the first page says what holds, and warming is quiet."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ledger.web._home import warm
from ledger.web._reading import Shelf
from tests.harness.reported import run_again, suite_with_bars
from tests.harness.web.pages import Pages


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A ledger of two runs, the plan of the first of which says something of another type."""
    suite, db = suite_with_bars(tmp_path), tmp_path / "ledger.db"
    first, _ = (run_again(db, suite, name=name, limit=2) for name in ("first", "second"))
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("DROP TRIGGER events_update")
        connection.execute(
            "UPDATE events SET body = json_set(body, '$.epochs', json('[1]'), '$.candidates', json('[{}]'))"
            " WHERE kind = 'plan' AND run = ?", (first,),
        )  # fmt: skip
        connection.commit()
    return db


def test_the_first_page_stands_and_says_of_which_run_there_are_no_figures(changed: Path) -> None:
    with Pages(changed) as pages:
        seen = pages.at("/-/ledger")
    assert seen.status == 200
    assert seen.html.count("The figures can't be worked out:") == 1
    assert "`ledger verify` says more" in seen.html
    assert seen.html.count('class="headlines"') == 1


CHANGES = {
    "a plan that is no JSON": ("plan", "'{'"),
    "a plan whose rules are a number": ("plan", "json_set(body, '$.rules', 5)"),
    "a plan whose name is a list": ("plan", "json_set(body, '$.name', json('[1]'))"),
    "a score of another type": ("score", "json_set(body, '$.metrics', json('[1]'), '$.outcome', json('{}'))"),
    "a score that is no JSON": ("score", "'nothing'"),
    "a close that is no JSON": ("close", "'[1'"),
    "a close of another type": ("close", "'7'"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_was_changed_in_one_run_every_page_is_a_sentence_and_the_first_lists_the_others(
    tmp_path: Path, change: str
) -> None:
    suite, db = suite_with_bars(tmp_path), tmp_path / "ledger.db"
    first, second = (run_again(db, suite, name=name, limit=2) for name in ("first", "second"))
    kind, made = CHANGES[change]
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("DROP TRIGGER events_update")
        changed = connection.execute(f"UPDATE events SET body = {made} WHERE kind = ? AND run = ?", (kind, first))
        assert changed.rowcount
        connection.commit()
    with Pages(db) as pages:
        seen = pages.at("/-/ledger")
        assert seen.status == 200
        assert first in seen.html
        assert f'/run/{second}"' in seen.html
        assert "Does the chain hold?" in seen.html
        for address in (f"run/{first}", f"run/{first}?sort=case", f"lineage/{first}", f"compare?a={first}&b={second}"):
            told = pages.at(f"/-/ledger/ledger/{address}")
            assert told.status in (200, 400), (address, told.html)


def test_a_page_that_can_not_be_worked_out_says_so_and_who_tells_why(changed: Path) -> None:
    with closing(sqlite3.connect(changed)) as connection:
        (run,) = connection.execute("SELECT run FROM events WHERE kind = 'plan' ORDER BY seq LIMIT 1").fetchone()
    with Pages(changed) as pages:
        for address in (f"run/{run}", f"run/{run}?sort=case"):
            seen = pages.at(f"/-/ledger/ledger/{address}")
            assert seen.status == 400
            said = unescape(seen.html)
            assert "isn't what was written, or this program has a fault; `ledger verify` says which" in said


def test_a_plan_that_was_changed_is_not_offered_to_compare_and_keeps_no_other_back(changed: Path) -> None:
    with closing(sqlite3.connect(changed)) as connection:
        bad, good = [run for (run,) in connection.execute("SELECT run FROM events WHERE kind = 'plan' ORDER BY seq")]
    with Pages(changed) as pages:
        seen = pages.at("/-/ledger/ledger/compare")
    assert seen.status == 200
    assert f'<option value="{good}">' in seen.html
    assert bad not in seen.html


@pytest.mark.filterwarnings("error")
def test_warming_says_nothing_of_what_can_not_be_worked_out(changed: Path, capfd: Any) -> None:
    shelf = Shelf(changed)
    warm(shelf)
    shelf.close()
    assert capfd.readouterr() == ("", "")
