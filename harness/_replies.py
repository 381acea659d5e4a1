"""What stands for each cell of a run: its last reply, found by the events alone and read in bulk.

    lay_attempts   which requests, responses, faults, imports and reuses belong together, cell by cell
    read_places    for every planned cell, where its evidence is; plain numbers and names, fit for another process
    shown_places   the same for some cells alone, of a ledger that lacks the bodies of the others
    read_replies   the evidence itself, as the readers take it; None where a redaction withholds some of it

Only the last attempt counts, as in the run itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, cast

from harness._derive import Reply
from harness._errors import RefusedError, UsageError
from harness._typed import typed
from harness.parse import Protocol, Wire
from ledger import Ledger, NotFound
from ledger.kinds import Fault, Plan, PlanCandidate, Response

__all__ = [
    "Numbered", "Place", "Row", "State", "attempt_rows", "candidate_at", "lay_attempts", "place_at", "read_places",
    "read_plan", "read_replies", "seqs_in", "shown_places",
]  # fmt: skip

State = Literal["answered", "not_asked", "open"]

_ROWS = (
    "SELECT kind, seq, cell, causes, CASE kind WHEN 'reuse' THEN body ->> '$.of' ELSE body ->> '$.attempt' END,"
    " body IS NOT NULL, CASE kind WHEN 'response' THEN body ->> '$.blobs.body.size'"
    " WHEN 'import' THEN body ->> '$.blobs.output.size' END FROM main.events WHERE run = ?1"
    " AND kind IN ('request', 'response', 'fault', 'import', 'reuse') AND cell BETWEEN ?2 AND ?3 ORDER BY seq"
)
_CELLS = (
    "SELECT cell, seq, body ->> '$.fixture', body ->> '$.case', body ->> '$.candidate' FROM main.events"
    " WHERE run = ? AND kind = 'cell' AND cell <= ? ORDER BY cell"
)
_EVIDENCE = (
    "SELECT event.seq, event.kind, event.at, event.body, blob.encoding, blob.data"
    " FROM json_each(?) AS wanted CROSS JOIN main.events AS event ON event.seq = wanted.value"
    " LEFT JOIN main.blobs AS blob ON blob.seq = event.seq AND blob.hash ="
    " coalesce(event.body ->> '$.blobs.body.hash', event.body ->> '$.blobs.output.hash')"
)
_LAST = 2**53 - 1
_AT_ONCE = 250
_BYTES_AT_ONCE = 16 * 1024 * 1024
_SIZE_UNKNOWN = 1024 * 1024
_BROKEN_OFF = ("harness", "fate_unknown")


class Row(NamedTuple):
    """An event as far as attempts go. `number` is its attempt, or the event that a reuse is of; None where it has none,
    and where it is withheld (`told` is then false)."""

    kind: str
    seq: int
    cell: int
    causes: tuple[int, ...]
    number: int | None
    told: bool
    size: int = 0


class Numbered(NamedTuple):
    """One attempt by the seqs of its events; 0 where there is none. `response` may be a reuse or an import."""

    number: int
    request: int
    response: int
    fault: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where the evidence of one planned cell is, by seqs; 0 where there is none.

    `evidence` is the event that derived events rest on, `origin` the response whose bytes are read (that of another run
    when it was taken over), `fault` what cut or replaced it, `newest` the last of them all: what was derived before it
    says nothing of it. `case` is (fixture, id); `withheld` says that the cell's own event can't be read, so that its
    case is known by its place alone. `size` counts the bytes of the reply.
    """

    cell: int
    planned: int
    case: tuple[str, str]
    candidate: str
    state: State
    evidence: int = 0
    origin: int = 0
    fault: int = 0
    newest: int = 0
    size: int = 0
    withheld: bool = False


def read_plan(ledger: Ledger, run: str) -> tuple[int, Plan]:
    """The seq of a run's plan, and the plan. Raises UsageError where there is none, and for a probe."""
    for event in ledger.events(kind="plan", run=run):
        body = ledger.body(event)
        if isinstance(body, Plan):
            if body.purpose == "probe":
                raise UsageError(f"{run} is a probe: one call, under no frozen rule set, which no scoreboard counts")
            return event.seq, body
    raise UsageError(f"run {run} has no plan; `ledger verify` says more")


def attempt_rows(ledger: Ledger, run: str, first: int = 1, last: int = _LAST) -> list[Row]:
    """The events of a run that attempts are made of, in order of seq; those of the cells `first` to `last`."""
    return [
        Row(
            kind, seq, cell, seqs_in(causes), number if isinstance(number, int) else None, bool(told),
            size if isinstance(size, int) else 0,
        )
        for kind, seq, cell, causes, number, told, size in ledger.sql(_ROWS, (run, first, last))
    ]  # fmt: skip


