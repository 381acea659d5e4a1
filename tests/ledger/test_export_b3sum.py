"""An export is checked with a shell and the real b3sum, as docs/FORMAT.md says."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Ledger, verify
from ledger._export import export_lines

FORMAT = Path(__file__).resolve().parents[2] / "docs" / "FORMAT.md"

pytestmark = pytest.mark.skipif(shutil.which("b3sum") is None, reason="the b3sum binary is not installed")


def shipped(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", FORMAT.read_text("utf-8"), re.DOTALL)
    return block


@pytest.fixture
def export(original: Path, tmp_path: Path) -> Path:
    path = tmp_path / "export.jsonl"
    with Ledger.open(original, read_only=True) as ledger:
        path.write_bytes(b"".join(line + b"\n" for line in export_lines(ledger)))
    return path


def run(script: str, folder: Path, shell: str = "sh", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, "-c", script], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin:" + str(Path(str(shutil.which("b3sum"))).parent), **environment},
    )  # fmt: skip


def test_the_one_liner_is_one_line_and_prints_the_head_that_verify_prints(original: Path, export: Path) -> None:
    script = shipped("sh")
    assert script.count("\n") == 1
    result = run(script, export.parent)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"head {verify(original).head}\n", "")


def test_b3sum_agrees_with_every_stored_hash(original: Path, export: Path) -> None:
    lines = export.read_bytes().splitlines()
    with closing(sqlite3.connect(original)) as connection:
        stored = [digest for (digest,) in connection.execute("SELECT hash FROM events ORDER BY seq")]
    folder = export.parent / "lines"
    folder.mkdir()
    names = [f"{number:05}" for number in range(len(lines))]
    for name, line in zip(names, lines, strict=True):
        (folder / name).write_bytes(line)
    result = subprocess.run(["b3sum", "--no-names", *names], cwd=folder, capture_output=True, text=True, check=True)
    assert result.stdout.split() == stored
    assert len(stored) == 32


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b'"kind":"score"', b'"kind":"close"', 15),
        (b'"seq":9,', b'"seq":8,', 10),
        (b'"cell":1', b'"cell":2', 6),
    ],
)
def test_the_one_liner_stops_at_the_line_after_a_changed_one(export: Path, old: bytes, new: bytes, line: int) -> None:
    export.write_bytes(export.read_bytes().replace(old, new, 1))
    result = run(shipped("sh"), export.parent)
    assert result.returncode == 1
    assert result.stdout.startswith(f'broken: {{"v":1,"seq":{line},')


def test_the_one_liner_stops_where_a_line_is_missing(export: Path) -> None:
    lines = export.read_bytes().splitlines(keepends=True)
    export.write_bytes(b"".join(lines[:6] + lines[7:]))
    result = run(shipped("sh"), export.parent)
    assert result.returncode == 1
    assert result.stdout.startswith('broken: {"v":1,"seq":8,')


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_body_and_a_blob_are_held_against_their_commitment_as_the_page_says(original: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(original)) as connection:
        bodies = connection.execute(
            "SELECT salt, CAST(body AS BLOB), body_hash FROM events WHERE body IS NOT NULL"
        ).fetchall()
        blobs = connection.execute("SELECT salt, data, hash FROM blobs WHERE data IS NOT NULL").fetchall()
    for salt, data, digest in [*bodies[:5], *blobs]:
        (tmp_path / "bytes").write_bytes(data)
        result = run(shipped("bash"), tmp_path, "bash", salt=salt)
        assert result.stdout.strip() == digest
