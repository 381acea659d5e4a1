"""What the tests of faults share: the shim, compiled once, a worker that plays scenes under it, and what must hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, verify

__all__ = ["FAIL_SYNC", "MODES", "Played", "Rig", "assert_sound", "rig_of"]

HERE = Path(__file__).parent
MODES = {
    "fails with EIO": (1, 5),
    "fails with ENOSPC": (1, 28),
    "is cut short": (2, 28),
    "finds the disk full": (3, 28),
    "is the last before the process is killed": (4, 0),
    "has the process killed right after it": (5, 0),
}
"""What becomes of the n-th call, as the shim's mode and the error."""
FAIL_SYNC = 6
"""The shim's mode in which the n-th sync fails."""
GOOD = {"CONSISTENT", "MATCHES CHECKPOINT"}


@dataclass
class Played:
    """What a scene told before its process ended, with the process's exit status."""

    status: int
    told: list[dict[str, Any]] = field(default_factory=list)

    @property
    def acknowledged(self) -> dict[int, str]:
        """Hash by seq of every event that was acknowledged."""
        found = {each["seq"]: each["hash"] for each in self.told if "seq" in each}
        for each in self.told:
            if each.get("command") == "note" and each["status"] == 0:
                said = json.loads(each["out"])
                found[said["seq"]] = said["hash"]
            elif each.get("command") == "redact" and each["status"] in (0, 3) and each["out"]:
                said = json.loads(each["out"])
                if said["seq"] is not None:
                    found[said["seq"]] = said["hash"]
        return found

    def commands(self, name: str) -> list[dict[str, Any]]:
        return [each for each in self.told if each.get("command") == name]

    @property
    def calls(self) -> int:
        (found,) = [each["calls"] for each in self.told if "calls" in each]
        return found


class Rig:
    """A running worker."""

    def __init__(self, shim: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", HERE / "worker.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "LD_PRELOAD": str(shim), "PYTHONDONTWRITEBYTECODE": "1", "LEDGER_SIGNING_KEY": ""},
        )  # fmt: skip
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def play(self, scene: str, folder: Path, *, kill_after: float | None = None, **asked: Any) -> Played:
        """Play a scene in a folder; with `kill_after`, SIGKILL its process after so many seconds."""
        assert self._process.stdin is not None
        out = folder.with_suffix(".told")
        out.unlink(missing_ok=True)
        message = {"scene": scene, "folder": str(folder), "out": str(out), **asked}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        pid = int(self._line())
        if kill_after is not None:
            # The worker waits for its end, so until then the id is nobody else's.
            killer = threading.Timer(kill_after, os.kill, (pid, 9))
            killer.start()
            killer.join()
        status = int(self._line())
        return Played(status, [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else [])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def rig_of() -> Iterator[Rig]:
    """A worker for the length of the block. Skips the test where there is no C compiler, or no Linux."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux, and a C compiler for the shim (Debian: apt-get install gcc libc6-dev)")
    with tempfile.TemporaryDirectory(prefix="shim-") as folder:
        shim = Path(folder) / "shim.so"
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(shim), str(HERE / "shim.c"), "-ldl"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        rig = Rig(shim)
        try:
            yield rig
        finally:
            rig.close()


def assert_sound(path: Path, acknowledged: dict[int, str], case: object = "") -> None:
    """The ledger verifies, and holds every event that was acknowledged as it was acknowledged."""
    verdict = verify(path)
    assert verdict.verdict in GOOD, (case, verdict.problems)
    assert verdict.problems == () and verdict.failures == (), (case, verdict)
    with Ledger.open(path, read_only=True) as opened:
        stored = {event.seq: event.hash for event in opened.events()}
    assert {seq: stored.get(seq) for seq in acknowledged} == acknowledged, case
    assert sorted(stored) == list(range(1, len(stored) + 1)), case
