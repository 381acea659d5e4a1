"""What is shown of each event, and why the rest isn't."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ledger._errors import LedgerError
from ledger._event import Event
from ledger._store import Ledger
from ledger.bundle._holds import Word, free_texts, hidden_by, prose
from ledger.bundle._known import Known
from ledger.bundle._select import Selection, pages

__all__ = ["HELD", "NOT_ASKED", "REDACTED", "Decisions", "decide"]

REDACTED = "redacted"
HELD = "hidden: holds hidden text"
NOT_ASKED = "hidden: not asked for"
_FREEZES_A_FILE = frozenset({"freeze", "report", "import"})
"""Kinds whose body has the plain digest of a blob."""


@dataclass
class Decisions:
    """Why bodies and blobs aren't shown; what is in neither mapping is. `kinds` counts hidden bodies by kind."""

    bodies: dict[int, str] = field(default_factory=dict[int, str])
    blobs: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])
    places: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    redacted: Counter[str] = field(default_factory=Counter[str])

    def why(self, seq: int) -> str:
        """Why the body of an event isn't shown; empty where it is."""
        return self.bodies.get(seq, "")

    def why_blob(self, seq: int, name: str) -> str:
        """Why a blob isn't shown; empty where it is."""
        return self.blobs.get(seq, {}).get(name, "")


def decide(
    ledger: Ledger, selection: Selection, hide: frozenset[Word], known: Known, shown_whole: frozenset[int]
) -> Decisions:
    """Look at every event of the selection, and at every blob that would be shown where something is hidden."""
    found = Decisions()
    for event in pages(ledger, selection.seqs):
        why, blobs = _of(ledger, event, selection, hide, known, whole=event.seq in shown_whole)
        if why:
            found.bodies[event.seq] = why
            if why == REDACTED:
                found.redacted[event.kind] += 1
            else:
                found.places.setdefault(event.kind, []).append(event.seq)
        elif blobs:
            found.blobs[event.seq] = blobs
    return found


def _of(
    ledger: Ledger, event: Event, selection: Selection, hide: frozenset[Word], known: Known, *, whole: bool
) -> tuple[str, dict[str, str]]:
    if event.body is None:
        return REDACTED, {}
    body: dict[str, Any] = json.loads(event.body)
    hidden = bool(hide) and not whole
    words: frozenset[Word] = frozenset()
    if hidden:
        words = hidden_by(event.kind, body, hide)
        # Whoever names a report has it, and with it every digest that it prints.
        if words and event.seq != selection.asked.report:
            return "hidden: " + ", ".join(sorted(words)), {}
        free = free_texts(event.kind, body)
        # What a rule set is called is in its label too, which is shown with every score.
        values = free.values if event.kind != "freeze" else ()
        if known.texts.held_by(str(free)) or any(map(known.texts.is_one, values)):
            return HELD, {}
        if any(map(known.texts.names_one, prose(event.kind, body))):
            return HELD, {}
    blobs: Mapping[str, Any] = body.get("blobs", {})
    if not blobs:
        return "", {}
    there = {str(row["hash"]) for row in ledger.rows(
        "SELECT hash FROM main.blobs WHERE seq = ? AND data IS NOT NULL", (event.seq,)
    )}  # fmt: skip
    whys: dict[str, str] = {}
    for name, reference in blobs.items():
        if reference["hash"] not in there:
            whys[name] = REDACTED
        elif event.seq in selection.context:
            whys[name] = NOT_ASKED
        elif words:
            whys[name] = "hidden: " + ", ".join(sorted(words))
        elif hidden and _holds(ledger, event, name, known):
            if event.kind in _FREEZES_A_FILE:
                return HELD, {}
            whys[name] = HELD
    return "", whys


def _holds(ledger: Ledger, event: Event, name: str, known: Known) -> bool:
    try:
        return known.texts.held_by_bytes(ledger.blob(event, name), known.apart if event.kind == "freeze" else ())
    except LedgerError:
        return True
