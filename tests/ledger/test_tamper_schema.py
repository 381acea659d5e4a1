"""Tampering with tables, guards, views and indexes, and what is out of reach."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Ledger, verify
from ledger._schema import RELEASE, format_objects, release_objects
from ledger._verify import verify_connection
from tests.ledger.ledgers import drop_guards, example_draft, guards, rehash, tamper

# The file's objects


def test_every_object_that_is_dropped_is_named(original: Path, copy: Path) -> None:
    release = release_objects(RELEASE)
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
    release = release_objects(RELEASE)
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
