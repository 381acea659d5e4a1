"""A cell's attempts as its page shows them: what was sent, what came back and how long it took, and what went wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from harness._messages import Asked, read_asked
from harness._outcomes import is_reason
from harness._outcomes import reason as known_reason
from harness.parse import Wire
from harness.parse._encoding import decode
from harness.web._numbers import BlobAt, Numbers, blob_at, shown_event, unreadable, why_withheld
from harness.web._story import Item, Story, Try
from harness.web._words import reason_words
from ledger import Event, Ledger, LedgerError
from ledger.kinds import Fault, Import, Masked, Request, Response, Reuse, Wait
from ledger.web import MOST_SHOWN, Excerpt, Figure, excerpts, tree

__all__ = ["Attempted", "Bytes", "Came", "Failed", "Message", "Piece", "Sent", "Waited", "attempts", "failed"]

_MOST_DECODED = 8 << 20
_MOST_TREE = 256 << 10
_MOST_ASKED = 2 * MOST_SHOWN


@dataclass(frozen=True)
class Bytes:
    """A blob, as a page shows it. `pieces` are what is drawn of it, `length` its bytes once `coding` is undone;
    `folded` is its JSON, where it is some of a readable length. `fault` says why a coding can't be undone."""

    at: BlobAt
    pieces: Sequence[Excerpt]
    length: int
    folded: Markup | None
    coding: str = ""
    fault: str = ""

    @property
    def whole(self) -> bool:
        """Whether all of it is drawn."""
        return len(self.pieces) == 1 and self.pieces[0].end >= self.length


@dataclass(frozen=True)
class Piece:
    """A part of a message, drawn: a text in `pieces`, JSON that folds, or an image of `media` type and `size` bytes.
    One without any of them is left to the bytes, as the page is long enough."""

    pieces: Sequence[Excerpt] = ()
    length: int = 0
    folded: Markup | None = None
    media: str = ""
    size: int | None = None

    @property
    def whole(self) -> bool:
        """Whether all of a text is drawn."""
        return len(self.pieces) == 1 and self.pieces[0].end >= self.length


@dataclass(frozen=True)
class Message:
    """A message that was sent."""

    role: str
    parts: Sequence[Piece]


@dataclass(frozen=True)
class Sent:
    """A request. `asked` is its body as messages, where it is some that is known; `messages` are those, drawn.
    `repeated`: its body is that of the attempt before, byte for byte."""

    item: Item
    why: str
    turn: Figure | None = None
    method: str = ""
    url: str = ""
    headers: Sequence[tuple[str, str, bool]] = ()
    masked: Sequence[tuple[str, Figure, Figure]] = ()
    asked: Asked | None = None
    messages: Sequence[Message] = ()
    rest: Markup | None = None
    body: Bytes | None = None
    repeated: bool = False


@dataclass(frozen=True)
class Came:
    """A response, or what stands in its place: a reuse (then `origin` is the event that the bytes are of, with its run
    and cell) or an import (then `claimed` is what the artifact says of itself)."""

    item: Item
    kind: str
    why: str
    status: Figure | None = None
    whole: bool = True
    headers_ms: Figure | None = None
    total_ms: Figure | None = None
    headers: Sequence[tuple[str, str, bool]] = ()
    masked: Sequence[tuple[str, Figure, Figure]] = ()
    body: Bytes | None = None
    origin: Event | None = None
    format: str = ""
    tool: str = ""
    grade: str = ""
    claimed: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Failed:
    """A fault, with the taxonomy's sentence on it."""

    item: Item
    why: str
    stage: str = ""
    reason: str = ""
    domain: str = ""
    sentence: str = ""
    detail: str = ""
    total_ms: Figure | None = None


@dataclass(frozen=True)
class Waited:
    """A wait before the next attempt: `why` by name and in a `sentence`, and what the server `asked` for."""

    item: Item
    seconds: Figure | None
    why: str
    asked: str
    sentence: str = ""


