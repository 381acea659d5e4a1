"""`verify` as a whole: what it says of sound ledgers, of no ledger, of newer ones, and of hostile files."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import Draft, Earlier, Ledger, NotALedger, Refused, Verdict, kinds, verify
from ledger._canonical import canonical
from ledger._verify_blobs import LARGE
from ledger._verify_findings import MAX_PROBLEMS, Findings, show
from ledger._verify_redactions import WithheldBy
from tests.ledger.ledgers import EXAMPLES, OTHER_RUN, RUN, drop_guards, example_draft, rehash, settle, tamper, withhold


def test_a_ledger_may_be_named_by_text(original: Path) -> None:
    assert verify(str(original)) == verify(original)


def test_a_sound_ledger_is_consistent_and_counted(original: Path) -> None:
    verdict = verify(original)
    with Ledger.open(original, read_only=True) as ledger:
        withheld = (WithheldBy(30, bodies=2, blobs=1, category="secret", reason="a key leaked"),)
        assert verdict == Verdict("CONSISTENT", 32, 8, 3, ledger.head()[1], None, (), (), withheld)


def test_the_json_has_the_keys_that_others_rely_on(original: Path, copy: Path) -> None:
    verdict = tamper(original, copy, "UPDATE events SET cell = 2 WHERE seq = 9")
    value = json.loads(json.dumps(verdict.as_json()))
    assert list(value) == [
        "verdict", "events", "blobs", "withheld", "head", "first_bad_seq", "problems", "notes", "withheld_by",
        "checkpoints", "failures", "since",
    ]  # fmt: skip
    assert value["first_bad_seq"] == 9
    assert [list(problem) for problem in value["problems"]] == [["seq", "what", "expected", "got"]]
    assert value["problems"][0] == asdict(verdict.problems[0])


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4_000])
def test_what_is_no_ledger_at_all_is_said_to_be_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NotALedger) as raised:
        verify(path)
    assert raised.value.exit_status == 2
    assert str(path) in str(raised.value)


def test_a_database_of_somebody_else_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    for table in ("things (id)", "events (id, name)"):
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE {table}")
        with pytest.raises(NotALedger, match="no events table"):
            verify(path)


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(NotALedger):
        verify(tmp_path)


def test_verify_leaves_the_file_as_it_was(original: Path, copy: Path) -> None:
    shutil.copyfile(original, copy)
    before = copy.read_bytes()
    verify(copy)
    assert copy.read_bytes() == before


def test_verify_reads_one_moment_while_others_append(original: Path, copy: Path) -> None:
    shutil.copyfile(original, copy)
    with Ledger.open(copy) as ledger:
        ledger.append(example_draft("note"))
        assert verify(copy).events == 33
        ledger.append(example_draft("note"))
        assert verify(copy).verdict == "CONSISTENT"


def test_a_locked_file_is_not_called_tampered(original: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copyfile(original, copy)
    monkeypatch.setattr("ledger._connect.BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(NotALedger, match="locked"):
            verify(copy)
        connection.execute("ROLLBACK")


# Newer releases


def append_by_hand(path: Path, kind: str, body: dict[str, Any]) -> None:
    """What a newer release would have appended: this package's own append knows no such kind or version."""

    def change(connection: sqlite3.Connection) -> None:
        (head,) = connection.execute("SELECT max(seq) FROM events").fetchone()
        connection.execute(
            "INSERT INTO events SELECT seq + 1, v, hash, hash, at, ?, '', 0, '[]', body_hash, ?, ? FROM events"
            " WHERE seq = ?",
            (kind, "00" * 16, canonical(body).decode(), head),
        )
        texts = drop_guards(connection)
        rehash(connection, head + 1)
        for text in texts:
            connection.execute(text)

    with closing(sqlite3.connect(path)) as connection, connection:
        change(connection)
    settle(path)


def test_a_kind_of_a_newer_release_is_checked_and_named_but_no_fault(original: Path, copy: Path) -> None:
    shutil.copyfile(original, copy)
    append_by_hand(copy, "prophecy", {"schema": 1, "what": [0.5, {"x": None}]})
    verdict = verify(copy)
    assert verdict.verdict == "CONSISTENT"
    assert [note for note in verdict.notes if "prophecy" in note and "1 event of" in note]
    changed = tamper(copy, copy.with_name("b.db"), "UPDATE events SET body = '{\"schema\":1}' WHERE seq = 33")
    assert (changed.verdict, changed.first_bad_seq) == ("TAMPERED", 33)


