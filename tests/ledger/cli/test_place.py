"""Where `export`, `bundle`, `snapshot` and `import` may make a file, and what `import` is given that is no export."""

from __future__ import annotations

import errno
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.cli.conftest import Command


@pytest.fixture
def db(command: Command) -> Path:
    assert command("init").status == 0
    assert command("export", "--full", "-o", "full.jsonl").status == 0
    return command.folder / "ledger.db"


MAKING = {
    "export": ("export", "-o"),
    "export --full": ("export", "--full", "-o"),
    "snapshot": ("snapshot",),
    "import": ("import", "full.jsonl", "--db"),
    "bundle": ("bundle", "2", "-o"),
}


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal", "-WAL"])
@pytest.mark.parametrize("how", MAKING)
def test_a_file_of_sqlite_s_own_is_never_made_nor_written_over(command: Command, db: Path, how: str, end: str) -> None:
    target = command.folder / f"ledger.db{end}"
    target.write_bytes(b"")
    done = command(*MAKING[how], target.name)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "SQLite keeps a file of the ledger ledger.db there; name another" in done.err
    # SQLite itself fills its index, or takes an empty log away; nobody else wrote there.
    assert not target.exists() or not target.read_bytes().startswith((b"{", b"SQLite", b"PK"))
    target.unlink(missing_ok=True)
    done = command(*MAKING[how], f"none.db{end}")
    assert (done.status, "a file of the ledger none.db there" in done.err) == (2, True)
    assert not (command.folder / f"none.db{end}").exists()


@pytest.mark.parametrize("how", ["export", "export --full", "snapshot", "import"])
def test_a_folder_that_cannot_be_written_is_named_and_no_hidden_file_is(
    command: Command, db: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever runs the tests may be root, whom no permission stops.
    def refused(*_: Any, dir: Path, prefix: str, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(Path(dir) / f"{prefix}_7zo05w6"))

    (command.folder / "there").mkdir()
    monkeypatch.setattr(tempfile, "TemporaryDirectory", refused)
    monkeypatch.setattr(tempfile, "mkstemp", refused)
    done = command(*MAKING[how], "there/made")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(
        "error: there/made can't be made: the folder there takes no new file (Permission denied);"
    )
    assert "_7zo05w6" not in done.err and not list((command.folder / "there").iterdir())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "evidence.zip",
            "line 1: expected a full export (`ledger export --full`); this is a zip (an evidence bundle?)",
        ),
        ("copy.db", "line 1: expected a full export (`ledger export --full`); this is an SQLite file"),
        ("none.jsonl", "can't be read: No such file or directory; nothing was made"),
        ("folder", "can't be read: Is a directory; nothing was made"),
        ("", "FILE is empty; expected what `ledger export --full` wrote"),
        ("empty", "expected a full export, got an empty file"),
    ],
)
def test_what_is_no_export_is_said_to_be_what_it_is(command: Command, db: Path, name: str, said: str) -> None:
    shutil.copyfile(db, command.folder / "copy.db")
    with zipfile.ZipFile(command.folder / "evidence.zip", "w") as archive:
        archive.writestr("README.md", "hello")
    (command.folder / "folder").mkdir()
    (command.folder / "empty").touch()
    done = command("import", name, "--db", "new.db")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err and "\\x" not in done.err and "--db new.db" not in done.err
    assert not (command.folder / "new.db").exists()
