"""What a tamperer with plain sqlite3 can do to a file, and that verify says so, at the right event."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from blake3 import blake3

from ledger import Ledger, verify
from ledger._schema import format_objects
from tests.ledger.ledgers import example_draft, rehash, settle, tamper

EVENT_COLUMNS = ("seq", "v", "hash", "prev", "at", "kind", "run", "cell", "causes", "body_hash", "salt", "body")
BLOB_COLUMNS = ("id", "hash", "seq", "salt", "encoding", "data")
ROWS = {"events": (1, 2, 3, 6, 7, 12, 25, 30, 32), "blobs": (1, 2, 3, 5, 7, 8)}


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.text_factory = bytes
    return connection


def changes(value: object) -> Iterator[object]:
    """Other values of the same kind, from a slight change to an absurd one."""
    if value is None:
        yield from ("0" * 32, "{}")
    elif isinstance(value, int):
        yield from (value + 1_000, -value - 1, 2**53, 2**63 - 1)
    elif isinstance(value, str):
        yield from ("", value + "\n", value + "\0", "\u00e9" + value, value + " ", value.upper() + "X", '"', "0" * 64)
        if value:
            yield ("1" if value[-1] != "1" else "2").join((value[:-1], ""))
    else:
        assert isinstance(value, bytes)
        yield from (b"", value + b"\0", zlib.compress(value))


def test_the_columns_tampered_with_are_all_that_there_are(original: Path) -> None:
    with closing(connect(original)) as connection:
        for table, columns in (("events", EVENT_COLUMNS), ("blobs", BLOB_COLUMNS)):
            names = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")]
            assert tuple(names) == columns


@pytest.mark.parametrize("column", EVENT_COLUMNS)
def test_a_changed_column_of_an_event_is_named_at_that_event(original: Path, copy: Path, column: str) -> None:
    for row in ROWS["events"]:
        with closing(sqlite3.connect(original)) as connection:
            (value,) = connection.execute(f"SELECT {column} FROM events WHERE seq = ?", (row,)).fetchone()
        tried = 0
        for other in changes(value):
            if other == value:
                continue
            tried += 1
            statement = f"UPDATE events SET {column} = ? WHERE seq = ?"
            verdict = tamper(original, copy, lambda db, s=statement, o=other, r=row: db.execute(s, (o, r)))
            assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", row), (row, column, other, verdict)
        assert tried >= 2


@pytest.mark.parametrize("column", BLOB_COLUMNS)
def test_a_changed_column_of_a_blob_is_named_at_the_event_of_the_blob(original: Path, copy: Path, column: str) -> None:
    for row in ROWS["blobs"]:
        with closing(sqlite3.connect(original)) as connection:
            seq, value = connection.execute(f"SELECT seq, {column} FROM blobs WHERE id = ?", (row,)).fetchone()
        for other in changes(value):
            if other == value or (column == "data" and isinstance(other, str)):
                continue
            statement = f"UPDATE blobs SET {column} = ? WHERE id = ?"
            verdict = tamper(original, copy, lambda db, s=statement, o=other, r=row: db.execute(s, (o, r)))
            assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seq), (row, column, other, verdict)


@pytest.mark.parametrize("column", ["salt", "body"])
def test_a_body_or_salt_that_vanished_is_named_unless_a_redact_event_names_it(
    original: Path, copy: Path, column: str
) -> None:
    for row in (1, 4, 12, 32):
        verdict = tamper(original, copy, f"UPDATE events SET {column} = NULL WHERE seq = {row}")
        assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", row)


def test_a_body_gone_with_its_salt_is_named_too(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "UPDATE events SET body = NULL, salt = NULL WHERE seq = 12")
    assert verdict.first_bad_seq == 12
    assert "no redact event names it" in verdict.problems[0].what


def test_a_blob_gone_with_its_salt_is_named_at_its_event(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "UPDATE blobs SET data = NULL, salt = NULL WHERE id = 2")
    assert verdict.first_bad_seq == 7
    assert "no redact event names it" in verdict.problems[0].what


@pytest.mark.parametrize("types", ["CAST({} AS BLOB)", "CAST({} AS REAL)"])
@pytest.mark.parametrize("column", ["v", "hash", "cell", "kind", "causes", "salt", "body"])
def test_a_value_of_another_type_is_named_even_though_it_reads_the_same(
    original: Path, copy: Path, column: str, types: str
) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'events'")
        db.execute("COMMIT")
        # Another connection reads the loosened table; the text of the schema is put back afterwards.
        (path,) = [row[2] for row in db.execute("PRAGMA database_list") if row[1] == "main"]
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("PRAGMA writable_schema=ON")
            # Rebuilt with no affinity at all, so that what is written stays as it is.
            other.execute(
                "UPDATE sqlite_schema SET sql = 'CREATE TABLE events (seq INTEGER PRIMARY KEY, v, hash, prev, at, kind,"
                " run, cell, causes, body_hash, salt, body)' WHERE name = 'events'"
            )
        with closing(sqlite3.connect(path)) as other, other:
            other.execute(f"UPDATE events SET {column} = {types.format(column)} WHERE seq = 9")
            shipped = next(row[3] for row in format_objects().rows if row[1] == "events")
            other.execute("PRAGMA writable_schema=ON")
            other.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'events'", (shipped,))

    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 9)


# Rows that go, come or move


@pytest.mark.parametrize("gone", [[1], [1, 2], [5], [12, 13, 14], [31]])
def test_deleted_events_are_named_from_the_first_that_is_missing(original: Path, copy: Path, gone: list[int]) -> None:
    verdict = tamper(original, copy, f"DELETE FROM events WHERE seq IN ({','.join(map(str, gone))})")
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", gone[0])
    assert verdict.events == 32 - len(gone)


def test_deleting_every_event_leaves_a_ledger_that_misses_its_first(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "DELETE FROM events")
    assert (verdict.verdict, verdict.first_bad_seq, verdict.head) == ("TAMPERED", 1, None)


def test_a_tail_cut_carelessly_leaves_its_edges_behind(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "DELETE FROM events WHERE seq > 22")
    assert verdict.verdict == "TAMPERED"


def cut_tail(db: sqlite3.Connection, last: int) -> None:
    db.execute("DELETE FROM events WHERE seq > ?", (last,))
    db.execute("DELETE FROM edges WHERE effect > ?", (last,))
    db.execute("DELETE FROM blobs WHERE seq > ?", (last,))


def test_a_tail_cut_cleanly_and_appended_to_is_out_of_reach_without_a_checkpoint(original: Path, copy: Path) -> None:
    """Documented in docs/FORMAT.md; should this ever fail, that page is wrong."""
    assert tamper(original, copy, lambda db: cut_tail(db, 23)).verdict == "CONSISTENT"
    with Ledger.open(copy) as ledger:
        ledger.append(example_draft("note"), example_draft("note"))
    assert verify(copy).verdict == "CONSISTENT"


def test_a_tail_rewritten_whole_is_out_of_reach_without_a_checkpoint(original: Path, copy: Path) -> None:
    """Documented in docs/FORMAT.md, too."""

    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET body = replace(body, 'seen', 'unseen') WHERE seq = 24")
        rehash(db, 24)

    assert tamper(original, copy, change).verdict == "CONSISTENT"


def test_the_last_two_deleted_and_others_appended_by_hand_are_named(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        columns = ", ".join(EVENT_COLUMNS[1:])
        db.execute("DELETE FROM events WHERE seq > 30")
        db.execute(f"INSERT INTO events (seq, {columns}) SELECT seq + 29, {columns} FROM events WHERE seq IN (2, 3)")
        db.execute("DELETE FROM edges WHERE effect > 30")

    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 31)


def test_reordered_events_are_named_from_the_first_that_moved(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        for old, new in ((9, 999), (14, 9), (999, 14)):
            db.execute("UPDATE events SET seq = ? WHERE seq = ?", (new, old))

    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 9)


def test_an_event_inserted_with_a_hole_before_it_is_named_where_the_hole_is(original: Path, copy: Path) -> None:
    columns = ", ".join(EVENT_COLUMNS[1:])
    for place, first in ((40, 33), (0, 0), (-5, -5)):
        verdict = tamper(
            original, copy, f"INSERT INTO events (seq, {columns}) SELECT {place}, {columns} FROM events WHERE seq = 12"
        )
        assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", first)


def test_an_event_inserted_in_the_middle_moves_the_rest_and_that_is_named(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        columns = ", ".join(EVENT_COLUMNS[1:])
        db.execute("UPDATE events SET seq = -seq WHERE seq >= 20")
        db.execute("UPDATE events SET seq = 1 - seq WHERE seq < 0")
        db.execute(f"INSERT INTO events (seq, {columns}) SELECT 20, {columns} FROM events WHERE seq = 12")

    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 20)


@pytest.mark.parametrize("conflict", ["OR REPLACE", "OR IGNORE", ""])
def test_the_guards_refuse_to_replace_a_row_on_every_unique_column(original: Path, copy: Path, conflict: str) -> None:
    statements = {
        "events.seq": f"INSERT {conflict} INTO events SELECT * FROM events WHERE seq = 9",
        "blobs.id": f"INSERT {conflict} INTO blobs SELECT id, '{'f' * 64}', 32, salt, '', data FROM blobs WHERE id = 2",
        "blobs.hash": f"INSERT {conflict} INTO blobs SELECT 99, hash, 32, salt, '', data FROM blobs WHERE id = 2",
        "edges": f"INSERT {conflict} INTO edges VALUES (3, 4)",
    }
    for name, statement in statements.items():
        with pytest.raises(sqlite3.IntegrityError, match=r"never replaced|derived|replaced"):
            tamper(original, copy, statement, guarded=True)
        assert verify(copy).verdict == "CONSISTENT", name


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        (
            "INSERT OR REPLACE INTO events SELECT seq, v, hash, prev, at, 'note', run, cell, causes, body_hash, salt,"
            " body FROM events WHERE seq = 9",
            9,
        ),
        ("INSERT OR REPLACE INTO blobs SELECT id, hash, seq, salt, encoding, x'00' FROM blobs WHERE id = 2", 7),
        ("INSERT OR REPLACE INTO blobs SELECT 99, hash, seq, salt, encoding, x'00' FROM blobs WHERE id = 2", 7),
        (f"INSERT OR REPLACE INTO blobs SELECT id, '{'f' * 64}', seq, salt, '', data FROM blobs WHERE id = 2", 7),
    ],
)
def test_a_row_replaced_past_dropped_guards_is_named(original: Path, copy: Path, statement: str, first: int) -> None:
    verdict = tamper(original, copy, statement)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", first)


@pytest.mark.parametrize(
    "statement", ["UPDATE events SET cell = 2 WHERE seq = 9", "DELETE FROM events WHERE seq = 32", "DELETE FROM blobs",
                  "UPDATE blobs SET seq = 3", "DELETE FROM edges", "UPDATE edges SET cause = 1"],
)  # fmt: skip
def test_the_guards_refuse_updates_and_deletes(original: Path, copy: Path, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        tamper(original, copy, statement, guarded=True)
    assert verify(copy).verdict == "CONSISTENT"


# Blobs


@pytest.mark.parametrize(("blob", "seq"), [(1, 6), (3, 7), (4, 23)])
def test_a_deleted_blob_is_named_at_its_event(original: Path, copy: Path, blob: int, seq: int) -> None:
    verdict = tamper(original, copy, f"DELETE FROM blobs WHERE id = {blob}")
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seq)


def test_a_blob_that_no_event_names_is_named_at_the_event_it_claims(original: Path, copy: Path) -> None:
    for claimed, expected in ((12, 12), (5_000, None)):
        salt, data = "00" * 16, b"smuggled"
        digest = blake3(bytes.fromhex(salt) + data).hexdigest()

        def change(db: sqlite3.Connection, c: int = claimed, d: str = digest, s: str = salt, b: bytes = data) -> None:
            db.execute("INSERT INTO blobs (hash, seq, salt, encoding, data) VALUES (?, ?, ?, '', ?)", (d, c, s, b))

        verdict = tamper(original, copy, change)
        assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", expected)


def test_two_blobs_of_one_event_swapped_are_named_at_it(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        for old, new in ((2, 999), (3, 2), (999, 3)):
            db.execute("UPDATE blobs SET id = ? WHERE id = ?", (new, old))

    assert tamper(original, copy, change).first_bad_seq == 7


def test_a_zlib_blob_is_read_through_its_encoding(original: Path, copy: Path) -> None:
    def packed(db: sqlite3.Connection, more: bytes = b"") -> None:
        (data,) = db.execute("SELECT data FROM blobs WHERE id = 2").fetchone()
        db.execute("UPDATE blobs SET encoding = 'zlib', data = ? WHERE id = 2", (zlib.compress(data) + more,))

    assert tamper(original, copy, packed).verdict == "CONSISTENT"
    assert tamper(original, copy, lambda db: packed(db, b"\0")).first_bad_seq == 7


def test_a_zlib_bomb_and_a_cut_stream_are_problems_and_take_no_memory(original: Path, copy: Path) -> None:
    for data in (zlib.compress(bytes(64 << 20)), zlib.compress(b"answer")[:-3], b"no zlib at all", b""):
        statement = "UPDATE blobs SET encoding = 'zlib', data = ? WHERE id = 2"
        verdict = tamper(original, copy, lambda db, d=data, s=statement: db.execute(s, (d,)))
        assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 7)


# Edges


@pytest.mark.parametrize(
    ("statement", "first"),
    [
        ("DELETE FROM edges WHERE effect = 12", 12),
        ("DELETE FROM edges WHERE effect = 12 AND cause = 10", 12),
        ("INSERT INTO edges VALUES (1, 12)", 12),
        ("INSERT INTO edges VALUES (12, 5000)", None),
        ("INSERT INTO edges VALUES (-3, -2)", None),
        ("UPDATE edges SET cause = 5 WHERE effect = 12 AND cause = 10", 12),
        ("UPDATE edges SET effect = 20 WHERE effect = 12 AND cause = 10", 12),
        ("DELETE FROM edges", 3),
    ],
)
def test_edges_that_causes_do_not_give_are_named(original: Path, copy: Path, statement: str, first: int | None) -> None:
    verdict = tamper(original, copy, statement)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", first)


def test_a_settled_copy_is_consistent_to_begin_with(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "SELECT 1")
    settle(copy)
    assert (verdict.verdict, verdict.events, verdict.blobs, verdict.withheld) == ("CONSISTENT", 32, 8, 3)
    assert verdict.problems == ()
