"""Files made to mislead or to wear out whoever reads them, and names that lead elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger import BadBody, BadLine, Draft, Ledger, NotALedger, NotFound, Refused, hold_run, run_is_held, verify
from ledger._connect import connect_reader
from ledger._look import inspect
from ledger._packed import pieces, unpacked
from ledger._runs import list_runs
from ledger._verify import verify_connection
from ledger._verify_schema import read_schema
from ledger.kinds import Note
from tests.ledger.ledgers import EXAMPLES, OTHER_RUN, RUN, example_draft, settle, tamper

PLACES = 400


@pytest.fixture
def asked_twice(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A run of many cells, each of which was asked twice: nothing is wrong with it."""
    path = tmp_path / "twice.db"
    request = EXAMPLES["request"]
    with Ledger.create(path) as ledger:
        ledger.append(example_draft("freeze"), example_draft("plan"))
        for cell in range(1, PLACES + 1):
            again = request.model_copy(update={"attempt": 1})
            ledger.append(*(Draft(body, run=RUN, cell=cell) for body in (EXAMPLES["cell"], request, again)))
    with closing(connect_reader(path)) as connection:
        yield connection


def test_cells_that_were_asked_twice_cost_one_pass_not_one_each(asked_twice: sqlite3.Connection) -> None:
    statements: list[str] = []
    asked_twice.set_trace_callback(statements.append)
    verdict = verify_connection(asked_twice)
    assert (verdict.verdict, verdict.events) == ("CONSISTENT", 4 + 3 * PLACES)
    assert len(statements) < 50


