"""`ledger serve`: a ledger's pages over HTTP on this machine, until somebody ends it."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import signal
import socket
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from ledger._errors import LedgerError
from ledger._screen import printable
from ledger.web._datasette import make_datasette

__all__ = ["CannotServe", "serve"]


# For pages of Datasette's own, which has none of these: in nobody's frame, nothing taken for what it isn't, and no
# address (what was searched for stands in it) told to others.
_HARMLESS = (
    (b"content-security-policy", b"frame-ancestors 'none'"), (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)  # fmt: skip

_READING = ("GET", "HEAD", "OPTIONS")
"""OPTIONS is Datasette's answer to pages of other sites that ask whether they may read."""


class CannotServe(LedgerError):
    """The address that was asked for can't be had, or nothing can be shown there."""


def serve(
    paths: Collection[Path], *, host: str, port: int, base_url: str, names: Collection[str], told: Callable[[str], None]
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM. `told` gets the address once it answers; port 0 takes a free one.

    On a loopback address only requests for it by number, as localhost or by one of `names` are answered: a page from
    elsewhere could else reach it under a name of its own (DNS rebinding). Raises CannotServe and NotALedger.
    """
    import uvicorn

    datasette = make_datasette(*paths, verify=True, base_url=base_url)
    listener = _listen(host, port)
    try:
        known = {"localhost", host.lower(), *(name.lower() for name in names)}
        left: list[str] = []
        home = f"{datasette.setting('base_url')}-/ledger"
        app = _guarded(datasette.app(), known if _is_loopback(host) else None, left, home)
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=2,
            lifespan="off",
        )
        server = uvicorn.Server(config)
        number = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        with _Ended(server):
            asyncio.run(_run(server, datasette, listener, told, f"http://{shown}:{number}{home}", left))
    finally:
        listener.close()


async def _run(
    server: Any, datasette: Any, listener: socket.socket, told: Callable[[str], None], address: str,
    left: Collection[str],
) -> None:  # fmt: skip
    await datasette.invoke_startup()
    if server.should_exit:
        return
    told(address)
    await server.serve(sockets=[listener])
    # Those that it gave up on learn of it only now.
    await asyncio.sleep(0.1)
    if left:
        # Their pages are still being worked out, for nobody. Nothing here writes, so nothing is left half done.
        sys.stdout.flush()
        os._exit(0)


class _Ended:
    """While within, SIGINT and SIGTERM end the server and nothing else: it raises them again once it has ended.

    One that comes before it has begun is remembered, and it doesn't begin.
    """

    def __init__(self, server: Any) -> None:
        self._server = server

    def __enter__(self) -> None:
        self._before = {each: signal.signal(each, self._end) for each in (signal.SIGINT, signal.SIGTERM)}

    def _end(self, _number: int, _frame: object) -> None:
        self._server.should_exit = True

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)


def _listen(host: str, port: int) -> socket.socket:
    where = f"{host}, port {port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError, OverflowError) as problem:
        raise CannotServe(f"{host!a} is no address of this machine: {problem}") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
        listener.setblocking(False)
    except OSError as problem:
        listener.close()
        if problem.errno == errno.EADDRINUSE:
            raise CannotServe(f"{where} is taken by another program; --port 0 takes a free one") from None
        raise CannotServe(f"{where} can't be had: {problem.strerror}; name another with --host and --port") from None
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _guarded(app: Any, names: Collection[str] | None, left: list[str], home: str) -> Any:
    """The application for requests that are meant for it; what it can't read of one is a sentence and a line.

    Who asks for the address alone is led to the pages, at `home`. `left` takes the paths of those that weren't answered
    when the server ended.
    """

    # A proxy may leave the prefix or take it off.
    fronts = {"/", home.removesuffix("-/ledger")}

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        begun = False

        async def sending(message: Any) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                named = {name.lower() for name, _ in given}
                message = {**message, "headers": given + [each for each in _HARMLESS if each[0] not in named]}
            await send(message)

        if names is not None and not _is_for(names, dict(scope["headers"]).get(b"host", b"").decode("latin-1")):
            await _say(
                send, 421, "This server answers to its own address only; `ledger serve --name NAME` adds a name."
            )
        elif scope["method"] not in _READING:
            # Datasette has no answer at all to a method that it doesn't know.
            await _say(send, 405, "Everything here is only read.", (b"allow", b"GET, HEAD"))
        elif scope["path"].startswith("//"):
            # Datasette would lead to it without its last slash, and a browser takes such an address for another host.
            await _say(send, 404, "There is no such page here.")
        elif scope["path"] in fronts and scope["method"] in ("GET", "HEAD"):
            await _say(send, 302, f"The pages are at {home}", (b"location", home.encode()))
        else:
            try:
                await app(scope, receive, sending)
            except asyncio.CancelledError:
                # The server ends, and waited for this page long enough.
                left.append(scope["path"])
                if not begun:
                    await _say(send, 503, "This server is ending.")
            except Exception as problem:  # noqa: BLE001 - the last door: the server would print a traceback
                told = printable(f"{scope['method']} {scope['path']}: {type(problem).__name__}: {problem}")[:500]
                print(f"error: {told}", file=sys.stderr, flush=True)
                if not begun:
                    await _say(send, 400, "This request can't be read.")

    return answer


async def _say(send: Any, status: int, sentence: str, *more: tuple[bytes, bytes]) -> None:
    kind = (b"content-type", b"text/plain; charset=utf-8"), *_HARMLESS
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *more]})
    await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})


def _is_for(names: Collection[str], given: str) -> bool:
    host = given.rpartition(":")[0] if not given.endswith("]") and ":" in given else given
    host = host.strip("[]").lower()
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return not host or host in names
    return True
