"""A ledger whose file is replaced, moved or cut while it is open: nothing that isn't there is acknowledged."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Draft, Ledger, LedgerReplaced, verify
from ledger._compress import compress
from ledger.kinds import Note

BLOB = bytes(range(256)) * 1600
"""So large that SQLite folds its log into the file some five times in 120 appends."""


def note(number: int) -> Draft:
    return Draft(Note(text=f"note {number}"), blobs={"file": BLOB})


def folded(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def older_copy(path: Path) -> Path:
    """A copy of the ledger as it is now, as a backup would have it."""
    copy = path.with_name("older.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def renamed_over(path: Path, older: Path) -> None:
    older.replace(path)


def copied_over(path: Path, older: Path) -> None:
    shutil.copyfile(older, path)


def copied_over_with_its_times(path: Path, older: Path) -> None:
    shutil.copy2(older, path)


def moved_away(path: Path, older: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def removed(path: Path, older: Path) -> None:
    path.unlink()


def cut(path: Path, older: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def cut_to_nothing(path: Path, older: Path) -> None:
    os.truncate(path, 0)


def log_removed(path: Path, older: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def log_replaced(path: Path, older: Path) -> None:
    log = path.with_name(path.name + "-wal")
    log.unlink()
    log.write_bytes(b"")


def log_cut(path: Path, older: Path) -> None:
    os.truncate(path.with_name(path.name + "-wal"), 0)


def log_written_over(path: Path, older: Path) -> None:
    log = path.with_name(path.name + "-wal")
    with log.open("r+b") as file:
        file.write(bytes(log.stat().st_size))


def checked_out(path: Path, older: Path) -> None:
    git = ["git", "-C", str(path.parent), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    shutil.copyfile(older, path.with_name("kept"))
    for line in (["init", "-q"], ["add", "kept"], ["commit", "-qm", "kept"]):
        subprocess.run([*git, *line], check=True)
    # The commit holds the older copy under the ledger's own name.
    blob = subprocess.run([*git, "hash-object", "kept"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([*git, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path.name}"], check=True)
    subprocess.run([*git, "commit", "-qm", "older"], check=True)
    subprocess.run([*git, "checkout", "-qf", "HEAD", "--", path.name], check=True)


WAYS = (
    renamed_over, copied_over, copied_over_with_its_times, moved_away, removed, cut, cut_to_nothing, log_removed,
    log_replaced, log_cut, log_written_over, checked_out,
)  # fmt: skip
IN_PLACE = (copied_over, copied_over_with_its_times, cut, cut_to_nothing, log_cut, log_written_over)
"""What these wrote over nobody can read any more."""
MOMENTS = (1, 7, 40, 75, 119)
"""After how many appends of 120: sixty moments in all. Some are before the first fold of the log, some long after."""


def assert_holds(path: Path, acknowledged: list[tuple[int, str]]) -> None:
    with Ledger.open(path, read_only=True) as ledger:
        assert [(seq, ledger.event(seq).hash) for seq, _ in acknowledged] == acknowledged


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nothing_acknowledged_is_missing_without_the_sentence(
    path: Path, way: Callable[[Path, Path], None], moment: int
) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(*(note(-number) for number in range(40)))
    older = older_copy(path)
    acknowledged: list[tuple[int, str]] = []
    said = ""
    try:
        with Ledger.open(path) as ledger:
            for number in range(120):
                if number == moment:
                    way(path, older)
                (event,) = ledger.append(note(number))
                acknowledged.append((event.seq, event.hash))
    except LedgerReplaced as problem:
        said = str(problem)
    if not said:
        # What was written over was no longer needed, or the same: everything is there.
        assert way in IN_PLACE
        assert verify(path).verdict == "CONSISTENT"
        assert_holds(path, acknowledged)
        return
    upto = int(re.findall(r"events up to (\d+) were acknowledged, and nothing after that is", said)[0])
    assert upto == acknowledged[-1][0]
    (place,) = re.findall(r"saved in (\S+)\.", said) or [None]
    if place is None:
        assert way in IN_PLACE, said
        assert "Look for it in snapshots, backups" in said
        return
    assert verify(place).verdict == "CONSISTENT"
    assert_holds(Path(place), acknowledged)


def test_it_stays_refused_and_close_says_so_too(path: Path) -> None:
    older = older_copy(path)
    ledger = Ledger.open(path)
    ledger.append(note(1))
    older.replace(path)
    for _ in range(2):
        with pytest.raises(LedgerReplaced, match="was replaced by another file while this process had it open"):
            ledger.append(note(2))
    with pytest.raises(LedgerReplaced):
        ledger.close()


def test_what_is_replaced_after_the_last_append_is_noticed_at_close(path: Path) -> None:
    older = older_copy(path)
    ledger = Ledger.open(path)
    ledger.append(note(1))
    older.replace(path)
    with pytest.raises(LedgerReplaced, match="events up to 3 were acknowledged"):
        ledger.close()


def test_what_others_do_to_a_ledger_is_no_replacement(path: Path) -> None:
    with Ledger.open(path) as ledger:
        for number in range(30):
            ledger.append(note(number))
            folded(path)
            with Ledger.open(path) as other:
                other.append(note(-number))
    for number in range(2):
        with Ledger.open(path) as ledger:
            ledger.append(note(number))
            # It packs the blobs, and shrinks the file under the open ledger.
            compress(path)
            ledger.append(note(100))
    assert verify(path).verdict == "CONSISTENT"
