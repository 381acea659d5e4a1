"""Runs of which somebody changed what stands in the file: the first page says what holds, and warming is quiet."""

from __future__ import annotations

import sqlite3
from contextlib import closing
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


@pytest.mark.filterwarnings("error")
def test_warming_says_nothing_of_what_can_not_be_worked_out(changed: Path, capfd: Any) -> None:
    shelf = Shelf(changed)
    warm(shelf)
    shelf.close()
    assert capfd.readouterr() == ("", "")
