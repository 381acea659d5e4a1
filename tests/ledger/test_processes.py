"""Several real processes on one ledger: appending at once, creating at once, being killed, holding a run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ledger import Ledger, RunHeld, hold_run, new_run_id, run_is_held, verify

APPEND_MANY = """
import sys
from ledger import Draft, Ledger
from ledger.kinds import Note
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Ledger.open(path) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        event = ledger.append(Draft(Note(text=f"{name} {number}")))[0]
        print(event.seq, event.hash)
"""

APPEND_UNTIL_KILLED = """
import sys
from ledger import Draft, Ledger
from ledger.kinds import Note
ledger = Ledger.open(sys.argv[1])
number = 0
while True:
    drafts = [Draft(Note(text=f"{number} {part}"), blobs={"file": b"x" * 3000}) for part in range(1 + number % 3)]
    for event in ledger.append(*drafts):
        sys.stdout.write(f"{event.seq} {event.hash}\\n")
    sys.stdout.flush()
    number += 1
"""

CREATE = """
import sys
from ledger import Draft, Ledger
from ledger.kinds import Note
print("ready", flush=True)
sys.stdin.readline()
ledger, made = Ledger.open_or_create(sys.argv[1])
ledger.append(Draft(Note(text="here")))
print(made, ledger.genesis.id)
"""

HOLD = """
import sys
from pathlib import Path
from ledger import hold_run
with hold_run(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
print("let go", flush=True)
"""


@contextmanager
def python(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A Python process of ours, which never outlives the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def say(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    got = process.stdout.readline().strip()
    assert got == word, got or process.communicate()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_eight_processes_append_at_once_without_a_gap_or_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.create(path).close()
    acknowledged: dict[int, str] = {}
    with ExitStack() as stack:
        processes = [stack.enter_context(python(APPEND_MANY, path, name, 500)) for name in range(8)]
        for process in processes:
            say(process, "ready")
        for process in processes:
            go(process)
        for process in processes:
            out, errors = process.communicate(timeout=240)
            assert (process.returncode, errors) == (0, "")
            for line in out.splitlines():
                seq, digest = line.split()
                acknowledged[int(seq)] = digest
    assert sorted(acknowledged) == list(range(3, 4003))
    with Ledger.open(path) as ledger:
        stored = {event.seq: event.hash for event in ledger.events(kind="note")}
        notes = [event.body for event in ledger.events(kind="note")]
    assert stored == acknowledged
    assert len(set(notes)) == 4000
    verdict = verify(path)
    assert (verdict.verdict, verdict.events, verdict.problems) == ("CONSISTENT", 4002, ())


def test_processes_that_create_one_ledger_at_once_end_with_one_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    answers: list[list[str]] = []
    with ExitStack() as stack:
        processes = [stack.enter_context(python(CREATE, path)) for _ in range(4)]
        for process in processes:
            say(process, "ready")
        for process in processes:
            go(process)
        for process in processes:
            out, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, "")
            answers.append(out.split())
    assert sorted(made for made, _ in answers) == ["False", "False", "False", "True"]
    assert len({identity for _, identity in answers}) == 1
    verdict = verify(path)
    assert (verdict.verdict, verdict.events) == ("CONSISTENT", 6)


def kill_in_a_loop(path: Path, kills: int, seed: int) -> None:
    Ledger.create(path).close()
    chance = random.Random(seed)
    acknowledged: dict[int, str] = {}
    for _ in range(kills):
        with python(APPEND_UNTIL_KILLED, path) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first, process.communicate()
            time.sleep(chance.uniform(0, 0.1))
            os.kill(process.pid, signal.SIGKILL)
            rest, errors = process.communicate(timeout=30)
            assert (process.returncode, errors) == (-signal.SIGKILL, "")
        for line in (first + rest).splitlines(keepends=True):
            # A line that was cut off in the pipe was never read by anybody as an acknowledgement.
            if line.endswith("\n"):
                seq, digest = line.split()
                assert int(seq) not in acknowledged
                acknowledged[int(seq)] = digest
        verdict = verify(path)
        assert (verdict.verdict, verdict.problems) == ("CONSISTENT", ())
        with Ledger.open(path) as ledger:
            stored = {event.seq: event.hash for event in ledger.events()}
        assert {seq: stored.get(seq) for seq in acknowledged} == acknowledged
        assert sorted(stored) == list(range(1, len(stored) + 1))
    assert len(acknowledged) >= kills


def test_what_was_acknowledged_before_a_kill_is_there_and_the_chain_holds(tmp_path: Path) -> None:
    kill_in_a_loop(tmp_path / "ledger.db", 5, seed=5)


@pytest.mark.long
def test_fifty_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    kill_in_a_loop(tmp_path / "ledger.db", 50, seed=50)


# The lock on a run


def test_a_run_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    path, run, other = tmp_path / "ledger.db", new_run_id(), new_run_id()
    assert not run_is_held(path, run)
    with python(HOLD, path, run) as holder:
        say(holder, "held")
        assert run_is_held(path, run)
        assert not run_is_held(path, other)
        with pytest.raises(RunHeld, match=run), hold_run(path, run):
            raise AssertionError("two processes held one run")
        with hold_run(path, other):
            assert run_is_held(path, other)
        go(holder)
        say(holder, "let go")
    assert not run_is_held(path, run)
    with hold_run(path, run):
        pass


def test_a_killed_process_lets_go_of_its_run(tmp_path: Path) -> None:
    path, run = tmp_path / "ledger.db", new_run_id()
    with python(HOLD, path, run) as holder:
        say(holder, "held")
        holder.kill()
        holder.wait(30)
        assert not run_is_held(path, run)
        with hold_run(path, run):
            assert run_is_held(path, run)


def test_asking_whether_a_run_is_held_never_takes_it_from_a_process_that_starts(tmp_path: Path) -> None:
    path, run = tmp_path / "ledger.db", new_run_id()
    with python(HOLD, path, run) as holder:
        until = time.monotonic() + 30
        while not run_is_held(path, run):
            assert time.monotonic() < until
        say(holder, "held")
