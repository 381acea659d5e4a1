"""What stands in the ledger of one run: its plan and cells, every attempt, the last scores, what was accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from harness._capture import Exchange
from harness._errors import UsageError
from harness._replies import Row, lay_attempts
from harness.parse import Wire
from ledger import Event, Ledger, NotFound
from ledger.kinds import Accept, Cell, Close, Fault, Import, Plan, Request, Response, Reuse, Score

__all__ = ["Attempt", "Record", "attempts_of", "exchange_of", "read_record"]


@dataclass(frozen=True)
class Attempt:
    """One attempt by its events. `request` is None where the harness could not make one, and where nobody asked here.

    `response` is then a reuse, or the import of what somebody else captured.
    """

    number: int
    request: Event | None
    response: Event | None
    fault: Event | None

    @property
    def open(self) -> bool:
        """Whether nobody has written down what became of it."""
        return self.response is None and self.fault is None


@dataclass(frozen=True)
class Record:
    """A run as its events tell it.

    `cells` by ordinal, with the seq of each; `attempts` by cell, in order; `scores` the last by (rule set label, cell);
    `closed` the last close, unless something was asked after it, and `last_close` its seq whether or not something was
    (0 where there is none); `reused` the cells whose response was taken over.
    """

    run: str
    seq: int
    plan: Plan
    cells: Mapping[int, tuple[int, Cell]]
    attempts: Mapping[int, tuple[Attempt, ...]]
    scores: Mapping[tuple[str, int], Score]
    accepts: tuple[Accept, ...]
    closed: Close | None
    reused: frozenset[int]
    last_close: int = 0

    def accepted(self, component: str, value: str) -> str:
        """What `value` of a component has become by the accepts of this run, in their order."""
        for accept in self.accepts:
            if accept.component == component and accept.before == value:
                value = accept.after
        return value

    def last(self, cell: int) -> Attempt | None:
        """The last attempt of a cell."""
        attempts = self.attempts.get(cell, ())
        return attempts[-1] if attempts else None

    def next_attempt(self, cell: int) -> int:
        """The number that the next attempt of a cell has."""
        return 1 + max((each.number for each in self.attempts.get(cell, ()) if each.request or each.fault), default=-1)


def read_record(ledger: Ledger, run: str) -> Record:
    """Read a run's events. Raises UsageError when it has no plan."""
    plans = [(event.seq, ledger.body(event)) for event in ledger.events(kind="plan", run=run)]
    seq, plan = plans[0] if plans else (0, None)
    if not isinstance(plan, Plan):
        raise UsageError(f"run {run} has no plan; `ledger verify` says more")
    cells: dict[int, tuple[int, Cell]] = {}
    for event in ledger.events(kind="cell", run=run):
        try:
            body = ledger.body(event)
        except NotFound as error:
            raise UsageError(
                f"cell {event.cell} of run {run} can't be read, so nothing can be asked: {error}"
            ) from None
        assert isinstance(body, Cell)
        cells[event.cell] = (event.seq, body)
    scores: dict[tuple[str, int], Score] = {}
    for event in ledger.events(kind="score", run=run):
        body = ledger.body(event)
        assert isinstance(body, Score)
        scores[body.rules, event.cell] = body
    accepts = [ledger.body(event) for event in ledger.events(kind="accept", run=run) if event.body is not None]
    closes = list(ledger.events(kind="close", run=run))
    asked = ledger.newest(1, kind="request", run=run)
    closed = ledger.body(closes[-1]) if closes and not (asked and asked[0].seq > closes[-1].seq) else None
    assert closed is None or isinstance(closed, Close)
    attempts, reused = _attempts(ledger, run)
    return Record(
        run, seq, plan, cells, attempts, scores, tuple(body for body in accepts if isinstance(body, Accept)), closed,
        reused, closes[-1].seq if closes else 0,
    )  # fmt: skip


def attempts_of(ledger: Ledger, run: str, cell: int) -> tuple[Attempt, ...]:
    """The attempts of one cell of a run, in order."""
    return _attempts(ledger, run, cell)[0].get(cell, ())


def _attempts(
    ledger: Ledger, run: str, cell: int | None = None
) -> tuple[dict[int, tuple[Attempt, ...]], frozenset[int]]:
    """Attempts by cell. A fault of the harness while it derived (it has no attempt) is none of them."""

    def events(kind: str) -> Iterator[Event]:
        return ledger.events(kind=kind, run=run, cell=cell)

    found = {kind: list(events(kind)) for kind in ("request", "response", "fault", "import", "reuse")}
    by_seq = {event.seq: event for each in found.values() for event in each}
    rows = [_row(ledger, by_seq[seq]) for seq in sorted(by_seq)]
    attempts = {
        place: tuple(
            Attempt(each.number, by_seq.get(each.request), by_seq.get(each.response), by_seq.get(each.fault))
            for each in some
        )
        for place, some in lay_attempts(rows).items()
    }
    return attempts, frozenset(event.cell for event in found["reuse"])


def _row(ledger: Ledger, event: Event) -> Row:
    body = _body(ledger, event) if event.kind in ("request", "fault") else None
    number = body.attempt if isinstance(body, Request | Fault) else None
    return Row(event.kind, event.seq, event.cell, event.causes, number, event.body is not None)


def _body(ledger: Ledger, event: Event) -> object:
    try:
        return ledger.body(event)
    except NotFound:
        return None


def exchange_of(ledger: Ledger, attempt: Attempt) -> Exchange | None:
    """An attempt as the recorder gave it; None while it is open, and where its bytes were withheld."""
    reason: tuple[str, str] | None = None
    try:
        if attempt.fault is not None:
            fault = ledger.body(attempt.fault)
            assert isinstance(fault, Fault)
            reason = (fault.stage, fault.reason)
        if attempt.response is not None:
            return _response_exchange(ledger, attempt, reason)
    except NotFound:
        return None
    if attempt.fault is None:
        return None
    request = attempt.request.seq if attempt.request else None
    return Exchange(request, None, attempt.fault.seq, None, reason, _when(attempt.fault))


def _response_exchange(ledger: Ledger, attempt: Attempt, reason: tuple[str, str] | None) -> Exchange:
    assert attempt.response is not None
    stands = attempt.response
    body = ledger.body(stands)
    origin = stands
    if isinstance(body, Import):
        return Exchange(None, stands.seq, None, Wire(200, (), ledger.blob(stands, "output")), None, _when(stands))
    if isinstance(body, Reuse):
        origin = ledger.event(body.of)
        body = ledger.body(origin)
    assert isinstance(body, Response)
    wire = Wire(body.status, tuple(body.headers), ledger.blob(origin, "body"), body.whole, reason)
    return Exchange(
        attempt.request.seq if attempt.request else None, stands.seq, attempt.fault.seq if attempt.fault else None,
        wire, reason, _when(origin),
    )  # fmt: skip


def _when(event: Event) -> datetime:
    return datetime.strptime(event.at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
