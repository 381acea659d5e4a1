"""What a redaction is asked to withhold: from names that people give to bodies (by seq) and blobs (by hash)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ledger._errors import NotFound, Refused
from ledger._event import Event
from ledger._look import blob_names, find_event
from ledger._store import Ledger
from ledger._withheld import withheld_by
from ledger.kinds import NEVER_REDACTED

__all__ = ["WHY_NEVER", "BlobTarget", "Targets", "cell_targets", "find_targets"]

WHY_NEVER = {
    "genesis": "it names the ledger and keys every digest in it",
    "schema": "it says which views are in force",
    "freeze": "it proves what was fixed before a run; the file itself is its blob",
    "plan": "it says what was going to be measured, and a run must not lose its denominator",
    "score": "it is what every number counts, and a measurement must not disappear",
    "tally": "it is what a scoring pass came to",
    "close": "it holds what was planned against what came of it",
    "supersede": "what was said of a run is never unsaid",
    "taint": "a finding is never unsaid",
    "clear": "a finding is never unsaid",
    "redact": "it says what was withheld, and why",
    "anchor": "it says which checkpoints stand outside this file",
}
"""Why the bodies of these kinds are never withheld. None of them holds text of a case or of a model."""

_BLOBS = "SELECT hash, seq, data IS NULL AS gone FROM main.blobs WHERE seq = ? ORDER BY id"
_BY_HASH = "SELECT hash, seq, data IS NULL AS gone FROM main.blobs WHERE substr(hash, 1, ?) = ? ORDER BY id LIMIT 2"
_EVENT_BY_SEQ = "SELECT 1 FROM main.events WHERE seq = ?"
_EVENT_BY_HASH = "SELECT 1 FROM main.events WHERE substr(hash, 1, ?) = ? LIMIT 1"
_HEX = re.compile(r"[0-9a-f]{1,64}")
_MIN_HASH = 8


class BlobTarget(NamedTuple):
    """A blob to withhold: its event, its hash, and its name where the event's body can still be read."""

    seq: int
    hash: str
    name: str


@dataclass(frozen=True, slots=True)
class Targets:
    """Bodies by seq and blobs, each once and in order; `already` says in words what was withheld before."""

    bodies: tuple[int, ...]
    blobs: tuple[BlobTarget, ...]
    already: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many bodies and blobs are left to withhold."""
        return len(self.bodies) + len(self.blobs)

    @property
    def causes(self) -> tuple[int, ...]:
        """The seqs of the events concerned, ascending: what the redact event's causes are."""
        return tuple(sorted({*self.bodies, *(blob.seq for blob in self.blobs)}))


