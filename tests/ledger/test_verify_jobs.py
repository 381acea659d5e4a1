"""`verify --jobs`: parts of a ledger checked by themselves and joined, and never another verdict than one process's.

test_tamper_jobs.py does that for every change that the tests of tampering make.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Draft, Ledger, Outside, kinds, verify
from ledger._errors import BadProof
from ledger._verify_part import Job, PartFound
from ledger._verify_parts import NotInParts, Part, Way
from ledger._verify_roots import BLOCK, Blocks, Roots, join_blocks
from ledger.checkpoints._files import checkpoint_folder
from ledger.tree import Peaks, leaf_hash
from tests.ledger.ledgers import DIGEST, RUN, rehash, tamper, whole_ledger
from tests.ledger.parts import Inline, both, divided
from tests.ledger.signed import append_notes, key_of, sign
from tests.ledger.test_attacks import ATTACKS, SIZE, Attack
from tests.ledger.test_tamper import BLOB_COLUMNS, EVENT_COLUMNS, changes

JOBS = (2, 3, 5, 40)


# The same verdict


def test_a_sound_ledger_has_the_same_verdict_however_it_is_divided(original: Path) -> None:
    whole = verify(original)
    for jobs in JOBS:
        for block in (1, 2, 8, 16):
            quick = divided(original, jobs=jobs, block=block)
            assert quick is not None and quick.as_json() == whole.as_json(), (jobs, block)
            assert quick.withheld_by == whole.withheld_by


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = whole_ledger(tmp_path_factory.mktemp("parts") / "ledger.db")
    append_notes(path, *(f"note {number}" for number in range(8)))
    sign(path, SIZE)
    return path


@pytest.mark.parametrize("attack", ATTACKS, ids=[each.name for each in ATTACKS])
def test_each_attack_is_said_the_same(attack: Attack, signed: Path, tmp_path: Path) -> None:
    path, key = tmp_path / "ledger.db", key_of(signed).verifier
    shutil.copyfile(signed, path)
    shutil.copytree(checkpoint_folder(signed), checkpoint_folder(path))
    attack.does(path)
    for outside in (Outside(beside=False), Outside(), Outside(keys=(key,), require_checkpoint=True)):
        assert (divided(path, outside) is None) == (both(path, outside).verdict == "TAMPERED")


@pytest.mark.parametrize("block", [1, 4, 16])
def test_the_roots_of_every_size_are_those_that_were_signed(original: Path, tmp_path: Path, block: int) -> None:
    path = tmp_path / "ledger.db"
    shutil.copyfile(original, path)
    for size in range(1, 33):
        sign(path, size)
    outside = Outside(keys=(key_of(path).verifier,))
    quick = divided(path, outside, block=block)
    assert quick is not None and quick == verify(path, outside) and quick.verdict == "MATCHES CHECKPOINT"
    assert [each.size for each in quick.checkpoints if each.counts] == list(range(1, 33))


@pytest.mark.parametrize("seq", [2, 3, 4, 5, 9, 12, 16, 17, 25, 31, 32])
def test_a_history_that_goes_on_otherwise_from_any_event_on_never_passes(original: Path, copy: Path, seq: int) -> None:
    """Each part alone is sound, wherever one of them begins there: only their joint isn't."""

    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET hash = ? WHERE seq = ?", ("0" * 64, seq - 1))
        rehash(db, seq)

    assert tamper(original, copy, change).verdict == "TAMPERED"
    assert all(divided(copy, jobs=32, block=block) is None for block in (1, 2, 4))


@pytest.mark.parametrize("statement", [
    "DELETE FROM events WHERE seq = {}", "DELETE FROM events WHERE seq >= {}", "DELETE FROM blobs WHERE id = {}",
    "DELETE FROM edges WHERE effect = {}", "INSERT INTO edges VALUES (1, {} + 32)",
    "UPDATE blobs SET id = id + 90 WHERE id >= {}",
    "UPDATE blobs SET seq = seq + 1 WHERE id = {}", "INSERT INTO edges VALUES (-1, -{})",
    "UPDATE events SET seq = seq + 1000 WHERE seq >= {}",
])  # fmt: skip
def test_a_row_that_goes_comes_or_moves_at_any_border_of_parts_never_passes(
    original: Path, copy: Path, statement: str
) -> None:
    for at in (1, 3, 4, 5, 8, 17, 28, 32):
        if tamper(original, copy, statement.format(at)).verdict == "TAMPERED":
            assert all(divided(copy, jobs=32, block=block) is None for block in (1, 4)), at


