"""Look-ups: what candidates' servers are asked of themselves before a plan, before it is decided to resume one, and
once one of them was given up.

Each is an event of the run before anything follows from it; what follows rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness._candidate import Candidate
from harness.engines import Told, ask_server, said_of_server
from ledger import Draft, Ledger

__all__ = ["LookedUp", "look_up", "record_told"]


@dataclass(frozen=True)
class LookedUp:
    """What servers told of themselves, by candidate label, and the events that it follows from."""

    servers: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    events: Sequence[int] = ()


def look_up(ledger: Ledger, run: str, candidates: Iterable[Candidate]) -> LookedUp:
    """Ask every candidate's server, and record it. A server that tells nothing is no error. Raises LedgerError."""
    servers: dict[str, Mapping[str, str]] = {}
    events: list[int] = []
    for candidate in candidates:
        told: list[Told] = []
        for each in ask_server(candidate):
            events.append(record_told(ledger, run, each))
            told.append(each)
        servers[candidate.label] = said_of_server(told, candidate.model)
    return LookedUp(servers, events)


def record_told(ledger: Ledger, run: str, told: Told) -> int:
    """Append what a server was asked and said; returns the event's seq."""
    blobs = {"body": told.reply} if told.reply is not None else {}
    (event,) = ledger.append(Draft(told.lookup, run=run, blobs=blobs))
    return event.seq
