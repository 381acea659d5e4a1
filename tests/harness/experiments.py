"""A folder with a suite of its own and a ledger, to run and resume in: real processes, a real server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness.models import Answer, ModelServer
from tests.harness.test_run import BIN, ROOT, perfect
from tests.started import Started, copied_once, start

__all__ = ["NO_ANSWER", "Experiment", "answering", "copied_once", "lines", "rewrite"]

NO_ANSWER = Answer(status=500, body=b'{"error": {"message": "down"}}')


@dataclass
class Experiment:
    """The authority suite copied to `folder`; commands run there, against `ledger.db`.

    `source` is where they import harness and ledger from: a copy, as an edit while tests run is code that moved.
    """

    folder: Path
    source: Path | None = None
    environ: dict[str, str] = field(default_factory=dict)
    ledger_name: str = "ledger.db"

    def __post_init__(self) -> None:
        shutil.copytree(ROOT / "fixtures", self.folder / "fixtures")

    @property
    def db(self) -> Path:
        return self.folder / self.ledger_name

    @property
    def suite(self) -> Path:
        return self.folder / "fixtures" / "authority"

    @property
    def cases(self) -> Path:
        return self.suite / "v0" / "cases.jsonl"

    def start(self, program: str, *arguments: str) -> Started | subprocess.Popen[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("LEDGER", "HARNESS"))}
        environ |= {"OPENAI_API_KEY": "sk-test-not-a-real-key", "ANTHROPIC_API_KEY": "sk-test-not-a-real-key"}
        environ |= {"LEDGER_DB": str(self.db), **self.environ}
        if self.source is None:
            return start(program, arguments, cwd=self.folder, environ=environ)
        return subprocess.Popen(
            [BIN / program, *arguments], cwd=self.folder, env={**environ, "PYTHONPATH": str(self.source)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def harness(self, *arguments: str, expect: int = 0) -> Any:
        """The JSON of a `harness` command; with "" the words on stderr under "errors"."""
        process = self.start("harness", *arguments, "--json")
        out, errors = process.communicate(timeout=120)
        assert process.returncode == expect, f"exit {process.returncode}, expected {expect}\n{out}\n{errors}"
        assert "Traceback" not in errors
        return {**(json.loads(out) if out else {}), "errors": errors}

    def run(self, server: ModelServer, *arguments: str, expect: int = 0, suite: str = "authority/v0") -> Any:
        return self.harness(
            "run", suite, "--engine", "ollama/m", "--base-url", server.url, "--max-retries", "0",
            "--max-connections", "1", *arguments, expect=expect,
        )  # fmt: skip

    def resume(self, *arguments: str, expect: int = 0) -> Any:
        return self.harness("resume", *arguments, "--max-retries", "0", expect=expect)

    def ledger(self, *arguments: str, expect: int = 0) -> Any:
        process = self.start("ledger", *arguments)
        out, errors = process.communicate(timeout=120)
        assert process.returncode == expect, f"exit {process.returncode}, expected {expect}\n{out}\n{errors}"
        return out

    def rows(self, statement: str, *parameters: object) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(statement, parameters)]

    def events(self) -> list[dict[str, Any]]:
        """Every column of every event and blob."""
        return self.rows("SELECT * FROM events ORDER BY seq") + self.rows("SELECT * FROM blobs ORDER BY id")

    def bodies(self, kind: str) -> list[Any]:
        return [
            {**json.loads(row["body"]), "cell": row["cell"], "seq": row["seq"]}
            for row in self.rows("SELECT seq, cell, body FROM events WHERE kind = ? ORDER BY seq", kind)
        ]

    def scoreboard(self, run: str) -> list[dict[str, Any]]:
        found = self.rows("SELECT * FROM scoreboard WHERE run = ? ORDER BY rules, metric", run)
        return [{name: value for name, value in row.items() if name != "run"} for row in found]

    def verified(self) -> str:
        process = self.start("ledger", "verify", "--json")
        out, _ = process.communicate(timeout=120)
        return json.loads(out)["verdict"]

    def copy_source(self) -> Path:
        """Copies of both packages, to be changed and imported in the place of the project's."""
        self.source = self.folder / "source"
        shutil.copytree(copied_once(), self.source)
        return self.source


def answering(until: int) -> Callable[[str], Answer]:
    """Perfect answers to so many requests, then none, until `until` is raised on the function's `left`."""
    left = [until]

    def answer(prompt: str) -> Answer:
        if left[0] <= 0:
            return NO_ANSWER
        left[0] -= 1
        return Answer(perfect(prompt))

    answer.left = left  # type: ignore[attr-defined]
    return answer


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def rewrite(path: Path, change: Callable[[list[Any]], object], **dumps: Any) -> None:
    """Change the cases of a file, and write it anew."""
    found = lines(path)
    change(found)
    path.write_text("".join(json.dumps(case, ensure_ascii=False, **dumps) + "\n" for case in found), "utf-8")
