"""Started once: imports harness and ledger, then forks a process for every command that `tests.started` asks for.

    python -P tests/preloaded.py FD

FD is a Unix socket. Each message on it is JSON {"program", "arguments", "cwd", "environ"} with three file descriptors:
the command's stdout and stderr, and where its process id and then its wait status are written, a line each. A command
is a process of its own in every respect (folder, environment, streams, signals, exit status, what runs at exit); only
the imports are done already. It ends with the socket.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import signal
import socket
import sys
import threading
import time
from importlib import import_module
from typing import Any

__all__: list[str] = []

_LATER = {"harness.web", "ledger.web", "harness.engines._anthropic"}
"""What few commands import: pages, and a library that takes its time."""

_SOON = ("numpy", "httpcore", "anyio._backends._asyncio")
"""What is imported where it is used, and used often."""


def load() -> None:
    waiting = ["ledger", "harness"]
    while waiting:
        package = import_module(waiting.pop())
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if found.ispkg and found.name not in _LATER:
                waiting.append(found.name)
            elif found.name not in _LATER:
                import_module(found.name)
    for name in _SOON:
        with contextlib.suppress(ModuleNotFoundError):
            import_module(name)
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> Any:
    """Returns in a command's process alone, with what to do there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who waits for a command leaves nothing to be waited for
    while True:
        message, streams, _, _ = socket.recv_fds(control, 1 << 16, 3)
        while message and not message.endswith(b"\n"):
            message += control.recv(1 << 16)
        if not message:
            os._exit(0)
        if os.fork():
            for each in streams:
                os.close(each)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        out, errors, told = streams
        command = os.fork()
        if command == 0:
            os.close(told)
            return prepared(json.loads(message), out, errors)
        os.close(out)
        os.close(errors)
        os.write(told, f"{command}\n".encode())
        with contextlib.suppress(BrokenPipeError):
            os.write(told, f"{os.waitpid(command, 0)[1]}\n".encode())
        os._exit(0)


def prepared(asked: Any, out: int, errors: int) -> Any:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(out, 1)
    os.dup2(errors, 2)
    os.close(out)
    os.close(errors)
    # Made anew, as what they know of the file behind them is of before.
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    time.tzset()
    folder = os.path.dirname(asked["program"])  # noqa: PTH120
    sys.path.insert(0, folder)
    sys.argv = [asked["program"], *asked["arguments"]]
    return import_module(f"{os.path.basename(asked['program'])}.cli").main  # noqa: PTH119


def end(main: Any) -> None:
    """What an interpreter does at its end, but for taking every module apart: that would copy all the memory first."""
    try:
        main()
        status: Any = 0
    except SystemExit as done:
        status = done.code or 0
    if not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()  # pyright: ignore[reportPrivateUsage]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        status = 120
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    load()
    end(serve(socket.socket(fileno=int(sys.argv[1]))))