def seqs_in(causes: str) -> tuple[int, ...]:
    """The seqs in an event's column `causes`. Raises UsageError."""
    try:
        return tuple(map(int, causes[1:-1].split(","))) if causes != "[]" else ()
    except ValueError:
        raise UsageError(f"{ascii(causes)[:60]} are no causes of an event; `ledger verify` says more") from None


def lay_attempts(rows: Iterable[Row]) -> dict[int, tuple[Numbered, ...]]:
    """Attempts by cell, in their order; `rows` in order of seq.

    A fault of the harness while it derived (it has no attempt) is none of them.
    """
    requests: list[Row] = []
    responses: dict[int, int] = {}
    imported: dict[int, Row] = {}
    reused: list[Row] = []
    faults: list[Row] = []
    for row in rows:
        if row.kind == "request":
            requests.append(row)
        elif row.kind == "response":
            responses.update(dict.fromkeys(row.causes, row.seq))
        elif row.kind == "reuse":
            reused.append(row)
        elif row.kind == "import" and row.cell:
            imported[row.seq] = row
        elif row.kind == "fault" and (row.number is not None or not row.told):
            faults.append(row)
    asked = {row.seq for row in requests}
    told: dict[int, int] = {}
    alone: list[Row] = []
    for row in faults:
        known = [cause for cause in row.causes if cause in asked or cause in imported]
        told.update(dict.fromkeys(known, row.seq))
        if not known and row.number is not None and row.cell:
            alone.append(row)
    found: dict[int, list[Numbered]] = {}
    for row in requests:
        before = found.setdefault(row.cell, [])
        # A request whose body was withheld still counts: it follows on the one before it.
        number = row.number if row.number is not None else (before[-1].number + 1 if before else 0)
        before.append(Numbered(number, row.seq, responses.get(row.seq, 0), told.get(row.seq, 0)))
    for row in alone:
        found.setdefault(row.cell, []).append(Numbered(row.number or 0, 0, 0, row.seq))
    for row in imported.values():
        fault = told.get(row.seq, 0)
        found.setdefault(row.cell, []).append(Numbered(0, 0, 0 if fault else row.seq, fault))
    for row in reused:
        found.setdefault(row.cell, []).append(Numbered(-1, 0, row.seq, 0))
    return {place: tuple(sorted(each, key=lambda attempt: attempt.number)) for place, each in found.items()}


def read_places(
    ledger: Ledger, run: str, plan: Plan, cases: Sequence[tuple[str, str]], *, partly: bool = False
) -> list[Place]:
    """Every cell that the plan has, in order; one past its last is none of them. `cases` are the keys of the plan's
    frozen cases, in the order of their files.

    Raises RefusedError when not every planned cell stands in the ledger (unless `partly` allows that), or one is
    withheld and its place in the plan doesn't tell its case either.
    """
    cells = [(int(cell), int(seq), fixture, case, whose) for cell, seq, fixture, case, whose in
             ledger.sql(_CELLS, (run, plan.cells))]  # fmt: skip
    if (len(cells) != plan.cells and not partly) or any(
        number != cell for number, (cell, *_) in enumerate(cells, start=1)
    ):
        raise RefusedError(
            f"run {run} was stopped while it was being planned: {len(cells)} of {plan.cells} cells stand;"
            " resume it first"
        )
    by_place = _cases_by_place(plan, cases, cells)
    rows = attempt_rows(ledger, run)
    attempts = lay_attempts(rows)
    by_seq = {row.seq: row for row in rows}
    candidates = {each.label for each in plan.candidates}
    found: list[Place] = []
    for cell, seq, fixture, case, whose in cells:
        withheld = case is None
        if withheld and by_place is None:
            raise RefusedError(f"cell {cell} of run {run} is withheld by a redaction, and nothing else tells its case")
        key = cast("Sequence[tuple[str, str]]", by_place)[cell - 1] if withheld else (fixture, case)
        mine = attempts.get(cell)
        candidate = candidate_at(plan, cell) if withheld else whose
        if candidate not in candidates:
            raise UsageError(f"cell {cell} of run {run} is of no candidate of its plan; `ledger verify` says more")
        place = Place(cell, seq, key, candidate, "not_asked", withheld=withheld)
        found.append(_with_attempt(place, mine[-1], by_seq) if mine else place)
    return found


def shown_places(ledger: Ledger, run: str, cells: Collection[int]) -> list[Place]:
    """The places of those of some cells whose own event can be read, in order. What an evidence bundle shows of a run
    has gaps where the rest of it is hidden."""
    rows = attempt_rows(ledger, run)
    attempts = lay_attempts(rows)
    by_seq = {row.seq: row for row in rows}
    found: list[Place] = []
    for cell, seq, fixture, case, whose in ledger.sql(_CELLS, (run, _LAST)):
        if cell in cells and case is not None:
            place = Place(int(cell), int(seq), (fixture, case), whose, "not_asked")
            mine = attempts.get(place.cell)
            found.append(_with_attempt(place, mine[-1], by_seq) if mine else place)
    return found


