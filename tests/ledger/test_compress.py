"""Compressing blobs at rest: every hash and every reader as before, all or nothing, and the guards stand again."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger import Draft, Ledger, Refused, export_lines, hold_run, verify
from ledger._compress import compress
from ledger._copies import copies_of
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger._schema import stored_objects
from ledger.cli import app, run_app
from ledger.kinds import Import, Note
from tests.ledger.ledgers import example_draft, settle

TEXT = b'{"role": "assistant", "content": "the same words over and over"}' * 400
ROOT = Path(__file__).resolve().parents[2]
RUN = "abcdefghijklmnop"


@pytest.fixture
def many(path: Path) -> Path:
    """Some 40 blobs that become smaller, some that don't, and one that is withheld."""
    with Ledger.open(path) as ledger:
        ledger.append(example_draft("plan"))
        for number in range(40):
            blobs = {"file": TEXT + str(number).encode(), "noise": os.urandom(300), "empty": b""}
            ledger.append(Draft(Import(format="log", tool="t", grade="text", digest="0" * 64), blobs=blobs))
        redact(path, find_targets(ledger, ["4:file"]), category="secret", reason="a key was in it")
    settle(path)
    return path


def rows(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(statement).fetchall()


def contents(path: Path) -> tuple[list[bytes], dict[str, bytes]]:
    """Every line, and the plain bytes of every blob that isn't withheld, as readers get them."""
    with Ledger.open(path, read_only=True) as ledger:
        blobs: dict[str, bytes] = {}
        for event in ledger.events():
            if event.body is None:
                continue
            for name, blob in ledger.body(event).blobs.items():
                (data,) = ledger.sql("SELECT data FROM main.blobs WHERE hash = ?", (blob.hash,)).fetchone()
                if data is not None:
                    blobs[blob.hash] = ledger.blob(event, name)
        return list(export_lines(ledger)), blobs


def test_hashes_and_plain_bytes_stay_and_the_file_shrinks(many: Path) -> None:
    before, head = contents(many), verify(many).head
    with closing(sqlite3.connect(many)) as connection:
        objects = stored_objects(connection)
    done = compress(many)
    assert done.packed == 39, "40 files but for the withheld one; noise and nothing stay as they are"
    assert done.blobs_after < done.blobs_before / 3
    assert (done.file_after < done.file_before, done.not_shrunk) == (True, "")
    assert contents(many) == before
    with closing(sqlite3.connect(many)) as connection:
        assert stored_objects(connection) == objects
    verdict = verify(many)
    assert (verdict.verdict, verdict.head, verdict.withheld) == ("CONSISTENT", head, 1)
    assert rows(many, "SELECT DISTINCT encoding FROM blobs ORDER BY 1") == [("",), ("zlib",)]


def test_what_is_withheld_is_left_alone(many: Path) -> None:
    gone = rows(many, "SELECT * FROM blobs WHERE data IS NULL")
    assert len(gone) == 1
    compress(many)
    assert rows(many, "SELECT * FROM blobs WHERE data IS NULL") == gone


def test_a_second_time_there_is_nothing_to_do(many: Path) -> None:
    compress(many)
    again = compress(many)
    assert (again.packed, again.file_after) == (0, again.file_before)


def test_the_guard_stands_again(many: Path) -> None:
    compress(many)
    with closing(sqlite3.connect(many)) as connection, pytest.raises(sqlite3.IntegrityError, match="never updated"):
        connection.execute("UPDATE blobs SET encoding = '' WHERE id = 1")


def test_what_is_appended_afterwards_stays_plain_and_is_packed_the_next_time(many: Path) -> None:
    compress(many)
    with Ledger.open(many) as ledger:
        ledger.append(Draft(Import(format="log", tool="t", grade="text", digest="0" * 64), blobs={"file": TEXT}))
    assert rows(many, "SELECT encoding FROM blobs ORDER BY id DESC LIMIT 1") == [("",)]
    assert compress(many).packed == 1
    assert verify(many).verdict == "CONSISTENT"


def test_packed_blobs_are_shown_redacted_and_found_as_copies(
    many: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    compress(many)
    assert run_app(app, "ledger", ["show", "5", "--blob", "file", "--db", str(many)]) == 0
    assert capsys.readouterr().out.startswith('{"role": "assistant"')
    copy = {"file": TEXT + b"1"}
    with Ledger.open(many) as ledger:
        (plain,) = ledger.append(Draft(Import(format="log", tool="t", grade="text", digest="0" * 64), blobs=copy))
        packed = str(ledger.body(5).blobs["file"].hash)
        added = str(ledger.body(plain).blobs["file"].hash)
        assert ledger.blob(5, "file") == TEXT + b"1"
        assert [row["hash"] for row in copies_of(ledger, [packed])] == [added], "the plain copy of a packed blob"
        assert [row["hash"] for row in copies_of(ledger, [added])] == [packed], "and the other way round"
        redact(many, find_targets(ledger, ["5:file"]), category="secret", reason="a key was in it")
    verdict = verify(many)
    assert (verdict.verdict, verdict.withheld) == ("CONSISTENT", 2)


def test_no_plain_bytes_stay_in_the_file(path: Path) -> None:
    with Ledger.open(path) as ledger:
        secret = b"sk-" + b"verysecretindeed" * 200
        ledger.append(Draft(Import(format="log", tool="t", grade="text", digest="0" * 64), blobs={"file": secret}))
    compress(path)
    assert b"verysecretindeed" * 2 not in path.read_bytes()
    log = path.with_name(path.name + "-wal")
    assert not log.exists() or not log.stat().st_size


# Others, meanwhile


def test_a_writer_meanwhile_waits_and_then_writes(many: Path) -> None:
    threads: list[threading.Thread] = []
    waiting: list[bool] = []

    def write() -> None:
        with Ledger.open(many) as ledger:
            ledger.append(Draft(Note(text="meanwhile")))

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "packing" and not threads:
            threads.append(threading.Thread(target=write))
            threads[0].start()
            threads[0].join(0.5)
            waiting.append(threads[0].is_alive())

    compress(many, progress=progress)
    threads[0].join(60)
    assert waiting == [True]
    verdict = verify(many)
    assert verdict.verdict == "CONSISTENT"
    assert rows(many, "SELECT body ->> '$.text' FROM events ORDER BY seq DESC LIMIT 1") == [("meanwhile",)]


def test_where_somebody_else_writes_it_is_refused_in_a_sentence(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger._compress._PATIENCE_MS", 100)
    with closing(sqlite3.connect(many, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Refused, match="another process is writing; nothing was changed"):
            compress(many)


def test_while_a_run_is_asked_for_it_is_refused(many: Path) -> None:
    with hold_run(many, RUN), pytest.raises(Refused, match="is being asked for"):
        compress(many)
    assert rows(many, "SELECT count(*) FROM blobs WHERE encoding = 'zlib'") == [(0,)]


def test_a_reader_meanwhile_reads_and_the_file_is_shrunk_another_time(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger._compress._PATIENCE_MS", 100)
    before = contents(many)
    with closing(sqlite3.connect(f"file:{many}?mode=ro", uri=True, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        done = compress(many)
        assert "reads the ledger" in done.not_shrunk
        assert reader.execute("SELECT count(*) FROM blobs WHERE encoding = 'zlib'").fetchone() == (0,)
    assert done.packed == 39
    again = compress(many)
    assert (again.packed, again.not_shrunk) == (0, "")
    assert again.file_after < again.file_before
    assert contents(many) == before


@pytest.mark.parametrize(
    "statement",
    ["DROP TRIGGER blobs_delete", "CREATE TRIGGER mine AFTER UPDATE ON blobs BEGIN SELECT 1; END"],
)
def test_a_schema_that_is_not_the_ledgers_is_refused(many: Path, statement: str) -> None:
    with closing(sqlite3.connect(many)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(Refused, match="verify"):
        compress(many)
    assert rows(many, "SELECT count(*) FROM blobs WHERE encoding = 'zlib'") == [(0,)]


# Killed

_KILLED = """
import os, signal, sys
from ledger._compress import compress
import ledger._compress as module
module._BATCH = 20
at, seen = sys.argv[2], []
def progress(stage, done, total):
    seen.append(stage)
    if f"{stage}{seen.count(stage)}" == at:
        os.kill(os.getpid(), signal.SIGKILL)
compress(sys.argv[1], progress=progress)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.parametrize(
    ("at", "packed"),
    [("packing1", 0), ("packing3", 0), ("guarded1", 0), ("committed1", 39), ("shrinking1", 39), ("done1", 39)],
)
def test_killed_at_any_point_it_is_done_or_it_is_not(many: Path, tmp_path: Path, at: str, packed: int) -> None:
    before, head = contents(many), verify(many).head
    done = subprocess.run([sys.executable, "-c", _KILLED, str(many), at], cwd=ROOT, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(rows(many, "SELECT 1 FROM blobs WHERE encoding = 'zlib'")) == packed
    verdict = verify(many)
    assert (verdict.verdict, verdict.head) == ("CONSISTENT", head)
    assert contents(many) == before
    with closing(sqlite3.connect(many)) as connection, pytest.raises(sqlite3.IntegrityError, match="never updated"):
        connection.execute("UPDATE blobs SET encoding = '' WHERE id = 1")
    compress(many)
    assert contents(many) == before
    assert verify(many).verdict == "CONSISTENT"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_while_the_file_is_shrunk_nothing_is_lost(many: Path) -> None:
    code = "import sys; from ledger._compress import compress\n" + (
        "compress(sys.argv[1], progress=lambda stage, at, of: print(stage, flush=True))"
    )
    before = contents(many)
    process = subprocess.Popen([sys.executable, "-c", code, str(many)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "shrinking":
            break
    process.kill()
    process.wait()
    process.stdout.close()
    assert contents(many) == before
    assert verify(many).verdict == "CONSISTENT"


# As typed


def test_upgrade_compress_says_bytes_before_and_after(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(app, "ledger", ["upgrade", "--compress", "--db", str(many), "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)["compressed"]
    assert found["packed"] == 39 and found["file_after"] < found["file_before"]
    assert "Compressed 39 of" in shown.err and f"{found['file_before']:,}" in shown.err


def test_the_projects_own_history_packs_verifies_and_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "ledger.db"
    with (
        closing(sqlite3.connect(f"file:{ROOT / 'ledger.db'}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    head = verify(copy).head
    done = compress(copy)
    assert done.packed > 0
    verdict = verify(copy)
    assert (verdict.verdict, verdict.head) == ("CONSISTENT", head)
    from harness.cli import app as harness_app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    asked = ["run", "authority", "--engine", "replay/ledger.db", "--db", "new.db", "--limit", "2", "--json"]
    assert run_app(harness_app, "harness", asked) == 0, "replies are served out of packed blobs"
    assert json.loads(capsys.readouterr().out)["status"] == "partial"
    compress(tmp_path / "new.db")
    assert run_app(app, "ledger", ["verify", "--deep", "--db", "new.db"]) == 0, "and derived again from them"
    assert "CONSISTENT" in capsys.readouterr().out
    assert run_app(app, "ledger", ["export", "--db", "new.db", "-o", "lines.jsonl"]) == 0
