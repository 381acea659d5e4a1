"""One ledger, opened, appended to and read: what is durable, what is refused, and what is left when SQLite fails."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ledger._connect
import ledger._store
from ledger import (
    AppendFailed,
    BadBody,
    BadLine,
    Draft,
    Earlier,
    Event,
    Ledger,
    LedgerExists,
    NotALedger,
    NotFound,
    Refused,
    new_run_id,
    verify,
)
from ledger._append import append_all
from ledger.kinds import Note, Request
from tests.ledger.ledgers import RUN, example_draft


def note(text: str = "x") -> Draft:
    return Draft(Note(text=text))


def texts(path: Path) -> list[str]:
    """The notes that a fresh reader finds."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            row[0] for row in connection.execute("SELECT body ->> '$.text' FROM events WHERE kind='note' ORDER BY seq")
        ]


def assert_consistent(path: Path, events: int) -> None:
    verdict = verify(path)
    assert (verdict.verdict, verdict.events, verdict.problems) == ("CONSISTENT", events, ())


# Making and opening


def test_a_new_ledger_holds_its_genesis_and_its_schema_in_one_file(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "new.db", origin="team/evals") as ledger:
        assert [event.kind for event in ledger.events()] == ["genesis", "schema"]
        assert ledger.genesis.origin == "team/evals"
    left = {entry.name for entry in tmp_path.iterdir()}
    # SQLite's own companions may stay behind a reader; nothing of ours does.
    assert left - {"new.db-wal", "new.db-shm"} == {"new.db"}
    assert_consistent(tmp_path / "new.db", 2)


def test_a_new_ledger_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("precious")
    with pytest.raises(LedgerExists, match="exists already"):
        Ledger.create(tmp_path / "a.db")
    assert (tmp_path / "a.db").read_text() == "precious"


def test_where_there_are_no_hard_links_a_new_ledger_still_never_takes_the_place_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError("no hard links on this file system")

    monkeypatch.setattr(os, "link", no_links)
    Ledger.create(tmp_path / "a.db").close()
    before = (tmp_path / "a.db").read_bytes()
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    with pytest.raises(LedgerExists):
        Ledger.create(tmp_path / "a.db")
    assert (tmp_path / "a.db").read_bytes() == before


@pytest.mark.parametrize("origin", ["", "Upper", "a b", "-a", "a" * 101, "a\n"])
def test_an_origin_outside_its_grammar_is_refused_and_no_file_is_left(tmp_path: Path, origin: str) -> None:
    with pytest.raises(BadBody, match="expected an origin"):
        Ledger.create(tmp_path / "a.db", origin=origin)
    assert list(tmp_path.iterdir()) == []


def other_sqlite_file(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT, body TEXT)")


def ledger_without_events(path: Path) -> None:
    Ledger.create(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER events_delete")
        connection.execute("DELETE FROM events")
        connection.commit()


NOT_LEDGERS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.touch(),
    "text": lambda path: path.write_text("no ledger " * 500),
    "a folder": lambda path: path.mkdir(),
    "another SQLite file": other_sqlite_file,
    "a dangling link": lambda path: path.symlink_to(path.parent / "nowhere"),
    "no event in it": ledger_without_events,
}


@pytest.mark.parametrize("what", NOT_LEDGERS)
def test_what_is_no_ledger_is_refused_by_name_and_left_as_it_was(tmp_path: Path, what: str) -> None:
    path = tmp_path / "not.db"
    NOT_LEDGERS[what](path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(NotALedger, match=r"not\.db"):
        Ledger.open(path)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotALedger, match="there is no folder"):
        Ledger.create(tmp_path / "no" / "a.db")


NOBODY = """
import os, sys, tempfile
from pathlib import Path
from ledger import *
from ledger.kinds import Note
# Everything is imported while it still may be: the interpreter itself may lie where others can't read.
with tempfile.TemporaryDirectory() as folder, Ledger.create(folder + "/warm.db") as ledger:
    ledger.append(Draft(Note(text="x")))
    verify(ledger.path)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""


def as_nobody(code: str, *arguments: str) -> list[str]:
    """The lines that code prints once it has given up root's right to pass over permissions."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", NOBODY + code, *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users reach too, which pytest's own isn't."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


def test_a_ledger_in_a_folder_that_cannot_be_written_is_read_and_refuses_to_be_appended_to(open_folder: Path) -> None:
    path = open_folder / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.append(note("there"))
    path.chmod(0o444)
    open_folder.chmod(0o555)
    code = (
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        "    print(ledger.head()[0], verify(ledger.path).verdict)\n"
        "    try: ledger.append(Draft(Note(text='x')))\n"
        "    except LedgerError as refused: print(type(refused).__name__, refused)\n"
        "    print(ledger.head()[0])\n"
    )
    head, refused, after = as_nobody(code, str(path))
    assert (head, after) == ("3 CONSISTENT", "3")
    assert "ledger.db" in refused
    assert refused.split()[0] in {"AppendFailed", "NotALedger"}


