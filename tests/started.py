"""`harness` and `ledger` started as real processes that needn't import everything first: see tests/preloaded.py.

Two processes to fork from take turns, so that a command that goes on with the work of the one before has another hash
seed, as it would have in life: an order that comes from a set shows.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Started", "copied_once", "finished", "start"]

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
_TURNS = 2
_turn = itertools.count()


class Started:
    """A running command, with the part of subprocess.Popen that tests use."""

    def __init__(self, out: int, errors: int, told: int) -> None:
        self.stdout = os.fdopen(out, encoding="utf-8")
        self.stderr = os.fdopen(errors, encoding="utf-8")
        self._told = os.fdopen(told, "rb", buffering=0)
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return status

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What is left of both streams, and the end. A command that isn't done in time is killed, as Popen says it."""
        found = {self.stdout: "", self.stderr: ""}
        late = threading.Event()

        def end() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(timeout, end) if timeout else None
        if timer:
            timer.daemon = True
            timer.start()

        def read(stream: Any) -> None:
            with stream:
                found[stream] = stream.read()

        other = threading.Thread(target=read, args=[self.stderr], daemon=True)
        other.start()
        read(self.stdout)
        other.join()
        self.wait()
        if timer:
            timer.cancel()
        if late.is_set():
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0, *map(str.encode, found.values()))
        return found[self.stdout], found[self.stderr]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and self._is_told(timeout):
            self.returncode = os.waitstatus_to_exitcode(int(self._told.readline()))
            self._told.close()
        return self.returncode

    def _is_told(self, timeout: float | None) -> bool:
        waiting = select.poll()
        waiting.register(self._told, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else timeout * 1000))


def start(program: str, arguments: Sequence[object], *, cwd: Path, environ: Mapping[str, str]) -> Started:
    """Start `program`, "harness" or "ledger", of a copy of the source. Streams are text over pipes."""
    pipes = [os.pipe() for _ in range(3)]
    asked = {
        "program": str(BIN / program), "arguments": [str(each) for each in arguments], "cwd": str(cwd),
        "environ": {**environ, "PYTHONPATH": str(copied_once())},
    }  # fmt: skip
    forker, _ = _forker(next(_turn) % _TURNS)
    socket.send_fds(forker, [json.dumps(asked).encode() + b"\n"], [theirs for _, theirs in pipes])
    for _, theirs in pipes:
        os.close(theirs)
    return Started(*(ours for ours, _ in pipes))


def finished(
    program: str, arguments: Sequence[object], *, cwd: Path, environ: Mapping[str, str], timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Start it, and wait for its end."""
    process = start(program, arguments, cwd=cwd, environ=environ)
    out, errors = process.communicate(timeout)
    return subprocess.CompletedProcess([program, *map(str, arguments)], process.wait(), out, errors)


@cache
def copied_once() -> Path:
    """Both packages as they were when the tests began: an edit meanwhile would be code that moved."""
    folder = Path(tempfile.mkdtemp(prefix="eval-ledger-source-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for package in ("harness", "ledger"):
        shutil.copytree(ROOT / package, folder / package)
    return folder


@cache
def _forker(turn: int) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", Path(__file__).with_name("preloaded.py"), str(theirs.fileno())],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            # No thread of a library may run where a fork copies one thread alone.
            env={**os.environ, "PYTHONPATH": str(copied_once()), "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    atexit.register(_let_go, ours, process)
    return ours, process


def _let_go(ours: socket.socket, process: subprocess.Popen[bytes]) -> None:
    ours.close()  # which ends it
    process.wait(timeout=10)
