"""The exact bytes behind an event: to look at as text or hex, and to download. A browser never gets them to act on."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from ledger._errors import BadLine
from ledger._event import Event, hash_of, matches_line
from ledger._look import SeenBlob, inspect_blob
from ledger._screen import printable
from ledger._store import Ledger
from ledger._withheld import withheld_by
from ledger.web._event import blob_part, crumbs_to, saved_as
from ledger.web._figure import cli
from ledger.web._pages import Crumb, Download, Page, PageMissing, View
from ledger.web._row import row_of, seq_of
from ledger.web._text import MOST_SHOWN, excerpts
from ledger.web._tree import tree

__all__ = ["blob", "body", "hex_lines", "line", "raw"]

HEX_PAGE = 4 << 10
MOST_HELD = 256 << 20
_WIDE = 16
_MOST_FOLDED = 64 << 10
_ORDER = "SELECT hash FROM main.blobs WHERE seq = ? ORDER BY id"
_HEADERS = ("content-type", "content-encoding")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def hex_lines(data: bytes, start: int = 0) -> list[str]:
    """Bytes as lines of sixteen, as `hexdump -C` writes them: the offset, each byte, and what of it is printable ASCII.

    `start` is the offset of the first byte, a multiple of 16.
    """
    lines: list[str] = []
    for at in range(0, len(data), _WIDE):
        row = data[at : at + _WIDE]
        digits = f"{row[:8].hex(' ')}  {row[8:].hex(' ')}".ljust(3 * _WIDE)
        lines.append(f"{start + at:08x}  {digits}  |{''.join(chr(each) if 32 <= each < 127 else '.' for each in row)}|")
    return lines


def line(view: View, seq: str) -> Download:
    """The exact bytes of an event's line, without a newline. Raises PageMissing, BadLine where there is none."""
    found = _event(view, seq)
    data = found.line
    if not matches_line(data):
        raise BadLine(f"the row of event {seq} gives no line of the format; `ledger verify` says more")
    return Download(data, f"event-{seq}-line.txt", hash_of(data))


def body(view: View, seq: str) -> Download:
    """The exact bytes of an event's body as stored. Raises PageMissing, also for one that was withheld."""
    number = seq_of(view, seq)
    data = row_of(view.ledger, number).bytes_of("body")
    if data is None:
        raise PageMissing(f"the body of event {number} {_gone(view.ledger, number)}")
    return Download(data, f"event-{number}-body.json", hash_of(data))


def raw(view: View, seq: str, name: str) -> Download:
    """The exact bytes of a blob. Raises PageMissing, NotFound for what isn't there, can't be read or was withheld."""
    found = _event(view, seq)
    seen, data = _held(view, found, name)
    if data is None:
        raise PageMissing(f"the bytes of blob {name[:80]!r} of event {seq} aren't here: {seen.state}")
    return Download(data, file_name(found.seq, seen), hash_of(data))


def blob(view: View, seq: str, name: str) -> Page:
    """A blob as text or as hex, a page of it at a time. Raises PageMissing, NotFound."""
    found = _event(view, seq)
    seen, data = _held(view, found, name)
    kind = view.first("view", "text")
    if kind not in ("text", "hex"):
        raise PageMissing(f"view: expected text or hex, got {kind[:40]!r}")
    part = blob_part(seen.name, seen.hash)
    values: dict[str, Any] = {
        "event": found, "seen": seen, "part": part, "kind": kind, "by": None, "data": data is not None,
        "quoted": shlex.quote(seen.name if seen.name and printable(seen.name) == seen.name else seen.hash),
        "headers": _headers(found), "file": saved_as(view, file_name(found.seq, seen), "raw", seq=found.seq, name=part),
    }  # fmt: skip
    if data is None:
        values["by"] = withheld_by(view.ledger, seen.hash)
    else:
        values |= _shown(view, found, seen, data, kind)
    title = f"Blob {printable(seen.name) or seen.hash[:16]} of event {found.seq}"
    crumb = Crumb(f"Blob {seen.name or seen.hash[:16]}")
    return Page(title, "ledger/bytes.html", values, crumbs_to(found, crumb), about=found.run)


