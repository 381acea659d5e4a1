"""A local program on a terminal: what that does to data, and that every way of it failing has a name."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.harness.test_run import harness, rows, start

CLEAN = "import sys; sys.stdin.read(); print('{\"proposals\": []}')"
SPOILT = (
    'import sys; sys.stdin.read(); sys.stdout.write(\'{"proposals": [], "why": "a long wor\\x1b[3D\\x1b[K\\nword"}\')'
)
COLOUR = "import sys; sys.stdin.read(); sys.stdout.write('\\x1b[32m{\"proposals\": []}\\x1b[0m')"
ECHO = "import sys; text = sys.stdin.read(); assert 'Memory' in text; print('{\"proposals\": []}')"


def program(folder: Path, code: str) -> str:
    path = folder / "model.py"
    path.write_text(code, "utf-8")
    return f"command/{sys.executable} {path}"


def reasons(tmp_path: Path, code: str, *more: str, expect: int = 0) -> dict[tuple[str, str], int]:
    db = tmp_path / "ledger.db"
    done = harness(
        "run", "authority/v0", "--engine", program(tmp_path, code), "--limit", "2", "--db", str(db), *more,
        expect=expect,
    )  # fmt: skip
    found = rows(db, "SELECT stage, reason, rules, outcome FROM cells WHERE run = ?", done["run"])
    return {(row["rules"].split("@")[0], row["reason"] or row["outcome"]): 1 for row in found}


def test_a_program_that_prints_clean_json_is_measured_and_gets_the_prompt_on_its_standard_input(tmp_path: Path) -> None:
    assert reasons(tmp_path, ECHO) == {("strict-cite", "incorrect"): 1, ("fence-cite", "incorrect"): 1}


def test_control_codes_inside_the_answer_are_named_for_what_they_are(tmp_path: Path) -> None:
    found = reasons(tmp_path, SPOILT)
    assert found == {("strict-cite", "terminal_control_bytes"): 1, ("fence-cite", "terminal_control_bytes"): 1}


def test_the_bytes_of_the_terminal_are_kept_as_they_came(tmp_path: Path) -> None:
    reasons(tmp_path, COLOUR)
    (row, *_) = rows(tmp_path / "ledger.db", "SELECT data FROM blobs JOIN events USING (seq) WHERE kind = 'response'")
    assert row["data"] == b'\x1b[32m{"proposals": []}\x1b[0m'


def test_the_key_that_signs_checkpoints_is_not_handed_to_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEDGER_SIGNING_KEY", "a secret")
    monkeypatch.setenv("OF_NO_SECRET", "handed on")
    reasons(
        tmp_path, "import os, sys; sys.stdin.read(); print({k for k in os.environ if 'LEDGER_S' in k or 'OF_NO' in k})"
    )
    (row, *_) = rows(tmp_path / "ledger.db", "SELECT data FROM blobs JOIN events USING (seq) WHERE kind = 'response'")
    assert row["data"].strip() == b"{'OF_NO_SECRET'}"


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import os; os.abort()"])
def test_a_program_that_fails_is_an_error_and_never_an_answer(code: str, tmp_path: Path) -> None:
    found = reasons(tmp_path, code, "--max-retries", "0", expect=3)
    assert found == {("strict-cite", "command_failed"): 1, ("fence-cite", "command_failed"): 1}


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    db = tmp_path / "ledger.db"
    harness(
        "run", "authority/v0", "--engine", "command/no-such-program-anywhere", "--limit", "1", "--max-retries", "0",
        "--db", str(db), expect=3,
    )  # fmt: skip
    (fault,) = rows(db, "SELECT body FROM events WHERE kind = 'fault'")
    assert '"reason":"command_missing"' in fault["body"]
    assert "no-such-program-anywhere" in fault["body"]


def test_a_program_that_never_ends_is_killed_at_the_deadline_with_its_children(tmp_path: Path) -> None:
    marker = tmp_path / "alive"
    child = f"import time, pathlib; time.sleep(3); pathlib.Path({str(marker)!r}).touch()"
    code = f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(60)"
    began = time.monotonic()
    found = reasons(tmp_path, code, "--max-retries", "0", "--timeout", "1", expect=3)
    assert found == {("strict-cite", "timeout"): 1, ("fence-cite", "timeout"): 1}
    assert time.monotonic() - began < 20
    time.sleep(3.2)
    assert not marker.exists()


def test_whoever_uses_it_is_warned(tmp_path: Path) -> None:
    process = start(
        "run", "authority/v0", "--engine", program(tmp_path, CLEAN), "--limit", "1", "--db", str(tmp_path / "l.db")
    )
    _, errors = process.communicate(timeout=60)
    assert "not a data channel" in errors
