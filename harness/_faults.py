"""What an exception of the HTTP stack means, told by its cause: the errno or the class at the root, never a guess.

One mapping serves httpx and httpx2, which raise classes of the same names over the same standard library.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Literal, cast

__all__ = ["CommandFailed", "CommandMissing", "Framing", "classify", "describe", "framing"]

Framing = Literal["length", "chunked", "close"]
"""How a body's end is told (RFC 9112, section 6.3): by Content-Length, by a last chunk, or by the connection's end."""


class CommandFailed(Exception):
    """A local command could not be started, or ended with a status other than 0."""


class CommandMissing(CommandFailed):
    """A local command isn't there, or may not be run: starting it again would fail again."""


_UNREACHABLE = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EACCES})
_BROKEN = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ENOTCONN, errno.ESHUTDOWN})
_PASSING_ALERTS = frozenset({
    "UNEXPECTED_EOF_WHILE_READING", "TLSV1_ALERT_INTERNAL_ERROR", "TLSV1_ALERT_USER_CANCELLED",
    "DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "SSLV3_ALERT_BAD_RECORD_MAC", "APPLICATION_DATA_AFTER_CLOSE_NOTIFY",
})  # fmt: skip
"""What OpenSSL calls a handshake that broke off, or that a server in trouble ended. All else would fail again."""
_PROXY_SAID = re.compile(r"\s*([1-5][0-9]{2})\b")


def framing(headers: tuple[tuple[bytes, bytes], ...]) -> Framing:
    """How the end of a response with these headers is told."""
    names = {name.lower(): value.lower() for name, value in headers}
    if b"chunked" in names.get(b"transfer-encoding", b""):
        return "chunked"
    return "length" if b"content-length" in names else "close"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything that it came from, groups included."""
    todo, seen = [error], set[int]()
    while todo:
        found = todo.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, BaseExceptionGroup):
            todo += cast("BaseExceptionGroup[BaseException]", found).exceptions
        todo += [cause for cause in (found.__cause__, found.__context__) if cause is not None]


def classify(error: BaseException, body: Framing | None) -> tuple[str, str]:
    """The (stage, reason) of an exception. `body`: the framing of the body that was being read; None before headers."""
    chain = list(_chain(error))
    names = {kind.__name__ for found in chain for kind in type(found).__mro__}
    numbers = {found.errno for found in chain if isinstance(found, OSError) and found.errno is not None}
    kinds = tuple(type(found) for found in chain)

    def has(kind: type[BaseException]) -> bool:
        return any(issubclass(found, kind) for found in kinds)

    if has(CommandMissing):
        return "transport", "command_missing"
    if has(CommandFailed):
        return "transport", "command_failed"
    if has(TimeoutError) or "TimeoutException" in names:
        return "transport", "timeout"
    if body is None:
        if has(socket.gaierror):
            return "transport", "dns"
        if has(ssl.SSLError) or ("ConnectError" in names and "EndOfStream" in names):
            return "transport", _tls(chain, broken=bool(numbers & _BROKEN))
        if numbers & _UNREACHABLE:
            return "transport", "connect_refused"
    if numbers & _BROKEN:
        return "transport", "connection_reset"
    if "RemoteProtocolError" in names:
        return _protocol(error, chain, body)
    if "ProxyError" in names:
        return "transport", _proxy(str(error))
    if "ConnectError" in names:
        return "transport", "connect_refused"
    if "NetworkError" in names or has(ssl.SSLError) or has(OSError):
        return "transport", "connection_reset"
    return "harness", "internal"


def _tls(chain: list[BaseException], *, broken: bool) -> str:
    """Whether a handshake broke off, which asking again may mend, or the two sides can't agree, which it can't."""
    errors = [found for found in chain if isinstance(found, ssl.SSLError)]
    if any(isinstance(found, ssl.SSLCertVerificationError) for found in errors):
        return "tls"
    passing = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    cut = broken or not errors or any(isinstance(found, passing) for found in errors)
    return "tls_cut" if cut or any(found.reason in _PASSING_ALERTS for found in errors) else "tls"


def _proxy(said: str) -> str:
    """A proxy that will not go there says so with a status of its own (RFC 9110, 9.3.6); a broken one is no HTTP."""
    found = _PROXY_SAID.match(said)
    status = int(found[1]) if found else 0
    return "proxy_refused" if 300 <= status < 500 and status not in (408, 429) else "protocol"


def _protocol(error: BaseException, chain: list[BaseException], body: Framing | None) -> tuple[str, str]:
    from_parser = any(type(found).__module__.partition(".")[0] == "h11" for found in chain)
    if body is None:
        # Without h11 at the root, the connection ended before any response did.
        return "transport", "protocol" if from_parser else "connection_reset"
    if body == "length":
        return "reply", "short_body"
    # h11 has one class for a connection that ended early and for a chunk that isn't one; its text tells them apart.
    if body == "chunked" and "peer closed connection" in str(error):
        return "reply", "stream_cut"
    return "transport", "protocol"


def describe(error: BaseException) -> str:
    """The exception and what is at its root, in one line; a server's own words may make it long."""
    parts: list[str] = []
    for found in _chain(error):
        text = f"{type(found).__name__}: {found}" if str(found) else type(found).__name__
        if text not in parts:
            parts.append(text)
    line = " <- ".join(parts[:1] + parts[-1:] if len(parts) > 1 else parts)
    return " ".join(line.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0").split())
