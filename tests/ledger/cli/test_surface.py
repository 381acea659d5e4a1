"""The surface of the command: options, environment, errors, pipes, the terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import ledger._connect
from ledger import Draft, Ledger
from ledger.kinds import Note
from tests.ledger.cli.conftest import RUN, Command
from tests.ledger.ledgers import tamper

HEAVY = ("httpx", "httpx2", "sqlite_utils", "datasette", "anthropic", "pydantic", "rich.console", "asyncio", "harness")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from ledger.cli import app, run_app\n"
        "status = run_app(app, 'ledger', ['--help'])\n"
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == "0 []\n"
    for name in ("init", "verify", "log", "show", "runs", "note", "checkpoint", "export", "snapshot", "upgrade"):
        assert f"  {name} " in done.stdout


def test_without_arguments_it_shows_its_help(command: Command) -> None:
    assert command().out == command("--help").out
    assert "Usage: ledger" in command("-h").out


@pytest.mark.parametrize(
    "arguments",
    [
        ["bogus"],
        ["--nope"],
        ["log", "--nope"],
        ["log", "--limit", "x"],
        ["log", "--limit", "0"],
        ["show"],
        ["show", "1", "2"],
    ],
)
def test_wrong_usage_is_one_sentence_and_2(command: Command, arguments: list[str]) -> None:
    done = command(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert done.err.endswith("--help` shows how)\n")
    assert done.err.count("\n") == 1


def test_every_flag_has_an_environment_variable(command: Command, original: Path) -> None:
    done = command("log", environ={"LEDGER_DB": str(original), "LEDGER_JSON": "1", "LEDGER_LOG_LIMIT": "1"})
    assert len(done.json["events"]) == 1
    for name in ("init", "verify", "log", "show", "runs", "note", "checkpoint", "export", "snapshot", "upgrade"):
        shown = command(name, "--help").out
        options = re.findall(r"^ +(?:-\w, )?(--[a-z]+)", shown, re.MULTILINE)
        assert " ".join(shown.split()).count("[env var:") == len(options) - 1, "all but --help"


def test_dotenv_is_read_and_goes_after_the_environment_and_the_flags(command: Command) -> None:
    (command.folder / ".env").write_text("LEDGER_DB=from-file.db\n")
    assert command("init").status == 0
    assert (command.folder / "from-file.db").exists()
    assert command("init", environ={"LEDGER_DB": "from-environment.db"}).status == 0
    assert (command.folder / "from-environment.db").exists()
    assert command("init", "--db", "from-flag.db").status == 0
    assert (command.folder / "from-flag.db").exists()


def test_dotenv_is_never_stored(command: Command) -> None:
    (command.folder / ".env").write_text("OPENAI_API_KEY=sk-very-secret-value\n")
    command("note", "x")
    assert all(b"sk-very-secret-value" not in file.read_bytes() for file in command.folder.glob("ledger.db*"))


@pytest.mark.parametrize(
    "content", [b"", b"text " * 1000, b"SQLite format 3\x00" + b"\xff" * 4096], ids=["empty", "text", "broken header"]
)
@pytest.mark.parametrize(
    "name",
    [
        "verify", "log", "runs", "export", "upgrade", "show 1", "note x", "snapshot s.db", "checkpoint", "key new",
        "key show", "anchor rfc3161 --url http://127.0.0.1:9/",
    ],
)  # fmt: skip
def test_a_file_that_is_no_ledger_is_one_sentence_and_2_and_is_left_alone(
    command: Command, name: str, content: bytes
) -> None:
    (command.folder / "ledger.db").write_bytes(content)
    done = command(*name.split())
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert (command.folder / "ledger.db").read_bytes() == content


HOSTILE = {
    "text that isn't UTF-8": "UPDATE events SET kind = CAST(x'ff41' AS TEXT) WHERE seq = 5",
    "causes that are none": "UPDATE events SET causes = '[x]' WHERE seq = 5",
    "a body that isn't JSON": "UPDATE events SET body = 'no' WHERE seq = 5",
    "a body with NaN": "UPDATE events SET body = '{\"a\":NaN}' WHERE seq = 5",
    "a deep body": "UPDATE events SET body = (SELECT replace(hex(zeroblob(9000)), '00', '[')) WHERE seq = 5",
    "a plan that isn't JSON": "UPDATE events SET body = 'no' WHERE kind = 'plan'",
    "no genesis": "DELETE FROM events WHERE seq = 1",
    "a genesis of another shape": "UPDATE events SET body = '{}' WHERE seq = 1",
    "a run with escapes": "UPDATE events SET run = char(27) || '[2J' WHERE seq = 5",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_ledger_never_gets_a_traceback_or_a_control_code_out(
    command: Command, original: Path, copy: Path, what: str
) -> None:
    tamper(original, copy, HOSTILE[what])
    for name in ("log", "log --json", "log --limit 3", "show 5", "show 5 --json", "runs", "runs --json", "export",
                 "note x", "upgrade", "verify"):  # fmt: skip
        done = command(*name.split(), "--db", copy)
        assert done.status in {0, 1, 2, 4}, (name, done)
        assert not [c for c in done.out + done.err if ord(c) < 32 and c not in "\n\t"], (name, done)
        assert "fault of this program" not in done.err, (name, done)
        if done.status == 2:
            assert done.err.count("\n") == 1
    assert command("verify", "--db", copy).status in {1, 2}


def in_a_terminal(command: Command, *arguments: str) -> str:
    """What the command writes to a real terminal."""
    control, terminal = pty.openpty()
    process = command.popen(*arguments, environ={"TERM": "xterm"}, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        # Linux ends a terminal whose writers are gone with EIO, others with an empty read.
        with contextlib.suppress(OSError):
            while chunk := os.read(control, 65536):
                shown += chunk
        assert process.wait(30) == 0
    finally:
        process.kill()
        os.close(control)
    return shown.decode().replace("\r\n", "\n")


def test_text_from_a_ledger_reaches_a_terminal_escaped(command: Command) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\x9b31m [red]x[/red] \r\n\x7f"
    with Ledger.create(command.folder / "ledger.db") as opened:
        opened.append(Draft(Note(text=nasty)), Draft(Note(text=nasty), blobs={"\x1b[1mowned\u202e": b"[red]x[/red]"}))
    for arguments in (["log"], ["log", "--json"], ["show", "3"], ["show", "4"], ["show", "4", "--json"]):
        text = in_a_terminal(command, *arguments)
        assert "owned" in text
        assert "[red]x[/red]" in text
        assert not [c for c in text if (ord(c) < 32 and c != "\n") or c in "\x7f\x9b\u202e\u200b\r"]


def test_names_from_the_command_line_are_escaped_too(command: Command) -> None:
    done = command("log", "--db", "\x1b[31mx.db")
    assert (done.status, "\x1b" in done.err) == (2, False)
    assert "\\x1b[31mx.db" in done.err


def test_a_terminal_without_unicode_gets_escapes_instead_of_an_error(command: Command) -> None:
    command("note", "caf\u00e9 \U0001f600")
    done = command.run("show", "3", environ={"PYTHONIOENCODING": "ascii"})
    assert (done.status, done.err) == (0, "")
    assert "caf\\xe9 \\U0001f600" in done.out


@pytest.mark.parametrize("name", ["export", "log", "log --json"])
def test_a_reader_that_goes_away_ends_it_quietly(command: Command, name: str) -> None:
    with Ledger.create(command.folder / "ledger.db") as opened:
        opened.append(*(Draft(Note(text="x" * 100)) for _ in range(3000)))
    process = command.popen(*name.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdout.read(10)
        process.stdout.close()
        assert (process.stderr.read(), process.wait(30)) == (b"", 141)
    finally:
        process.kill()
        process.stderr.close()


def test_ctrl_c_is_one_word_and_130(command: Command) -> None:
    Ledger.create(command.folder / "ledger.db").close()
    code = (
        "import ledger._writer as store; from ledger.cli import main\n"
        "def tell(*groups, **given): print('waits', flush=True); return real(*groups, **given)\n"
        "real, store.append_all = store.append_all, tell\n"
        "main()"
    )
    with closing(sqlite3.connect(command.folder / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = command.popen("note", "x", code=code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "waits\n"
            process.send_signal(signal.SIGINT)
            other.execute("ROLLBACK")
            assert process.communicate(timeout=60) == ("", "interrupted\n")
        finally:
            process.kill()
    assert process.returncode == 130


def test_a_database_in_use_for_too_long_is_one_sentence_and_3(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.create(command.folder / "ledger.db").close()
    monkeypatch.setattr(ledger._connect, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(command.folder / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = command("note", "x")
        other.execute("ROLLBACK")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(
        "error: ledger.db: database is locked; nothing of this append was written; another program"
    )
    assert done.err.count("\n") == 1


def test_the_installed_command_is_this_one(command: Command) -> None:
    done = command.run("init", "--json")
    assert (done.status, done.json["seq"]) == (0, 2)
    again = command.run("init")
    assert (again.status, again.out, again.err.count("\n")) == (2, "", 1)


def test_json_on_stdout_is_alone_there(command: Command) -> None:
    for name in ("init", "note x", "verify", "log", "show 1", "runs", "upgrade", "snapshot s.db"):
        done = command(*name.split(), "--json")
        assert isinstance(done.json, dict)
        assert done.status == 0


@pytest.mark.parametrize("option", ["--limit", "--after", "--cell"])
def test_a_number_that_no_ledger_can_hold_is_wrong_usage(command: Command, option: str) -> None:
    command("init")
    done = command("log", option, str(2**53))
    assert (done.status, done.out) == (2, "")
    assert "9007199254740991" in done.err and "fault of this program" not in done.err


@pytest.mark.parametrize(
    "arguments", [("log", "--kind", "\udcff"), ("log", "--kind", "note\udc80"), ("note", "\udcff")]
)
def test_an_argument_that_is_no_utf8_is_one_sentence(command: Command, arguments: tuple[str, ...]) -> None:
    command("note", "first")
    done = command(*arguments)
    assert (done.status, done.out) == (2, "")
    assert re.fullmatch(r"error: (?:an argument .* no UTF-8|text holds a lone surrogate).*\n", done.err)


@pytest.mark.skipif(os.name != "posix", reason="closes file descriptors as a POSIX shell does")
@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_change_neither_the_status_nor_the_other_stream(command: Command, closed: str) -> None:
    command("init")

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        shell = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", RUN, *arguments]
        return subprocess.run(shell, cwd=command.folder, capture_output=True, check=False, timeout=60)

    done = run("verify", "--json")
    assert done.returncode == 0
    assert done.stdout == b"" if "1>" in closed else json.loads(done.stdout)["verdict"] == "CONSISTENT"
    missing = run("verify", "--json", "--db", "nothing.db")
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert b"fault of this program" not in done.stderr + missing.stderr
