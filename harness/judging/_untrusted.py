"""Untrusted text on its way to a judge: data between two lines that it can't write itself.

    <untrusted id="NONCE">
    the text, with & < > and control characters escaped
    </untrusted id="NONCE">

NONCE depends on the whole of what is asked, so no text holds its own, and one request has one nonce: asked again, it
is the same request. The escape has an inverse, so nothing of the text is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import rfc8785
from blake3 import blake3

from harness._json import JSON

__all__ = ["delimited", "escape", "looks_delimited", "nonce_of", "unescape"]

_CONTEXT = "eval-ledger 2026-11 judging: nonce around untrusted text"
_DIGITS = 20
_ESCAPED = re.compile("[&<>\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ENTITY = re.compile(r"&(?:(amp|lt|gt)|#x([0-9a-f]{1,2}));")
_NAMES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CHARACTERS = {name[1:-1]: character for character, name in _NAMES.items()}
# An opening or closing line of ours, or what wants to be taken for one, escaped or not, with any id or none. Nothing of
# it is tried twice (*+ gives nothing back), or a long run of blanks would take the square of its length.
_LOOKS = re.compile(r"(?:<|&lt;|&#x3c;|&#60;)\s*+/?+\s*+untrusted\b[^<>\n]{0,120}", re.IGNORECASE)


def nonce_of(asked: JSON) -> str:
    """The nonce of a request: 20 hex digits out of the RFC 8785 form of what is asked, none of whose texts holds it.

    Raises ValueError for what has no such form (half of a surrogate pair).
    """
    try:
        form = rfc8785.dumps(asked)  # pyright: ignore[reportArgumentType]
    except (ValueError, rfc8785.CanonicalizationError) as error:
        raise ValueError(f"the text can't be sent: {error}") from None
    low, count = form.lower(), 0
    while True:
        data = form if not count else form + b"\n" + str(count).encode()
        nonce = blake3(data, derive_key_context=_CONTEXT).hexdigest()[:_DIGITS]
        if nonce.encode() not in low:
            return nonce
        count += 1


def delimited(text: str, nonce: str) -> str:
    """`text` as it travels: escaped, between two lines with the nonce."""
    return f'<untrusted id="{nonce}">\n{escape(text)}\n</untrusted id="{nonce}">'


def escape(text: str) -> str:
    """`text` with & < > and the control characters but line feed and tab as XML character references."""
    return _ESCAPED.sub(lambda found: _NAMES.get(found[0], f"&#x{ord(found[0]):x};"), text)


def unescape(text: str) -> str:
    """What `escape` was given."""
    return _ENTITY.sub(lambda found: _CHARACTERS[found[1]] if found[1] else chr(int(found[2], 16)), text)


def looks_delimited(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of what looks like one of the two lines, whatever id it gives."""
    return (found.span() for found in _LOOKS.finditer(text))
