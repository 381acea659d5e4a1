"""replay/LEDGER[@CANDIDATE]: a loopback HTTP server that answers recorded requests with the recorded bytes.

The candidates it gives build their requests just as the recorded ones did and send them for real; so a replayed run
goes through every layer that a live one does.
"""

from __future__ import annotations

import contextlib
import http
import json
import socket
import struct
import threading
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from harness._candidate import Candidate
from harness._errors import EngineError
from harness.engines._recordings import NO_RECORDING, Recordings, request_key, split_reference
from ledger import Ledger, LedgerError
from ledger.kinds import Response

__all__ = ["DUMMY_KEY", "open_replay"]

DUMMY_KEY = "replay"
"""Satisfies the SDK; says nothing and opens nothing."""

_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "trailer", "upgrade", "te"})
_CHUNK = 16 * 1024


@contextmanager
def open_replay(
    spec: str, suite: str | None = None, fixtures: Collection[str] = ()
) -> Generator[tuple[Candidate, ...]]:
    """Serve the recordings of "replay/LEDGER[@CANDIDATE]" for one run: each is given out once, in the order of seq.

    Gives the recorded candidates, at the address of the loopback server.

    Only runs of `suite` that stand on one of `fixtures` are taken (None and empty: any). The ledger is read as it is
    now, so that a run which is written into the same file never feeds on itself. Raises EngineError.
    """
    reference = spec.removeprefix("replay/") if spec.startswith("replay/") else ""
    if not reference:
        raise EngineError(f"expected replay/LEDGER[@CANDIDATE], such as replay/ledger.db, got {spec!r}")
    path, wanted = split_reference(reference)
    try:
        ledger = Ledger.open(path, read_only=True)
    except LedgerError as error:
        raise EngineError(str(error)) from None
    with contextlib.closing(ledger):
        try:
            recordings = Recordings(ledger, suite=suite, fixtures=fixtures)
            recorded = recordings.candidates(wanted)
        except LedgerError as error:
            raise EngineError(f"{path} can't be replayed: {error}") from None
        with _serving(recordings) as address:
            yield tuple(_at(candidate, address) for candidate in recorded)


def _at(candidate: Candidate, address: str) -> Candidate:
    """The recorded candidate, reached at the loopback server under the path that was recorded."""
    parts = urlsplit(candidate.base_url)
    query = f"?{parts.query}" if parts.query else ""
    return replace(candidate, base_url=address + parts.path.rstrip("/") + query, api_key=DUMMY_KEY)


@contextmanager
def _serving(recordings: Recordings) -> Generator[str]:
    server = _Server(recordings)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="replay", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, recordings: Recordings) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._recordings = recordings
        self._lock = threading.Lock()

    def take(self, method: str, target: str, body: bytes) -> tuple[Response, bytes, str] | None:
        """The next recording of a request; one thread at a time."""
        with self._lock:
            return self._recordings.take(request_key(method, target, body))

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a client that went away is the client's story, and the recorder on its side tells it."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in two writes; without this the second waits for the first one's acknowledgement.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: what happens here is in the ledger."""

    def _answer(self) -> None:
        length = self.headers.get("Content-Length", "0")
        body = self.rfile.read(int(length)) if length.isdigit() else b""
        assert isinstance(self.server, _Server)
        found = self.server.take(self.command, self.path, body)
        if found is None:
            self._no_recording()
        else:
            self._give(*found)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer

    def _no_recording(self) -> None:
        message = f"no recording answers this {self.command} {self.path}"
        body = json.dumps({"error": {"type": NO_RECORDING, "message": message}}).encode()
        head = [
            ("Content-Type", "application/json"),
            ("X-Eval-Ledger", NO_RECORDING),
            ("Content-Length", str(len(body))),
        ]
        self._send(404, head, body)

    def _give(self, response: Response, body: bytes, cut: str) -> None:
        recorded = {name.lower(): value for name, value in response.headers}
        headers = [(name, value) for name, value in response.headers if name.lower() not in _FRAMING]
        bodiless = response.status in (204, 304) or response.status < 200
        if "chunked" in recorded.get("transfer-encoding", "").lower():
            headers.append(("Transfer-Encoding", "chunked"))
            pieces = [body[start : start + _CHUNK] for start in range(0, len(body), _CHUNK)]
            framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
            self._send(response.status, headers, framed + (b"" if cut else b"0\r\n\r\n"))
        elif "content-length" in recorded or bodiless:
            promised = recorded.get("content-length", "")
            size = max(len(body) + 1, int(promised) if promised.isdigit() else 0) if cut else len(body)
            # A 204 has no Content-Length (RFC 9110, section 8.6).
            self._send(response.status, headers if bodiless else [*headers, ("Content-Length", str(size))], body)
        else:
            self._send(response.status, [*headers, ("Connection", "close")], body)
            self.close_connection = True
        if cut:
            self._break_off(reset=cut == "connection_reset" or self.close_connection)

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        phrase = http.HTTPStatus(status).phrase if status in set(http.HTTPStatus) else "Recorded"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
        self.wfile.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
        self.wfile.write(body)
        self.wfile.flush()

    def _break_off(self, *, reset: bool) -> None:
        """End the connection early, as it was recorded. Where only a reset tells a cut from an end, reset it."""
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # Not the handler's own way of closing, which would first say that it is done.
            with contextlib.suppress(OSError):
                self.connection.close()
