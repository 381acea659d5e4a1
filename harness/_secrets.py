"""Keeps secrets out of the ledger: known header names and query keys, and the value of any key in use, wherever it is.

A key is found in the forms in which software echoes it: as it is, with any of its characters escaped as JSON, in a URL
or in HTML, in base64 at any alignment, in hex, and spread over the string fields of a stream's events. Each byte of
it becomes an asterisk, so that lengths, and with them the framing, stay true.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote, urlsplit

from ledger.kinds import Masked

__all__ = ["MIN_SEARCHED", "Secrets", "is_secret_header", "secrets_in_url"]

MIN_SEARCHED = 8
"""Keys shorter than this are placeholders ("none", "ollama"): they are masked in headers, and not searched in bodies,
where the same letters are bound to be the model's own words."""

_HEADERS = frozenset(
    {
        "authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-goog-api-key", "x-auth-token",
        "x-amz-security-token", "ocp-apim-subscription-key", "cookie", "set-cookie", "cookie2", "set-cookie2",
    }
)  # fmt: skip
_QUERY = re.compile(
    r"(?i)([?&;](?:[a-z0-9_.-]*(?:key|token|secret|password|passwd|signature|credential)|auth|sig|pwd|code)=)([^&;#\s]+)"
)
_USERINFO = re.compile(r"(?i)\A([a-z][a-z0-9+.-]*://)([^/?#@\s]*(?:@[^/?#@\s]*)*)(@)")
_PIECES = re.compile(rb'"((?:[^"\\]|\\.){1,80}+)"(?:\s|data:)*+:(?:\s|data:)*+"((?:[^"\\]|\\.)*+)"?', re.DOTALL)
"""A string member of an object; the object of a server-sent event may go on in further `data:` lines."""
_FIELDS = {
    b"content": b"text", b"text": b"text", b"response": b"text", b"thinking": b"reasoning", b"reasoning": b"reasoning",
    b"reasoning_content": b"reasoning", b"partial_json": b"arguments", b"arguments": b"arguments",
    b"refusal": b"refusal", b"message": b"message", b"signature": b"signature",
}  # fmt: skip
"""The fields that protocols carry pieces of one text in, and which text that is: readers join them across names."""
_LISTED = 50
"""Places that are listed one by one; what lies beyond is summed up, so that a body stays a body."""


def is_secret_header(name: str) -> bool:
    """Whether a header's value is a secret by its name alone."""
    lowered = name.lower()
    return lowered in _HEADERS or lowered.endswith(("-api-key", "-auth-token", "-access-token", "-secret"))


def secrets_in_url(url: str | None) -> list[str]:
    """The secrets that a URL carries: its password (also as the token it becomes), and its secret query values."""
    if not url:
        return []
    found = [match[2] for match in _QUERY.finditer(url)]
    parts = urlsplit(url)
    if parts.password:
        found.append(parts.password)
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        found.append(base64.b64encode(pair.encode()).decode())
    return found + [unquote(value) for value in found]


def _escaped(byte: int, *, first: bool) -> bytes:
    """One character of a key, as it is or in any escape that keeps it readable to machines.

    A run of backslashes is taken whole and from its beginning, so that a body of nothing else is read in linear time.
    """
    plain = re.escape(bytes([byte]))
    run = (rb"(?<!\\)" if first else b"") + (rb"\\++" if byte != 0x5C else rb"\\{1,64}")
    forms = [
        plain,
        run + rb"u00(?i:%02x)" % byte,
        rb"%%(?:25)*(?i:%02x)" % byte,
        rb"&\#0*%d;" % byte,
        rb"&\#[xX]0*(?i:%02x);" % byte,
    ]
    if not chr(byte).isalnum():
        forms.append(run + plain)
    return b"(?:" + b"|".join(forms) + b")"


def _unescaped(name: bytes) -> bytes:
    """A member's name as a reader of JSON knows it."""
    if b"\\" not in name:
        return name
    try:
        return str(json.loads(b'"' + name + b'"')).encode("utf-8", "surrogatepass")
    except ValueError:
        return name


def _base64_forms(value: bytes) -> set[bytes]:
    """The characters of base64 that depend on the value alone, for each way in which it can lie across the groups."""
    found: set[bytes] = set()
    for shift in range(3):
        padded = bytes(shift) + value
        first = (0, 2, 3)[shift]
        last = len(padded) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(padded)[first:last])
    return {form for form in found if len(form) >= MIN_SEARCHED}


