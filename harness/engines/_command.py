"""The engine `command`: a local program that is asked over its standard input and answers on a terminal.

It exists to show a fault. A terminal is not a data channel: what a program writes there holds control codes, wrapped
lines and progress marks, and no stop signal. The prompt goes in over standard input, never through a shell or an
argument.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import signal
from collections.abc import AsyncGenerator

from harness._candidate import Candidate
from harness._capture import Exchange, Incoming, Outgoing, Place, Recorder
from harness._chat import Chat
from harness._errors import EngineError
from harness._faults import CommandFailed, CommandMissing
from harness.engines._bodies import command_text, request_bytes

__all__ = ["WARNING", "CommandEngine", "split_command"]

WARNING = (
    "command/… reads a terminal, which is not a data channel: control codes may stand in the replies and no stop signal"
    " comes with them. Use the program's HTTP interface where it has one."
)
_PIECE = 65_536


def _environment() -> dict[str, str]:
    """Our environment, without the key that signs checkpoints: no candidate has a use for it."""
    return {name: value for name, value in os.environ.items() if name != "LEDGER_SIGNING_KEY"}


def split_command(text: str) -> list[str]:
    """The argument list of a command line, split as a shell would, with no shell involved. Raises EngineError."""
    try:
        found = shlex.split(text)
    except ValueError as problem:
        raise EngineError(f"command/…: expected a command line, got {text!a}: {problem}") from None
    if not found:
        raise EngineError("command/…: expected a command line, such as 'command/ollama run llama3.2', got nothing")
    return found


class CommandEngine:
    """Runs the candidate's program once for each attempt, on a pseudo-terminal of its own."""

    def __init__(self, candidate: Candidate, recorder: Recorder) -> None:
        if not hasattr(os, "openpty"):
            raise EngineError("command/… needs a pseudo-terminal, which this system doesn't have; use HTTP instead")
        self._argv = split_command(candidate.model)
        self._recorder = recorder

    async def ask(self, chat: Chat, place: Place) -> Exchange:
        """Exactly one attempt. Raises LedgerError and CancelledError only."""
        prompt = request_bytes(command_text(chat))
        outgoing = Outgoing("EXEC", "command:", (), prompt)
        return await self._recorder.record(place, outgoing, lambda: self._start(prompt))

    async def aclose(self) -> None:
        """Nothing stays open between attempts."""

    async def _start(self, prompt: bytes) -> Incoming:
        master, slave = os.openpty()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv, stdin=asyncio.subprocess.PIPE, stdout=slave, stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True, env=_environment(),
            )  # fmt: skip
        except OSError as problem:
            os.close(master)
            lasting = problem.errno in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.ENOTDIR)
            kind = CommandMissing if lasting else CommandFailed
            raise kind(f"{self._argv[0]} can't be started: {problem.strerror}") from None
        finally:
            os.close(slave)
        chunks = _screen(process, master, prompt)
        return Incoming(0, (), chunks, chunks.aclose)


async def _screen(process: asyncio.subprocess.Process, master: int, prompt: bytes) -> AsyncGenerator[bytes]:
    """What the program writes on its terminal, until it ends. Raises CommandFailed for an exit status but 0."""
    feeding = asyncio.ensure_future(_feed(process, prompt))
    try:
        while piece := await _read(master):
            yield piece
        status = await process.wait()
        if status != 0:
            raise CommandFailed(f"the command ended with status {status}")
    finally:
        feeding.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        os.close(master)
        await asyncio.shield(process.wait())


async def _feed(process: asyncio.subprocess.Process, prompt: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(prompt)
        await process.stdin.drain()
    process.stdin.close()


async def _read(master: int) -> bytes:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(master, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(master)
    try:
        return os.read(master, _PIECE)
    except OSError as problem:
        # How Linux says that the last writer closed the terminal.
        if problem.errno == errno.EIO:
            return b""
        raise
