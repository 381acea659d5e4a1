"""Unpacking what is packed at rest, and no more of it than was promised: a few bytes can stand for gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

__all__ = ["pieces", "unpacked"]

_STEP = 1 << 20


def pieces(encoding: object, data: object, most: int) -> Iterator[bytes]:
    """What `unpacked` gives, a piece at a time, never all of it at once. Raises ValueError as that does, on the way."""
    if encoding != "zlib" or not isinstance(data, bytes):
        yield unpacked(encoding, data, most)
        return
    inflate, size, rest = zlib.decompressobj(), 0, data
    while rest and not inflate.eof:
        try:
            piece = inflate.decompress(rest, _STEP)
        except zlib.error as problem:
            raise ValueError(str(problem)) from None
        rest = inflate.unconsumed_tail
        size += len(piece)
        if size > most:
            raise ValueError(f"it unpacks to more than {most} bytes")
        yield piece
    if not inflate.eof or inflate.unused_data:
        raise ValueError("not one whole zlib stream")


def unpacked(encoding: object, data: object, most: int) -> bytes:
    """The plain bytes of a stored blob of `most` bytes at most.

    Raises ValueError where it holds more, is of no known encoding, or isn't bytes or one whole zlib stream.
    """
    if not isinstance(data, bytes):
        raise ValueError("not bytes")
    if encoding == "":
        return data
    if encoding != "zlib":
        raise ValueError("of no encoding that is known")
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(data, most + 1)
    except zlib.error as problem:
        raise ValueError(str(problem)) from None
    if len(plain) > most:
        raise ValueError(f"it unpacks to more than {most} bytes")
    if not inflate.eof or inflate.unused_data:
        raise ValueError("not one whole zlib stream")
    return plain
