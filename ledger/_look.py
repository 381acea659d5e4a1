"""Reading single events for people: selections for `log`, and everything about one event for `show`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ledger._errors import NotFound
from ledger._event import Event, causes_text, commits, commits_in_pieces, hash_of
from ledger._packed import pieces, unpacked
from ledger._store import Ledger
from ledger._withheld import withheld_by

__all__ = ["Seen", "SeenBlob", "blob_names", "brief", "find_event", "inspect", "inspect_blob", "select"]

_PAGE = 2_000
_MAX_SEQ = 2**53 - 1
_MOST_UNNAMED = 64 << 20
_WITHHELD = "withheld by event "
_CAUSES = "SELECT causes FROM main.events WHERE seq = ?"
_EFFECTS = "SELECT effect FROM main.edges WHERE cause = ? ORDER BY effect"
_BLOBS = "SELECT hash, salt, encoding, data FROM main.blobs WHERE seq = ?"


def select(
    ledger: Ledger, *, run: str | None, kind: str | None, cell: int | None, limit: int | None, after: int | None
) -> Iterator[Event]:
    """Events in order of seq, in constant memory: the newest `limit` of them, or those that follow `after`."""
    if limit is not None and after is None:
        yield from ledger.newest(limit, run=run, kind=kind, cell=cell)
        return
    seq, left = after or 0, limit
    while left is None or left > 0:
        size = _PAGE if left is None else min(_PAGE, left)
        page = list(ledger.events(run=run, kind=kind, cell=cell, after=seq, limit=size))
        yield from page
        if len(page) < size:
            return
        seq = page[-1].seq
        left = None if left is None else left - len(page)


def brief(event: Event) -> dict[str, Any]:
    """An event as JSON: the fields of its line, its hash, and its body (null once withheld)."""
    return {
        "seq": event.seq, "hash": event.hash, "prev": event.prev, "at": event.at, "kind": event.kind, "run": event.run,
        "cell": event.cell, "causes": list(event.causes), "body_hash": event.body_hash, "body": _value(event.body),
    }  # fmt: skip


def _value(body: str | None) -> Any:
    if body is None:
        return None
    try:
        value = json.loads(body)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        # Not the JSON that a body is (verify says so): shown as the text that stands there.
        return body
    return value


@dataclass(frozen=True, slots=True)
class SeenBlob:
    """A blob of an event: by which name the body knows it, its size in bytes, and how it stands."""

    name: str
    hash: str
    size: int | None
    state: str


@dataclass(frozen=True, slots=True)
class Seen:
    """One event with everything recomputed that its row allows. `withheld` says why its body is gone, if it is."""

    event: Event
    line: str
    line_matches: bool
    body_matches: bool
    effects: tuple[int, ...]
    blobs: tuple[SeenBlob, ...]
    withheld: str | None

    @property
    def sound(self) -> bool:
        """Whether line, body and blobs match what is committed to."""
        states = [blob.state for blob in self.blobs] + ([self.withheld] if self.withheld else [])
        good = all(state == "matches" or state.startswith(_WITHHELD) for state in states)
        return self.line_matches and self.body_matches and good

    @property
    def pretty_body(self) -> str:
        """The body, indented; key order and numbers as stored."""
        value = _value(self.event.body)
        return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)

    def as_json(self) -> dict[str, Any]:
        """For `show --json`."""
        return {
            **brief(self.event), "line": self.line, "matches": self.line_matches, "body_matches": self.body_matches,
            "effects": list(self.effects), "withheld": self.withheld,
            "blobs": [{"name": b.name, "hash": b.hash, "size": b.size, "state": b.state} for b in self.blobs],
        }  # fmt: skip


def find_event(ledger: Ledger, wanted: str) -> Event:
    """The event that a seq, a hash or the start of one (4 digits or more) names. Raises NotFound."""
    if re.fullmatch(r"[0-9]{1,16}", wanted) and int(wanted) <= _MAX_SEQ:
        try:
            return ledger.event(int(wanted))
        except NotFound:
            if len(wanted) < 8:
                raise
    if not re.fullmatch(r"[0-9a-f]{4,64}", wanted):
        raise NotFound(f"expected a seq, or a hash of 4 to 64 hex digits, got {wanted!r}")
    rows = ledger.rows(
        "SELECT seq FROM main.events WHERE substr(hash, 1, ?) = ? ORDER BY seq LIMIT 2", (len(wanted), wanted)
    )
    if not rows:
        raise NotFound(f"no event has a hash that starts with {wanted}")
    if len(rows) > 1:
        raise NotFound(f"more than one event has a hash that starts with {wanted}; give more of it")
    return ledger.event(int(rows[0]["seq"]))


def inspect(ledger: Ledger, wanted: str, *, effects: bool = True) -> Seen:
    """Everything about the event that a seq, a hash or the start of one names. Raises NotFound.

    Without `effects` those aren't listed: a plan may have a hundred thousand.
    """
    event = find_event(ledger, wanted)
    (stored,) = ledger.sql(_CAUSES, (event.seq,)).fetchone()
    try:
        # The same causes in another spelling would give the same line.
        line = event.line if stored == causes_text(event.causes) else b""
    except UnicodeEncodeError:
        line = b""
    body_matches = event.body is None or commits(event.salt, event.body.encode("utf-8"), event.body_hash)
    found = ledger.sql(_EFFECTS, (event.seq,)).fetchall() if effects else []
    return Seen(
        event, line.decode("ascii"), hash_of(line) == event.hash, body_matches,
        tuple(int(effect) for (effect,) in found), tuple(_blobs(ledger, event)),
        _why_gone(ledger, event.seq) if event.body is None else None,
    )  # fmt: skip


def _why_gone(ledger: Ledger, target: int | str) -> str:
    by = withheld_by(ledger, target)
    return f"{_WITHHELD}{by[0]} ({by[1]}: {by[2]})" if by else "GONE, and no redaction names it"


def blob_names(event: Event) -> dict[str, str]:
    """The names by which an event's body knows its blobs, by their hash; none once the body is withheld."""
    value = _value(event.body)
    named: Any = cast("dict[str, Any]", value).get("blobs") if isinstance(value, dict) else None
    if not isinstance(named, dict):
        return {}
    found: dict[str, str] = {}
    for name, reference in cast("dict[str, Any]", named).items():
        if isinstance(reference, dict) and "hash" in reference:
            found[str(cast("dict[str, Any]", reference)["hash"])] = name
    return found


