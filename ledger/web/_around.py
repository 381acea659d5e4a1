"""What stands around an event: its neighbours in the chain and in its run, what it came of, and what came of it."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ledger._store import Ledger
from ledger._views import over_views
from ledger.web._figure import Figure, sql
from ledger.web._literal import literal
from ledger.web._pages import View
from ledger.web._queries import query

__all__ = ["SPEAKS", "Group", "Near", "Neighbours", "causes_of", "effects_of", "neighbours_of", "taints_on"]

MOST_LISTED = 40
_FEW = 5_000
_NEAR = 2_000
SPEAKS = ("supersede", "taint", "clear", "redact", "accept", "note", "publish", "report", "gate")
"""Kinds that say something of the events that they name as causes."""

_AMONG = (
    "SELECT seq, kind, run, cell FROM main.events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)  # fmt: skip
_CAUSES_OF_KIND = (
    "SELECT count(*) FROM events AS effect, json_each(effect.causes) AS cause"
    " JOIN events AS found ON found.seq = cause.value WHERE effect.seq = {seq} AND found.kind = {kind}"
)
_EFFECTS_OF_KIND = (
    "SELECT count(*) FROM edges JOIN events ON events.seq = edges.effect WHERE edges.cause = {seq}"
    " AND events.kind = {kind}"
)
_ALL_EFFECTS = "SELECT count(*) FROM edges WHERE cause = {seq}"
_COUNT = "SELECT count(*) FROM main.edges WHERE cause = ?"
_BEFORE_NEAR = "SELECT seq FROM main.events WHERE seq < ?1 AND seq >= ?1 - ?3 AND +run = ?2 ORDER BY seq DESC LIMIT 1"
_AFTER_NEAR = "SELECT seq FROM main.events WHERE seq > ?1 AND seq <= ?1 + ?3 AND +run = ?2 ORDER BY seq LIMIT 1"
_BEFORE = "SELECT max(+seq) FROM main.events WHERE run = ?2 AND +seq < ?1"
_AFTER = "SELECT min(+seq) FROM main.events WHERE run = ?2 AND +seq > ?1"
_SPAN = "SELECT min(+seq), max(+seq) FROM main.events WHERE run = ?"
_ANY_TAINT = "SELECT EXISTS (SELECT 1 FROM main.events WHERE kind = 'taint')"
_TAINTED = over_views("SELECT taint, seq FROM tainted_events ORDER BY taint, seq")
_TAINTS = over_views("SELECT seq, what, id, reason, cleared_by FROM taints")


@dataclass(frozen=True, slots=True)
class Near:
    """Another event, by what a link to it says."""

    seq: int
    kind: str
    run: str
    cell: int


@dataclass(frozen=True)
class Group:
    """The events of one kind among causes or effects: how many, and the first of them."""

    kind: str
    count: Figure
    first: Sequence[Near]

    @property
    def left(self) -> bool:
        """Whether there are more than those listed."""
        return isinstance(self.count.value, int) and self.count.value > len(self.first)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Seqs before and after, None where there is none: in the chain, and of the same run."""

    before: int | None
    after: int | None
    run_before: int | None
    run_after: int | None


@dataclass
class _Counted:
    counts: dict[str, int] = field(default_factory=dict[str, int])
    first: dict[str, list[Near]] = field(default_factory=dict[str, list[Near]])

    def add(self, seq: int, kind: str, run: str, cell: int) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        listed = self.first.setdefault(kind, [])
        if len(listed) < MOST_LISTED:
            listed.append(Near(seq, kind, run, cell))


