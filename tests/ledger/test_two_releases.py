"""Other releases: a newer one's ledger, an upgrade that is killed, and two releases at work on one file."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Ledger, upgrade, verify
from ledger._schema import RELEASE, format_objects, release_objects
from tests.ledger.cli.conftest import Command, command  # pyright: ignore[reportUnusedImport]
from tests.ledger.ledgers import EXAMPLES, OTHER_RUN, RUN, example_draft
from tests.ledger.test_export_full import newer_release
from tests.ledger.test_store import note, texts

__all__ = ["command"]

OLDER = RELEASE - 1
AS_OLDER = f"import ledger._schema, ledger._store; ledger._schema.RELEASE = ledger._store.RELEASE = {OLDER}\n"


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger that the release before this one has made."""
    with monkeypatch.context() as then:
        then.setattr("ledger._schema.RELEASE", OLDER)
        then.setattr("ledger._store.RELEASE", OLDER)
        with Ledger.create(tmp_path / "ledger.db") as ledger:
            ledger.append(note("older"))
    return tmp_path / "ledger.db"


def objects(path: Path) -> set[tuple[str, str, str, str | None]]:
    with closing(sqlite3.connect(path)) as connection:
        stored = set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
    return stored - set(format_objects().rows)


# A newer release's ledger: its views are left alone, ours are read over its tables, and events are the format's


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify"], ["log"], ["show", 5], ["runs"], ["runs", "--json"], ["impact", RUN], ["cite", 5], ["stats"],
        ["export"], ["export", "--full"], ["snapshot", "copy.db"], ["note", "x"], ["taint", 5, "--reason", "x"],
        ["supersede", OTHER_RUN, "--no-successor", "--category", "harness", "--reason", "x"],
        ["redact", 8, "--reason", "x", "--category", "other"], ["redact", "--finish"],
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:2])),
)  # fmt: skip
def test_every_command_works_on_a_ledger_of_a_newer_release(
    command: Command, original: Path, arguments: list[object]
) -> None:
    path = command.folder / "ledger.db"
    newer_release(original, path)
    before = objects(path)
    done = command(*arguments)
    assert (done.status, "fault of this program" in done.err) == (3 if arguments == ["verify"] else 0, False), done
    assert objects(path) == before
    verdict = verify(path)
    assert verdict.verdict == "NOT FULLY CHECKED"
    assert [each for each in verdict.notes if "newer than this package's" in each]


def test_an_upgrade_to_an_older_release_is_refused(command: Command, original: Path) -> None:
    newer_release(original, command.folder / "ledger.db")
    before = (command.folder / "ledger.db").read_bytes()
    done = command("upgrade")
    assert (done.status, done.out) == (4, "")
    assert f"is of release 999, this package writes release {RELEASE}; install a newer one" in done.err
    assert (command.folder / "ledger.db").read_bytes() == before


# An upgrade that is killed

KILLED = """
import os, signal, sqlite3, sys
import ledger._upgrade as upgrading
real, left = upgrading.connect_writer, [int(sys.argv[2])]
class Counted(sqlite3.Connection):
    pass
def connect(path):
    connection = real(path)
    def trace(statement):
        left[0] -= 1
        if left[0] == 0: os.kill(os.getpid(), signal.SIGKILL)
    connection.set_trace_callback(trace)
    return connection
upgrading.connect_writer = connect
upgrading.upgrade(sys.argv[1])
print(left[0])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_an_upgrade_that_is_killed_at_any_statement_leaves_the_older_release_or_this_one(
    older: Path, tmp_path: Path
) -> None:
    before, now = release_objects(OLDER), release_objects(RELEASE)
    assert before is not None and now is not None
    seen: set[int] = set()
    # Among the drops, among the makes, and past the last of them.
    for count in (4, 40, 10_000):
        path = tmp_path / f"killed{count}.db"
        shutil.copyfile(older, path)
        code = [sys.executable, "-c", KILLED, str(path), str(count)]
        done = subprocess.run(code, capture_output=True, check=False, timeout=60)
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        verdict = verify(path)
        assert (verdict.verdict, verdict.notes) == ("CONSISTENT", ())
        assert objects(path) in (set(before.rows), set(now.rows))
        assert (objects(path) == set(now.rows)) == (done.returncode == 0)
        seen.add(done.returncode)
        assert upgrade(path).release == RELEASE
        assert (verify(path).verdict, verify(path).events) == ("CONSISTENT", 4)
    assert seen == {0, -signal.SIGKILL}


# Two releases at work on one file

APPENDING = (
    AS_OLDER
    + """
import sys
from ledger import Draft, Ledger
from ledger.kinds import Note
with Ledger.open(sys.argv[1]) as ledger:
    for line in sys.stdin:
        print(ledger.append(Draft(Note(text=line.strip())))[0].seq, len(ledger.view("runs")), flush=True)
"""
)


def test_while_an_older_release_appends_a_newer_one_upgrades_and_nothing_is_lost(older: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", APPENDING, str(older)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert process.stdin is not None and process.stdout is not None

        def say(text: str) -> list[str]:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(text + "\n")
            process.stdin.flush()
            return process.stdout.readline().split()

        assert say("before") == ["4", "0"]
        done = upgrade(older)
        assert (done.before, done.release, done.altered) == (OLDER, RELEASE, False)
        assert done.event is not None and done.event.seq == 5
        assert say("after") == ["6", "0"]
        with Ledger.open(older) as newer:
            newer.append(note("newer"))
        assert say("and on") == ["8", "0"]
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
    assert texts(older) == ["older", "before", "after", "newer", "and on"]
    verdict = verify(older)
    assert (verdict.verdict, verdict.events, verdict.notes) == ("CONSISTENT", 8, ())
    done_again = upgrade(older)
    assert done_again.event is None


def test_the_older_release_refuses_to_put_its_own_views_back(older: Path) -> None:
    upgrade(older)
    code = AS_OLDER + (
        "import sys, ledger._upgrade; ledger._upgrade.RELEASE = ledger._schema.RELEASE\n"
        "from ledger.cli import app, run_app; sys.exit(run_app(app, 'ledger', ['upgrade', '--db', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(older)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 4
    assert f"is of release {RELEASE}, this package writes release {OLDER}; install a newer one" in done.stderr
    assert verify(older).verdict == "CONSISTENT"


def test_an_upgrade_waits_for_an_append_and_an_append_for_an_upgrade(older: Path) -> None:
    with Ledger.open(older) as ledger:
        ledger.append(note("mine"))
        upgrade(older)
        events = ledger.append(example_draft("import"), note("again"))
        assert [event.seq for event in events] == [6, 7]
        assert ledger.body(6) == EXAMPLES["import"].model_copy(update={"blobs": ledger.body(6).blobs})
    assert verify(older).verdict == "CONSISTENT"
