"""Any single bit of any stored value, flipped, is reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Verdict
from ledger._verify import verify_connection
from tests.ledger.ledgers import drop_guards
from tests.ledger.test_tamper import BLOB_COLUMNS, EVENT_COLUMNS, connect

# Single bits


def _values(path: Path) -> list[tuple[str, int, str, int | bytes]]:
    """Every stored value, as (table, rowid, column, value)."""
    found: list[tuple[str, int, str, int | bytes]] = []
    with closing(connect(path)) as connection:
        for table, columns, key in (("events", EVENT_COLUMNS, "seq"), ("blobs", BLOB_COLUMNS, "id")):
            for row in connection.execute(f"SELECT {key}, {', '.join(columns)} FROM {table}"):
                found += [
                    (table, row[0], column, value)
                    for column, value in zip(columns, row[1:], strict=True)
                    if value is not None and value != b""
                ]
    return found


@pytest.fixture(scope="module")
def in_memory(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("flips") / "flips.db"
    path.write_bytes(original.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=MEMORY").fetchall()
        connection.execute("PRAGMA synchronous=OFF")
        yield connection


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_flipped_bit_of_any_stored_value_is_reported(
    original: Path, in_memory: sqlite3.Connection, data: st.DataObject
) -> None:
    table, rowid, column, value = data.draw(st.sampled_from(_values(original)))
    size = 64 if isinstance(value, int) else 8 * len(value)
    bit = data.draw(st.integers(0, size - 1))
    if isinstance(value, int):
        flipped: object = int.from_bytes((value ^ (1 << bit)).to_bytes(8, "big"), "big", signed=True)
        statement = f"UPDATE {table} SET {column} = ?"
    else:
        changed = bytearray(value)
        changed[bit // 8] ^= 1 << bit % 8
        flipped = bytes(changed)
        statement = f"UPDATE {table} SET {column} = {'?' if column == 'data' else 'CAST(? AS TEXT)'}"
    in_memory.execute("BEGIN")
    key = "seq" if table == "events" else "id"
    (taken,) = in_memory.execute(f"SELECT count(*) FROM {table} WHERE {key} = ?", (flipped,)).fetchone()
    texts = drop_guards(in_memory)
    try:
        if column in {"seq", "id"} and column == key and taken:
            # A flip onto a seq or id that is taken can only be a swap of the two rows.
            for old, new in ((flipped, -(1 << 40)), (rowid, flipped), (-(1 << 40), rowid)):
                in_memory.execute(f"UPDATE {table} SET {key} = ? WHERE {key} = ?", (new, old))
        else:
            in_memory.execute(f"{statement} WHERE {key} = ?", (flipped, rowid))
        for text in texts:
            in_memory.execute(text)
        verdict = _verify_inside(in_memory)
    finally:
        in_memory.execute("ROLLBACK")
        in_memory.text_factory = str
    assert verdict.verdict == "TAMPERED", (table, rowid, column, bit)
    if column != key:
        with closing(connect(original)) as connection:
            (owner,) = connection.execute(f"SELECT seq FROM {table} WHERE {key} = ?", (rowid,)).fetchone()
        assert verdict.first_bad_seq == owner, (table, rowid, column, bit, verdict)


def _verify_inside(connection: sqlite3.Connection) -> Verdict:
    """Verify a copy of what the open transaction sees, which `backup` could not."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        copy.executescript("PRAGMA writable_schema=ON; PRAGMA application_id=0x45564C31;")
        connection.text_factory = bytes
        for kind, sql in connection.execute("SELECT type, sql FROM sqlite_schema WHERE type = 'table'").fetchall():
            assert kind == b"table"
            copy.execute(sql.decode())
        for table in ("events", "blobs", "edges"):
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            types = [row[2] for row in connection.execute(f"PRAGMA table_info({table})")]
            marks = ", ".join("CAST(? AS TEXT)" if kind == b"TEXT" else "?" for kind in types)
            copy.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.text_factory = str
        for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL"):
            copy.execute(sql)
        return verify_connection(copy)


def test_the_copy_that_bits_are_flipped_in_is_consistent_before(in_memory: sqlite3.Connection) -> None:
    in_memory.execute("BEGIN")
    try:
        assert _verify_inside(in_memory).verdict == "CONSISTENT"
    finally:
        in_memory.execute("ROLLBACK")
