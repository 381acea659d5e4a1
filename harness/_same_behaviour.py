"""Code that moved is compared by what it does: whether it derives the same events from the recorded bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from harness._derive import Reply, derive
from harness._recorded import Record, exchange_of
from harness._rules import RuleSet
from harness._suite import Case, Fixture, Suite
from harness.parse import Protocol
from ledger import Event, Ledger, NotFound
from ledger.kinds import Body, Confirm, Parse, Score

__all__ = ["cells_read_otherwise"]

_KINDS = ("parse", "confirm", "score")


def cells_read_otherwise(
    ledger: Ledger, record: Record, suite: Suite, fixtures: Mapping[str, Fixture | None], rules: Sequence[RuleSet]
) -> list[int]:
    """The cells whose last reply this code derives other parse, confirm or score bodies from than stand recorded.

    Cells without a scored reply say nothing, and neither do those whose bytes were withheld.
    """
    stand, withheld = {kind: _last(ledger, record.run, kind) for kind in _KINDS}, _withheld(ledger, record.run)
    by_label = {candidate.label: candidate for candidate in record.plan.candidates}
    found: list[int] = []
    for number, (_, cell) in sorted(record.cells.items()):
        case, last = _case(fixtures, cell.fixture, cell.case), record.last(number)
        exchange = exchange_of(ledger, last) if last is not None and not last.open else None
        if exchange is None or case is None or number in withheld:
            continue
        candidate = by_label[cell.candidate]
        protocol = cast("Protocol", candidate.protocol)
        reply = Reply(exchange.wire, exchange.fault_reason, protocol, candidate.stream, exchange.at)
        for each in rules:
            place = (each.label, number)
            events = [stand[kind].get(place) for kind in _KINDS]
            # What was derived from an earlier attempt says nothing of this one.
            events = [event if event and event.seq > exchange.evidence else None for event in events]
            if events[-1] is None or record.scores[place].reason == "internal":
                continue
            derived = derive(reply, ask=suite.ask, stages=suite.stage_functions, case=case, rules=each)
            bodies = (derived.parse, derived.confirm, derived.score)
            if not all(
                _is_same(ledger, event, body, derived.parse_blobs if isinstance(body, Parse) else {})
                for event, body in zip(events, bodies, strict=True)
            ):
                found.append(number)
                break
    return found


def _case(fixtures: Mapping[str, Fixture | None], fixture: str, name: str) -> Case | None:
    here = fixtures.get(fixture)
    return next((case for case in here.cases if case.id == name), None) if here else None


def _withheld(ledger: Ledger, run: str) -> set[int]:
    return {event.cell for kind in _KINDS for event in ledger.events(kind=kind, run=run) if event.body is None}


def _last(ledger: Ledger, run: str, kind: str) -> dict[tuple[str, int], Event]:
    found: dict[tuple[str, int], Event] = {}
    for event in ledger.events(kind=kind, run=run):
        if event.body is not None:
            body = ledger.body(event)
            assert isinstance(body, Parse | Confirm | Score)
            found[body.rules, event.cell] = event
    return found


def _is_same(ledger: Ledger, event: Event | None, body: Body | None, blobs: Mapping[str, bytes]) -> bool:
    if event is None or body is None:
        return event is None and body is None
    stands = ledger.body(event)
    try:
        held = {name: ledger.blob(event, name) for name in stands.blobs}
    except NotFound:
        return True
    # By way of JSON, since a body that was stored has been through it: 1.0 and 1 are one there.
    plain = stands.model_dump(mode="json", exclude={"blobs"})
    return plain == body.model_dump(mode="json", exclude={"blobs"}) and held == dict(blobs)
