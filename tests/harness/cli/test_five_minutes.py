"""The README's second section: from a CSV of 500 rows to two models compared, in its own four commands."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from ledger import verify
from tests.harness.scripted import MODELS, questions, scripted_models

README = (Path(__file__).resolve().parents[3] / "README.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8080/v1"
SECTION = re.split(r"^## ", README, flags=re.MULTILINE)[2]
COMMANDS = [line.strip() for line in SECTION.split("```text")[0].splitlines() if line.startswith("    harness ")]


def plain(line: str) -> str:
    """A line without what differs from run to run: ids, digests, and the room that a table leaves at its end."""
    line = re.sub(r"@[0-9a-f]{12}\b", "@DIGEST", line)
    return re.sub(r"\b(run) [a-z0-9]{16}\b", r"\1 ID", line).rstrip()


def transcript() -> list[tuple[str, list[str]]]:
    """Each command of the README's transcript, with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for line in SECTION.split("```text\n")[1].split("```")[0].splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() not in ("", "…"):
            found[-1][1].append(plain(line))
    return found


def test_it_is_the_second_section_and_has_four_commands_none_of_them_python() -> None:
    assert SECTION.startswith("Your own evaluation in five minutes\n")
    assert len(COMMANDS) == 4
    assert not any("python" in command for command in COMMANDS)
    assert [command for command, _ in transcript()] == COMMANDS[:3]


def test_five_hundred_rows_become_a_scoreboard_of_two_models_as_the_readme_shows_it(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text(questions(), "utf-8")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("HARNESS_", "LEDGER_"))}
    environ = {**environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}", "COLUMNS": "120"}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        environ.pop(name, None)
    printed: dict[str, list[str]] = {}
    begin = time.monotonic()
    with scripted_models() as address:
        for command in COMMANDS:
            done = subprocess.run(
                command.replace(ADDRESS, address), shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            printed[command] = [plain(line) for line in (done.stdout + done.stderr).splitlines()]
    assert time.monotonic() - begin < 60
    for command, lines in transcript():
        missing = [line for line in lines if line not in printed[command]]
        assert not missing, f"the README shows what {command} doesn't print; it prints\n" + "\n".join(printed[command])
    assert verify(tmp_path / "ledger.db").verdict == "CONSISTENT"
    page = (tmp_path / "sums.html").read_text("utf-8")
    assert "370/489" in page and "458/500" in page


def test_the_figures_of_the_readme_are_those_of_the_scripted_models() -> None:
    """What the two models say to the very questions, counted without the harness."""
    rows = list(csv.DictReader(io.StringIO(questions())))
    for name, right, answered in (("small-model", 370, 489), ("large-model", 458, 500)):
        said = [MODELS[name](row["question"] + "\n\nAnswer with the number alone, without a unit.") for row in rows]
        numbers = [re.fullmatch(r"-?[0-9]+", text) is not None for text in said]
        assert sum(numbers) == answered
        assert sum(text == row["answer"] for text, row in zip(said, rows, strict=True)) == right
        assert f"{right}/{answered}" in SECTION