def _cases_by_place(
    plan: Plan, cases: Sequence[tuple[str, str]], cells: Sequence[tuple[int, int, Any, Any, Any]]
) -> Sequence[tuple[str, str]] | None:
    """The case of each cell as the layout of a plan has it, if every cell that can be read agrees; else None."""
    rounds = len(plan.candidates) * plan.epochs
    if not rounds or plan.cells % rounds or plan.cells // rounds > len(cases):
        return None
    found = list(cases[: plan.cells // rounds]) * rounds
    agree = len(cells) <= len(found) and all(
        case is None or found[cell - 1] == (fixture, case) for cell, _, fixture, case, _ in cells
    )
    return found if agree else None


def candidate_at(plan: Plan, cell: int) -> str:
    """The candidate of a cell by its place: a plan's cells stand candidate by candidate, equally many for each."""
    return plan.candidates[(cell - 1) * len(plan.candidates) // plan.cells].label


def _with_attempt(place: Place, attempt: Numbered, rows: Mapping[int, Row]) -> Place:
    _, request, response, fault = attempt
    evidence = response or fault or request
    row = rows.get(response)
    origin = response if row is None or row.kind != "reuse" else row.number or 0
    size = 0 if row is None else _SIZE_UNKNOWN if row.kind == "reuse" else row.size
    # A reuse that is withheld names no origin: its own event then stands for the bytes that can't be read.
    return Place(
        place.cell, place.planned, place.case, place.candidate, "answered" if response or fault else "open", evidence,
        origin or response, fault, max(evidence, fault), size, place.withheld,
    )  # fmt: skip


def place_at(ledger: Ledger, place: Place, evidence: int, rows: Sequence[Row]) -> Place | None:
    """`place` as it was when its evidence was the event `evidence`; None when that is none of its attempts.

    `rows` are those of the cell.
    """
    by_seq = {row.seq: row for row in rows}
    for attempt in lay_attempts(rows).get(place.cell, ()):
        if evidence in (attempt.response, attempt.fault, attempt.request):
            found = _with_attempt(place, attempt, by_seq)
            return found if found.evidence == evidence else None
    return None


def read_replies(
    ledger: Ledger, places: Sequence[Place], candidates: Mapping[str, PlanCandidate]
) -> Iterator[tuple[Place, Reply | None]]:
    """The reply of each place that is answered, in order; None where something of it is withheld."""
    for some in _bounded(places):
        wanted = [seq for place in some for seq in (place.origin, place.fault) if seq]
        rows = {row[0]: row for row in ledger.sql(_EVIDENCE, (json.dumps(wanted),)).fetchall()}
        for place in some:
            try:
                yield place, None if place.withheld else _reply(ledger, place, rows, candidates[place.candidate])
            except KeyError as missing:
                raise NotFound(f"event {missing} isn't there, and cell {place.cell} rests on it") from None


def _bounded(places: Sequence[Place]) -> Iterator[list[Place]]:
    """`places` in bunches of a bounded number and of bounded bytes: one reply may be of 64 MiB."""
    bunch: list[Place] = []
    size = 0
    for place in places:
        if bunch and (len(bunch) >= _AT_ONCE or size + place.size > _BYTES_AT_ONCE):
            yield bunch
            bunch, size = [], 0
        bunch.append(place)
        size += place.size
    if bunch:
        yield bunch


def _reply(ledger: Ledger, place: Place, rows: Mapping[int, Any], candidate: PlanCandidate) -> Reply | None:
    reason: tuple[str, str] | None = None
    at = ""
    if place.fault:
        _, _, at, body, _, _ = rows[place.fault]
        if body is None:
            return None
        fault = typed(Fault, body, f"event {place.fault}")
        reason = (fault.stage, fault.reason)
    wire: Wire | None = None
    # What we ourselves broke off was never read, whatever had come of it by then.
    if place.origin and reason != _BROKEN_OFF:
        seq, kind, at, body, encoding, data = rows[place.origin]
        if body is None or kind == "reuse":
            return None
        if data is None or encoding:
            try:
                data = ledger.blob(seq, "output" if kind == "import" else "body")
            except NotFound:
                return None
        if kind == "import":
            wire = Wire(200, (), data)
        else:
            response = typed(Response, body, f"event {seq}")
            wire = Wire(response.status, tuple(response.headers), data, response.whole, reason)
    return Reply(wire, reason, cast("Protocol", candidate.protocol), candidate.stream, _when(at))


def _when(at: str) -> datetime:
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        raise UsageError(f"{ascii(at)[:60]} is no time of an event; `ledger verify` says more") from None