def _size(event: Event, name: str) -> int:
    """How many bytes the body says that the blob of this name has; without its word, what a person may wait for."""
    value = _value(event.body)
    match value:
        case {"blobs": {**named}} if isinstance(named.get(name), dict):
            size = named[name].get("size")
            return size if isinstance(size, int) and 0 <= size <= _MAX_SEQ else _MOST_UNNAMED
        case _:
            return _MOST_UNNAMED


def _blobs(ledger: Ledger, event: Event) -> Iterator[SeenBlob]:
    names = blob_names(event)
    rows = ledger.rows(_BLOBS + " ORDER BY id", (event.seq,))
    for row in rows:
        # Of each a piece at a time: a small file may stand for more bytes than there is memory.
        yield _seen(ledger, event, row, names.pop(str(row["hash"]), ""), whole=False)[0]
    for digest, name in names.items():
        yield SeenBlob(name, digest, None, "missing from the file")


def inspect_blob(
    ledger: Ledger, event: Event, wanted: str, *, most: int | None = None
) -> tuple[SeenBlob, bytes | None]:  # fmt: skip
    """One blob of an event, by its name in the body or by its hash, with its plain bytes where it has any.

    Of one that is packed and has more than `most` bytes only how it stands, without the bytes. Raises NotFound for a
    blob that neither the body nor the file knows.
    """
    names = blob_names(event)
    digest = next((digest for digest, name in names.items() if name == wanted), wanted)
    rows = ledger.rows(_BLOBS + " AND hash = ?", (event.seq, digest))
    if rows:
        name = names.get(digest, "")
        whole = most is None or rows[0]["encoding"] != "zlib" or _size(event, name) <= most
        return _seen(ledger, event, rows[0], name, whole=whole)
    if digest in names:
        return SeenBlob(names[digest], digest, None, "missing from the file"), None
    there = ", ".join(sorted(map(repr, names.values()))) or "none by name"
    raise NotFound(f"event {event.seq} ({event.kind}) has no blob {wanted[:80]!r}; it has {there[:400]}")


def _seen(
    ledger: Ledger, event: Event, row: Mapping[str, Any], name: str, *, whole: bool
) -> tuple[SeenBlob, bytes | None]:  # fmt: skip
    digest = str(row["hash"])
    if row["data"] is None:
        return SeenBlob(name, digest, None, _why_gone(ledger, digest)), None
    stored = row["encoding"], row["data"], _size(event, name)
    try:
        data = unpacked(*stored) if whole else None
        size, fits = commits_in_pieces(row["salt"], pieces(*stored) if data is None else (data,), digest)
    except ValueError as problem:
        return SeenBlob(name, digest, None, f"can't be read: {problem}"), None
    state = "not named by the body" if event.body is not None and not name else "matches"
    return SeenBlob(name, digest, size, state if fits else "DOES NOT MATCH its hash"), data