def _held(view: View, found: Event, name: str) -> tuple[SeenBlob, bytes | None]:
    """A blob and its bytes; without them where it is packed, and would be more than a server should hold at once."""
    seen, data = inspect_blob(view.ledger, found, name, most=MOST_HELD)
    if data is None and seen.size is not None:
        state = f"it {seen.state}, and is too long for a page; `ledger show {found.seq} --blob NAME` writes it"
        return replace(seen, state=state), None
    return seen, data


def file_name(seq: int, seen: SeenBlob) -> str:
    """A safe name to save a blob under."""
    return f"event-{seq}-{_UNSAFE.sub('_', seen.name)[:60].lstrip('.') or seen.hash[:16]}.bin"


def _event(view: View, seq: str) -> Event:
    number = seq_of(view, seq)
    problems = row_of(view.ledger, number).problems
    if problems:
        said = problems[0]
        raise BadLine(f"the row of event {number} can't be read as an event ({said}); its page shows what there is")
    return view.ledger.event(number)


def _gone(ledger: Ledger, target: int) -> str:
    by = withheld_by(ledger, target)
    return f"is withheld by event {by[0]} ({by[1]}: {by[2]})" if by else "is gone, and no redaction names it"


def _headers(found: Event) -> Sequence[tuple[str, str]]:
    """What the other side said of the bytes: a response's content type and encoding."""
    if found.kind != "response" or found.body is None:
        return []
    try:
        value = json.loads(found.body)
    except (ValueError, RecursionError):
        return []
    given: Any = cast("Any", value).get("headers") if isinstance(value, dict) else None
    said: list[tuple[str, str]] = []
    for pair in cast("list[Any]", given) if isinstance(given, list) else ():
        match pair:
            case [str(name), str(text)] if name.lower() in _HEADERS:
                said.append((name, text))
            case _:
                pass
    return said


def _shown(view: View, found: Event, seen: SeenBlob, data: bytes, kind: str) -> dict[str, Any]:
    step = HEX_PAGE if kind == "hex" else MOST_SHOWN
    at = view.number("at", 0)
    if at and at >= len(data):
        raise PageMissing(f"at: expected an offset into the blob's {len(data)} bytes, got {at}")
    at = at - at % _WIDE if kind == "hex" else _character(data, at)
    drawn: str
    if kind == "hex":
        end = min(at + step, len(data))
        drawn = "\n".join(hex_lines(data[at:end], at))
    else:
        # A few bytes more, so that no character is cut: the next page begins with it.
        (first, *_) = excerpts(data[at : at + step + 4], most=step)
        end = at + first.end
        drawn = first.drawn
    place = [row[0] for row in view.ledger.sql(_ORDER, (found.seq,)).fetchall()].index(seen.hash)
    folded = kind == "text" and at == 0 and end == len(data) <= _MOST_FOLDED and data.lstrip()[:1] in (b"{", b"[")
    return {
        "drawn": drawn,
        "tree": tree(data.decode("utf-8")) if folded and _is_json(data) else None,
        "size": cli("ledger", "show", str(found.seq)).at(f"/blobs/{place}/size", len(data), "bytes"), "at": at,
        "end": end, "total": len(data),
        "step": step, "before": max(0, at - step) if at else None, "after": end if end < len(data) else None,
        "last": (len(data) - 1) // step * step, "digest": hash_of(data), "shown_at": f"{at:,}", "shown_end": f"{end:,}",
    }  # fmt: skip


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return True


def _character(data: bytes, at: int) -> int:
    """The nearest place at or before `at` where no character of UTF-8 is cut."""
    for back in range(min(4, at + 1)):
        if at - back == len(data) or data[at - back] & 0xC0 != 0x80:
            return at - back
    return at
