"""A full export holds everything: what is imported from it is the ledger, row for row and hash for hash."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import BadExport, Draft, Ledger, LedgerExists, Refused, verify
from ledger._canonical import canonical
from ledger._compress import compress
from ledger._export_full import export_full, export_full_file
from ledger._full import PIECE
from ledger._import import import_full
from ledger._schema import RELEASE, format_objects, rows_digest
from ledger.kinds import Note
from tests.ledger.ledgers import EXAMPLES, OTHER_RUN, RUN, drop_guards, example_draft, settle, tamper, withhold
from tests.ledger.test_snapshot import rows
from tests.ledger.test_verify import append_by_hand

ROOT = Path(__file__).resolve().parents[2]


def exported(path: Path) -> bytes:
    with Ledger.open(path, read_only=True) as ledger:
        return b"".join(export_full(ledger))


def comes_back(path: Path, folder: Path) -> Path:
    """Export, import, and hold everything against the original."""
    with Ledger.open(path, read_only=True) as ledger:
        events, head = export_full_file(ledger, folder / "full.jsonl")
        assert (events, head) == ledger.head()
    with (folder / "full.jsonl").open("rb") as file:
        made = import_full(file, "full.jsonl", folder / "again.db")
    assert rows(folder / "again.db") == rows(path)
    before, after = verify(path), verify(folder / "again.db")
    assert (after.verdict, after.events, after.head, after.notes) == (before.verdict, events, head, before.notes)
    assert (made.events, made.head, made.blobs) == (events, head, after.blobs)
    assert exported(folder / "again.db") == (folder / "full.jsonl").read_bytes()
    return folder / "again.db"


def test_a_ledger_with_every_kind_and_a_redaction_comes_back(original: Path, tmp_path: Path) -> None:
    comes_back(original, tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} - {"again.db-wal", "again.db-shm"} == {"again.db", "full.jsonl"}
    with Ledger.open(tmp_path / "again.db") as ledger:
        ledger.append(Draft(Note(text="and goes on")))
    assert verify(tmp_path / "again.db").verdict == "CONSISTENT"


def test_the_projects_own_history_comes_back(tmp_path: Path) -> None:
    shutil.copyfile(ROOT / "ledger.db", tmp_path / "history.db")
    comes_back(tmp_path / "history.db", tmp_path)


def test_bytes_that_are_packed_at_rest_stay_packed_as_they_are(original: Path, tmp_path: Path) -> None:
    path = tmp_path / "packed.db"
    shutil.copyfile(original, path)
    with Ledger.open(path) as ledger:
        ledger.append(Draft(EXAMPLES["import"], run=RUN, blobs={"file": b"again and " * 5_000, "x": b""}))
    assert compress(path).packed
    settle(path)
    again = comes_back(path, tmp_path)
    with closing(sqlite3.connect(again)) as connection:
        assert connection.execute("SELECT count(*) FROM blobs WHERE encoding = 'zlib'").fetchone()[0] > 0


@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7])
def test_a_blob_of_many_lines_comes_back(path: Path, tmp_path: Path, size: int) -> None:
    data = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    with Ledger.open(path) as ledger:
        ledger.append(Draft(EXAMPLES["import"], run=RUN, blobs={"a": data, "b": b"x", "c": data[::-1]}))
    again = comes_back(path, tmp_path)
    lines = (tmp_path / "full.jsonl").read_bytes().splitlines()
    assert sum(line.startswith(b'{"more":') for line in lines) == 2 * ((size - 1) // PIECE)
    assert max(map(len, lines)) < 2 * PIECE
    with Ledger.open(again, read_only=True) as ledger:
        assert ledger.blob(3, "c") == data[::-1]


def test_what_a_newer_release_wrote_comes_back(original: Path, tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    newer_release(original, path)
    append_by_hand(path, "prophecy", {"schema": 1, "what": [0.5, {"x": None}]})
    append_by_hand(path, "note", {"schema": 2, "text": "seen", "mood": 0.5})
    again = comes_back(path, tmp_path)
    assert [note for note in verify(again).notes if "release 999" in note]
    with closing(sqlite3.connect(again)) as connection:
        assert connection.execute("SELECT one FROM tomorrow").fetchone() == (1,)


def newer_release(original: Path, path: Path) -> None:
    """A ledger whose views and indexes a release that doesn't exist yet has put there."""
    shutil.copyfile(original, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP VIEW runs")
        connection.execute("CREATE VIEW runs AS SELECT 'another' AS shape")
        connection.execute("CREATE VIEW tomorrow AS SELECT 1 AS one")
        connection.execute("CREATE INDEX by_day ON events (at)")
        stored = set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
    theirs = tuple(sorted(stored - set(format_objects().rows), key=lambda row: row[:3]))
    append_by_hand(path, "schema", {"schema": 1, "release": 999, "digest": rows_digest(theirs)})
    assert verify(path).verdict == "NOT FULLY CHECKED"


def test_an_older_release_comes_back_as_that_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as then:
        then.setattr("ledger._schema.RELEASE", 2)
        then.setattr("ledger._store.RELEASE", 2)
        Ledger.create(tmp_path / "older.db").close()
    again = comes_back(tmp_path / "older.db", tmp_path)
    with Ledger.open(again, read_only=True) as ledger:
        assert json.loads(ledger.event(2).body or "")["release"] == 2 < RELEASE


KINDS = sorted(set(EXAMPLES) - {"genesis", "schema", "redact"})
APPEND = st.tuples(
    st.sampled_from(KINDS),
    st.sampled_from([RUN, OTHER_RUN]),
    st.sets(st.integers(1, 12), max_size=3),
    st.dictionaries(st.text('ab\u00e9\uffff\U00010000\x7f"', max_size=3), st.binary(max_size=90), max_size=3),
    st.text(max_size=8).filter(lambda text: "\x00" not in text),
)


@settings(max_examples=12, deadline=None)
@given(appends=st.lists(APPEND, max_size=6), withheld=st.sets(st.integers(3, 8), max_size=2), packed=st.booleans())
def test_any_ledger_comes_back(
    tmp_path_factory: pytest.TempPathFactory, appends: list[tuple[Any, ...]], withheld: set[int], packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with Ledger.create(folder / "a.db") as ledger:
        for kind, run, causes, blobs, text in appends:
            draft = example_draft(kind, run=run)
            body = Note(text=text) if kind == "note" else draft.body
            known = [cause for cause in causes if cause <= ledger.head()[0]]
            with suppress(Refused):
                ledger.append(Draft(body, run=draft.run, cell=draft.cell, causes=known, blobs=blobs))
        kinds = dict(ledger.sql("SELECT seq, kind FROM main.events").fetchall())
        blobs = [str(row[0]) for row in ledger.sql("SELECT hash FROM main.blobs WHERE id % 3 = 0").fetchall()]
    hidden = [seq for seq in sorted(withheld) if kinds.get(seq) in {"note", "request", "response", "fault"}]
    if hidden or blobs:
        withhold(folder / "a.db", hidden, blobs)
    if packed:
        compress(folder / "a.db")
    comes_back(folder / "a.db", folder)


def test_it_is_one_moment_of_the_ledger_while_others_append(path: Path) -> None:
    with Ledger.open(path) as ledger:
        lines = export_full(ledger)
        first = [next(lines), next(lines)]
        ledger.append(Draft(Note(text="later"), blobs={"file": b"x"}))
        rest = list(lines)
    assert json.loads(rest[-1])["events"] == 2
    assert len(first) + len(rest) == 1 + 2 + 1


def test_it_is_ascii_that_no_terminal_obeys(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(Draft(Note(text="\x1b]0;owned\x07 \x7f \u202e \u2028 caf\u00e9")))
    data = exported(path)
    assert data.isascii()
    assert set(data) - set(range(0x20, 0x7F)) == {0x0A}


def test_an_older_export_of_this_ledger_is_replaced_and_nothing_else_is(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "full.jsonl"
    with Ledger.open(path) as ledger:
        export_full_file(ledger, target)
        ledger.append(Draft(Note(text="more")))
        assert export_full_file(ledger, target)[0] == 3
    before = target.read_bytes()
    with Ledger.create(tmp_path / "other.db") as other:
        for taken in (target, path):
            with pytest.raises(LedgerExists, match="is no full export of this ledger"):
                export_full_file(other, taken)
    assert target.read_bytes() == before


CHANGES: list[tuple[str | Callable[[sqlite3.Connection], object], str]] = [
    ("UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 5", "after event 5: event 5: expected the hash"),
    ("UPDATE events SET kind = 'Kind' WHERE seq = 5", "after event 4: expected an event line"),
    ("UPDATE events SET kind = 'caf\u00e9' WHERE seq = 5", "after event 4"),
    ("UPDATE events SET body = replace(body, 'a', 'b') WHERE seq = 5", "event 5: its body and salt aren't what"),
    ("UPDATE events SET salt = NULL WHERE seq = 5", "event 5: expected salt and body, or neither"),
    ("UPDATE events SET body = CAST(x'ff41' AS TEXT) WHERE seq = 5", "event 5: its body and salt aren't what"),
    ("DELETE FROM events WHERE seq = 5", "expected event 5, got event 6"),
    ("DELETE FROM blobs WHERE id = 1", "is missing"),
    ("UPDATE blobs SET data = x'00' WHERE id = 1", "aren't what its hash commits to"),
    ("UPDATE blobs SET data = x'0001', encoding = 'zlib' WHERE id = 1", "no zlib stream"),
    ("UPDATE blobs SET data = x'78', encoding = 'zlib' WHERE id = 1", "its zlib stream ends early"),
    ("UPDATE blobs SET encoding = 'gzip' WHERE id = 1", "expected the encoding"),
    ("UPDATE blobs SET seq = 3 WHERE id = 2", "is missing"),
    ("UPDATE blobs SET hash = 'x' WHERE id = 1", "expected a hash"),
    ("DROP VIEW runs", "`ledger upgrade` puts them back"),
    (lambda connection: connection.execute("CREATE TABLE more (x)"), "its views and indexes aren't its last"),
]


@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_what_could_not_be_imported_again_is_not_exported(
    original: Path, copy: Path, change: str | Callable[[sqlite3.Connection], object], said: str
) -> None:
    tamper(original, copy, change)
    target = copy.with_name("full.jsonl")
    with Ledger.open(copy, read_only=True) as ledger, pytest.raises(BadExport) as refused:
        export_full_file(ledger, target)
    text = str(refused.value)
    assert said in text
    assert "`ledger verify`" in text
    assert "\n" not in text
    assert not target.exists()


def test_a_ledger_without_its_guards_is_not_exported(original: Path, copy: Path) -> None:
    tamper(original, copy, drop_guards, guarded=True)
    with Ledger.open(copy, read_only=True) as ledger, pytest.raises(BadExport, match="tables or guards"):
        list(export_full(ledger))


def test_what_analyze_leaves_behind_is_not_carried_along(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ANALYZE")
    data = exported(path)
    assert b"sqlite_stat" not in data
    (tmp_path / "full.jsonl").write_bytes(data)
    with (tmp_path / "full.jsonl").open("rb") as file:
        assert import_full(file, "full.jsonl", tmp_path / "again.db").events == 2


def test_a_body_is_written_as_it_is_stored(path: Path) -> None:
    with Ledger.open(path) as ledger:
        event = ledger.append(Draft(Note(text='caf\u00e9 "\u2028" \\ \n')))[0]
    record = json.loads(exported(path).splitlines()[3])
    assert record == {"line": event.line.decode(), "salt": event.salt, "body": event.body}
    assert canonical(json.loads(record["body"])).decode() == record["body"]
