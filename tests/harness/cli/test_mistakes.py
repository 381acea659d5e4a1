"""The mistakes of mistakes.toml, each really made: one sentence that names what is wrong, and the documented status."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import app as harness_app
from ledger.cli import app as ledger_app
from ledger.cli import commands_of, run_app
from tests.harness.models import Answer, model_server
from tests.harness.servers import refused_port

MISTAKES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text("utf-8"))
_SET = ("LEDGER", "HARNESS", "OPENAI", "GROQ", "ANTHROPIC", "OLLAMA", "VLLM")
APPS = {"harness": (harness_app, ledger_app), "ledger": (ledger_app, harness_app)}


def lay_out(folder: Path) -> None:
    """The files that the mistakes name, but for the suite `sums` and the ledger."""
    rows = "question,answer\nHow much is 1 plus 1?,2\nHow much is 2 plus 2?,4\n"
    files = {
        "questions.csv": rows.encode(), "empty.csv": b"", "header.csv": b"question,answer\n",
        "semicolons.csv": b"question;answer\nHow much, say?;2\n", "utf16.csv": rows.encode("utf-16"),
        "latin.csv": "question,answer\nWie heißt das?,Käse\n".encode("latin-1"),
        "twice.csv": b"id,question,answer\na,Q?,1\na,R?,2\n", "notes.db": b"These are notes, and no database.\n" * 40,
        "fixtures/broken/v1/cases.jsonl": b'{"id": "a", "input": "Q?", "gold": "1"}\n{"id": "b", "input": }\n',
        "fixtures/doubled/v1/cases.jsonl": b'{"id": "a", "input": "Q?", "gold": "1"}\n' * 2,
    }  # fmt: skip
    for name in ("broken", "doubled"):
        files[f"fixtures/{name}/suite.toml"] = f'name = "{name}"\nstages = "manifest"\nask = "text"\n'.encode()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()


def typed(program: str, *arguments: str) -> int:
    """A command as a person types it, in this process."""
    mine, other = APPS[program]
    name = "ledger" if program == "harness" else "harness"
    return run_app(mine, program, list(arguments), others={name: commands_of(other)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as it is after the README's first commands, with one run by a server of ours."""
    found = tmp_path_factory.mktemp("mistakes")
    lay_out(found)
    with contextlib.chdir(found), model_server(lambda _: Answer("2")) as at:
        new = (
            "harness",
            "new",
            "sums",
            "questions.csv",
            "--input",
            "question",
            "--gold",
            "answer",
            "--score",
            "number",
        )
        assert typed(*new) == 0
        assert typed("harness", "run", "sums", "--engine", "openai/m", "--base-url", at.openai) == 0
    return found


@pytest.fixture
def names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """What stands for {closed} and {busy}, in that folder and without a key."""
    monkeypatch.chdir(folder)
    for name in list(os.environ):
        if name.startswith(_SET):
            monkeypatch.delenv(name)
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        yield {"closed": f"http://127.0.0.1:{refused_port()}/v1", "busy": str(busy.getsockname()[1])}


def held(mistake: dict[str, Any], names: dict[str, str], status: int, out: str, err: str) -> None:
    """Hold what a mistake came to against its line of the table."""
    expected = mistake.get("exit", 2)
    assert status == expected, f"exit {status}\n{out}{err}"
    for word in mistake["says"]:
        assert word.format(**names) in err + (out if expected == 3 else ""), err
    for word in mistake.get("never", ()):
        assert word not in err
    assert "Traceback" not in err and "fault of this program" not in err
    if expected == 2:
        # Rows that can't be cases are named ahead of the sentence.
        assert err.splitlines()[-1].startswith("error: ") and out == ""


def test_there_are_forty_of_them_and_more() -> None:
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_its_sentence(name: str, names: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    mistake = MISTAKES[name]
    program, *arguments = shlex.split(mistake["typed"].format(**names))
    status = typed(program, *arguments)
    held(mistake, names, status, *capsys.readouterr())
