"""Progress of a run: a table on a real pseudo-terminal, plain lines through a pipe, JSON lines for programs."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from harness._progress_state import RunState, pace_words
from tests.harness.limited import Limited, questions
from tests.harness.limiters import SlidingWindow
from tests.harness.models import Answer, model_server
from tests.harness.test_run import BIN
from tests.started import copied_once, finished

pyte = pytest.importorskip("pyte")


def environ(**more: str) -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if not name.startswith(("LEDGER", "HARNESS", "COLUMNS"))}
    found |= {"OPENAI_API_KEY": "sk-test-not-a-real-key", "PYTHONPATH": str(copied_once())}
    return found | {"TERM": "xterm-256color"} | more


def arguments(folder: Path, url: str, *flags: str) -> list[str]:
    engines = ["--engine", "openai/m", "--base-url", url]
    return [str(BIN / "harness"), "run", "numbers", *engines, "--db", str(folder / "ledger.db"), *flags]


def on_a_pipe(folder: Path, url: str, *flags: str, **more: str) -> tuple[int, str, str]:
    done = finished("harness", arguments(folder, url, *flags)[1:], cwd=folder, environ=environ(**more))
    return done.returncode, done.stdout, done.stderr


def on_a_terminal(folder: Path, url: str, *flags: str, **more: str) -> tuple[int, str, bytes]:
    """The exit status, the screen as a person sees it at the end, and every byte that was written there."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        arguments(folder, url, *flags), cwd=folder, env=environ(**more, COLUMNS="120", LINES="60"),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    seen = bytearray()
    end = time.monotonic() + 120
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 0.2)
        try:
            piece = os.read(master, 65_536) if ready else None
        except OSError:
            break
        if piece == b"" or (piece is None and process.poll() is not None):
            break
        seen += piece or b""
    os.close(master)
    screen = pyte.Screen(120, 60)
    pyte.ByteStream(screen).feed(bytes(seen))
    return process.wait(timeout=60), "\n".join(line.rstrip() for line in screen.display).strip(), bytes(seen)


def test_a_terminal_shows_a_table_with_what_is_done_and_why_not(tmp_path: Path) -> None:
    questions(tmp_path, 40)
    server = Limited(SlidingWindow(20), delay=0.01)

    def answer(prompt: str) -> Answer:
        return Answer(status=400, body=b'{"error": {"message": "no"}}') if prompt.endswith("7") else server(prompt)

    with model_server(answer) as at:
        status, screen, raw = on_a_terminal(tmp_path, at.openai)
    assert status == 3
    heading, row = _table(screen)
    assert heading.split()[:2] == ["candidate", "done"]
    assert "pace" in heading
    assert "left" in heading
    assert re.search(r"^openai/m +40/40 ", row)
    assert "at once" in row
    assert "api/bad_request 4" in row
    assert b"\x1b[?25h" in raw, "the cursor is given back"


def _table(screen: str) -> tuple[str, str]:
    lines = screen.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("candidate"))
    return lines[at], lines[at + 1]


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_or_a_clever_terminal_nothing_is_coloured(tmp_path: Path, more: dict[str, str]) -> None:
    questions(tmp_path, 5)
    with model_server(Limited()) as at:
        status, screen, raw = on_a_terminal(tmp_path, at.openai, **more)
    assert status == 0
    assert not re.search(rb"\x1b\[(?:3[0-9]|4[0-9]|9[0-9])(?:;[0-9]+)*m", raw)
    if "TERM" in more:
        assert b"\x1b" not in raw
        assert "5 of 5 cells" in screen