@dataclass(frozen=True)
class Attempted:
    """One attempt. `open` says that nobody wrote down what became of it."""

    number: Figure | None
    sent: Sent | None
    came: Came | None
    failed: Failed | None
    waits: Sequence[Waited]
    open: bool


def attempts(ledger: Ledger, story: Story, numbers: Numbers) -> list[Attempted]:
    """Every attempt of a cell, in order."""
    found: list[Attempted] = []
    for each in story.tries:
        made = _attempt(ledger, story, each, numbers)
        if found and made.sent is not None and _same_body(found[-1].sent, made.sent):
            made = replace(made, sent=replace(made.sent, repeated=True))
        found.append(made)
    return found


def _same_body(before: Sent | None, now: Sent) -> bool:
    if before is None or before.body is None or now.body is None or now.body.at.data is None:
        return False
    return before.body.at.data == now.body.at.data


def _attempt(ledger: Ledger, story: Story, each: Try, numbers: Numbers) -> Attempted:
    told = next((one for one in (each.request, each.fault) if one and "attempt" in one.raw), None)
    return Attempted(
        numbers.of(told, "attempt") if told else None,
        _sent(ledger, story, each.request, numbers) if each.request else None,
        _came(ledger, each.response, numbers) if each.response else None,
        failed(ledger, each.fault, numbers) if each.fault else None,
        [_waited(ledger, wait, numbers) for wait in each.waits],
        each.open,
    )


def _sent(ledger: Ledger, story: Story, item: Item, numbers: Numbers) -> Sent:
    body = item.as_a(Request)
    if body is None:
        return Sent(item, unreadable(ledger, item))
    found = blob_at(ledger, item, "body", numbers)
    asked = None
    if found is not None and found.data is not None and story.candidate is not None:
        asked = read_asked(found.data, story.candidate.protocol)
    return Sent(
        item, "", numbers.of(item, "turn") if body.turn else None, body.method, body.url,
        _headers(body.headers, body.masked), _masks(item, body.masked, numbers), asked,
        _messages(asked) if asked is not None else (), tree(asked.rest) if asked is not None and asked.rest else None,
        _bytes(found, "") if found is not None else None,
    )  # fmt: skip


def _messages(asked: Asked) -> list[Message]:
    """The messages as drawn, of which a page shows so much and no more."""
    left = _MOST_ASKED
    found: list[Message] = []
    for said in asked.messages:
        drawn: list[Piece] = []
        for part in said.parts:
            if part.kind == "image":
                drawn.append(Piece(media=part.text, size=part.size or 0))
                continue
            length = len(part.text.encode("utf-8", "surrogatepass"))
            if left <= 0:
                drawn.append(Piece())
            elif part.kind == "json":
                drawn.append(Piece(folded=tree(part.text)))
            else:
                drawn.append(Piece(excerpts(part.text, (), min(MOST_SHOWN, left)), length))
            left -= min(length, MOST_SHOWN)
        found.append(Message(said.role, drawn))
    return found


def _headers(headers: Sequence[tuple[str, str]], masked: Sequence[Masked]) -> list[tuple[str, str, bool]]:
    """Each header's name and value, and whether a secret in it was masked."""
    places = {each.where.lower() for each in masked}
    return [
        (name, value, any(_is_of(place, name) for place in places) or (value != "" and set(value) == {"*"}))
        for name, value in headers
    ]


def _is_of(place: str, name: str) -> bool:
    wanted = f"header {name.lower()}"
    return place == wanted or place.startswith(f"{wanted}, ")


def _masks(item: Item, masked: Sequence[Masked], numbers: Numbers) -> list[tuple[str, Figure, Figure]]:
    return [
        (each.where, numbers.of(item, "masked", at, "times"), numbers.of(item, "masked", at, "bytes", form="bytes"))
        for at, each in enumerate(masked)
    ]


