"""Certificates made for a test, and a TLS server on loopback that shows one.

with TlsServer(certificate(folder, host="127.0.0.1")) as server: ...
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.harness.servers import openai_answer

Shape = Callable[[ssl.SSLContext], None]


@dataclass(frozen=True)
class Shown:
    """The files of a server's certificate, and of the one that signed it."""

    chain: Path
    key: Path
    root: Path


def certificate(folder: Path, *, host: str = "127.0.0.1", days: tuple[int, int] = (-1, 30), own: bool = False) -> Shown:
    """A certificate for `host`, good from and until so many days from now, signed by a root of its own, or itself."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a root of a test")])
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    root = _builder(root_name, root_name, root_key, (-1, 30), ca=True).sign(root_key, hashes.SHA256())
    issuer, signer = (name, key) if own else (root_name, root_key)
    built = _builder(name, issuer, key, days, ca=False)
    try:
        who: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        who = x509.DNSName(host)
    leaf = built.add_extension(x509.SubjectAlternativeName([who]), critical=False).sign(signer, hashes.SHA256())
    shown = Shown(folder / "chain.pem", folder / "key.pem", folder / "root.pem")
    shown.chain.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    shown.root.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    shown.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return shown


def _builder(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: tuple[int, int], *, ca: bool
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    first, last = (now + datetime.timedelta(days=each) for each in days)
    return (
        x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(first).not_valid_after(last)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )  # fmt: skip


class TlsServer:
    """Answers every request over TLS with one whole answer. Counts the connections that were begun.

    With `break_off`, the connection is closed, or reset, before any TLS was spoken.
    """

    def __init__(self, shown: Shown, shape: Shape | None = None, *, break_off: str = "") -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(shown.chain, shown.key)
        if shape is not None:
            shape(self._context)
        self._break_off = break_off
        self.connections = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with peer, contextlib.suppress(OSError):
                self._serve(peer)

    def _serve(self, peer: socket.socket) -> None:
        peer.settimeout(5)
        if self._break_off:
            peer.recv(4096)
            if self._break_off == "reset":
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return
        with self._context.wrap_socket(peer, server_side=True) as secure:
            data = b""
            while b"\r\n\r\n" not in data:
                data += secure.recv(65536) or b"\r\n\r\n"
            head, _, body = data.partition(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0
            )
            while len(body) < length:
                body += secure.recv(65536)
            answer = json.dumps(openai_answer("yes")).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n".encode()
            secure.sendall(head + answer)