class _Found:
    """Targets while they are gathered."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.bodies: set[int] = set()
        self.blobs: dict[str, BlobTarget] = {}
        self.already: dict[str, None] = {}

    def add_body(self, event: Event) -> None:
        if event.kind in NEVER_REDACTED:
            raise Refused(
                f"event {event.seq} is a {event.kind}, and its body is never withheld: {WHY_NEVER[event.kind]};"
                f" blobs of it can be, as {event.seq}:NAME"
            )
        if event.body is None:
            self._gone(f"the body of event {event.seq}", event.seq)
        else:
            self.bodies.add(event.seq)

    def add_blob(self, seq: int, digest: str, name: str, *, gone: bool) -> None:
        if gone:
            self._gone(f"the blob {name or digest[:16]} of event {seq}", digest)
        else:
            self.blobs[digest] = BlobTarget(seq, digest, name)

    def add_named(self, event: Event, name: str) -> None:
        names = blob_names(event)
        rows = self.ledger.rows(_BLOBS, (event.seq,))
        for row in rows:
            if names.get(str(row["hash"])) == name:
                self.add_blob(event.seq, str(row["hash"]), name, gone=bool(row["gone"]))
                return
        if event.body is not None:
            has = ", ".join(sorted(names.values())) or "none"
            raise NotFound(f"event {event.seq} ({event.kind}) has no blob {name!r}; it has {has}")
        # The names went with the body. Where no blob is left, whichever was meant is withheld: a repeat is no mistake.
        if not rows or not all(row["gone"] for row in rows):
            raise NotFound(
                f"the body of event {event.seq} is withheld, and the names of its blobs with it; name the blob by its"
                f" hash (`ledger show {event.seq} --json` lists them)"
            )
        for row in rows:
            self.add_blob(event.seq, str(row["hash"]), "", gone=True)

    def add_all_of(self, event: Event) -> None:
        """The body, unless it never is withheld, and every blob."""
        names = blob_names(event)
        if event.kind not in NEVER_REDACTED:
            self.add_body(event)
        for row in self.ledger.rows(_BLOBS, (event.seq,)):
            digest = str(row["hash"])
            self.add_blob(event.seq, digest, names.get(digest, ""), gone=bool(row["gone"]))

    def _gone(self, what: str, target: int | str) -> None:
        by = withheld_by(self.ledger, target)
        self.already[f"{what} is withheld already" + (f", by event {by[0]}" if by else "")] = None

    def targets(self) -> Targets:
        order = sorted(self.blobs.values(), key=lambda blob: (blob.seq, blob.name, blob.hash))
        return Targets(tuple(sorted(self.bodies)), tuple(order), tuple(self.already))


def find_targets(ledger: Ledger, wanted: Iterable[str], *, blobs: Sequence[str] = ()) -> Targets:
    """The bodies and blobs that `wanted` names: SEQ or the start of an event's hash for a body; SEQ:NAME, HASH:NAME or
    the start of a blob's hash for a blob. With `blobs`, these blobs of the events named, and not their bodies.

    Raises NotFound (also where a hash fits more than one thing), and Refused for a body that is never withheld.
    """
    found = _Found(ledger)
    for text in wanted:
        place, colon, name = text.partition(":")
        if colon:
            found.add_named(_event_for(ledger, place), name)
            continue
        blob = _blob_by_hash(ledger, text)
        if blob is not None and not blobs:
            seq, digest, gone = blob
            names = blob_names(ledger.event(seq))
            found.add_blob(seq, digest, names.get(digest, ""), gone=gone)
            continue
        event = _event_for(ledger, text)
        for each in blobs:
            found.add_named(event, each)
        if not blobs:
            found.add_body(event)
    return found.targets()


def cell_targets(ledger: Ledger, run: str, cell: int) -> Targets:
    """Everything of one cell that can be withheld. Raises NotFound when the run has no such cell."""
    found = _Found(ledger)
    events = list(ledger.events(run=run, cell=cell)) if cell > 0 else []
    if not events:
        raise NotFound(f"run {run} has no cell {cell}; `ledger log --run {run}` lists what it has")
    for event in events:
        found.add_all_of(event)
    return found.targets()


def _blob_by_hash(ledger: Ledger, text: str) -> tuple[int, str, bool] | None:
    """The blob whose hash starts so; None when the text is no hash, or an event's. NotFound when it fits two things."""
    if not _HEX.fullmatch(text) or len(text) < _MIN_HASH:
        return None
    if text.isdecimal() and len(text) < 17 and ledger.rows(_EVENT_BY_SEQ, (int(text),)):
        return None
    rows = ledger.rows(_BY_HASH, (len(text), text))
    if not rows:
        return None
    if len(rows) > 1 or ledger.rows(_EVENT_BY_HASH, (len(text), text)):
        raise NotFound(f"{text} fits more than one blob or event; give more of the hash")
    return int(rows[0]["seq"]), str(rows[0]["hash"]), bool(rows[0]["gone"])


def _event_for(ledger: Ledger, text: str) -> Event:
    if not text.isdecimal() and len(text) < _MIN_HASH:
        raise NotFound(f"expected a seq, or at least {_MIN_HASH} digits of a hash (this can't be undone), got {text!r}")
    return find_event(ledger, text)
