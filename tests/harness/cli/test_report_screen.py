"""What `harness report` prints of a ledger that somebody else wrote, and into a pipe that nobody reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ledger import Draft, Ledger
from ledger.kinds import Plan
from tests.ledger.ledgers import EXAMPLES, RUN, example_draft

NASTY = "\x1b]0;owned\x07\x1b[2J\u202e"
REPORT = [sys.executable, "-c", "from harness.cli import main; main()", "report", "latest", "--db"]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run whose every name is made of control codes."""
    plan = EXAMPLES["plan"].model_dump(mode="json", by_alias=True)
    plan["suite"] = plan["candidates"][0]["label"] = plan["rules"][0]["label"] = NASTY
    plan["rules"][0]["metrics"][0]["name"] = NASTY
    cell = EXAMPLES["cell"].model_copy(update={"candidate": NASTY})
    with Ledger.create(tmp_path / "hostile.db") as ledger:
        ledger.append(example_draft("freeze"))
        ledger.append(Draft(Plan.model_validate_json(json.dumps(plan)), run=RUN), Draft(cell, run=RUN, cell=1))
    return tmp_path / "hostile.db"


def test_no_name_of_a_run_reaches_the_terminal_as_it_is(hostile: Path) -> None:
    done = subprocess.run([*REPORT, hostile], capture_output=True, check=True, timeout=60)
    shown = done.stdout.decode()
    assert shown.count("\\x1b]0;owned\\x07") >= 3, "the suite, the rule set, the candidate and the metric are shown"
    assert not [letter for letter in shown if not letter.isprintable() and letter != "\n"]


@pytest.mark.skipif(os.name != "posix", reason="a broken pipe as POSIX has it")
def test_a_pipe_that_nobody_reads_ends_as_a_broken_pipe_does(hostile: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run([*REPORT, hostile], stdout=pipe, stderr=subprocess.PIPE, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (141, b"")
