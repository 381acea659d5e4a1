"""The first hour of somebody who has nothing but the wheel: installed without the dev extras into a fresh environment,
in a clean folder, every command of the README's first two sections that isn't of the checkout, and the mistakes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.cli.test_mistakes import MISTAKES, held, lay_out
from tests.harness.models import Answer, model_server
from tests.harness.scripted import questions, scripted_models
from tests.harness.servers import refused_port
from tests.harness.test_run import perfect

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
WALK = re.split(r"^## ", README, flags=re.MULTILINE)[2].partition("```text")
ADDRESS = "http://127.0.0.1:8080/v1"
_SET = ("LEDGER", "HARNESS", "OPENAI", "GROQ", "ANTHROPIC", "OLLAMA", "VLLM", "VIRTUAL_ENV", "PYTHON")


def walk() -> list[str]:
    """The commands of the README's second section, before and after its transcript."""
    return [line.strip() for line in (WALK[0] + WALK[2]).splitlines() if line.startswith("    ")]


def done(command: str, folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        executable="/bin/bash",
    )


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variables of a shell in which a fresh environment with the wheel is active."""
    made = tmp_path_factory.mktemp("fresh")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", made, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = made.glob("*.whl")
    fresh = made / "venv"
    if uv := shutil.which("uv"):
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, fresh], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", fresh / "bin" / "python", wheel], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", fresh], check=True)
        subprocess.run([fresh / "bin" / "pip", "install", "-q", wheel], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SET)}
    return {**kept, "PATH": f"{fresh / 'bin'}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}


def test_the_walk_says_where_the_programs_live_before_one_is_typed_and_stands_in_a_folder_of_its_own() -> None:
    commands = walk()
    first = next(at for at, each in enumerate(commands) if each.startswith("harness "))
    assert any("activate" in each for each in commands[:first])
    assert any(each.startswith("mkdir ") and " && cd " in each for each in commands[:first])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_readmes_walk_and_the_carried_suite_work_after_a_plain_install(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "questions.csv").write_text(questions(60), "utf-8")
    assert done("python -c 'import pytest'", tmp_path, environ).returncode == 1, "no dev extra is there"
    with scripted_models() as address:
        commands = [each for each in walk() if re.match(r"(harness|ledger|echo) ", each)]
        assert len(commands) == 6
        for command in commands:
            found = done(command.replace(ADDRESS, address), tmp_path, environ)
            assert found.returncode == 0, f"{command}\n{found.stdout}\n{found.stderr}"
            assert "Traceback" not in found.stderr
    with model_server(lambda prompt: Answer(perfect(prompt))) as at:
        asked = f"harness run authority --engine openai/m --base-url {at.openai} --db mine.db"
        found = done(asked, tmp_path, environ)
        assert found.returncode == 0, found.stderr
        assert "authority is the suite that eval-ledger carries" in found.stderr
        resumed = done("harness resume --db mine.db", tmp_path, environ)
        assert resumed.returncode == 0, resumed.stderr
    with closing(sqlite3.connect(tmp_path / "mine.db")) as ledger:
        (given,) = ledger.execute("SELECT body ->> '$.given' FROM events WHERE kind = 'plan'").fetchone()
    # Where the package lies on this machine is nobody's business, and no resume elsewhere would find it there.
    assert json.loads(given)["suite"] == "authority"
    for command in (
        "ledger verify --deep --db mine.db",
        "harness suites",
        "harness --version",
        "python -m ledger --version",
    ):
        found = done(command, tmp_path, environ)
        assert found.returncode == 0, f"{command}\n{found.stdout}\n{found.stderr}"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_mistakes_get_their_sentences_from_the_installed_programs(environ: dict[str, str], tmp_path: Path) -> None:
    lay_out(tmp_path)
    with model_server(lambda _: Answer("2")) as at:
        for command in (
            "harness new sums questions.csv --input question --gold answer --score number",
            f"harness run sums --engine openai/m --base-url {at.openai}",
        ):
            assert done(command, tmp_path, environ).returncode == 0, command
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        names = {"closed": f"http://127.0.0.1:{refused_port()}/v1", "busy": str(busy.getsockname()[1])}
        for mistake in MISTAKES.values():
            words = shlex.split(mistake["typed"].format(**names))
            found = subprocess.run(
                words, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, executable=shutil.which(
                    words[0], path=environ["PATH"]
                ),
            )  # fmt: skip
            held(mistake, names, found.returncode, found.stdout, found.stderr)
