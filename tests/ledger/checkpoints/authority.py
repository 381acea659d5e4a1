"""A real timestamp authority on loopback: certificates and answers by `openssl`, behind a small HTTP server."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SETTINGS = """
[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[ca]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
[timestamps]
basicConstraints = CA:false
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[servers]
basicConstraints = CA:false
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,serverAuth
[answers]
serial = {folder}/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


def _openssl(*arguments: object) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Certificates:
    """A root, made once, and certificates that it signed."""

    def __init__(self, folder: Path, name: str = "Loopback Root") -> None:
        self.folder = folder
        self.settings = folder / "openssl.cnf"
        self.settings.write_text(SETTINGS.format(folder=folder), "ascii")
        self.root = folder / "root.pem"
        self._new_key("root")
        _openssl("req", "-x509", "-new", "-key", folder / "root.key", "-out", self.root, "-days", 3650,
                 "-subj", f"/CN={name}", "-config", self.settings, "-extensions", "ca")  # fmt: skip

    def _new_key(self, name: str) -> None:
        _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                 self.folder / f"{name}.key")  # fmt: skip

    def issue(self, name: str, *, subject: str, extensions: str = "timestamps") -> Authority:
        """A certificate by the root, valid for a day from now."""
        self._new_key(name)
        request, made = self.folder / f"{name}.csr", self.folder / f"{name}.pem"
        _openssl("req", "-new", "-key", self.folder / f"{name}.key", "-out", request, "-subj", subject,
                 "-config", self.settings)  # fmt: skip
        _openssl("x509", "-req", "-in", request, "-CA", self.root, "-CAkey", self.folder / "root.key",
                 "-CAcreateserial", "-out", made, "-days", 1, "-extfile", self.settings,
                 "-extensions", extensions)  # fmt: skip
        return Authority(self, name)


@dataclass(frozen=True)
class Authority:
    """One who answers queries, with the certificate `name`."""

    certificates: Certificates
    name: str

    def answer(self, query: bytes) -> bytes:
        """The response to a query: a token, or a refusal."""
        folder = self.certificates.folder
        asked, made = (folder / f"{self.name}-{threading.get_ident()}.{end}" for end in ("tsq", "tsr"))
        asked.write_bytes(query)
        _openssl("ts", "-reply", "-config", self.certificates.settings, "-section", "answers", "-queryfile", asked,
                 "-signer", folder / f"{self.name}.pem", "-inkey", folder / f"{self.name}.key",
                 "-out", made)  # fmt: skip
        return made.read_bytes()


@dataclass(frozen=True)
class Reply:
    """What the server sends, after a `wait` in seconds."""

    body: bytes
    status: int = 200
    kind: str = "application/timestamp-reply"
    location: str = ""
    wait: float = 0.0


@contextmanager
def authority_server(answer: Callable[[bytes], bytes | Reply]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The URL of a server that answers queries, and the headers of each request that it got."""
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["content-length"]))
            seen.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
            found = answer(query)
            reply = found if isinstance(found, Reply) else Reply(found)
            if reply.wait:
                stopped.wait(reply.wait)
            try:
                self.send_response(reply.status)
                self.send_header("content-type", reply.kind)
                self.send_header("content-length", str(len(reply.body)))
                if reply.location:
                    self.send_header("location", reply.location)
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:
                pass  # whoever asked went away, as the test meant

        def log_message(self, format: str, *args: object) -> None:
            pass

    stopped = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
