"""What a reply holds beside what was read of it, for `ledger show`: the text that came before it failed.

Such text is in no event, since the bytes are: it is evidence, never an answer, and never scored.
"""

from __future__ import annotations

from typing import cast

from harness._attempts import read_exchange
from harness._candidate import Candidate, Protocol
from harness._errors import UsageError
from harness._recorded import Attempt, attempts_of, exchange_of
from ledger import Event, Ledger, NotFound
from ledger.kinds import Cell, Plan, PlanCandidate

__all__ = ["PARTIAL", "shown"]

PARTIAL = "partial text, never an answer"


def shown(ledger: Ledger, event: Event) -> list[tuple[str, str]]:
    """The partial text of the attempt that a response, its reading or its score is of; nothing where it has none, and
    where it can't be read any more."""
    if event.kind not in ("response", "parse", "score") or not event.cell:
        return []
    try:
        candidate = _candidate(ledger, event)
        attempt = _attempt(ledger, event)
        exchange = exchange_of(ledger, attempt) if attempt is not None else None
        if candidate is None or exchange is None:
            return []
        reading = read_exchange(exchange, candidate, max_wait=0)
    except (NotFound, UsageError):
        return []
    return [(PARTIAL, reading.text)] if reading.text and "partial_text" in reading.flags else []


def _attempt(ledger: Ledger, event: Event) -> Attempt | None:
    """The attempt whose response is the event, or stands at the end of what it was derived from."""
    attempts = attempts_of(ledger, event.run, event.cell)
    causes = {event.seq, *event.causes}
    for cause in event.causes if event.kind == "score" else ():
        causes.update(ledger.event(cause).causes)
    mine = [each for each in attempts if each.response is not None and each.response.seq in causes]
    return mine[-1] if mine else None


def _candidate(ledger: Ledger, event: Event) -> Candidate | None:
    """The candidate of the event's cell, as the run's plan has it; None where nothing says which."""
    plan = next((ledger.body(each) for each in ledger.events(kind="plan", run=event.run)), None)
    cell = next((ledger.body(each) for each in ledger.events(kind="cell", run=event.run, cell=event.cell)), None)
    if not isinstance(plan, Plan) or not isinstance(cell, Cell):
        return None
    found: PlanCandidate | None = next((each for each in plan.candidates if each.label == cell.candidate), None)
    if found is None or plan.via == "import":
        return None
    protocol = cast("Protocol", found.protocol)
    return Candidate(found.label, protocol, found.model, found.parameters, found.stream, found.base_url)
