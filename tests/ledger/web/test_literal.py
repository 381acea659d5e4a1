"""Values in SQL that a page shows: SQLite reads back what was written, and nothing in them acts or hides."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import printable
from ledger.web import literal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
HIDDEN = st.text(st.sampled_from("\u202e\x1b\x00\u200b'|a\n"))


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:
        yield opened


@given(text=TEXTS | HIDDEN)
def test_sqlite_reads_the_very_text_and_a_screen_obeys_none_of_it(connection: sqlite3.Connection, text: str) -> None:
    written = literal(text)
    assert printable(written) == written
    assert connection.execute(f"SELECT {written}").fetchone() == (text,)
    assert connection.execute("SELECT ? = " + written, (text,)).fetchone() == (1,)


def test_a_text_that_nothing_hides_in_stands_there_as_people_write_it() -> None:
    assert literal("it's é 漢") == "'it''s é 漢'"
    assert literal("") == "''"
    assert literal("a\u202eb") == "'a' || char(8238) || 'b'"


@pytest.mark.parametrize("text", ["\x1b" * 5_000, "a\u200b" * 5_000])
def test_a_long_text_of_what_hides_goes_past_no_bound_of_sqlite(connection: sqlite3.Connection, text: str) -> None:
    assert connection.execute(f"SELECT {literal(text)}").fetchone() == (text,)


@pytest.mark.parametrize("value", [None, 0, -17, 2**60])
def test_a_number_and_nothing_are_what_they_are(connection: sqlite3.Connection, value: int | None) -> None:
    assert connection.execute(f"SELECT {literal(value)}").fetchone() == (value,)
