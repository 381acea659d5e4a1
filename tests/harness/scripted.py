"""Two scripted models behind one OpenAI-shaped server on loopback, and the 500 questions that they are asked."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["MODELS", "questions", "scripted_models"]

_ASKED = re.compile(r"How much is (-?[0-9]+) (plus|minus|times) (-?[0-9]+)\?")
_DO: Mapping[str, Callable[[int, int], int]] = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
}


def questions(count: int = 500) -> str:
    """A CSV of so many sums, the same every time."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["question", "answer", "topic"])
    for number in range(count):
        topic = ("plus", "minus", "times")[number % 3]
        a, b = 11 + (number * 37) % 89, 3 + (number * 17) % 29
        table.writerow([f"How much is {a} {topic} {b}?", _DO[topic](a, b), topic])
    return out.getvalue()


def _share(prompt: str, model: str) -> float:
    """Where a question stands between 0 and 1 for a model: the same every time, and no pattern in it."""
    return int.from_bytes(hashlib.sha256(f"{model} {prompt}".encode()).digest()[:4], "big") / 2**32


def _model(name: str, *, wrong: Mapping[str, float], rambles: float) -> Callable[[str], str]:
    def answer(prompt: str) -> str:
        found = _ASKED.search(prompt)
        assert found is not None, prompt
        a, topic, b = int(found[1]), found[2], int(found[3])
        right, at = _DO[topic](a, b), _share(prompt, name)
        if at < rambles:
            return "That depends on how you look at it."
        return str(right + 10) if at < rambles + wrong[topic] else str(right)

    return answer


MODELS: Mapping[str, Callable[[str], str]] = {
    "small-model": _model("small-model", wrong={"plus": 0.05, "minus": 0.15, "times": 0.45}, rambles=0.03),
    "large-model": _model("large-model", wrong={"plus": 0.0, "minus": 0.05, "times": 0.2}, rambles=0.0),
}


def _reply(model: str, text: str, prompt: str) -> bytes:
    asked, said = len(prompt.split()), len(text.split())
    found: dict[str, Any] = {
        "id": "c", "object": "chat.completion", "model": f"{model}-1", "created": 1,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }  # fmt: skip
    return json.dumps(found).encode()


@contextmanager
def scripted_models(models: Mapping[str, Callable[[str], str]] = MODELS) -> Generator[str]:
    """Serve them until the block ends; gives the address with /v1."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(404, b"{}")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"]
            self._send(200, _reply(body["model"], models[body["model"]](prompt), prompt))

        def _send(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