def _pattern(values: Iterable[bytes]) -> re.Pattern[bytes] | None:
    forms: list[bytes] = []
    for value in sorted(set(values), key=lambda value: (-len(value), value)):
        forms.append(b"".join(_escaped(byte, first=at == 0) for at, byte in enumerate(value)))
        forms += [re.escape(form) for form in sorted(_base64_forms(value))]
        forms.append(b"(?i:" + value.hex().encode() + b")")
    return re.compile(b"|".join(forms)) if forms else None


class Secrets:
    """The values of the keys in use, and how to mask them. Its repr shows none of them."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        given = {value.encode("utf-8", "surrogatepass") for value in values if value}
        self._given = given
        self._searched = _pattern(value for value in given if len(value) >= MIN_SEARCHED)

    def __repr__(self) -> str:
        return f"Secrets({len(self._given)} values)"

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """Where a key stands in the bytes, as [start, end) offsets in order; touching ones are one."""
        if self._searched is None:
            return []
        found = {match.span() for match in self._searched.finditer(data)}
        found.update(self._spread(data))
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _spread(self, data: bytes) -> Iterable[tuple[int, int]]:
        """A key whose letters lie in several string fields of one text, as a stream's deltas would carry them."""
        assert self._searched is not None
        fields: dict[bytes, list[tuple[int, int]]] = {}
        for match in _PIECES.finditer(data):
            name = _unescaped(match[1])
            if name in _FIELDS:
                fields.setdefault(b"one " + name, []).append(match.span(2))
                fields.setdefault(_FIELDS[name], []).append(match.span(2))
        for spans in fields.values():
            if len(spans) < 2:
                continue
            joined = b"".join(data[start:end] for start, end in spans)
            for match in self._searched.finditer(joined):
                at = 0
                for start, end in spans:
                    low, high = max(match.start(), at), min(match.end(), at + end - start)
                    if low < high:
                        yield start + low - at, start + high - at
                    at += end - start

    def mask(self, data: bytes, where: str) -> tuple[bytes, list[Masked]]:
        """The bytes with every key turned into as many asterisks, and the list of places."""
        spans = self.find(data)
        if not spans:
            return data, []
        masked = bytearray(data)
        for start, end in spans:
            masked[start:end] = b"*" * (end - start)
        places = [Masked(where=f"{where}, byte {start}", times=1, bytes=end - start) for start, end in spans[:_LISTED]]
        rest = spans[_LISTED:]
        if rest:
            total = sum(end - start for start, end in rest)
            places.append(Masked(where=f"{where}, after byte {rest[0][0] - 1}", times=len(rest), bytes=total))
        return bytes(masked), places

    def mask_text(self, text: str) -> str:
        """A text with every key turned into asterisks, for details and messages."""
        data, places = self.mask(text.encode("utf-8", "surrogatepass"), "")
        return data.decode("utf-8", "surrogatepass") if places else text

    def mask_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> tuple[list[tuple[str, str]], list[Masked]]:
        """Headers as they may be stored (latin-1, in order, names as sent), and what was masked in them."""
        shown: list[tuple[str, str]] = []
        places: list[Masked] = []
        for raw_name, raw_value in headers:
            name, masked = raw_name.decode("latin-1"), raw_value
            if is_secret_header(name) or raw_value in self._given:
                masked = b"*" * len(raw_value)
                places.append(Masked(where=f"header {name}", times=1, bytes=len(raw_value)))
            else:
                masked, found = self.mask(raw_value, f"header {name}")
                places += found
            if self.find(raw_name):
                name = "*" * len(raw_name)
            shown.append((name, masked.decode("latin-1")))
        return shown, places

    def mask_url(self, url: str) -> tuple[str, list[Masked]]:
        """A URL with its user's password, the values of secret query keys and every key in use masked."""
        places: list[Masked] = []

        def stars(match: re.Match[str]) -> str:
            # A credential's length in a URL says more than it helps: framing doesn't depend on it here.
            places.append(Masked(where="url", times=1, bytes=len(match[2])))
            return match[1] + "***" + (match[3] if match.lastindex == 3 else "")

        shown = _QUERY.sub(stars, _USERINFO.sub(stars, url))
        data, found = self.mask(shown.encode("utf-8", "surrogatepass"), "url")
        return data.decode("utf-8", "surrogatepass"), places + found