def test_a_newer_version_of_a_body_is_no_fault_and_not_fully_checked(original: Path, copy: Path) -> None:
    shutil.copyfile(original, copy)
    append_by_hand(copy, "note", {"schema": 2, "text": "seen", "mood": 0.5})
    verdict = verify(copy)
    assert (verdict.verdict, verdict.ok, verdict.exit_status) == ("NOT FULLY CHECKED", True, 3)
    assert [note for note in verdict.notes if "kind note with schema 2" in note]


def test_a_newer_releases_views_are_held_against_the_digest_in_its_schema_event(original: Path, copy: Path) -> None:
    from ledger._schema import format_objects, rows_digest

    shutil.copyfile(original, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("CREATE VIEW tomorrow AS SELECT 1 AS one")
        rows = set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
    theirs = tuple(sorted(rows - set(format_objects().rows), key=lambda row: row[:3]))
    assert verify(copy).verdict == "TAMPERED"
    append_by_hand(copy, "schema", {"schema": 1, "release": 999, "digest": rows_digest(theirs)})
    verdict = verify(copy)
    assert (verdict.verdict, verdict.ok, verdict.exit_status) == ("NOT FULLY CHECKED", True, 3)
    assert [note for note in verdict.notes if "release 999" in note]
    changed = tamper(copy, copy.with_name("b.db"), "DROP VIEW tomorrow")
    assert [problem.what for problem in changed.problems] == ["the views and indexes of release 999"]


# Hostile files


def test_problems_are_bounded_counted_and_the_first_is_right(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Ledger.create(path) as ledger:
        ledger.append(*[example_draft("note") for _ in range(MAX_PROBLEMS + 200)])
    settle(path)
    verdict = tamper(path, tmp_path / "b.db", "UPDATE events SET cell = 7 WHERE seq > 50")
    assert verdict.first_bad_seq == 51
    assert len(verdict.problems) == MAX_PROBLEMS + 1
    more = verdict.events - 50 - MAX_PROBLEMS
    assert (verdict.problems[-1].seq, verdict.problems[-1].got) == (None, f"{more} more")


def test_the_first_bad_seq_counts_problems_that_are_not_kept() -> None:
    findings = Findings()
    for seq in range(2 * MAX_PROBLEMS, 0, -1):
        findings.add(seq, "what", "this", "that")
    assert findings.first_bad_seq == 1
    assert len(findings.problems) == MAX_PROBLEMS + 1


@given(st.one_of(st.binary(max_size=400), st.text(max_size=400), st.integers(), st.none()))
def test_whatever_a_file_holds_is_shown_as_printable_ascii(value: object) -> None:
    text = show(value)
    assert text.isascii()
    assert not text or text.isprintable()
    assert len(text) < 4_000


def test_control_codes_in_a_file_do_not_come_out_of_a_problem(original: Path, copy: Path) -> None:
    evil = "\x1b]0;owned\x07\u202e"
    verdict = tamper(original, copy, lambda db: db.execute("UPDATE events SET kind = ? WHERE seq = 9", (evil,)))
    assert verdict.first_bad_seq == 9
    assert all(text.isprintable() and text.isascii() for p in verdict.problems for text in (p.what, p.expected, p.got))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_to_the_bytes_of_the_file_makes_verify_fail(original: Path, copy: Path, data: st.DataObject) -> None:
    content = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(content) - 1))
        patch = data.draw(st.binary(min_size=1, max_size=40))
        content[place : place + len(patch)] = patch
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(100, len(content))) :]
    copy.write_bytes(content)
    for suffix in ("-wal", "-shm"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    try:
        verdict = verify(copy)
    except NotALedger:
        return
    # Slack space and the header's counters hold nothing that is committed to.
    assert verdict.verdict == "TAMPERED" or verdict.events == 32


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE events (seq INTEGER PRIMARY KEY, hash, prev)'"
        " WHERE name = 'events'",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE blobs (id)' WHERE name = 'blobs'",
        "UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'edges'",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'edges')"
        " WHERE name = 'events'",
        "UPDATE sqlite_schema SET name = CAST(x'ff00fe' AS TEXT) WHERE type = 'view'",
        "UPDATE sqlite_schema SET sql = CAST(x'ff' AS TEXT) WHERE type = 'trigger'",
        "UPDATE sqlite_schema SET sql = sql || ' -- ' WHERE name = 'events'",
        "UPDATE sqlite_schema SET type = 'view' WHERE name = 'edges'",
        "DELETE FROM sqlite_schema WHERE name = 'edges'",
        "DELETE FROM sqlite_schema WHERE type <> 'table'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'seq INTEGER PRIMARY KEY', 'seq INTEGER') WHERE name = 'events'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'body TEXT', 'body TEXT AS (randomblob(1000000000))')"
        " WHERE name = 'events'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'body TEXT', 'body TEXT CHECK (length(zeroblob(900000000)) > 1)')"
        " WHERE name = 'events'",
    ],
)
def test_a_schema_written_by_hand_is_tampering_or_unreadable_and_never_more(
    original: Path, copy: Path, statement: str
) -> None:
    def change(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(statement)

    verdict = None
    try:
        verdict = tamper(original, copy, change, guarded=True)
    except NotALedger as problem:
        assert "events table" in str(problem) or "can't be read" in str(problem)
    assert verdict is None or verdict.verdict == "TAMPERED"


def test_a_blob_too_large_to_hold_at_once_is_checked_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    data = bytes(range(256)) * (LARGE // 256) + b"end"
    assert len(data) > LARGE
    with Ledger.create(path) as ledger:
        ledger.append(Draft(EXAMPLES["import"], run=RUN, blobs={"file": data}))
    settle(path)
    assert verify(path).verdict == "CONSISTENT"
    statement = "UPDATE blobs SET data = CAST(substr(data, 1, length(data) - 1) || 'D' AS BLOB)"
    verdict = tamper(path, tmp_path / "b.db", statement)
    assert verdict.first_bad_seq == 3


# Any history


KINDS = sorted(set(EXAMPLES) - {"genesis", "schema", "redact"})


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(KINDS),
                st.sampled_from([RUN, OTHER_RUN]),
                st.integers(1, 3),
                st.sets(st.integers(1, 40), max_size=4),
                st.dictionaries(st.text("ab\u00e9\uffff\U00010000", max_size=3), st.binary(max_size=20), max_size=3),
                st.booleans(),
            ),
            max_size=5,
        ),
        max_size=8,
    ),
    st.sets(st.integers(3, 40), max_size=4),
)
def test_any_sequence_of_appends_verifies(
    tmp_path_factory: pytest.TempPathFactory, appends: list[list[tuple[Any, ...]]], withheld: set[int]
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.db"
    count = 2
    with Ledger.create(path) as ledger:
        for group in appends:
            drafts = []
            for position, (kind, run, cell, causes, blobs, chained) in enumerate(group):
                known: set[int | Earlier] = {cause for cause in causes if cause <= count}
                if chained and position:
                    known.add(Earlier(position - 1))
                draft = example_draft(kind, run=run, cell=cell, causes=())
                drafts.append(Draft(draft.body, run=draft.run, cell=draft.cell, causes=tuple(known), blobs=blobs))
            with suppress(Refused):
                count += len(ledger.append(*drafts))
        names = dict(ledger.sql("SELECT seq, kind FROM main.events").fetchall())
        hidden = [seq for seq in sorted(withheld) if names.get(seq, "plan") not in kinds.NEVER_REDACTED]
        blobs = [
            str(row[0])
            for row in ledger.sql("SELECT hash FROM main.blobs WHERE id % 3 = 0 AND seq < ?", (count,)).fetchall()
        ]
    if hidden or blobs:
        withhold(path, hidden, blobs)
        count += 1
    verdict = verify(path)
    assert (verdict.verdict, verdict.problems, verdict.notes) == ("CONSISTENT", (), ())
    assert (verdict.events, verdict.withheld) == (count, len(hidden) + len(blobs))
