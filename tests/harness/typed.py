"""A command of `harness` as it is typed, in this process: its exit status and what it wrote."""

from __future__ import annotations

import contextlib
import io
from typing import NamedTuple

from harness.cli import app
from ledger.cli import run_app

__all__ = ["Typed", "typed"]


class Typed(NamedTuple):
    """What became of a command."""

    status: int
    out: str
    err: str


def typed(*arguments: str) -> Typed:
    """Run `harness` with arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_app(app, "harness", list(arguments))
    return Typed(status, out.getvalue(), err.getvalue())
