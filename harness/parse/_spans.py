"""Positions in a text as UTF-8 byte offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["MAX_SPANS", "byte_spans"]

MAX_SPANS: Final = 64
"""Of an ambiguous text's candidates the first 64 are named; a text of a million would not fit into an event's body."""


def byte_spans(text: str, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Character spans, ascending and apart, as byte spans; at most :data:`MAX_SPANS` of them."""
    if text.isascii():
        return tuple(spans[:MAX_SPANS])
    found: list[tuple[int, int]] = []
    at = offset = 0
    for start, end in spans[:MAX_SPANS]:
        offset += _bytes(text[at:start])
        first = offset
        offset += _bytes(text[start:end])
        at = end
        found.append((first, offset))
    return tuple(found)


def _bytes(part: str) -> int:
    # A lone surrogate counts the three bytes that it would have taken.
    return len(part.encode("utf-8", "surrogatepass"))