@pytest.mark.parametrize("table", ["events", "blobs"])
def test_a_changed_column_at_a_border_never_passes(original: Path, copy: Path, table: str) -> None:
    columns, key, at = (EVENT_COLUMNS, "seq", 8) if table == "events" else (BLOB_COLUMNS, "id", 3)
    for column in columns:
        with closing(sqlite3.connect(original)) as db:
            (value,) = db.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", (at,)).fetchone()
        other = next(each for each in changes(value) if each != value)
        statement = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
        assert tamper(original, copy, lambda db, v=other, s=statement: db.execute(s, (v, at))).verdict == "TAMPERED"
        assert divided(copy) is None, (column, other)


def test_what_a_newer_release_wrote_is_left_to_one_process(original: Path, copy: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET kind = 'later' WHERE kind = 'note'")
        rehash(db, 2)

    verdict = tamper(original, copy, change)
    assert verdict.verdict == "CONSISTENT" and verdict.notes
    assert divided(copy) is None
    assert verify(copy, jobs=2) == verdict


def test_with_since_nothing_is_divided(signed: Path) -> None:
    note = sign(signed, SIZE, peaks=True)
    outside = Outside(keys=(key_of(signed).verifier,), since=note)
    assert divided(signed, outside) is None
    assert verify(signed, outside, jobs=2) == verify(signed, outside) and verify(signed, outside, jobs=2).since == SIZE


def test_what_is_appended_meanwhile_is_not_looked_at(path: Path) -> None:
    append_notes(path, *(f"note {number}" for number in range(10)))
    before = verify(path)

    class Beside(Inline):
        def __init__(self, job: Job) -> None:
            with Ledger.open(path) as ledger:
                ledger.append(
                    Draft(
                        kinds.Import(format="", tool="", grade="text", digest=DIGEST),
                        causes=[3],
                        run=RUN,
                        blobs={"file": b"meanwhile"},
                    )
                )
            super().__init__(job)

    quick = divided(path, part=Beside)
    assert quick is not None and quick.as_json() == before.as_json()
    assert verify(path).events > before.events


# Parts that don't join, or don't run


LIES: dict[str, Callable[[PartFound], object]] = {
    "head": lambda found: replace(found, head="0" * 64),
    "count": lambda found: replace(found, count=found.count + 1),
    "blobs": lambda found: replace(found, blobs=found.blobs + 1),
    "next_blob": lambda found: replace(found, next_blob=found.next_blob + 1),
    "schema": lambda found: replace(found, schema=found.schema + 1),
    "roots": lambda found: replace(found, roots=found.roots[:-64]),
    "no hex": lambda found: replace(found, roots=found.roots + "x"),
    "withheld": lambda found: replace(found, redacted=[]),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_part_that_says_what_does_not_fit_gives_no_verdict(
    signed: Path, lie: Callable[[PartFound], PartFound]
) -> None:
    class Lying(Inline):
        def found(self) -> PartFound:
            return lie(super().found())

    assert divided(signed) is not None
    assert divided(signed, part=Lying) is None


def test_where_no_process_can_be_started_one_is_enough(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert divided(original, part=Part) is None

    def way(jobs: int) -> Way:
        return Way(jobs, 1, 4)

    monkeypatch.setattr("ledger._verify.Way", way)
    assert verify(original, jobs=2) == verify(original)


def test_a_small_ledger_is_not_divided_and_a_large_one_into_whole_blocks() -> None:
    assert Way(2).bounds(30_000) == ()
    assert Way(1).bounds(10**6) == ()
    for events in (40_000, 100_001, 10**6, 102_400):
        for jobs in (2, 3, 8):
            bounds = Way(jobs).bounds(events)
            assert 2 <= len(bounds) <= jobs
            assert [before for before, _ in bounds] == [0, *(until for _, until in bounds[:-1])]
            assert bounds[-1][1] == events
            assert all(before % BLOCK == 0 for before, _ in bounds)
            sizes = [until - before for before, until in bounds]
            assert max(sizes) - min(sizes) <= 2 * BLOCK


# Roots


@given(count=st.integers(0, 70), block=st.sampled_from([1, 2, 8]), cuts=st.sets(st.integers(1, 8), max_size=3))
def test_blocks_of_parts_join_to_the_roots_of_the_whole(count: int, block: int, cuts: set[int]) -> None:
    lines = [b"line %d" % seq for seq in range(1, count + 1)]
    sizes = range(1, count + 1)
    naive, whole = {}, Roots(sizes)
    for size, line in enumerate(lines, start=1):
        whole.take(size, line)
        peaks = Peaks()
        peaks.add_all([leaf_hash(each) for each in lines[:size]])
        naive[size] = peaks.root()
    borders = sorted({0, count, *(cut * block for cut in cuts if cut * block < count)})
    blocks: list[bytes] = []
    tails: dict[int, Sequence[bytes]] = {}
    for before, until in pairwise(borders):
        part = Blocks(sizes, before, block)
        for seq in range(before + 1, until + 1):
            part.take(seq, lines[seq - 1])
        blocks += part.blocks
        tails |= part.tails
    assert join_blocks(blocks, tails, block) == naive
    assert {size: whole.root(size) for size in sizes} == naive


def test_blocks_that_are_missing_are_no_roots() -> None:
    part = Blocks([9], 0, 4)
    for seq in range(1, 10):
        part.take(seq, b"")
    assert len(part.blocks) == 2 and part.tails == {9: (sha256(b"\0").digest(),)}
    for blocks, tails in (([], part.tails), (part.blocks, {9: ()}), (part.blocks, {8: part.tails[9]})):
        with pytest.raises(BadProof):
            join_blocks(blocks, tails, 4)


# The command


def test_the_option_and_its_variable_are_taken(
    signed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ledger.cli import app, run_app

    asked: list[int] = []

    def way(jobs: int) -> Way:
        asked.append(jobs)
        return Way(jobs, 1, 4, Inline)

    monkeypatch.setattr("ledger._verify.Way", way)
    monkeypatch.setattr(sys, "argv", ["ledger", "verify", str(signed)])
    assert run_app(app, "ledger") == 0 and not asked
    plain = capsys.readouterr().out
    monkeypatch.setenv("LEDGER_VERIFY_JOBS", "2")
    assert run_app(app, "ledger") == 0 and asked == [2]
    assert capsys.readouterr().out == plain
    monkeypatch.setenv("LEDGER_VERIFY_JOBS", "0")
    assert run_app(app, "ledger") == 2


def test_on_a_terminal_a_long_check_shows_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ledger.cli import _verify as command

    monkeypatch.setattr(command, "_MOMENT", 0.0)
    monkeypatch.setattr(command, "_OFTEN", 0.001)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    asked = threading.Event()
    with command._watched() as watch:  # pyright: ignore[reportPrivateUsage]
        assert watch is not None
        watch(200, lambda: asked.set() or 50)
        assert asked.wait(30)
    told = capsys.readouterr()
    assert "checking events" in told.err and not told.out
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with command._watched() as watch:  # pyright: ignore[reportPrivateUsage]
        assert watch is None


# Processes


def held_back(path: Path) -> sqlite3.Connection:
    """Whoever reads the ledger meanwhile has to wait."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    return connection


def job_of(path: Path) -> Job:
    return Job(
        path=str(path), before=0, head="", until=2, first_blob=1, last_blob=0, block=4, rooted=0, sizes=[], bodies=[],
        blobs=[],
    )  # fmt: skip


def running(process: int) -> bool:
    # A zombie has ended too: whoever inherits it reaps it.
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until_gone(process: int) -> None:
    end = time.monotonic() + 30
    while running(process):
        assert time.monotonic() < end, "it goes on"
        time.sleep(0.02)


def test_processes_say_what_one_says_and_a_long_check_tells_how_far_it_is(signed: Path) -> None:
    told: list[tuple[int, Callable[[], int]]] = []
    from ledger._verify import verify_in_parts
    from ledger._verify_outside import gather

    def told_of(total: int, done: Callable[[], int]) -> None:
        told.append((total, done))

    quick = verify_in_parts(signed, gather(signed, Outside()), Way(2, 1, 4), told_of)
    assert quick is not None and quick.as_json() == verify(signed).as_json()
    ((total, done),) = told
    assert total == 40 and 0 <= done() <= total


def test_a_part_that_ends_without_a_word_gives_no_verdict(path: Path) -> None:
    with closing(held_back(path)):
        part = Part(job_of(path))
        os.kill(part.pid, signal.SIGKILL)
        with pytest.raises(NotInParts):
            part.found()
        part.stop()


PROGRAM = """
import json, sys, time
from ledger._verify_part import Job
from ledger._verify_parts import Part
part = Part(Job(**json.loads(sys.argv[1])))
print(part.pid, flush=True)
try:
    part.found()
finally:
    if sys.argv[2] == "stop":
        part.stop()
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the process in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_part_ends_with_whoever_started_it(path: Path, how: signal.Signals) -> None:
    with closing(held_back(path)):
        argument = job_of(path).line().decode()
        parent = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, argument, "stop" if how == signal.SIGINT else "leave"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert running(child)
        parent.send_signal(how)
        parent.wait()
        parent.stdout.close()
        until_gone(child)


def test_a_job_that_was_never_given_is_none() -> None:
    ended = subprocess.run([sys.executable, "-P", "-m", "ledger._verify_part"], input=b'{"cut', capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")


def test_a_job_survives_its_line() -> None:
    job = replace(job_of(Path("/é")), bodies=[(3, 4)], blobs=[("a" * 64, 4)], sizes=[7])
    assert json.loads(job.line())["bodies"] == [[3, 4]] and job.line().count(b"\n") == 1
