"""A disk that is full: the append fails, nothing that was acknowledged is lost, and with room again it goes on."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ledger import AppendFailed, Draft, Ledger, NotALedger
from ledger.kinds import Note
from tests.ledger.faults.rig import assert_sound

FILL = """
import json, os, sys
from pathlib import Path
from ledger import AppendFailed, Draft, Ledger, verify
from ledger.kinds import Note
folder = Path(sys.argv[1])
path, ballast = folder / "ledger.db", folder / "ballast"
ballast.write_bytes(bytes(400_000))
told = {"acknowledged": {}}
def append(ledger, text, size):
    for event in ledger.append(Draft(Note(text=text), blobs={"file": os.urandom(size)})):
        told["acknowledged"][event.seq] = event.hash
with Ledger.create(path) as ledger:
    try:
        for number in range(1000):
            append(ledger, f"{number}", 20_000)
    except AppendFailed as problem:
        told["failed"] = str(problem)
    told["while_full"] = verify(path).verdict
    told["head_while_full"] = ledger.head()[0]
    try:
        append(ledger, "still full", 200_000)
    except AppendFailed as problem:
        told["failed_again"] = str(problem)
    ballast.unlink()
    append(ledger, "there is room", 1_000)
told["verdict"] = verify(path).verdict
with Ledger.open(path, read_only=True) as ledger:
    told["stored"] = {event.seq: event.hash for event in ledger.events()}
print(json.dumps(told))
"""


def test_a_full_file_system_fails_appends_and_loses_none(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("no unshare (Debian: apt-get install util-linux)")
    folder = tmp_path / "full"
    folder.mkdir()
    script = 'mount -t tmpfs -o size=2m none "$1" && exec "$2" -P -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", folder, sys.executable, FILL],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode and "Traceback" not in done.stderr:
        pytest.skip(f"no file system of one's own may be mounted here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "nothing of this append was written" in told["failed"]
    assert "nothing of this append was written" in told["failed_again"]
    assert (told["while_full"], told["verdict"]) == ("CONSISTENT", "CONSISTENT")
    assert told["head_while_full"] == len(told["acknowledged"]) + 1, "genesis, schema, and all but the last"
    assert {seq: told["stored"].get(seq) for seq in told["acknowledged"]} == told["acknowledged"]
    assert len(told["stored"]) == len(told["acknowledged"]) + 2


def test_a_file_that_may_grow_no_further_fails_appends_and_loses_none(path: Path) -> None:
    acknowledged: dict[int, str] = {}
    with Ledger.open(path) as opened:
        acknowledged |= {event.seq: event.hash for event in opened.append(Draft(Note(text="first")))}
        assert opened._writer is not None
        (pages,) = opened._writer.connection.execute("PRAGMA page_count").fetchone()
        opened._writer.connection.execute(f"PRAGMA max_page_count={pages + 40}").fetchall()
        with pytest.raises(AppendFailed, match=r"full.*nothing of this append was written"):
            for number in range(1_000):
                for event in opened.append(Draft(Note(text=f"{number}"), blobs={"file": b"x" * 9_000})):
                    acknowledged[event.seq] = event.hash
        assert_sound(path, acknowledged)
        # The connection that had the limit was given up with the append that failed.
        acknowledged |= {
            event.seq: event.hash for event in opened.append(Draft(Note(text="on"), blobs={"f": b"x" * 99_000}))
        }
    assert len(acknowledged) > 5
    assert_sound(path, acknowledged)


def test_a_ledger_that_finds_no_room_to_begin_with_isn_t_there_by_half(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(NotALedger, match="can't be made"):
            Ledger.create(tmp_path / "ledger.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(tmp_path.iterdir()) == []
    Ledger.create(tmp_path / "ledger.db").close()