def test_a_ledger_that_may_not_be_read_or_made_is_one_clear_refusal(open_folder: Path) -> None:
    path = open_folder / "ledger.db"
    Ledger.create(path).close()
    path.chmod(0o000)
    code = (
        "for act in (Ledger.open, Ledger.create):\n"
        "    try: act(sys.argv[1] + ('' if act == Ledger.open else '2'))\n"
        "    except NotALedger as refused: print(refused)\n"
    )
    opened, made = as_nobody(code, str(path))
    assert "ledger.db can't be read" in opened
    assert "ledger.db2 can't be made" in made


def test_a_path_with_characters_that_a_uri_knows_is_only_a_path(tmp_path: Path) -> None:
    for name in ("a?mode=memory", "b#c", "%41", "d e", "ü"):
        with Ledger.create(tmp_path / name) as ledger:
            ledger.append(note())
        with Ledger.open(tmp_path / name) as ledger:
            assert ledger.head()[0] == 3


# Appending


def test_an_append_is_read_back_with_its_blobs_and_causes(path: Path) -> None:
    with Ledger.open(path) as ledger:
        first, second = ledger.append(
            Draft(Note(text="a"), blobs={"file": b"\x00\xff", "empty": b""}),
            Draft(Note(text="b"), causes=[1, Earlier(0)]),
        )
        assert (first.seq, second.seq, second.causes, second.prev) == (3, 4, (1, 3), first.hash)
        assert ledger.event(3) == first
        assert (ledger.blob(3, "file"), ledger.blob(3, "empty")) == (b"\x00\xff", b"")
        assert ledger.rows("SELECT cause, effect FROM main.edges ORDER BY cause") == [
            {"cause": 1, "effect": 4}, {"cause": 3, "effect": 4},
        ]  # fmt: skip
        with pytest.raises(NotFound):
            ledger.blob(3, "other")
        with pytest.raises(NotFound):
            ledger.event(5)
    assert_consistent(path, 4)


def test_a_refused_draft_takes_its_whole_append_with_it(path: Path) -> None:
    with Ledger.open(path) as ledger:
        for bad in (
            Draft(Note(text="b"), causes=[9]),
            Draft(Note(text="b"), causes=[1, 1]),
            Draft(Note(text="b"), run="A"),
        ):
            with pytest.raises(BadLine):
                ledger.append(note("a"), bad)
        with pytest.raises(BadBody):
            ledger.append(note("a"), note("\x00"))
        assert ledger.head()[0] == 2
        assert ledger.append(note("c"))[0].seq == 3
    assert texts(path) == ["c"]


