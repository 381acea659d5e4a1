"""Undoing Content-Encoding as a step that is checked: the end of the stream reached, its checksum right, nothing
after it.
"""

from __future__ import annotations

import importlib
import zlib
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["MAX_DECODED", "Decoded", "decode"]

MAX_DECODED: Final = 64 * 1024 * 1024
"""Bytes; a body that unpacks to more is refused as `decode_failed`."""
_TOKEN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_LONGEST_NAME: Final = 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """What came out; `fault` is "", "decode_cut" (it just ends) or "decode_failed" (it is wrong, or nobody here reads
    it, and then `coding` is what it is called).
    """

    data: bytes
    fault: str = ""
    coding: str = ""


class _Wrong(Exception):
    def __init__(self, data: bytes, fault: str, coding: str = "") -> None:
        super().__init__(fault)
        self.data = data
        self.fault = fault
        self.coding = coding


def decode(body: bytes, encodings: str | None) -> Decoded:
    """Undo the codings of a Content-Encoding header (RFC 9110, 8.4), last one first, each as often as it is named.

    gzip (RFC 1952), deflate (RFC 1950, and the bare RFC 1951 that some servers send) and br (RFC 7932) are read. zstd
    is not: nothing asked for it, and a reading must not depend on which Python it is made with.

    Where one ends early, what it held so far is undone further: it is evidence, and the first fault stays the fault.
    """
    if not encodings:
        return Decoded(body)
    data, fault = body, ""
    for coding in reversed(encodings.lower().split(",")):
        try:
            data = _undo(data, coding.strip(" \t"))
        except _Wrong as wrong:
            data, fault = wrong.data, fault or wrong.fault
            if wrong.coding:
                return Decoded(data, fault, wrong.coding)
    return Decoded(data, fault)


def _undo(data: bytes, coding: str) -> bytes:
    if coding in ("", "identity") or not data:
        return data
    if coding in ("gzip", "x-gzip"):
        return _gzip(data)
    if coding == "deflate":
        return _deflate(data)
    if coding == "br":
        return _brotli(data)
    named = "".join(character for character in coding if character in _TOKEN)[:_LONGEST_NAME]
    raise _Wrong(b"", "decode_failed", named or "unnamed")


def _gzip(data: bytes) -> bytes:
    parts: list[bytes] = []
    room = MAX_DECODED
    while data:
        piece, data = _inflate(data, 31, parts, room)
        parts.append(piece)
        room -= len(piece)
    return b"".join(parts)


def _deflate(data: bytes) -> bytes:
    # The two-byte zlib header is a multiple of 31 and names method 8 (RFC 1950, 2.2); without it the data is bare.
    zlib_header = len(data) < 2 or (data[0] & 15 == 8 and (data[0] * 256 + data[1]) % 31 == 0)
    piece, rest = _inflate(data, 15 if zlib_header else -15, [], MAX_DECODED)
    if rest:
        raise _Wrong(piece, "decode_failed")
    return piece


def _inflate(data: bytes, window: int, before: list[bytes], room: int) -> tuple[bytes, bytes]:
    """One member and what follows it. What was read before a fault goes along with it."""
    reader = zlib.decompressobj(window)
    parts: list[bytes] = []
    size = 0
    try:
        # In small steps, so that what precedes a wrong byte is kept.
        for at in range(0, len(data), 4096):
            parts.append(reader.decompress(data[at : at + 4096], max(room - size, 0) + 1))
            size += len(parts[-1])
            if reader.unconsumed_tail or size > room:
                raise _Wrong(b"".join([*before, *parts])[:MAX_DECODED], "decode_failed")
            if reader.eof:
                return b"".join(parts), reader.unused_data + data[at + 4096 :]
    except zlib.error:
        raise _Wrong(b"".join([*before, *parts]), "decode_failed") from None
    raise _Wrong(b"".join([*before, *parts]), "decode_cut")


def _brotli(data: bytes) -> bytes:
    # Rare: nothing asks for it. The library ships no types.
    brotli: Any = importlib.import_module("brotli")
    reader: Any = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    feed = data
    try:
        while not reader.is_finished():
            piece: bytes = reader.process(feed, output_buffer_limit=1 << 20)
            parts.append(piece)
            size += len(piece)
            if size > MAX_DECODED:
                raise _Wrong(b"".join(parts)[:MAX_DECODED], "decode_failed")
            feed = b""
            if not piece and reader.can_accept_more_data():
                break
    except brotli.error:
        raise _Wrong(b"".join(parts), "decode_failed") from None
    if not reader.is_finished():
        raise _Wrong(b"".join(parts), "decode_cut")
    return b"".join(parts)