def test_a_hostile_label_reaches_no_terminal(tmp_path: Path) -> None:
    questions(tmp_path, 3)
    hostile = "openai/m\x1b[31m\x07x"
    with model_server(Limited()) as at:
        line = arguments(tmp_path, at.openai)
        line[line.index("openai/m")] = hostile
        master, slave = pty.openpty()
        process = subprocess.Popen(
            line, cwd=tmp_path, env=environ(COLUMNS="120"), stdout=subprocess.DEVNULL, stderr=slave,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(slave)
        seen = bytearray()
        reader = threading.Thread(target=_read_all, args=(master, seen), daemon=True)
        reader.start()
        process.wait(timeout=120)
        reader.join(timeout=10)
        os.close(master)
    assert b"\x1b[31m" not in seen
    assert b"\x07" not in seen


def _read_all(master: int, into: bytearray) -> None:
    while True:
        try:
            piece = os.read(master, 65_536)
        except OSError:
            return
        if not piece:
            return
        into += piece


def test_a_pipe_gets_plain_lines_few_of_them_and_is_told_when_the_pace_is_cut(tmp_path: Path) -> None:
    questions(tmp_path, 40)
    with model_server(Limited(SlidingWindow(20))) as at:
        status, _, told = on_a_pipe(tmp_path, at.openai)
    assert status == 0
    lines = told.splitlines()
    assert lines[0].endswith(": 40 cells planned")
    assert any(
        re.fullmatch(r"openai/m: the server says too many requests; slowed to \d+ at once(, \S+ a second)?", x)
        for x in lines
    )
    assert "40 of 40 cells" in lines
    assert len(lines) < 12
    assert "\x1b" not in told


def events(told: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.splitlines()]


def test_log_json_gives_one_object_a_line_and_nothing_else(tmp_path: Path) -> None:
    questions(tmp_path, 30)
    (tmp_path / "prices.toml").write_text(
        '["openai/m"]\ninput = "1"\noutput = "2"\ncurrency = "USD"\nas_of = "2026-11-30"\n'
    )
    with model_server(Limited(SlidingWindow(15), credit=20)) as at:
        status, out, told = on_a_pipe(tmp_path, at.openai, "--log-json", "--json")
    assert status == 3
    done = json.loads(out)
    found = events(told)
    assert all(each["event"] and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", each["at"]) for each in found)
    kinds = [each["event"] for each in found]
    assert kinds[0] == "started"
    assert (found[0]["run"], found[0]["planned"], found[0]["done"]) == (done["run"], 30, 0)
    assert found[0]["candidates"] == [{"candidate": "openai/m", "planned": 30, "done": 0}]
    settled = [each for each in found if each["event"] == "settled"]
    assert len({each["cell"] for each in settled}) == len(settled) == found[kinds.index("ended")]["done"]
    assert sum(list(each["outcomes"].values()) == ["correct"] for each in settled) == 20
    assert {each["reason"] for each in settled if "reason" in each} >= {"billing"}
    paced = [each for each in found if each["event"] == "paced"]
    assert paced
    assert all(each["candidate"] == "openai/m" and each["at_once"] >= 1 for each in paced)
    (stopped,) = [each for each in found if each["event"] == "stopped"]
    assert (stopped["candidate"], stopped["reason"]) == ("openai/m", "billing")
    assert [each["spent"] for each in found if each["event"] == "spent" and each["candidate"] is None][-1] == done[
        "spent"
    ]
    assert kinds.count("ended") == 1
    assert any(done["run"] in each["text"] for each in found if each["event"] == "note")


def test_log_json_may_be_asked_for_by_the_environment_and_for_a_resume(tmp_path: Path) -> None:
    questions(tmp_path, 6)
    server = Limited(credit=2)
    with model_server(server) as at:
        status, _, told = on_a_pipe(tmp_path, at.openai, HARNESS_LOG_JSON="1")
        assert status == 3
        assert events(told)[0]["event"] == "started"
        server.credit = None
        resume = ["resume", "--db", tmp_path / "ledger.db", "--log-json"]
        done = finished("harness", resume, cwd=tmp_path, environ=environ())
    assert done.returncode == 0
    kept, started = events(done.stderr)[:2]
    assert (kept["event"], started["event"]) == ("note", "started"), "what is kept is told before anything is asked"
    assert (started["planned"], started["done"]) == (6, 2)


def test_a_rate_is_that_of_the_last_seconds_and_the_time_left_follows_from_it() -> None:
    now = [100.0]
    state = RunState(lambda: now[0])
    state.started("r", 100, 0, {"m": (100, 20)})
    assert state.left("m") is None
    for _ in range(20):
        now[0] += 0.5
        state.of("m").times.append(now[0])
        state.of("m").done += 1
    assert state.rate("m") == pytest.approx(2.0, abs=0.15)
    assert state.left("m") == pytest.approx(30, abs=3)
    now[0] += 60
    assert state.rate("m") == 0
    assert state.left("m") is None


def test_a_pace_in_words() -> None:
    assert pace_words(4, float("inf")) == "4 at once"
    assert pace_words(8, 48.523) == "8 at once, 48.5 a second"
