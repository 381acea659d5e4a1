"""What SQLite and its tools are known to do to a careless writer, tried on a ledger."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from ledger import AppendFailed, BadBody, Draft, Ledger, Refused, verify
from ledger._append import append_all
from ledger._connect import connect_writer
from ledger._drafts import prepare
from ledger.cli import app, run_app
from ledger.kinds import Note, Score
from tests.ledger.ledgers import EXAMPLES, RUN, example_draft, tamper
from tests.ledger.test_snapshot import rows
from tests.ledger.test_store import note, texts


def test_an_error_in_the_middle_of_an_append_leaves_none_of_its_events(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(example_draft("plan"))
        with pytest.raises(Refused, match="has its plan already"):
            ledger.append(note("first"), Draft(EXAMPLES["import"], run=RUN, blobs={"f": b"x"}), example_draft("plan"))
        assert ledger.head()[0] == 3
    assert texts(path) == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM blobs").fetchone() == (0,)
    assert verify(path).verdict == "CONSISTENT"


def test_nothing_is_appended_within_a_transaction_that_somebody_left_open(path: Path) -> None:
    with closing(connect_writer(path)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM events").fetchone()
        with pytest.raises(AppendFailed, match="outside any transaction"):
            append_all(connection, [[prepare(note("inside"))]])
        connection.execute("ROLLBACK")
        (events,) = append_all(connection, [[prepare(note("outside"))]])
        assert not isinstance(events, Exception)
        assert not connection.in_transaction
    assert texts(path) == ["outside"]


def test_what_another_tool_wrote_and_never_committed_is_no_part_of_the_chain(path: Path) -> None:
    database = Database(path)
    database.conn.execute("INSERT INTO edges VALUES (1, 2)")
    assert database.conn.in_transaction
    database.close()
    with Ledger.open(path) as ledger:
        ledger.append(note("after"))
    assert verify(path).verdict == "CONSISTENT"


REPLACING = [
    "INSERT OR REPLACE INTO events SELECT * FROM events WHERE seq = 5",
    "REPLACE INTO events SELECT seq, v, hash, prev, at, kind, run, cell, causes, body_hash, salt, '{}' FROM events",
    "INSERT OR REPLACE INTO blobs SELECT id, hash, seq, salt, encoding, x'00' FROM blobs WHERE id = 1",
    "INSERT OR REPLACE INTO blobs SELECT id + 1000, hash, seq, salt, encoding, x'00' FROM blobs WHERE id = 1",
    "INSERT OR REPLACE INTO blobs SELECT id, 'other', 33, salt, encoding, x'00' FROM blobs WHERE id = 1",
    "INSERT OR REPLACE INTO edges SELECT * FROM edges LIMIT 1",
    "UPDATE OR REPLACE events SET seq = 4 WHERE seq = 5",
    "UPDATE OR REPLACE blobs SET id = 1 WHERE id = 2",
    "INSERT INTO events SELECT * FROM events WHERE seq = 5 ON CONFLICT (seq) DO UPDATE SET body = '{}'",
    "INSERT INTO blobs SELECT * FROM blobs WHERE id = 1 ON CONFLICT (hash) DO UPDATE SET data = x'00'",
]


@pytest.mark.parametrize("statement", REPLACING)
@pytest.mark.parametrize("recursive", [False, True])
def test_no_row_is_ever_replaced_whatever_a_connection_says_of_triggers(
    original: Path, copy: Path, statement: str, recursive: bool
) -> None:
    copy.write_bytes(original.read_bytes())
    before = rows(copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(f"PRAGMA recursive_triggers={'ON' if recursive else 'OFF'}")
        with pytest.raises(sqlite3.IntegrityError, match=r"never|taken|follow|belongs|derived"), connection:
            connection.execute(statement)
    assert rows(copy) == before


def test_a_tool_that_replaces_by_key_is_refused(original: Path, copy: Path) -> None:
    copy.write_bytes(original.read_bytes())
    before = rows(copy)
    with closing(sqlite3.connect(copy)) as connection:
        database = Database(connection)
        event = next(iter(database["events"].rows_where("seq = 5")))
        for act in ("insert", "upsert"):
            with pytest.raises(sqlite3.IntegrityError):
                table = database["events"]
                changed = {**event, "body": "{}"}
                if act == "insert":
                    table.insert(changed, replace=True)  # type: ignore[union-attr]
                else:
                    table.upsert(changed, pk="seq")  # type: ignore[union-attr]
    assert rows(copy) == before


def test_a_reader_that_turns_writer_never_meets_a_lock_that_no_timeout_waits_for(path: Path) -> None:
    with Ledger.open(path) as first, Ledger.open(path) as second, first.at_one_moment():
        assert first.head()[0] == 2
        second.append(note("by another"))
        first.append(note("mine"))
        assert first.head()[0] == 2
    assert texts(path) == ["by another", "mine"]
    ends: list[int] = []

    def write() -> None:
        with Ledger.open(path) as ledger:
            for _ in range(10):
                ends.append(ledger.head()[0])
                ledger.append(note("x"))

    threads = [threading.Thread(target=write) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (len(ends), verify(path).events) == (30, 34)


@pytest.mark.parametrize(
    ("change", "seq"),
    [
        ("UPDATE events SET body = CAST(x'ff41' AS TEXT) WHERE seq = 9", 9),
        ("UPDATE events SET kind = CAST(x'ff41' AS TEXT) WHERE seq = 9", 9),
        ("UPDATE events SET salt = CAST(x'ff41' AS TEXT) WHERE seq = 9", 9),
        ("UPDATE events SET kind = kind || char(0) || 'b' WHERE seq = 9", 9),
        ("UPDATE events SET body = body || char(0) WHERE seq = 9", 9),
        ("UPDATE events SET run = char(0) WHERE seq = 9", 9),
        ("UPDATE events SET causes = causes || char(0) || '1' WHERE seq = 9", 9),
    ],
)
def test_text_that_is_none_is_tampering_and_breaks_no_command(
    original: Path, copy: Path, change: str, seq: int, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = tamper(original, copy, change)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seq)
    for arguments in (["log"], ["show", str(seq)], ["runs"], ["export"]):
        status = run_app(app, "ledger", [*arguments, "--db", str(copy)])
        said = capsys.readouterr().err
        assert status in {0, 1, 2}
        assert "Traceback" not in said
        assert "fault of this program" not in said


def test_the_tables_take_no_bytes_for_text_and_no_text_for_bytes(original: Path, copy: Path) -> None:
    copy.write_bytes(original.read_bytes())
    with closing(sqlite3.connect(copy)) as connection:
        (head, digest) = connection.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        line = (head + 1, 1, "h", digest, "", "note", "", 0, "[]", "", "", b"\xff")
        with pytest.raises(sqlite3.IntegrityError, match=r"BLOB.*TEXT"):
            connection.execute(f"INSERT INTO events VALUES ({','.join('?' * 12)})", line)
        with pytest.raises(sqlite3.IntegrityError, match=r"TEXT.*BLOB"):
            connection.execute("INSERT INTO blobs (hash, seq, encoding, data) VALUES ('x', ?, '', 'text')", (head,))


def test_numbers_that_sqlite_would_change_never_pass_the_door(path: Path) -> None:
    score = EXAMPLES["score"]
    assert isinstance(score, Score)
    with Ledger.open(path) as ledger:
        for value in (math.nan, math.inf, -math.inf):
            with pytest.raises(BadBody):
                ledger.append(Draft(score.model_copy(update={"value": value}), run=RUN, cell=1))
        for number in (2**53, 2**63, -(2**63) - 1, 10**400):
            body = EXAMPLES["report"].model_copy(update={"figures": [{"n": number}]})
            with pytest.raises(BadBody):
                ledger.append(Draft(body))
        for text in ("a\0b", "\ud800"):
            with pytest.raises(BadBody):
                ledger.append(Draft(Note(text=text)))
        assert ledger.head()[0] == 2


NESTED = [
    ("plan", lambda body: body["candidates"][0]["parameters"].update(temperature=0.25)),
    ("plan", lambda body: body["rules"][0]["metrics"][0].update(planned=2)),
    ("confirm", lambda body: body["findings"][0].update(confidence=0.5)),
    ("tally", lambda body: body["metrics"][0].update(n=2)),
    ("request", lambda body: body["masked"][0].update(times=2)),
    ("report", lambda body: body["figures"][0].update(rate=0.25)),
]


@pytest.mark.parametrize(("kind", "change"), NESTED)
def test_one_nested_field_that_changes_is_found(original: Path, copy: Path, kind: str, change: object) -> None:
    seqs: list[int] = []

    def edit(connection: sqlite3.Connection) -> None:
        seq, text = connection.execute(
            "SELECT seq, body FROM events WHERE kind = ? AND body IS NOT NULL ORDER BY seq LIMIT 1", (kind,)
        ).fetchone()
        body = json.loads(text)
        change(body)  # type: ignore[operator]
        changed = json.dumps(body, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        assert changed != text
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (changed, seq))
        seqs.append(seq)

    verdict = tamper(original, copy, edit)
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", seqs[0])


@pytest.mark.parametrize(
    "at", ["2026-11-29 18:57:00.123456Z", "2026-11-29T18:57:00.123Z", "2026-11-29T18:57:00.123456+00:00"]
)
def test_a_time_in_another_form_is_tampering_and_no_time_is_ever_written_anew(
    original: Path, copy: Path, at: str
) -> None:
    verdict = tamper(
        original, copy, lambda connection: connection.execute("UPDATE events SET at = ? WHERE seq = 7", (at,))
    )
    assert (verdict.verdict, verdict.first_bad_seq) == ("TAMPERED", 7)
    copy.unlink()
    copy.write_bytes(original.read_bytes())
    before = rows(copy)["events"]
    with Ledger.open(copy) as ledger:
        ledger.append(note("later"))
    assert rows(copy)["events"][: len(before)] == before
