"""An upgrade puts this release's views and indexes in place and records it; it touches nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import ledger._schema
import ledger._store
import ledger._upgrade
from ledger import Draft, Ledger, NotALedger, Refused, upgrade, verify
from ledger._schema import RELEASE, release_objects
from ledger.kinds import Schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Ledger.create(tmp_path / "ledger.db").close()
    return tmp_path / "ledger.db"


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_a_ledger_of_this_release_is_left_as_it_is(path: Path) -> None:
    done = upgrade(path)
    assert (done.event, done.before, done.release, done.altered) == (None, RELEASE, RELEASE, False)
    assert verify(path).events == 2


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP VIEW runs",),
        ("DROP VIEW runs", "CREATE VIEW runs AS SELECT 'x' AS run"),
        ("DROP INDEX events_by_run", "CREATE INDEX events_by_run ON events (run) WHERE run <> ''"),
        ("CREATE VIEW extra AS SELECT 1 AS one",),
        ('CREATE VIEW "odd "" name" AS SELECT 1 AS one',),
    ],
)
def test_views_and_indexes_that_differ_are_put_right_and_it_is_recorded(
    path: Path, statements: tuple[str, ...]
) -> None:
    change(path, *statements)
    assert verify(path).verdict == "TAMPERED"
    done = upgrade(path)
    assert done.altered
    assert done.event is not None
    assert (done.event.seq, done.event.kind) == (3, "schema")
    verdict = verify(path)
    assert (verdict.verdict, verdict.events) == ("CONSISTENT", 3)
    assert upgrade(path).event is None


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (("DROP TRIGGER events_delete",), "tables or guards"),
        (("CREATE TABLE facts (x)",), "'facts'"),
        (("CREATE TRIGGER more AFTER INSERT ON events BEGIN SELECT 1; END",), "'more'"),
    ],
)
def test_tables_and_guards_are_never_put_right_so_that_verify_goes_on_saying_so(
    path: Path, statements: tuple[str, ...], reason: str
) -> None:
    change(path, *statements, "DROP VIEW runs")
    before = path.read_bytes()
    with pytest.raises(Refused, match=reason):
        upgrade(path)
    verdict = verify(path)
    assert (verdict.verdict, verdict.events) == ("TAMPERED", 2)
    assert path.read_bytes() == before


@pytest.mark.parametrize("older", range(1, RELEASE))
def test_a_ledger_of_an_older_release_verifies_before_and_after_and_gets_this_one_s_views(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: int
) -> None:
    path = tmp_path / "older.db"
    with monkeypatch.context() as then:
        then.setattr(ledger._schema, "RELEASE", older)
        then.setattr(ledger._store, "RELEASE", older)
        Ledger.create(path).close()
    assert (verify(path).verdict, verify(path).notes) == ("CONSISTENT", ())
    with closing(sqlite3.connect(path)) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")}
        assert "answer_marks" not in names, "an older release lacks a view of this one"
    done = upgrade(path)
    assert (done.before, done.release, done.altered) == (older, RELEASE, False)
    assert done.event is not None
    assert verify(path).verdict == "CONSISTENT"
    now = release_objects(RELEASE)
    assert now is not None
    with closing(sqlite3.connect(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    assert {row[1] for row in now.rows} <= names


def test_every_view_of_this_release_can_be_read(path: Path) -> None:
    objects = release_objects(RELEASE)
    assert objects is not None
    with Ledger.open(path) as opened:
        for kind, name, _, _ in objects.rows:
            if kind == "view":
                opened.rows(f'SELECT * FROM main."{name}"')


def test_a_ledger_of_a_newer_release_is_left_to_it(path: Path) -> None:
    with Ledger.open(path) as opened:
        opened.append(Draft(Schema(release=RELEASE + 1, digest="0" * 64)))
    with pytest.raises(Refused, match=f"release {RELEASE + 1}"):
        upgrade(path)
    assert verify(path).events == 3


def test_what_fails_half_way_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(path, "DROP VIEW runs")

    def fails(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(ledger._upgrade, "append_within", fails)
    with pytest.raises(ledger.AppendFailed, match="nothing was changed"):
        upgrade(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'runs'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'cells'").fetchone() == (1,)


def test_what_is_no_ledger_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(NotALedger):
        upgrade(tmp_path / "none.db")
