"""An export is the event lines as they were hashed, and nothing of the bodies."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from blake3 import blake3

from ledger import BadLine, Draft, Ledger, LedgerExists, NotALedger, export_file, export_lines
from ledger.kinds import Note
from tests.ledger.ledgers import tamper


def test_each_line_is_hashed_by_the_next_and_the_last_by_the_head(original: Path) -> None:
    with Ledger.open(original, read_only=True) as ledger:
        lines = list(export_lines(ledger))
        head = ledger.head()
    assert len(lines) == head[0]
    hashes = [blake3(line).hexdigest() for line in lines]
    prevs = [re.search(rb'"prev":"([0-9a-f]{64})"', line) for line in lines]
    assert [found[1].decode() for found in prevs if found] == ["0" * 64, *hashes[:-1]]
    assert hashes[-1] == head[1]


def test_a_file_appears_whole_and_replaces_an_older_export(original: Path, tmp_path: Path) -> None:
    target = tmp_path / "events.jsonl"
    with Ledger.create(tmp_path / "older.db") as older:
        export_file(older, target)
    for file in tmp_path.glob("older.db*"):
        file.unlink()
    with Ledger.open(original, read_only=True) as ledger:
        count = export_file(ledger, target)
        assert target.read_bytes() == b"".join(line + b"\n" for line in export_lines(ledger))
    assert count == len(target.read_bytes().splitlines())
    assert [entry.name for entry in tmp_path.iterdir()] == ["events.jsonl"]


def test_nothing_but_an_export_is_ever_written_over(tmp_path: Path) -> None:
    others = {"notes.txt": b"mine", "blank": b"\n", "head": b'{"v":1,"seq":2,"prev":"'}
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        before = (tmp_path / "ledger.db").read_bytes()
        for name, data in others.items():
            (tmp_path / name).write_bytes(data)
        (tmp_path / "link").symlink_to("ledger.db")
        (tmp_path / "dangling").symlink_to("nothing")
        for name in (*others, "ledger.db", "link", "dangling", "."):
            with pytest.raises(LedgerExists, match="no export"):
                export_file(ledger, tmp_path / name)
        (tmp_path / "empty").touch()
        assert export_file(ledger, tmp_path / "empty") == 2
        assert export_file(ledger, tmp_path / "empty") == 2
    assert (tmp_path / "ledger.db").read_bytes() == before
    assert {name: (tmp_path / name).read_bytes() for name in others} == others


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.db") as ledger, pytest.raises(NotALedger) as refused:
        export_file(ledger, tmp_path / "later" / "lines.txt")
    assert str(refused.value) == f"there is no folder {tmp_path / 'later'}; make it first"


def test_pages_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.create(tmp_path / "a.db") as ledger:
        ledger.append(*(Draft(Note(text=str(number))) for number in range(9)))
        whole = list(export_lines(ledger))
        monkeypatch.setattr("ledger._export._PAGE", 4)
        assert list(export_lines(ledger)) == whole
        assert list(export_lines(ledger, after=5)) == whole[5:]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET kind = 'Kind' WHERE seq = 5",
        "UPDATE events SET run = 'é' WHERE seq = 5",
        "UPDATE events SET causes = '[x]' WHERE seq = 5",
        "UPDATE events SET at = 'soon' || char(10) WHERE seq = 5",
    ],
)
def test_columns_that_form_no_line_are_named_and_leave_no_file(
    original: Path, copy: Path, tmp_path: Path, change: str
) -> None:
    tamper(original, copy, change)
    before = set(tmp_path.iterdir())
    with Ledger.open(copy, read_only=True) as ledger, pytest.raises(BadLine, match="event 5"):
        export_file(ledger, tmp_path / "events.jsonl")
    assert not [entry for entry in set(tmp_path.iterdir()) - before if not entry.name.startswith(copy.name)]


ONE_LINER = (
    'prev=$(printf "%064d" 0); while IFS= read -r line; do case "$line" in *"\\"prev\\":\\"$prev\\""*) ;;'
    ' *) echo "broken: $line"; exit 1 ;; esac; prev=$(printf %s "$line" | b3sum --no-names); done; echo "head $prev"'
)


@pytest.mark.skipif(shutil.which("b3sum") is None, reason="no b3sum on this machine")
def test_a_shell_and_b3sum_are_enough_to_check_an_export(original: Path, tmp_path: Path) -> None:
    def check(data: bytes) -> tuple[int, str]:
        done = subprocess.run(["sh", "-c", ONE_LINER], input=data, capture_output=True, check=False, timeout=60)
        return done.returncode, done.stdout.decode()

    with Ledger.open(original, read_only=True) as ledger:
        export_file(ledger, tmp_path / "events.jsonl")
        head = ledger.head()[1]
    data = (tmp_path / "events.jsonl").read_bytes()
    assert check(data) == (0, f"head {head}\n")
    status, said = check(data.replace(b'"kind":"note"', b'"kind":"nota"', 1))
    assert (status, said[:8]) == (1, "broken: ")