def neighbours_of(view: View, seq: int, run: str) -> Neighbours:
    """The events before and after. Those of a run mostly stand side by side; else its index is walked."""
    ledger, size = view.ledger, view.size
    before, after = seq - 1 if seq > 1 else None, seq + 1 if seq < size else None
    if not run:
        return Neighbours(before, after, None, None)
    near = [ledger.sql(statement, (seq, run, _NEAR)).fetchone() for statement in (_BEFORE_NEAR, _AFTER_NEAR)]
    found = [int(row[0]) if row else None for row in near]
    far = [seq - _NEAR > 1, seq + _NEAR < size]
    if any(place is None and more for place, more in zip(found, far, strict=True)):
        span = view.memory.kept(ledger, size, run, ("span", run), lambda later: _span(later, run), own=True).value
        for side, (statement, edge) in enumerate(((_BEFORE, span[0]), (_AFTER, span[1]))):
            if found[side] is None and far[side] and edge != seq:
                (place,) = ledger.sql(statement, (seq, run)).fetchone()
                found[side] = None if place is None else int(place)
    return Neighbours(before, after, found[0], found[1])


def _span(ledger: Ledger, run: str) -> tuple[int, int]:
    first, last = ledger.sql(_SPAN, (run,)).fetchone()
    return int(first), int(last)


def causes_of(ledger: Ledger, seq: int, causes: Sequence[int]) -> tuple[list[Group], list[int]]:
    """What an event came of, by kind; and the causes that are missing from the file."""
    counted = _Counted()
    known: set[int] = set()
    for row in ledger.sql(_AMONG, (json.dumps(list(causes)),)).fetchall():
        known.add(row[0])
        counted.add(*row)
    groups = [
        Group(kind, sql(_CAUSES_OF_KIND.format(seq=seq, kind=literal(kind)), count), counted.first[kind])
        for kind, count in counted.counts.items()
    ]
    return groups, [cause for cause in causes if cause not in known]


def effects_of(view: View, seq: int) -> tuple[list[Group], Figure, int | None]:
    """What came of an event, by kind; how many events that is; and up to where, if that is not the chain's head."""
    (total,) = view.ledger.sql(_COUNT, (seq,)).fetchone()
    if total <= _FEW:
        counted, until = _effects(view.ledger, seq), None
    else:
        kept = view.memory.kept(view.ledger, view.size, "", ("effects", seq), lambda ledger: _effects(ledger, seq))
        counted, until = kept.value, None if kept.current else kept.size
    groups = [
        Group(kind, sql(_EFFECTS_OF_KIND.format(seq=seq, kind=literal(kind)), count), counted.first[kind])
        for kind, count in counted.counts.items()
    ]
    return groups, sql(_ALL_EFFECTS.format(seq=seq), total), until


def _effects(ledger: Ledger, seq: int) -> _Counted:
    counted = _Counted()
    for row in ledger.sql(query("effects"), (seq,)):
        counted.add(*row)
    return counted


@dataclass(frozen=True)
class _Tainted:
    """The events that each taint in force reaches, ascending; and what each taint says."""

    reached: Mapping[int, Sequence[int]]
    said: Mapping[int, tuple[str, str, str]]


def taints_on(view: View, seq: int) -> tuple[Sequence[tuple[int, str, str, str]], int | None]:
    """The taints in force that an event rests on: seq of the taint, what it speaks of, its id, and the reason.

    And up to which event that was looked at, if that is not the chain's head.
    """
    if not view.ledger.sql(_ANY_TAINT).fetchone()[0]:
        return [], None
    kept = view.memory.kept(view.ledger, view.size, "", ("tainted events",), _tainted)
    found: list[tuple[int, str, str, str]] = []
    for taint, reached in kept.value.reached.items():
        at = bisect_left(reached, seq)
        if at < len(reached) and reached[at] == seq:
            found.append((taint, *kept.value.said[taint]))
    return found, None if kept.current else kept.size


def _tainted(ledger: Ledger) -> _Tainted:
    from array import array

    reached: dict[int, array[int]] = {}
    for taint, seq in ledger.sql(_TAINTED):
        reached.setdefault(taint, array("q")).append(seq)
    said = {row["seq"]: (str(row["what"]), str(row["id"]), str(row["reason"])) for row in ledger.rows(_TAINTS)}
    return _Tainted(reached, said)
