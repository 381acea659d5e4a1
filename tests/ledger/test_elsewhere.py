"""What other systems lack or do otherwise is minded: here by taking it away. Real macOS and Windows are untested."""

from __future__ import annotations

import ast
import os
import sqlite3
import sys
import types
from pathlib import Path, PureWindowsPath

import pytest

from harness._candidate import Candidate
from harness._errors import EngineError
from harness.engines._command import CommandEngine
from ledger import Ledger, export_file, sync_file, verify
from ledger._connect import connect_writer, uri

ROOT = Path(__file__).resolve().parents[2]
POSIX_ONLY = {
    "fcntl", "pty", "pwd", "grp", "resource", "termios", "tty", "syslog", "posix",
}  # fmt: skip


def test_no_module_needs_a_posix_module_to_be_imported() -> None:
    found: set[str] = set()
    for package in ("ledger", "harness"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.parse(path.read_text("utf-8")).body:
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                found |= {f"{path.name}: {name}" for name in names if name.partition(".")[0] in POSIX_ONLY}
    assert found == set()


def test_the_writer_asks_for_what_a_mac_needs_to_be_durable(path: Path) -> None:
    connection = connect_writer(path)
    try:
        assert [connection.execute(f"PRAGMA {name}").fetchone() for name in ("fullfsync", "checkpoint_fullfsync")] == [
            (1,), (1,)
        ]  # fmt: skip
    finally:
        connection.close()


def test_a_file_is_synced_as_a_mac_needs_it_and_plainly_where_that_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: asked.append("fsync"))
    known = types.ModuleType("fcntl")
    known.F_FULLFSYNC = 51  # type: ignore[attr-defined]
    known.fcntl = lambda handle, what: asked.append(f"fcntl {what}")  # type: ignore[attr-defined]
    with (tmp_path / "f").open("wb") as file:
        for module in (known, types.ModuleType("fcntl"), None):
            monkeypatch.setitem(sys.modules, "fcntl", module)
            sync_file(file.fileno())

        def refused(handle: int, what: int) -> None:
            raise OSError(45, "not supported")

        known.fcntl = refused  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "fcntl", known)
        sync_file(file.fileno())
    assert asked == ["fcntl 51", "fsync", "fsync", "fsync"]


def test_an_export_is_written_where_permissions_are_no_bits(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "fchmod")
    with Ledger.open(path, read_only=True) as ledger:
        assert export_file(ledger, tmp_path / "lines.jsonl") == 2


def test_a_command_is_refused_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "openpty")
    candidate = Candidate(label="command/x", protocol="openai", model="x", parameters={}, base_url="command:")
    with pytest.raises(EngineError, match="pseudo-terminal"):
        CommandEngine(candidate, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("C:\\some folder\\a#b?.db", "file:///C:/some%20folder/a%23b%3F.db?mode=ro"),
        ("\\\\server\\share\\x.db", "file:////server/share/x.db?mode=ro"),
    ],
)
def test_a_drives_letter_stands_in_a_uri_as_sqlite_reads_it(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Given(PureWindowsPath):
        def absolute(self) -> PureWindowsPath:
            return PureWindowsPath(self)

    monkeypatch.setattr(os, "sep", "\\")
    assert uri(Given(name), "mode=ro") == said  # type: ignore[arg-type]


def test_the_uri_of_a_path_here_opens_it(tmp_path: Path) -> None:
    made = tmp_path / "a b#c?d%e.db"
    Ledger.create(made).close()
    connection = sqlite3.connect(uri(made, "mode=ro"), uri=True)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (2,)
    connection.close()
    assert verify(made).events == 2
