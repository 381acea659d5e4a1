"""What takes room: every byte of events and blobs is counted once, under the right name, and nothing is made up."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from ledger import Draft, Ledger
from ledger._compress import compress
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger._stats import Stats, stats
from ledger.cli import app, run_app
from ledger.kinds import Import, Note
from tests.ledger.ledgers import example_draft

TEXT = b'{"role": "assistant", "content": "the same words over and over"}' * 100


@pytest.fixture
def filled(path: Path) -> Path:
    with Ledger.open(path) as ledger:
        ledger.append(example_draft("plan"))
        for number in range(30):
            blobs = {"file": TEXT + str(number).encode(), "noise": os.urandom(1000)}
            ledger.append(Draft(Import(format="log", tool="t", grade="text", digest="0" * 64), blobs=blobs))
        ledger.append(Draft(Note(text="n" * 5_000)), example_draft("request"), example_draft("response"))
    return path


def measured(path: Path) -> Stats:
    with Ledger.open(path, read_only=True) as ledger:
        return stats(ledger)


def test_every_event_and_every_blob_is_counted_once(filled: Path) -> None:
    found = measured(filled)
    assert (found.events, found.blobs) == (36, 30 * 2 + 3)
    kinds = {room.name: room for room in found.kinds}
    assert {name: room.count for name, room in kinds.items()} == {
        "genesis": 1, "schema": 1, "plan": 1, "import": 30, "note": 1, "request": 1, "response": 1
    }  # fmt: skip
    assert found.kinds[0].name == "import"
    assert 5_000 < kinds["note"].bytes < 5_500
    names = {room.name: room for room in found.names}
    assert (names["import/file"].count, names["import/noise"].bytes) == (30, 30_000)
    assert names["import/file"].bytes == names["import/file"].plain == sum(len(TEXT) + len(str(n)) for n in range(30))
    assert found.names[0].name == "import/file", "the largest stands first"
    assert sum(room.count for room in found.names) == found.blobs
    assert found.file == filled.stat().st_size


def test_what_compressing_would_save_is_about_what_it_saves(filled: Path) -> None:
    before = measured(filled)
    assert before.saving is not None and before.sampled > 30
    done = compress(filled)
    assert done.blobs_before - done.blobs_after == pytest.approx(before.saving, rel=0.2)
    after = measured(filled)
    files = next(room for room in after.names if room.name == "import/file")
    assert (files.packed, files.plain) == (30, sum(len(TEXT) + len(str(n)) for n in range(30)))
    assert files.bytes < (files.plain or 0) / 10, "stored and plain are told apart"
    assert after.saving == 0, "what is left doesn't become smaller"


def test_what_is_withheld_takes_no_room_and_is_still_counted(filled: Path) -> None:
    with Ledger.open(filled) as ledger:
        redact(filled, find_targets(ledger, ["4:file", "5"]), category="secret", reason="a key was in it")
    found = measured(filled)
    names = {room.name: room for room in found.names}
    assert names["import/file"].withheld == 1
    unnamed = names["(of an event whose body is withheld)"]
    assert (unnamed.count, unnamed.plain) == (2, None), "nobody can tell what event 5's blobs are called"
    assert next(room for room in found.kinds if room.name == "import").withheld == 1


def test_the_biggest_runs_are_named_and_as_many_as_asked_for(filled: Path) -> None:
    found = measured(filled)
    assert [room.count for room in found.runs] == [3]
    assert found.runs[0].name.endswith("authority first")
    with Ledger.open(filled, read_only=True) as ledger:
        assert stats(ledger, runs=0).runs == []


def test_an_empty_ledger_has_no_saving(path: Path) -> None:
    found = measured(path)
    assert (found.blobs, found.saving, found.names) == (0, None, [])


def test_where_sqlite_cannot_measure_pages_it_is_said(
    filled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ledger._stats._PAGES", "SELECT name, sum(pgsize) AS bytes FROM no_dbstat WHERE name = ?")
    assert measured(filled).indexes == []
    assert run_app(app, "ledger", ["stats", "--db", str(filled)]) == 0
    assert "this SQLite can't measure them" in capsys.readouterr().out


def test_indexes_are_measured_where_sqlite_can(filled: Path) -> None:
    try:
        sqlite3.connect(":memory:").execute("SELECT * FROM dbstat")
    except sqlite3.Error:
        pytest.skip("this SQLite has no dbstat")
    rooms = {room.name: room.bytes for room in measured(filled).indexes}
    assert {"edges", "events_by_run", "blobs_by_seq"} <= set(rooms)
    assert all(size >= 4096 and size % 4096 == 0 for size in rooms.values())


def test_as_typed_and_as_json(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(app, "ledger", ["stats", "--db", str(filled)]) == 0
    text = capsys.readouterr().out
    assert "`ledger upgrade --compress --db" in text and "` would save about" in text and "import/file" in text
    assert run_app(app, "ledger", ["stats", "--db", str(filled), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == 36
    assert run_app(app, "ledger", ["stats", "--db", str(filled.with_name("none.db"))]) == 2
