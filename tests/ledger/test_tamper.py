"""What a tamperer with plain sqlite3 can do to a file, and that verify says so, at the right event."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Ledger, Verdict, verify
from ledger._schema import format_objects, release_objects
from ledger._verify import verify_connection
from tests.ledger.ledgers import drop_guards, example_draft, guards, rehash, settle, tamper

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


# Rewriting along the chain, so that only one check can see it


def rewritten(db: sqlite3.Connection, seq: int, body: bytes) -> None:
    db.execute("UPDATE events SET body = CAST(? AS TEXT) WHERE seq = ?", (body, seq))
    rehash(db, seq)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b'{"schema":1,"schema":1,"text":"seen"}', "twice"),
        (b'{"schema":1,"text":"unseen","text":"seen"}', "twice"),
        (b'{"schema":1, "text":"seen"}', "RFC 8785"),
        (b'{"text":"seen","schema":1}', "RFC 8785"),
        (b'{"schema":1,"text":"\\u0073een"}', "RFC 8785"),
        (b'{"schema":1.0,"text":"seen"}', "RFC 8785"),
        (b'{"schema":1,"text":"a\\u0000"}', "U+0000"),
        (b'{"schema":1,"text":"\\ud800"}', "surrogate"),
        (b'{"schema":1,"text":"\xff"}', "UTF-8"),
        (b'{"schema":1,"text":"a\x00"}', "JSON"),
        (b'{"schema":1,"text":"a\n"}', "JSON"),
        (b'[{"schema":1}]', "object"),
        (b'{"schema":1,"text":NaN}', "NaN"),
        (b'{"schema":1,"text":"' + b"x" * (1 << 20) + b'"}', "1048576"),
        (b'{"schema":1,"text":' + b"[" * 5_000 + b"]" * 5_000 + b"}", "deep"),
        (b'{"schema":1,"text":7}', "text"),
        (b'{"more":1,"schema":1,"text":"seen"}', "more"),
        (b'{"text":"seen"}', "integer from 1"),
        (b"", "object"),
    ],
)
def test_a_body_that_is_not_one_of_its_kind_in_its_own_form_is_named_though_every_hash_agrees(
    original: Path, copy: Path, body: bytes, word: str
) -> None:
    verdict = tamper(original, copy, lambda db: rewritten(db, 24, body))
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 24)
    (problem,) = verdict.problems
    assert word in f"{problem.what} {problem.expected} {problem.got}"


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [
        ("at", "2026-02-30T00:00:00.000000Z", "real time"),
        ("at", "2026-01-01T24:00:00.000000Z", "real time"),
        ("at", "2026-01-01T00:00:00.000000Z\n", "column at"),
        ("at", "2026-01-01T00:00:00.00000\u0661Z", "column at"),
        ("v", 2, "column v"),
        ("cell", 2**53, "column cell"),
        ("cell", -1, "column cell"),
        ("kind", "Note", "column kind"),
        ("run", "short", "column run"),
        ("causes", "[24]", "smaller"),
        ("causes", "[23,22]", "ascending"),
        ("causes", "[22,22]", "ascending"),
        ("causes", "[0]", "column causes"),
        ("causes", "[ 22]", "column causes"),
    ],
)
def test_a_line_outside_the_grammar_is_named_though_every_hash_agrees(
    original: Path, copy: Path, column: str, value: object, word: str
) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute(f"UPDATE events SET {column} = ? WHERE seq = 24", (value,))
        rehash(db, 24)

    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 24)
    assert any(word in f"{problem.what} {problem.expected} {problem.got}" for problem in verdict.problems)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("wait", b'{"asked":"","attempt":0,"schema":1,"seconds":1.0,"turn":0,"why":"x"}'),
        ("wait", b'{"asked":"","attempt":0,"schema":1,"seconds":1e2,"turn":0,"why":"x"}'),
        ("wait", b'{"asked":"","attempt":0,"schema":1,"seconds":-0.0,"turn":0,"why":"x"}'),
        ("execute", b'{"argv":[],"exit":9007199254740992,"isolation":"","limits":[],"schema":1,"signal":null}'),
        ("confirm", b'{"findings":[9007199254740992],"rejections":[],"rules":"r","schema":1}'),
        ("confirm", b'{"findings":[{"x":1.0}],"rejections":[],"rules":"r","schema":1}'),
        ("confirm", b'{"findings":[' + b"[" * 70 + b"]" * 70 + b'],"rejections":[],"rules":"r","schema":1}'),
        ("confirm", b'{"findings":[{"\xf0\x9f\x98\x80":1,"\xef\xbf\xbf":1}],"rejections":[],"rules":"r","schema":2}'),
        ("confirm", b'{"findings":[{"\xef\xbf\xbf":1,"\xf0\x9f\x98\x80":1}],"rejections":[],"rules":"r","schema":1}'),
    ],
)
def test_a_number_or_key_that_orjson_would_let_pass_is_named(
    original: Path, copy: Path, kind: str, body: bytes
) -> None:
    with closing(sqlite3.connect(original)) as connection:
        (seq,) = connection.execute("SELECT seq FROM events WHERE kind = ?", (kind,)).fetchone()
    verdict = tamper(original, copy, lambda db: rewritten(db, seq, body))
    if b'"schema":2' in body:  # in UTF-16 order, and of a newer schema: the form is right
        assert verdict.verdict == "CONSISTENT"
        return
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seq)
    assert [problem.what for problem in verdict.problems] == ["the body's form"]


def test_more_causes_than_a_line_may_have_are_named(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        causes = "[" + ",".join(map(str, range(1, 5_000))) + "]"
        db.execute("UPDATE events SET causes = ? WHERE seq = 25", (causes,))
        rehash(db, 25)

    assert tamper(original, copy, change).first_bad_seq == 25


@pytest.mark.parametrize(
    ("column", "value", "seq", "word"),
    [
        ("kind", "genesis", 25, "genesis"),
        ("kind", "note", 1, "genesis"),
        ("cell", 0, 5, "place"),
        ("run", "", 6, "place"),
        ("cell", 4, 4, "place"),
        ("run", "abcdefghijklmnop", 18, "place"),
    ],
)
def test_an_event_that_may_not_stand_there_is_named(
    original: Path, copy: Path, column: str, value: object, seq: int, word: str
) -> None:
    verdict = tamper(original, copy, f"UPDATE events SET {column} = {value!r} WHERE seq = {seq}")
    assert verdict.first_bad_seq == seq
    assert any(word in problem.what for problem in verdict.problems)


def test_a_second_plan_of_a_run_and_a_second_claim_are_named_at_the_second(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        # The other run becomes the first one: its plan is 27, its request 28 is withheld, and 32 claims cell 1 anew.
        db.execute("UPDATE events SET run = 'abcdefghijklmnop', cell = min(cell, 1) WHERE seq IN (26, 32)")
        rehash(db, 26)

    verdict = tamper(original, copy, change)
    assert verdict.first_bad_seq == 26
    assert [(problem.seq, problem.what) for problem in verdict.problems] == [
        (26, "a second plan of one run"),
        (32, "a second request with one claim"),
    ]


# Redactions


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('"bodies":[27,29]', '"bodies":[27]', "names it"),
        ('"bodies":[27,29]', '"bodies":[24,27,29]', "present"),
        ('"bodies":[27,29]', '"bodies":[4,27,29]', "may be withheld"),
    ],
)
def test_a_redact_event_and_what_is_withheld_must_agree(
    original: Path, copy: Path, old: str, new: str, word: str
) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET body = replace(body, ?, ?) WHERE seq = 30", (old, new))
        rehash(db, 30)

    verdict = tamper(original, copy, change)
    assert verdict.verdict == "TAMPERED"
    assert any(word in problem.what or word in problem.expected for problem in verdict.problems)
    assert any("causes of a redact event" in problem.what and problem.seq == 30 for problem in verdict.problems)


def test_a_withheld_blob_that_no_redact_event_names_is_named(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        (body,) = db.execute("SELECT body FROM events WHERE seq = 30").fetchone()
        start = body.index('"blobs_withheld":["') + 19
        db.execute("UPDATE events SET body = ? WHERE seq = 30", (body[:start] + "f" * 64 + body[start + 64 :],))
        rehash(db, 30)

    verdict = tamper(original, copy, change)
    assert verdict.first_bad_seq == 28
    assert {problem.seq for problem in verdict.problems} == {28, 30}


def test_a_withheld_body_put_back_is_named(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "UPDATE events SET body = '{}', salt = '' WHERE seq = 29")
    assert verdict.first_bad_seq == 29
    assert any("withholds is present" in problem.what for problem in verdict.problems)


# The file's objects


def test_every_object_that_is_dropped_is_named(original: Path, copy: Path) -> None:
    release = release_objects(1)
    assert release is not None
    dropped = 0
    for kind, name, _, sql in (*format_objects().rows, *release.rows):
        if kind != "table" and sql is not None:
            verdict = tamper(original, copy, f"DROP {kind} {name}", guarded=True)
            assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", None)
            assert [problem.what for problem in verdict.problems] == [f"the {kind} {name} is missing"]
            dropped += 1
    assert dropped > 15


@pytest.mark.parametrize("kind", ["trigger", "view", "index"])
def test_an_altered_object_is_named(original: Path, copy: Path, kind: str) -> None:
    with closing(sqlite3.connect(original)) as connection:
        name, sql = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL ORDER BY name", (kind,)
        ).fetchone()
    altered = {
        "trigger": f"CREATE TRIGGER {name} BEFORE DELETE ON blobs BEGIN SELECT 1; END",
        "view": f"CREATE VIEW {name} AS SELECT 1 AS one",
        "index": f"CREATE INDEX {name} ON blobs (seq) WHERE seq > 3",
    }[kind]
    assert altered != sql

    def change(db: sqlite3.Connection) -> None:
        db.execute(f"DROP {kind} {name}")
        db.execute(altered)

    verdict = tamper(original, copy, change, guarded=True)
    assert [problem.what for problem in verdict.problems] == [f"the {kind} {name} is not as shipped"]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TABLE more (x)", "table more"),
        ("CREATE VIEW more AS SELECT 1", "view more"),
        ("CREATE INDEX more ON events (at)", "index more"),
        ("CREATE TRIGGER more AFTER INSERT ON events BEGIN SELECT 1; END", "trigger more"),
        ("CREATE VIRTUAL TABLE more USING fts5(x)", "table more"),
        ("ALTER TABLE events ADD COLUMN extra TEXT", "table events"),
    ],
)
def test_an_object_that_does_not_belong_is_named(original: Path, copy: Path, statement: str, name: str) -> None:
    verdict = tamper(original, copy, statement, guarded=True)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", None)
    assert any(f"the {name} is not" in problem.what for problem in verdict.problems)


def test_statistics_that_analyze_leaves_are_no_fault(original: Path, copy: Path) -> None:
    assert tamper(original, copy, "ANALYZE", guarded=True).verdict == "CONSISTENT"


def test_vacuum_changes_nothing_that_verify_holds_to(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("COMMIT")
        db.execute("VACUUM")

    assert tamper(original, copy, change, guarded=True).verdict == "CONSISTENT"


@pytest.mark.parametrize("index", ["events_by_kind", "events_by_run", "blobs_by_seq"])
def test_an_index_rebuilt_as_partial_with_its_text_put_back_is_found_by_its_content(
    original: Path, copy: Path, index: str
) -> None:
    def change(db: sqlite3.Connection) -> None:
        sql = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (index,)).fetchone()[0]
        db.execute(f"DROP INDEX {index}")
        db.execute(f"{sql} WHERE {'seq' if index.startswith('events') else 'id'} > 5")
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, index))

    verdict = tamper(original, copy, change, guarded=True)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", None)
    assert all("integrity" in problem.what for problem in verdict.problems)


def test_guards_dropped_to_rewrite_and_put_back_leave_the_rewriting_to_be_found(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET body = replace(body, '0.5', '1.0') WHERE kind = 'score'")

    verdict = tamper(original, copy, change)
    with closing(sqlite3.connect(original)) as before, closing(sqlite3.connect(copy)) as after:
        assert guards(before) == guards(after)
        (score,) = before.execute("SELECT seq FROM events WHERE kind = 'score'").fetchone()
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", score)


def test_guards_that_stay_dropped_are_named_one_by_one(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, lambda db: drop_guards(db) and None, guarded=True)
    triggers = [row for row in format_objects().rows if row[0] == "trigger"]
    assert len(verdict.problems) == len(triggers) == 10


def test_a_schema_text_that_does_not_parse_is_tampering_and_the_rows_are_still_checked(
    original: Path, copy: Path
) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET cell = 3 WHERE seq = 9")
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_schema SET sql = 'CREATE VIEW scores AS SELEKT' WHERE name = 'scores'")

    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 9)
    assert any("view scores is not as shipped" in problem.what for problem in verdict.problems)


def test_a_temporary_view_in_the_place_of_a_table_changes_nothing(original: Path, copy: Path) -> None:
    tamper(original, copy, "UPDATE events SET cell = 3 WHERE seq = 9")
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("CREATE TEMP VIEW events AS SELECT * FROM main.events WHERE seq <> 9")
        connection.execute("CREATE TEMP VIEW edges AS SELECT 1 AS cause, 2 AS effect")
        assert verify_connection(connection).first_bad_seq == 9


def test_a_view_in_the_place_of_the_events_table_is_never_scanned(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE blobs RENAME TO kept")
        db.execute(
            "CREATE VIEW blobs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
            " SELECT i AS id, '' AS hash, 1 AS seq, '' AS salt, '' AS encoding, x'' AS data FROM n"
        )

    verdict = tamper(original, copy, change, guarded=True)
    assert verdict.verdict == "TAMPERED"
    assert verdict.blobs == 0


@pytest.mark.parametrize("digest", ["tables", "release"])
def test_a_genesis_or_schema_event_with_another_digest_is_named(original: Path, copy: Path, digest: str) -> None:
    release = release_objects(1)
    assert release is not None
    committed, seq = (format_objects().digest, 1) if digest == "tables" else (release.digest, 2)

    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET body = replace(body, ?, ?) WHERE seq = ?", (committed, "f" * 64, seq))
        db.execute("UPDATE events SET seq = 0 WHERE seq = 32")
        db.execute("UPDATE events SET hash = ? WHERE seq = 0", ("0" * 64,))
        rehash(db, 1)
        db.execute("DELETE FROM events WHERE seq = 0")
        db.execute("DELETE FROM edges WHERE effect = 32")
        db.execute("DELETE FROM blobs WHERE seq = 32")

    verdict = tamper(original, copy, change)
    assert verdict.first_bad_seq == seq
    assert [problem.expected for problem in verdict.problems] == [committed]


def test_a_lost_write_ahead_log_is_a_tail_cut_off_and_out_of_reach(tmp_path: Path, copy: Path) -> None:
    """Documented in docs/FORMAT.md."""
    with Ledger.create(tmp_path / "a.db") as ledger:
        ledger.append(example_draft("note"))
        copy.write_bytes((tmp_path / "a.db").read_bytes())
        assert verify(tmp_path / "a.db").events == 3
    verdict = verify(copy)
    assert (verdict.verdict, verdict.events) == ("CONSISTENT", 2)


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


def test_a_settled_copy_is_consistent_to_begin_with(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "SELECT 1")
    settle(copy)
    assert (verdict.verdict, verdict.events, verdict.blobs, verdict.withheld) == ("CONSISTENT", 32, 8, 3)
    assert verdict.problems == ()
