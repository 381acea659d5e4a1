"""`ledger show --blob`: the exact bytes, and never raw on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from ledger import Draft, Ledger
from ledger.kinds import Note

LEDGER = Path(sys.executable).parent / "ledger"
DATA = b'\x1b[2J{"caf\xc3\xa9": "\xff"}\x00'


def test_a_blob_comes_out_as_the_bytes_that_went_in(path: Path) -> None:
    with Ledger.open(path) as ledger:
        (event,) = ledger.append(Draft(Note(text="x"), blobs={"body": DATA}))
    done = subprocess.run([LEDGER, "show", str(event.seq), "--blob", "body", "--db", path], capture_output=True)
    assert (done.returncode, done.stdout) == (0, DATA)
    missing = subprocess.run([LEDGER, "show", str(event.seq), "--blob", "no", "--db", path], capture_output=True)
    assert missing.returncode == 2
    assert b"has no blob 'no'" in missing.stderr


def test_on_a_terminal_nothing_that_it_obeys_comes_through(path: Path) -> None:
    with Ledger.open(path) as ledger:
        (event,) = ledger.append(Draft(Note(text="x"), blobs={"body": DATA}))
    master, slave = pty.openpty()
    subprocess.run([LEDGER, "show", str(event.seq), "--blob", "body", "--db", path], stdout=slave, check=True)
    os.close(slave)
    shown = os.read(master, 4096)
    os.close(master)
    assert b"\x1b" not in shown
    assert rb"\x1b[2J" in shown
    assert rb"\xff" in shown