def test_a_second_plan_and_a_second_claim_are_refused(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(example_draft("plan"), example_draft("request"))
        with pytest.raises(Refused, match="has its plan already"):
            ledger.append(example_draft("plan"))
        with pytest.raises(Refused, match=r"attempt 0 was claimed by event 4"):
            ledger.append(note("no"), example_draft("request"))
        again = Request(attempt=1, turn=0, method="POST", url="u", headers=[])
        assert ledger.append(Draft(again, run=RUN, cell=1))[0].seq == 5
    assert_consistent(path, 5)


def test_two_claims_in_one_append_are_refused_too(path: Path) -> None:
    with Ledger.open(path) as ledger, pytest.raises(Refused):
        ledger.append(example_draft("request"), example_draft("request"))
    assert_consistent(path, 2)


def test_a_closed_and_a_read_only_ledger_append_nothing(path: Path) -> None:
    ledger = Ledger.open(path)
    ledger.close()
    with pytest.raises(AppendFailed, match="was closed"):
        ledger.append(note())
    with Ledger.open(path, read_only=True) as reader, pytest.raises(AppendFailed, match="read-only"):
        reader.append(note())
    assert_consistent(path, 2)


def test_threads_share_one_ledger_without_a_gap_or_a_fork(path: Path) -> None:
    with Ledger.open(path) as ledger, ThreadPoolExecutor(8) as pool:
        appended = list(pool.map(lambda number: ledger.append(note(str(number)), note(str(number)))[1], range(200)))
    assert sorted(event.seq for event in appended) == list(range(4, 403, 2))
    assert_consistent(path, 402)


class Commits:
    """Counts the commits that the ledger makes, and can hold them up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()
        monkeypatch.setattr(ledger._writer, "append_all", self)

    def __call__(self, connection: sqlite3.Connection, groups: Sequence[Any], **given: Any) -> Any:
        self.begun.set()
        assert self.go.wait(30)
        self.sizes.append(len(groups))
        return append_all(connection, groups, **given)


async def wait_for(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.001)


def test_appends_that_wait_together_share_one_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = Commits(monkeypatch)

    async def scenario(ledger: Ledger) -> list[list[Event]]:
        commits.go.clear()
        first = asyncio.create_task(ledger.append_async(note("first")))
        await wait_for(commits.begun)
        rest = [asyncio.create_task(ledger.append_async(note(str(number)))) for number in range(50)]
        await asyncio.sleep(0)
        commits.go.set()
        return await asyncio.gather(first, *rest)

    with Ledger.open(path) as ledger:
        done = asyncio.run(scenario(ledger))
    assert commits.sizes == [1, 50]
    assert [event.seq for (event,) in done] == list(range(3, 54))
    assert_consistent(path, 53)


def test_one_refused_among_appends_that_share_a_commit_fails_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = Commits(monkeypatch)

    async def scenario(ledger: Ledger) -> list[list[Event] | BaseException]:
        commits.go.clear()
        first = asyncio.create_task(ledger.append_async(example_draft("plan")))
        await wait_for(commits.begun)
        drafts = [note("a"), example_draft("plan"), note("b"), Draft(Note(text="c"), causes=[99]), note("d")]
        rest = [asyncio.create_task(ledger.append_async(draft)) for draft in drafts]
        await asyncio.sleep(0)
        commits.go.set()
        return await asyncio.gather(first, *rest, return_exceptions=True)

    with Ledger.open(path) as ledger:
        done = asyncio.run(scenario(ledger))
    assert [type(one) for one in done] == [list, list, Refused, list, BadLine, list]
    assert commits.sizes == [1, 5]
    assert texts(path) == ["a", "b", "d"]
    assert_consistent(path, 6)


def test_a_cancelled_append_leaves_all_of_itself_or_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = Commits(monkeypatch)

    async def scenario(ledger: Ledger) -> None:
        commits.go.clear()
        under_way = asyncio.create_task(ledger.append_async(note("committing 1"), note("committing 2")))
        await wait_for(commits.begun)
        waiting = asyncio.create_task(ledger.append_async(note("waiting 1"), note("waiting 2")))
        kept = asyncio.create_task(ledger.append_async(note("kept")))
        await asyncio.sleep(0)
        under_way.cancel()
        waiting.cancel()
        for task in (under_way, waiting):
            with pytest.raises(asyncio.CancelledError):
                await task
        commits.go.set()
        assert (await kept)[0].seq == 5

    with Ledger.open(path) as ledger:
        asyncio.run(scenario(ledger))
    # The first had reached the database, so it is there whole; the second hadn't, so nothing of it is.
    assert texts(path) == ["committing 1", "committing 2", "kept"]
    assert_consistent(path, 5)


def test_an_append_never_blocks_the_loop_while_another_process_holds_the_write_lock(path: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable, "-c",
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.readline(); c.execute('ROLLBACK')",
            str(path),
        ],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdin is not None and holder.stdout is not None

    async def scenario(ledger: Ledger) -> tuple[int, bool]:
        task = asyncio.create_task(ledger.append_async(note("late")))
        turns, until = 0, time.monotonic() + 0.5
        while time.monotonic() < until:
            await asyncio.sleep(0.01)
            turns += 1
        waited = not task.done()
        assert holder.stdin is not None
        holder.stdin.write("\n")
        holder.stdin.flush()
        await task
        return turns, waited

    try:
        assert holder.stdout.readline() == "held\n"
        with Ledger.open(path) as ledger:
            turns, waited = asyncio.run(scenario(ledger))
    finally:
        holder.communicate(timeout=30)
    assert waited
    # A blocked loop turns once or twice. A free one would turn 50 times; a busy machine gets by with fewer.
    assert turns >= 5
    assert texts(path) == ["late"]


# Reading


def test_events_are_filtered_paged_and_taken_from_either_end(path: Path) -> None:
    run = new_run_id()
    with Ledger.open(path) as ledger_:
        ledger_.append(*(Draft(Note(text=str(cell)), run=run, cell=cell) for cell in range(1, 6)), note("other"))
        assert [event.cell for event in ledger_.events(run=run)] == [1, 2, 3, 4, 5]
        assert [event.seq for event in ledger_.events(run=run, after=4, limit=2)] == [5, 6]
        assert [event.seq for event in ledger_.events(kind="note", cell=0)] == [8]
        assert [event.seq for event in ledger_.newest(2, run=run)] == [6, 7]


def test_a_reader_sees_one_moment_and_nothing_of_an_open_append(path: Path) -> None:
    with Ledger.open(path) as ledger_, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE half (done)")
        assert ledger_.rows("SELECT name FROM main.sqlite_schema WHERE name = 'half'") == []
        other.execute("ROLLBACK")


def test_the_reading_connection_cannot_write(path: Path) -> None:
    with Ledger.open(path) as ledger_:
        for statement in ("DELETE FROM main.events", "DROP TRIGGER events_delete", "CREATE TABLE t (x)"):
            with pytest.raises(sqlite3.OperationalError):
                ledger_.sql(statement)
    assert_consistent(path, 2)
