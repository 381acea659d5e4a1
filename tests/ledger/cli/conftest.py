"""The command, in a folder of its own: called here (quick), or as a real process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from ledger.cli import app, run_app

RUN = "from ledger.cli import main; main()"


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def clean(more: dict[str, str] | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEDGER_")}
    return {**kept, "PYTHONIOENCODING": "utf-8", **(more or {})}


class Command:
    """`ledger …` in a folder; `environ` adds to a clean environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: object, environ: dict[str, str] | None = None) -> Done:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n", write_through=True) for _ in range(2))
        with (
            mock.patch.dict(os.environ, clean(environ), clear=True),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = run_app(app, "ledger", [str(argument) for argument in arguments])
        return Done(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]

    def popen(self, *arguments: str, code: str = RUN, environ: dict[str, str] | None = None, **more: Any) -> Any:
        """The command as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments], cwd=self.folder, env=clean(environ), **more
        )  # fmt: skip

    def run(self, *arguments: str, code: str = RUN, environ: dict[str, str] | None = None) -> Done:
        """The command as a process of its own, to its end."""
        process = self.popen(
            *arguments, code=code, environ=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)
