"""What a process leaves behind when it ends: a file that can be copied alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from ledger import Draft, Ledger, verify
from ledger.kinds import Note


def test_a_closed_ledger_is_one_file_with_everything_in_it(path: Path, tmp_path: Path) -> None:
    with Ledger.open(path) as ledger:
        (event,) = ledger.append(Draft(Note(text="kept")))
    log = path.with_name(path.name + "-wal")
    assert not log.exists() or log.stat().st_size == 0
    alone = Path(shutil.copy(path, tmp_path / "alone.db"))
    assert verify(alone).head == event.hash