def _bytes(found: BlobAt, codings: str) -> Bytes:
    data, fault = found.data, ""
    if data is None:
        return Bytes(found, (), 0, None, codings)
    if codings and len(data) <= _MOST_DECODED:
        decoded = decode(data, codings)
        data, fault = decoded.data, decoded.fault
    elif codings:
        fault = "too long to be unpacked for a page"
    return Bytes(found, excerpts(data, (), MOST_SHOWN), len(data), _folded(data), codings, fault)


def _folded(data: bytes) -> Markup | None:
    if len(data) > _MOST_TREE or data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        text = data.decode("utf-8")
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return tree(text)


def _came(ledger: Ledger, item: Item, numbers: Numbers) -> Came:
    match item.body:
        case Response():
            return _response(ledger, item, item.body, numbers)
        case Reuse():
            return _reuse(ledger, item, item.body)
        case Import() as body:
            found = blob_at(ledger, item, "output", numbers)
            return Came(
                item, "import", "", body=_bytes(found, "") if found is not None else None, format=body.format,
                tool=body.tool, grade=body.grade, claimed=sorted(body.claimed.items()),
            )  # fmt: skip
        case _:
            return Came(item, item.event.kind, unreadable(ledger, item))


def _response(ledger: Ledger, item: Item, body: Response, numbers: Numbers) -> Came:
    found = blob_at(ledger, item, "body", numbers)
    codings = Wire(body.status, tuple(body.headers), b"").header("content-encoding") or ""
    return Came(
        item, "response", "", numbers.of(item, "status", form="plain"), body.whole,
        numbers.of(item, "headers_ms", form="ms"), numbers.of(item, "total_ms", form="ms"),
        _headers(body.headers, body.masked), _masks(item, body.masked, numbers),
        _bytes(found, codings) if found is not None else None,
    )  # fmt: skip


def _reuse(ledger: Ledger, item: Item, reuse: Reuse) -> Came:
    """The bytes were recorded elsewhere, in this ledger; their numbers are those of that event."""
    try:
        origin = ledger.event(reuse.of)
        body = ledger.body(origin)
    except LedgerError as problem:
        return Came(item, "reuse", str(problem))
    if not isinstance(body, Response):
        return Came(item, "reuse", f"event {reuse.of} is no response", origin=origin)
    raw: Mapping[str, Any] = body.model_dump(mode="json", by_alias=True)
    codings = Wire(body.status, tuple(body.headers), b"").header("content-encoding") or ""
    reference = body.blobs.get("body")
    found: BlobAt | None = None
    if reference is not None:
        size = shown_event(reuse.of, raw, "blobs", "body", "size", form="bytes")
        try:
            found = BlobAt(reuse.of, "body", reference.hash, size, ledger.blob(origin, "body"))
        except LedgerError as problem:
            why = why_withheld(ledger, reference.hash) or str(problem)
            found = BlobAt(reuse.of, "body", reference.hash, size, None, why)
    return Came(
        item, "reuse", "", shown_event(reuse.of, raw, "status", form="plain"), body.whole,
        shown_event(reuse.of, raw, "headers_ms", form="ms"), shown_event(reuse.of, raw, "total_ms", form="ms"),
        _headers(body.headers, body.masked), (), _bytes(found, codings) if found is not None else None, origin,
    )  # fmt: skip


def failed(ledger: Ledger, item: Item, numbers: Numbers) -> Failed:
    """A fault as a page says it."""
    body = item.as_a(Fault)
    if body is None:
        return Failed(item, unreadable(ledger, item))
    total = numbers.of(item, "total_ms", form="ms") if body.total_ms is not None else None
    return Failed(
        item, "", body.stage, body.reason, body.domain, reason_words(body.stage, body.reason), body.detail, total
    )


def _waited(ledger: Ledger, item: Item, numbers: Numbers) -> Waited:
    body = item.as_a(Wait)
    if body is None:
        return Waited(item, None, unreadable(ledger, item), "")
    sentence = known_reason("error", body.why).sentence if is_reason("error", body.why) else ""
    return Waited(item, numbers.of(item, "seconds", form="plain"), body.why, body.asked, sentence)
