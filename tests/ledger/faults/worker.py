"""Started with the shim preloaded: imports the ledger once, then forks a process for every line on its standard input.

A line is JSON: {"scene", "folder", "out", "n", "mode", "error", "journal", "synchronous"}. The forked process plays the
scene in the folder with the shim armed, and writes what it was told to the file `out`, a JSON line each: commands with
their exit status and words, and what was acknowledged. When it has ended, a line {"status", "calls"} is printed.
"""

from __future__ import annotations

import ctypes
import gc
import io
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import ledger._connect
import ledger._schema
import ledger._store
import ledger._writer
import ledger.cli
from ledger import Draft, Ledger, LedgerError
from ledger.checkpoints._extends import origin_of
from ledger.checkpoints._make import make_checkpoint
from ledger.kinds import Note
from ledger.tree import SigningKey

SHIM: Any = ctypes.CDLL(os.environ["LD_PRELOAD"])
SHIM.shim_calls.restype = ctypes.c_long
FULL = 3
SECRET = "what is withheld later"
SHIM.shim_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]


class Over(Exception):
    """The call that was to fail was made, and what followed it."""


class Scene:
    """One run of a scene: every command and every append is told.

    It ends after the command in which the n-th call came, with a note by a ledger that nothing hinders any more; on a
    full disk after one more command.
    """

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.path = Path(asked["folder"]) / "ledger.db"
        self._left = 2 if asked.get("mode") == FULL else 1
        self._out = os.open(asked["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tell(self, **what: Any) -> None:
        # In one write, which a kill doesn't cut in two.
        os.write(self._out, json.dumps(what).encode() + b"\n")
        SHIM.shim_mark(json.dumps(what).encode())

    def command(self, *arguments: str) -> None:
        out, errors = io.StringIO(), io.StringIO()
        # Click looks at the arguments of the process for the name of the program.
        sys.argv = ["ledger", *arguments]
        with redirect_stdout(out), redirect_stderr(errors):
            status = ledger.cli.run_app(ledger.cli.app, "ledger", [*arguments, "--db", str(self.path)])
        self.tell(command=arguments[0], status=status, out=out.getvalue(), errors=errors.getvalue())
        self.over()

    def over(self) -> None:
        """End the scene, if the n-th call came."""
        if 0 < self.asked.get("n", 0) <= SHIM.shim_calls() and not SHIM.shim_disarmed():
            self._left -= 1
            if self._left == 0:
                self.tell(calls=SHIM.shim_calls())
                SHIM.shim_disarm()
                self.command("note", "after it", "--json")
                raise Over

    def appends(self, texts: list[tuple[str, int]]) -> None:
        try:
            with Ledger.open(self.path) as opened:
                for text, size in texts:
                    try:
                        for event in opened.append(Draft(Note(text=text), blobs={"file": b"x" * size})):
                            self.tell(seq=event.seq, hash=event.hash)
                    except LedgerError as problem:
                        self.tell(command="append", status=problem.exit_status, out="", errors=f"error: {problem}\n")
                    self.over()
        except LedgerError as problem:
            self.tell(command="open", status=problem.exit_status, out="", errors=f"error: {problem}\n")
            self.over()

    def checkpoint(self) -> None:
        os.environ["LEDGER_SIGNING_KEY"] = self.key()
        self.command("checkpoint", "--json")

    def key(self) -> str:
        """The signing key of the ledger that stands there, always the same."""
        file = Path(self.asked["out"] + ".key")
        if not file.exists():
            try:
                with Ledger.open(self.path, read_only=True) as opened:
                    file.write_text(SigningKey.generate(origin_of(opened)).secret_text())
            except LedgerError:
                return ""
        return file.read_text()


def everything(scene: Scene) -> None:
    """A small ledger's life: made by an older release, noted in, appended to, signed, redacted, upgraded."""
    with older_release():
        scene.command("init", "--json")
        for number in range(2):
            scene.command("note", f"{SECRET} {number}", "--json")
        scene.appends([(f"append {number}", 3_000 * (number % 3)) for number in range(8)])
    scene.checkpoint()
    scene.command("redact", "4", "6:file", "--category", "rights", "--reason", "may not be kept", "--json")
    scene.command("upgrade", "--json")
    scene.command("note", "the last", "--json")


@contextmanager
def older_release() -> Iterator[None]:
    """As the release before this one made ledgers."""
    now = ledger._schema.RELEASE
    ledger._schema.RELEASE = ledger._store.RELEASE = now - 1
    try:
        yield
    finally:
        ledger._schema.RELEASE = ledger._store.RELEASE = now


def restless(scene: Scene) -> None:
    """Appends and checkpoints, until killed."""
    key = SigningKey.parse(scene.key())
    with Ledger.open(scene.path) as opened:
        for number in range(1_000_000):
            drafts = [Draft(Note(text=f"{number} {part}"), blobs={"f": b"x" * 3_000}) for part in range(1 + number % 3)]
            for event in opened.append(*drafts):
                scene.tell(seq=event.seq, hash=event.hash)
            if number % 4 == 3:
                made = make_checkpoint(scene.path, key)
                scene.tell(checkpoint=made.checkpoint.size, text=made.checkpoint.text)


def durable(scene: Scene) -> None:
    """What a power cut is tried on: appends, a log folded into the file, appends over the old log, a redaction."""
    wanted = scene.asked["synchronous"]
    connect = ledger._connect.connect_writer

    def loosened(path: Path) -> Any:
        connection = connect(path)
        connection.execute(f"PRAGMA synchronous={wanted}")
        return connection

    if wanted != "FULL":
        ledger._writer.connect_writer = loosened
    for start in (0, 4):
        with Ledger.open(scene.path) as opened:
            for number in range(start, start + 4):
                for event in opened.append(Draft(Note(text=f"append {number}"), blobs={"file": b"x" * 5_000})):
                    scene.tell(seq=event.seq, hash=event.hash)
                if number % 4 == 1:
                    assert opened._writer is not None
                    opened._writer.connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    scene.command("redact", "4:file", "--category", "rights", "--reason", "may not be kept", "--json")
    scene.appends([("after it", 100)])


def refused(scene: Scene) -> None:
    """Appends until one fails; then the process is killed, before anything else is written."""
    with Ledger.open(scene.path) as opened:
        for number in range(6):
            try:
                for event in opened.append(Draft(Note(text=f"append {number}"), blobs={"file": b"x" * 5_000})):
                    scene.tell(seq=event.seq, hash=event.hash)
            except LedgerError as problem:
                scene.tell(failed=f"append {number}", said=str(problem))
                os.kill(os.getpid(), signal.SIGKILL)


SCENES = {scene.__name__: scene for scene in (everything, restless, durable, refused)}


def play(asked: dict[str, Any]) -> None:
    scene = Scene(asked)
    if asked.get("journal"):
        SHIM.shim_journal(os.open(asked["journal"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    SHIM.shim_arm(asked["folder"].encode(), asked.get("n", 0), asked.get("mode", 0), asked.get("error", 0))
    try:
        SCENES[asked["scene"]](scene)
        scene.tell(calls=SHIM.shim_calls())
        SHIM.shim_disarm()
    except Over:
        pass
    except BaseException:
        scene.tell(traceback=traceback.format_exc())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # So that everything is imported before the first fork.
        Path(folder, "ledger").mkdir()
        play({"scene": "everything", "folder": f"{folder}/ledger", "out": f"{folder}/told"})
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            play(json.loads(line))
            os._exit(0)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
