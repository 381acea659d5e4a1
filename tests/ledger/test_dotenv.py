"""`.env` is read for this process, and what the environment says already goes first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ledger._dotenv import load_dotenv, read_dotenv


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("A=1", {"A": "1"}),
        ("export A = one two  # comment", {"A": "one two"}),
        ("A=a#b", {"A": "a#b"}),
        ("A=", {"A": ""}),
        ("A=#comment", {"A": ""}),
        ("A='single # \\n' # comment", {"A": "single # \\n"}),
        ('A="double # \\n \\" \\\\" # comment', {"A": 'double # \n " \\'}),
        ("A=x=y==", {"A": "x=y=="}),
        ("# A=1", {}),
        ("1A=1", {}),
        ("just words", {}),
        ("\ufeffA=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
    ],
)
def test_a_line_is_a_setting_or_nothing(line: str, found: dict[str, str]) -> None:
    assert read_dotenv(line) == found


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\n")
    environ = {"A": "environment"}
    load_dotenv(environ, tmp_path / ".env")
    assert environ == {"A": "environment", "B": "file"}


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"A=a\x00b"])
def test_a_file_that_is_missing_or_no_text_changes_nothing(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / ".env").write_bytes(content)
    environ: dict[str, str] = {}
    load_dotenv(environ, tmp_path / ".env")
    assert environ == {}


def test_what_is_no_file_of_settings_is_not_waited_for_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"A=1\n" + b"#" * (1 << 20))
    for name in ("pipe", "long", "nothing", "."):
        found: dict[str, str] = {}
        load_dotenv(found, tmp_path / name)
        assert found == {}