def test_a_second_cell_event_of_a_cell_is_refused_and_where_it_stands_it_is_named(
    original: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(original, copy)
    with Ledger.open(copy) as ledger:
        with pytest.raises(Refused, match="planned by event"):
            ledger.append(example_draft("cell"))
        ledger.append(example_draft("cell", cell=2), example_draft("cell", run=OTHER_RUN))
        assert verify(copy).verdict == "CONSISTENT"
        monkeypatch.setattr("ledger._append._refuse_if_taken", lambda connection, item: None)
        (second,) = ledger.append(example_draft("cell"))
    verdict = verify(copy)
    assert verdict.first_bad_seq == second.seq
    assert [problem.what for problem in verdict.problems] == ["a second cell event of one cell"]


@pytest.mark.parametrize("cell", [2**53, 2**53 + 1, -1])
def test_the_door_refuses_a_cell_that_verify_would_call_tampering(tmp_path: Path, cell: int) -> None:
    with Ledger.create(tmp_path / "a.db") as ledger:
        with pytest.raises(BadBody, match="expected a cell from 0 to 9007199254740991"):
            ledger.append(Draft(Note(text="x"), run=RUN, cell=cell))
        assert ledger.append(Draft(Note(text="x"), run=RUN, cell=2**53 - 1))
    assert verify(tmp_path / "a.db").verdict == "CONSISTENT"


def test_the_door_refuses_a_second_genesis(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.db") as ledger:
        with pytest.raises(BadLine, match="genesis as event 1, and only there"):
            ledger.append(Draft(EXAMPLES["genesis"]))
        assert ledger.head()[0] == 2


def rewrite_schema(statement: str) -> str:
    return f"PRAGMA writable_schema=ON; {statement}; PRAGMA writable_schema=RESET"


def test_statistics_are_no_fault_but_only_as_sqlite_writes_them(original: Path, copy: Path) -> None:
    assert tamper(original, copy, "ANALYZE", guarded=True).verdict == "CONSISTENT"
    strangers = (
        ("sqlite_stat1", "(tbl,idx,stat,fact)"),
        ("sqlite_stat4", "(tbl,a)"),
        ("sqlite_stat1", "(tbl,idx,stat CHECK(1))"),
    )
    for name, table in strangers:
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            connection.executescript(
                "DROP TABLE IF EXISTS sqlite_stat1; DROP TABLE IF EXISTS sqlite_stat4;"
                " CREATE TABLE kept(tbl,idx,stat,fact);"
                + rewrite_schema(
                    f"UPDATE sqlite_schema SET name = '{name}', tbl_name = '{name}', sql = 'CREATE TABLE {name}{table}'"
                    " WHERE name = 'kept'"
                )
            )
        settle(copy)
        assert [problem.what for problem in verify(copy).problems] == [f"the table {name} is not part of the ledger"]


@pytest.mark.parametrize(
    ("statement", "computes"),
    [
        ("SELECT 1", False),
        ("ANALYZE", False),
        ("CREATE INDEX later ON events (at, kind)", False),
        ("CREATE INDEX slow ON events (length(hex(zeroblob(1000))))", True),
        ("CREATE INDEX slow ON events (at) WHERE length(hex(zeroblob(1000))) > 0", True),
        ("CREATE TABLE other (a CHECK (a > 0))", True),
    ],
)
def test_an_expression_of_somebody_elses_gets_only_so_much_time(
    original: Path, copy: Path, statement: str, computes: bool
) -> None:
    tamper(original, copy, statement, guarded=True)
    with closing(connect_reader(copy)) as connection:
        connection.text_factory = bytes
        assert read_schema(connection).computes is computes


def packed_blob(path: Path, plain: bytes) -> None:
    data = zlib.compress(plain, 9)
    verdict = tamper(
        path, path.with_name("packed.db"),
        lambda connection: connection.execute("UPDATE blobs SET encoding = 'zlib', data = ? WHERE id = 1", (data,)),
    )  # fmt: skip
    assert verdict.first_bad_seq == 6
    assert [problem.got for problem in verdict.problems] == ["it unpacks to more than 8 bytes"]


def test_a_few_bytes_that_stand_for_many_are_given_up_on_once_they_pass_the_size(original: Path, copy: Path) -> None:
    shutil.copyfile(original, copy)
    packed_blob(copy, bytes(1 << 20))
    with Ledger.open(copy.with_name("packed.db"), read_only=True) as ledger:
        assert [blob.state for blob in inspect(ledger, "6").blobs] == ["can't be read: it unpacks to more than 8 bytes"]
        with pytest.raises(NotFound, match="more than 8 bytes"):
            ledger.blob(6, "body")


def test_what_is_packed_is_one_whole_stream_of_the_size_that_was_said() -> None:
    whole = zlib.compress(b"question")
    assert unpacked("zlib", whole, 8) == b"question"
    assert unpacked("", b"as it is", 3) == b"as it is"
    wrong = (("zlib", whole[:-1]), ("zlib", whole + b"x"), ("zlib", b"no"), ("gzip", whole), ("", "text"))
    for encoding, data in wrong:
        with pytest.raises(ValueError, match=r"."):
            unpacked(encoding, data, 8)
    with pytest.raises(ValueError, match="more than 7 bytes"):
        unpacked("zlib", whole, 7)


@pytest.mark.parametrize("plain", [b"", b"question", bytes(3 << 20)], ids=["nothing", "a word", "three pieces"])
def test_what_is_packed_says_the_same_a_piece_at_a_time(plain: bytes) -> None:
    whole = zlib.compress(plain)
    packed = [("zlib", each) for each in (whole, whole[:-1], whole + b"x", b"no")]
    for encoding, data in (*packed, ("gzip", whole), ("", plain)):
        for most in (len(plain), len(plain) - 1):
            try:
                expected: object = unpacked(encoding, data, most)
            except ValueError:
                with pytest.raises(ValueError, match=r"."):
                    list(pieces(encoding, data, most))
            else:
                found = list(pieces(encoding, data, most))
                assert b"".join(found) == expected
                assert encoding == "" or all(len(each) <= 1 << 20 for each in found)


def test_a_log_that_is_pending_beside_the_file_is_not_passed_over_when_a_link_leads_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    with Ledger.create(tmp_path / "a.db") as ledger:
        ledger.append(Draft(Note(text="only in the log")))
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{tmp_path / 'a.db'}{suffix}", f"{tmp_path / 'real' / 'a.db'}{suffix}")
    link = tmp_path / "link.db"
    link.symlink_to("real/a.db")
    assert verify(link).events == 3
    connect = sqlite3.connect

    def without_shared_memory(database: str, **more: object) -> sqlite3.Connection:
        # As in a folder that nobody may write to.
        if "immutable" not in database:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(database, **more)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", without_shared_memory)
    for path in (link, tmp_path / "real" / "a.db"):
        with pytest.raises(NotALedger, match="unable to open"):
            verify(path)


def test_two_slashes_ahead_of_a_path_name_no_host(original: Path) -> None:
    assert verify(Path(f"/{original}")).verdict == "CONSISTENT"
    assert str(Path(f"/{original}")).startswith("//")


def test_a_path_that_is_no_utf8_is_only_a_path(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.db"))
    try:
        with Ledger.create(path) as ledger:
            ledger.append(Draft(Note(text="x")))
    except NotALedger as problem:
        if "Illegal byte sequence" in str(problem):
            pytest.skip("this file system wants names in UTF-8")
        raise
    assert verify(path).events == 3


def test_a_run_that_a_hostile_file_names_leads_to_no_other_file(original: Path, copy: Path) -> None:
    name = "../elsewhere"
    tamper(original, copy, f"UPDATE events SET run = '{name}' WHERE kind = 'plan' AND run = '{OTHER_RUN}'")
    folder = copy.with_name(copy.name + ".locks")
    folder.mkdir()
    elsewhere = folder / name
    elsewhere.write_text("mine")
    before = elsewhere.stat()
    elsewhere.chmod(0)  # opening it as a lock would fail, or (for root) be seen in no way: the name alone is refused
    with Ledger.open(copy, read_only=True) as ledger:
        assert {row["run"]: row["status"] for row in list_runs(ledger)}[name] == "interrupted"
    assert elsewhere.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(NotFound), hold_run(copy, name):
        pass
    assert not run_is_held(copy, name)


def test_a_run_is_held_by_whichever_name_its_ledger_was_opened(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "a.db").close()
    (tmp_path / "link.db").symlink_to("a.db")
    with hold_run(tmp_path / "link.db", RUN):
        assert run_is_held(tmp_path / "a.db", RUN)
    (tmp_path / "a.db.locks" / OTHER_RUN).symlink_to(tmp_path / "a.db")
    assert not run_is_held(tmp_path / "a.db", OTHER_RUN)


def test_a_blob_that_is_text_is_said_to_be_unreadable(original: Path, copy: Path) -> None:
    shutil.copyfile(original, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.executescript(
            rewrite_schema("UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'blobs'")
        )
    tamper(copy, copy.with_name("loose.db"), "UPDATE blobs SET data = 'text' WHERE seq = 6")
    copy = copy.with_name("loose.db")
    assert verify(copy).verdict == "TAMPERED"
    with Ledger.open(copy, read_only=True) as ledger:
        seen = inspect(ledger, "6")
    assert [blob.state for blob in seen.blobs] == ["can't be read: not bytes"]
    assert not json.loads(json.dumps(seen.as_json()))["blobs"][0]["size"]
