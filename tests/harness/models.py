"""A scripted model behind a real HTTP server on loopback, speaking the three protocols' unstreamed shapes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Answer", "ModelServer", "model_server"]


@dataclass(frozen=True)
class Answer:
    """What the server sends: a text in the protocol's own envelope, or (with `body`) exactly these bytes."""

    text: str = ""
    status: int = 200
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    delay: float = 0.0


@dataclass
class ModelServer:
    """Where it listens, and what it was asked: `requests` holds (path, exact body bytes) in order of arrival."""

    port: int
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"


def envelope(path: str, text: str) -> bytes:
    """The whole reply of a model that wrote `text`, in the shape that the path's protocol asks for."""
    if path.endswith("/api/chat"):
        found: dict[str, Any] = {
            "model": "scripted", "message": {"role": "assistant", "content": text}, "done": True,
            "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5,
        }  # fmt: skip
    elif path.endswith("/messages"):
        found = {
            "id": "msg", "type": "message", "role": "assistant", "model": "scripted-1",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 5},
        }  # fmt: skip
    else:
        found = {
            "id": "c", "object": "chat.completion", "model": "scripted-1", "created": 1,
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
        }  # fmt: skip
    return json.dumps(found).encode()


@contextmanager
def model_server(
    answer: Callable[[str], Answer], *, tell: Callable[[str], Any] | None = None
) -> Generator[ModelServer]:
    """Serve `answer(prompt text)` until the block ends. The prompt is the last message's content.

    `tell(path)` is the JSON for a GET, which is no request to a model; without it there is none.
    """
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            data = json.dumps(tell(self.path)).encode() if tell else b"{}"
            self.send_response(200 if tell else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(length)
            if len(body) < length:
                return  # the client was killed while it sent
            with lock:
                server.requests.append((self.path, body))
            said = answer(_prompt(body))
            time.sleep(said.delay)
            data = said.body if said.body is not None else envelope(self.path, said.text)
            with lock:
                server.answers.append(data)
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that was killed is no news."""

    http = Server(("127.0.0.1", 0), Handler)
    server = ModelServer(http.server_address[1])
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _prompt(body: bytes) -> str:
    content = json.loads(body)["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
