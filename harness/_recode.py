"""Masks a key inside a compressed body: undo the Content-Encoding, mask, and put the same coding back on.

Only a body that holds a key is ever touched. A body that was cut, or broke, stays cut or broken after it.
"""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import Any, Literal

from harness._secrets import Secrets
from ledger.kinds import Masked

__all__ = ["mask_body"]

_State = Literal["whole", "cut", "failed"]
_MAX_PLAIN = 64 * 1024 * 1024
_BROKEN_BLOCK = b"\xff"
"""A deflate block of the reserved type (RFC 1951, section 3.2.3): no decoder gets past it."""


def mask_body(secrets: Secrets, body: bytes, coding: str) -> tuple[bytes, list[Masked]]:
    """A response body as it may be stored. `coding` is its Content-Encoding, as sent, or empty.

    Codings are undone one after the other, the last one first (RFC 9110, 8.4), as a reader of the body will.
    """
    body, places = secrets.mask(body, "body")
    named = [name.strip().removeprefix("x-") for name in coding.lower().split(",")]
    codings = [name for name in named if name not in ("", "identity")]
    undone: list[tuple[str, _State]] = []
    data, inside, where = body, list[Masked](), "body"
    for name in reversed(codings):
        found = _plain(data, name)
        if found is None or not found[0]:
            break
        undone.append((name, found[1]))
        where += f" inside {name}"
        data, more = secrets.mask(found[0], f"{where}, compressed anew")
        inside += more
    if not inside:
        return body, places
    for name, state in reversed(undone):
        data = _coded(data, name, state)
    return data, places + inside


def _plain(body: bytes, name: str) -> tuple[bytes, _State] | None:
    if name == "gzip":
        return _inflated(body, 31)
    if name == "deflate":
        found = _inflated(body, 15)
        return found if found[0] else _inflated(body, -15)
    return _unbrotlied(body) if name == "br" else None


def _inflated(body: bytes, window: int, step: int = 1024) -> tuple[bytes, _State]:
    plain = bytearray()
    rest = body
    while rest:
        decoder = zlib.decompressobj(window)
        try:
            for start in range(0, len(rest), step):
                plain += decoder.decompress(rest[start : start + step])
                if len(plain) > _MAX_PLAIN:
                    return bytes(plain), "cut"
        except zlib.error:
            # What the failing call had decoded is lost with it, and a key could stand there: go byte by byte.
            return (bytes(plain), "failed") if step == 1 else _inflated(body, window, 1)
        if not decoder.eof:
            return bytes(plain), "cut"
        rest = decoder.unused_data if window == 31 else b""
    return bytes(plain), "whole"


def _unbrotlied(body: bytes) -> tuple[bytes, _State]:
    brotli = _brotli()
    decoder = brotli.Decompressor()
    plain = bytearray()
    try:
        for start in range(0, len(body), 1024):
            plain += decoder.process(body[start : start + 1024])
    except brotli.error:
        return bytes(plain), "failed"
    return bytes(plain), "whole" if decoder.is_finished() else "cut"


def _brotli() -> Any:
    """The library; it has no types."""
    return import_module("brotli")


def _coded(plain: bytes, name: str, state: _State) -> bytes:
    if name == "br":
        encoder = _brotli().Compressor()
        coded = encoder.process(plain) + encoder.flush()
        return coded + encoder.finish() if state == "whole" else coded
    # mtime is 0 in zlib's own gzip header: the same body gives the same bytes.
    deflate = zlib.compressobj(wbits=31 if name == "gzip" else 15)
    coded = deflate.compress(plain) + deflate.flush(zlib.Z_FINISH if state == "whole" else zlib.Z_SYNC_FLUSH)
    return coded + _BROKEN_BLOCK if state == "failed" else coded
