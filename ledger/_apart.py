"""A module of this package, run in a process of its own that never outlives whoever started it.

Its standard input is a pipe that nobody else holds: however the one who started it ends, the pipe does too, and that
ends the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress

__all__ = ["end_with_input", "leave", "start_module"]


def start_module(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start `python -P -m MODULE`, found where this very package is found. Raises OSError where that can't be done."""
    found = os.pathsep.join(each for each in sys.path if each)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": found},
    )  # fmt: skip


def end_with_input() -> None:
    """From now on, end this process at once when its standard input ends."""
    threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    with suppress(OSError):
        while os.read(0, 1024):
            pass
    os._exit(1)


def leave(status: int) -> None:
    """End without the teardown, in which the thread that waits for input would be cut off."""
    sys.stdout.flush()
    os._exit(status)
