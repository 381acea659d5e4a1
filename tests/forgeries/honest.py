"""More honest ledgers, which nobody may call false: every way in which a run is asked, broken off and gone on with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.forgeries.bases import BASES, made_by
from tests.forgeries.honest_more import MORE
from tests.forgeries.lab import CASES, Lab, clean_environ, ferryman, grader, rows_of
from tests.harness.models import Answer, ModelServer, model_server
from tests.started import Started, start

__all__ = ["HONEST", "honest", "killed_after", "started"]

_PICTURE = {"type": "image", "media_type": "image/png", "data": "aGk="}
_TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def started(lab: Lab, *arguments: object) -> Started:
    """A `harness` command as a process of its own."""
    with clean_environ():
        environ = dict(os.environ)
    return start("harness", [*arguments, "--db", lab.db], cwd=lab.folder, environ=environ)


def run_of(lab: Lab, server: ModelServer) -> tuple[object, ...]:
    """The command line of a run, cell by cell."""
    return (
        "run", lab.suite, "--engine", "openai/oar", "--base-url", server.openai, "--max-connections", 1,
    )  # fmt: skip


def killed_after(lab: Lab, events: int, number: int, *arguments: object) -> bool:
    """Send a command that signal once the ledger has so many events; whether it was still there to be sent it."""
    process = started(lab, *arguments)
    try:
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            if lab.db.exists() and _count(lab.db) >= events:
                process.send_signal(number)
                break
            time.sleep(0.001)
    finally:
        process.communicate(timeout=60)
    return process.returncode == -number or number != signal.SIGKILL


def _count(db: Path) -> int:
    try:
        return int(str(rows_of(db, "SELECT count(*) FROM events")[0][0]))
    except Exception:  # the file is being made
        return 0


def slowly(prompt: str) -> Answer:
    """A ferryman who takes his time."""
    return Answer(ferryman(prompt).text, delay=0.05)


def interrupted(lab: Lab) -> None:
    """Ctrl-C in the middle."""
    with model_server(slowly) as server:
        killed_after(lab, 25, signal.SIGINT, *run_of(lab, server))


def interrupted_and_resumed(lab: Lab) -> None:
    """Ctrl-C in the middle, and then the rest."""
    interrupted(lab)
    with model_server(ferryman) as server:
        lab.call(
            "harness", "resume", "latest", "--base-url", server.openai, "--accept", "endpoint", "--reason", "it moved",
            "--max-connections", 1,
        )  # fmt: skip


def killed(lab: Lab) -> None:
    """kill -9 in the middle."""
    with model_server(slowly) as server:
        killed_after(lab, 25, signal.SIGKILL, *run_of(lab, server))


def killed_and_resumed(lab: Lab) -> None:
    """kill -9 in the middle, and then the rest."""
    with model_server(slowly) as server:
        killed_after(lab, 25, signal.SIGKILL, *run_of(lab, server))
        lab.call("harness", "resume", "latest")


def broken_server(lab: Lab) -> None:
    """Everything went wrong that a retry may mend, and some that it may not."""
    seen: dict[str, int] = {}

    def answer(prompt: str) -> Answer:
        seen[prompt] = seen.get(prompt, 0) + 1
        if "Rhine" in prompt and seen[prompt] == 1:
            return Answer(status=429, body=b"{}", headers=(("Retry-After", "0"), ("Content-Type", "application/json")))
        if "Elbe" in prompt and seen[prompt] < 3:
            return Answer(status=500, body=b"oops")
        if "Oder" in prompt:
            return Answer(status=400, body=b'{"error": {"message": "no"}}')
        return ferryman(prompt)

    with model_server(answer) as server:
        lab.run(server, "--max-wait", 0.01, expect=3)


def replayed(lab: Lab) -> None:
    """A run over the recordings of another, in the same ledger."""
    made_by("plain", lab)
    source = lab.folder / "recorded.db"
    shutil.copyfile(lab.db, source)
    lab.call("harness", "run", lab.suite, "--engine", f"replay/{source}", "--max-connections", 1)


def streamed(lab: Lab) -> None:
    """Replies came piece by piece."""

    def answer(prompt: str) -> Answer:
        pieces = [
            {"id": "c", "model": "oar-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}
            for text in ferryman(prompt).text
        ]
        pieces.append({"id": "c", "model": "oar-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        data = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
        return Answer(body=data.encode(), headers=(("Content-Type", "text/event-stream"),))

    with model_server(answer) as server:
        lab.run(server, "--stream")


def by_sdk(lab: Lab) -> None:
    """An SDK wrote the requests."""
    with model_server(ferryman) as server:
        more = ("-M", "max_tokens=9", "--temperature", 0.5)
        lab.call("harness", "run", lab.suite, "--engine", "anthropic/oar", "--base-url", server.url, *more)


def secretive(lab: Lab) -> None:
    """A case holds the very key in use, and the address another: both are masked."""
    path = lab.suite / "v0/cases.jsonl"
    path.write_text(path.read_text().replace("the Oder", "the Oder (key sk-test-not-a-real-key)"))
    with model_server(ferryman) as server:
        url = f"http://harbour:pass-word-1234@127.0.0.1:{server.port}/v1"
        lab.call("harness", "run", lab.suite, "--engine", "openai/oar", "--base-url", url, "--max-connections", 1)


def pictured(lab: Lab) -> None:
    """Cases with messages, tools, a form of reply and images."""
    (lab.suite / "suite.toml").write_text('name = "ferries"\nstages = "manifest"\nask = "text"\nrules = ["exact"]\n')
    talk = [{"role": "user", "content": CASES["rhine"][0]}, {"role": "assistant", "content": "Well..."}]
    ask = {"role": "user", "content": [{"type": "text", "text": CASES["po"][0]}, _PICTURE]}
    lab.put_cases([
        {"id": "talk", "input": {"messages": [*talk, talk[0]], "tools": _TOOLS}, "gold": "Hoek"},
        {"id": "form", "input": {"messages": [ask], "response_format": {"type": "text"}}, "gold": "Adria"},
        {"id": "seen", "input": {"messages": [talk[0]], "images": [_PICTURE]}, "gold": "Hoek"},
    ])  # fmt: skip
    with model_server(ferryman) as server:
        lab.run(server)


def numbered(lab: Lab) -> None:
    """Cases with fields and numbers, digit for digit, and letters composed and not."""
    (lab.suite / "prompts/plain.txt").write_text(
        "{{ asked }} {{ weight }} {% for each in also %}{{ each }};{% endfor %}"
    )
    asked = "Where does the Rhine end?"
    text = (
        f'{{"id": "a", "input": {{"asked": "{asked}", "weight": 1.50, "also": [1e3, 1.0, 1]}}, "gold": "Hoek"}}\n'
        f'{{"gold": "Hoek", "id": "b", "input": {{"weight": 2, "also": ["e\u0301", "\u00e9"], "asked": "{asked}"}}}}\n'
        f'{{"id": "c", "input": {{"asked": "\\ud83d\\ude00 {asked}", "weight": 9, "also": []}}, "gold": "Hoek"}}\n'
    )
    (lab.suite / "v0/cases.jsonl").write_text(text, "utf-8")
    with model_server(ferryman) as server:
        lab.run(server, "-M", 'stop=["\\n"]', "-M", "top_p=0.5", "--seed", 7, "--max-tokens", 20)


def commanded(lab: Lab) -> None:
    """A local program answered on its terminal."""
    script = lab.folder / "ferryman.py"
    script.write_text("import sys\nasked = sys.stdin.read()\nprint('Hoek' if 'Rhine' in asked else 'Ulm', end='')\n")
    lab.call("harness", "run", lab.suite, "--engine", f"command/{sys.executable} {script}", "--max-connections", 2)


def paired(lab: Lab) -> None:
    """A judge chose between the answers of two runs, in both orders."""
    with model_server(ferryman) as server:
        lab.run(server)
    with model_server(lambda prompt: Answer("Hoek")) as server:
        lab.run(server)
    one, other = (str(run) for (run,) in rows_of(lab.db, "SELECT run FROM events WHERE kind = 'plan' ORDER BY seq"))

    def choose(prompt: str) -> Answer:
        return Answer(json.dumps({"winner": "A", "choice": "A", "verdict": "A"}))

    with model_server(choose) as server:
        lab.grade(server, one, "--against", other)


def grown_up(lab: Lab) -> None:
    """Graded twice by one judge and then resumed; graded by a second judge; rescored."""
    made_by("judged", lab)
    with model_server(grader) as server:
        first = str(rows_of(lab.db, "SELECT run FROM events WHERE kind = 'plan' ORDER BY seq")[0][0])
        lab.call(
            "harness", "grade", first, "--judge", lab.folder / "pilots", "--engine", "openai/pen", "--base-url",
            server.openai, "--epochs", 2,
        )  # fmt: skip
    lab.call("harness", "rescore", first, "--rules", lab.suite / "rules/label.toml")


def written_for(lab: Lab) -> None:
    """A target wrote on the judge's tasks, and that was graded."""

    def answer(prompt: str) -> Answer:
        return grader(prompt) if "steering" in prompt else Answer("At Sulina.")

    with model_server(answer) as server:
        lab.grade(server, "--write", "openai/oar", "--write-url", server.openai, "--writes", 2)


def compressed(lab: Lab) -> None:
    """Blobs were packed at rest, after two replies were redacted."""
    made_by("redacted", lab)
    lab.call("ledger", "upgrade", "--compress")


def imported_again(lab: Lab) -> None:
    """Exported whole, and taken in as a new file."""
    made_by("decided", lab)
    text, copy = lab.folder / "whole.jsonl", lab.folder / "copy.db"
    lab.call("ledger", "export", "--full", "-o", text)
    lab.db.rename(lab.folder / "old.db")
    lab.call("ledger", "import", text)
    assert not copy.exists()


HONEST: Mapping[str, Callable[[Lab], None]] = {
    **BASES,
    **MORE,
    **{
        make.__name__: make
        for make in (
            interrupted, interrupted_and_resumed, killed, killed_and_resumed, broken_server,
            replayed, streamed, by_sdk, secretive, pictured, numbered, commanded, paired, grown_up,
            written_for, compressed, imported_again,
        )
    },
}  # fmt: skip


def honest(name: str, folder: Path) -> Lab:
    """A ledger of that name, made in a folder."""
    lab = Lab(folder)
    HONEST[name](lab)
    return lab
