"""A real timestamp authority on loopback: certificates and answers by `openssl`, behind a small HTTP server."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

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

    def _key(self, name: str) -> EllipticCurvePrivateKey:
        key = load_pem_private_key((self.folder / f"{name}.key").read_bytes(), None)
        assert isinstance(key, EllipticCurvePrivateKey)
        return key

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

    def issue_for(self, name: str, *, subject: str, since: datetime, until: datetime) -> Authority:
        """A certificate for timestamps, valid between two times."""
        self._new_key(name)
        key, issuer = (
            load_pem_private_key((self.folder / f"{each}.key").read_bytes(), None) for each in (name, "root")
        )
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
            .issuer_name(x509.load_pem_x509_certificate(self.root.read_bytes()).subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(since)
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=False)
            .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
            .sign(issuer, SHA256())
        )
        (self.folder / f"{name}.pem").write_bytes(made.public_bytes(Encoding.PEM))
        return Authority(self, name)

    def look_alike(self, name: str, *, subject: str) -> Path:
        """A certificate with the issuer and the number of `name`'s, for somebody else, that nobody signed."""
        theirs = x509.load_pem_x509_certificate((self.folder / f"{name}.pem").read_bytes())
        self._new_key("stranger")
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
            .issuer_name(theirs.issuer)
            .public_key(self._key("stranger").public_key())
            .serial_number(theirs.serial_number)
            .not_valid_before(theirs.not_valid_before_utc)
            .not_valid_after(theirs.not_valid_after_utc)
            .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
            .sign(self._key("stranger"), SHA256())
        )
        (self.folder / "stranger.pem").write_bytes(made.public_bytes(Encoding.PEM))
        return self.folder / "stranger.pem"

    def older_root(self, since: datetime) -> bytes:
        """The root's name and key again, in a certificate that was valid before."""
        root = x509.load_pem_x509_certificate(self.root.read_bytes())
        key = self._key("root")
        made = (
            x509.CertificateBuilder()
            .subject_name(root.subject)
            .issuer_name(root.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(since)
            .not_valid_after(root.not_valid_after_utc)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, SHA256())
        )
        return made.public_bytes(Encoding.PEM)


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

    def signs_again(self, response: bytes, at: datetime | None = None, along: Path | None = None) -> bytes:
        """What another's response says, signed by this one as no honest authority would; at another time, if given.

        `along` is a certificate that is put into the list of those that the token carries.
        """
        folder = self.certificates.folder
        theirs, token, told, mine = (folder / f"{self.name}-again.{end}" for end in ("tsr", "der", "tst", "cms"))
        theirs.write_bytes(response)
        _openssl("ts", "-reply", "-in", theirs, "-token_out", "-out", token)
        _openssl("cms", "-verify", "-noverify", "-inform", "DER", "-in", token, "-binary", "-out", told)
        if at is not None:
            moved = f"{at:%Y%m%d%H%M%S}Z".encode()
            told.write_bytes(re.sub(rb"20[0-9]{12}Z", moved, told.read_bytes(), count=1))
        more = () if along is None else ("-certfile", along)
        _openssl("cms", "-sign", "-binary", "-nodetach", "-econtent_type", "1.2.840.113549.1.9.16.1.4", "-in", told,
                 "-signer", folder / f"{self.name}.pem", "-inkey", folder / f"{self.name}.key", "-outform", "DER",
                 "-md", "sha256", "-nosmimecap", "-out", mine, *more)  # fmt: skip
        return _sequence(b"\x30\x03\x02\x01\x00" + mine.read_bytes())


def _sequence(content: bytes) -> bytes:
    """DER: content of 256 to 65,535 bytes as a SEQUENCE."""
    return b"\x30\x82" + len(content).to_bytes(2, "big") + content


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
