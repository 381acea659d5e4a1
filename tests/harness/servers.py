"""A scripted HTTP server on loopback: it keeps exactly the bytes it received, and sends exactly the bytes it is told.

    with ScriptedServer(json_reply({"a": 1}), reset()) as server:
        ...
        server.requests[0].body, server.sent[0]

A reply is a sequence of steps: bytes to send, `Pause(seconds)`, RESET (the connection breaks), CLOSE (it ends), HANG
(nothing more comes until the server stops). The last reply is given again to every later request. Without CLOSE or
RESET the connection is kept alive.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class Pause:
    seconds: float


RESET, CLOSE, HANG = "reset", "close", "hang"
Step = bytes | Pause | str
Reply = Sequence[Step]


@dataclass(frozen=True)
class Received:
    """A request exactly as it came: `head` up to and with the blank line."""

    head: bytes
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}

    @property
    def path(self) -> str:
        return self.head.split(b" ")[1].decode()


def head(status: int, headers: Sequence[tuple[str, str]], phrase: str = "Scripted") -> bytes:
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def reply(
    body: bytes, status: int = 200, content_type: str = "application/json", headers: Sequence[tuple[str, str]] = ()
) -> Reply:
    """A whole reply with its Content-Length."""
    return [head(status, [("Content-Type", content_type), *headers, ("Content-Length", str(len(body)))]) + body]


def json_reply(value: object, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    return reply(json.dumps(value).encode(), status, headers=headers)


def gzip_reply(body: bytes) -> Reply:
    return reply(gzip.compress(body, mtime=0), headers=[("Content-Encoding", "gzip")])


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunked_reply(*pieces: bytes, end: bool = True, content_type: str = "text/event-stream") -> Reply:
    """A chunked reply; without `end` the connection ends where the next chunk should have come."""
    start = head(200, [("Content-Type", content_type), ("Transfer-Encoding", "chunked")])
    return [start, *(chunk(piece) for piece in pieces), *([b"0\r\n\r\n"] if end else [CLOSE])]


def cut_reply(body: bytes, promised: int, how: str = CLOSE) -> Reply:
    """A reply whose connection breaks or ends before the promised length."""
    return [
        head(200, [("Content-Type", "application/json"), ("Content-Length", str(promised))]) + body,
        Pause(0.05),
        how,
    ]


def trickle(seconds: float, times: int = 200) -> Reply:
    """Headers, then a byte every so often."""
    start = head(200, [("Content-Type", "application/json"), ("Content-Length", "100000")])
    return [start, *(step for _ in range(times) for step in (Pause(seconds), b" "))]


def openai_answer(text: str, finish: str = "stop", **more: object) -> Mapping[str, object]:
    message = {"role": "assistant", "content": text}
    return {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


def anthropic_answer(text: str, stop: str = "end_turn") -> Mapping[str, object]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop, "stop_sequence": None,
        "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip


def ollama_answer(text: str) -> Mapping[str, object]:
    return {"model": "m", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop"}


ANSWERS = {"openai": openai_answer, "anthropic": anthropic_answer, "ollama": ollama_answer}
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}


def base_url(server: ScriptedServer, protocol: str) -> str:
    return server.url + ("/v1" if protocol == "openai" else "")


@dataclass
class ScriptedServer:
    """Serves its replies in order, each connection in a thread of its own, until the `with` block ends."""

    replies: tuple[Reply, ...]
    requests: list[Received] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    connections: int = 0

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.requests, self.sent, self.connections = [], [], 0
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._open: set[socket.socket] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # Closing alone doesn't wake a thread that waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for peer in self._open:
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.add(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        try:
            with peer:
                rest = b""
                while not self._stop.is_set():
                    received, rest = _read_request(peer, rest)
                    if received is None:
                        return
                    with self._lock:
                        position = len(self.requests)
                        self.requests.append(received)
                        self.sent.append(b"")
                    steps = self.replies[min(position, len(self.replies) - 1)]
                    if not self._act(peer, position, steps):
                        return
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(peer)

    def _act(self, peer: socket.socket, position: int, steps: Reply) -> bool:
        """Act a reply out; whether the connection lives on."""
        for step in steps:
            if isinstance(step, bytes):
                peer.sendall(step)
                with self._lock:
                    self.sent[position] += step
            elif isinstance(step, Pause):
                if self._stop.wait(step.seconds):
                    return False
            elif step == HANG:
                self._stop.wait(60)
                return False
            else:
                if step == RESET:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
        return True


def _read_request(peer: socket.socket, data: bytes) -> tuple[Received | None, bytes]:
    while b"\r\n\r\n" not in data:
        piece = peer.recv(65536)
        if not piece:
            return None, b""
        data += piece
    start, _, body = data.partition(b"\r\n\r\n")
    received = Received(start + b"\r\n\r\n", b"")
    length = int(received.headers.get("content-length", "0"))
    while len(body) < length:
        piece = peer.recv(65536)
        if not piece:
            return None, b""
        body += piece
    return Received(received.head, body[:length]), body[length:]


def refused_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
