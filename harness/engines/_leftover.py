"""Whether a connection still holds bytes when a response has ended.

A server may send more than its Content-Length promised, or a second response that nobody asked for. The HTTP libraries
keep such bytes, and would take them for the answer to the next request on the connection: an answer to another case.
They tell of it nowhere in public, so this looks at what they hold; where they hold it otherwise than known here,
nobody can tell, and the connection is as bad.
"""

from __future__ import annotations

from typing import Any

__all__ = ["is_clean"]

_STEPS = ("_httpcore_stream", "_stream", "_connection")
_MOST_STEPS = 8


def is_clean(stream: object) -> bool:
    """Whether the connection under a response's stream, read to its end, holds nothing more. False where unknown."""
    here: Any = stream
    for _ in range(_MOST_STEPS):
        state = getattr(here, "_h11_state", None)
        if state is not None:
            rest = getattr(state, "trailing_data", None)
            return isinstance(rest, tuple) and not rest[0]
        here = next((inner for name in _STEPS if (inner := getattr(here, name, None)) is not None), None)
        if here is None:
            return False
    return False
