"""The events of one cell, put together as a story: what was asked, what came, and how it was read under each rule set.

    tell_story   a cell's attempts in order, and every time that it was scored, by rule set; the last of each counts

Reads the events of the cell alone, by (run, kind, cell), whatever the size of the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from harness._replies import Numbered, Place, Row, candidate_at, lay_attempts, place_at
from ledger import KINDS, Event, Ledger, LedgerError, NotFound
from ledger.kinds import Body, Cell, Fault, Plan, PlanCandidate, Request, Reuse, parse_body
from ledger.web import PageMissing

__all__ = ["Item", "Scoring", "Story", "Try", "tell_story"]

_KINDS = (
    "WITH RECURSIVE kinds(kind) AS (SELECT min(kind) FROM main.events WHERE run = ?1 UNION ALL"
    " SELECT (SELECT min(kind) FROM main.events WHERE run = ?1 AND kind > kinds.kind) FROM kinds"
    " WHERE kinds.kind IS NOT NULL) SELECT kind FROM kinds WHERE kind IS NOT NULL"
)
_SEQS = "SELECT seq FROM main.events WHERE run = ?1 AND kind = ?2 AND cell = ?3"
_THERE = "SELECT 1 FROM main.events WHERE run = ? AND kind = 'cell' AND cell = ? LIMIT 1"
_ATTEMPT_KINDS = frozenset({"request", "response", "fault", "import", "reuse"})
_Typed = TypeVar("_Typed", bound=Body)


@dataclass(frozen=True)
class Item:
    """One event of the cell. `index` is its place among them, in order of seq, as `ledger log --cell` lists them.

    `body` is None where it was withheld, and where it can't be read: `problem` says why. `raw` is the stored JSON.
    """

    index: int
    event: Event
    body: Body | None
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])
    problem: str = ""

    @property
    def seq(self) -> int:
        """The seq of the event."""
        return self.event.seq

    @property
    def withheld(self) -> bool:
        """Whether a redaction took its body."""
        return self.event.body is None

    def as_a(self, model: type[_Typed]) -> _Typed | None:
        """The body where it is one of that kind."""
        return self.body if isinstance(self.body, model) else None


@dataclass(frozen=True)
class Try:
    """One attempt. `response` is a response, a reuse or an import; `waits` are those that follow on it."""

    number: int
    request: Item | None
    response: Item | None
    fault: Item | None
    waits: tuple[Item, ...] = ()

    @property
    def open(self) -> bool:
        """Whether nobody has written down what became of it."""
        return self.response is None and self.fault is None


@dataclass(frozen=True)
class Scoring:
    """One time that the cell was read, confirmed and scored under a rule set.

    `evidence` is what it rests on: a response, reuse, import or fault; None where there was nothing to read. `failed`
    is the fault of the harness's own code while it derived. `freeze` is the rule set's, where its events name it.
    """

    label: str
    score: Item | None
    confirm: Item | None
    executed: tuple[Item, ...]
    parse: Item | None
    failed: Item | None
    evidence: Item | None
    freeze: int | None


@dataclass(frozen=True)
class Story:
    """A cell. `scorings` are by rule set label in the plan's order, each in order of time: the last one counts."""

    run: str
    cell: int
    plan_seq: int
    plan: Plan
    items: Sequence[Item]
    planned: Item
    tries: Sequence[Try]
    scorings: Mapping[str, Sequence[Scoring]]
    before: int | None
    after: int | None
    rows: Sequence[Row]

    @property
    def told(self) -> Cell | None:
        """The body of the cell's own event; None where it is withheld."""
        return self.planned.as_a(Cell)

    @property
    def candidate(self) -> PlanCandidate | None:
        """The candidate that was asked; of a cell that is withheld, by its place in the plan."""
        label = self.told.candidate if self.told else candidate_at(self.plan, self.cell) if self.plan.cells else ""
        return next((each for each in self.plan.candidates if each.label == label), None)

    def place(self, ledger: Ledger, evidence: Item | None) -> Place | None:
        """Where the bytes are that a scoring on `evidence` rests on, as harness._replies reads them."""
        if evidence is None or self.candidate is None:
            return None
        case = (self.told.fixture, self.told.case) if self.told else ("", "")
        whole = Place(self.cell, self.planned.seq, case, self.candidate.label, "not_asked")
        return place_at(ledger, whole, evidence.seq, self.rows)


def tell_story(ledger: Ledger, run: str, cell: int) -> Story:
    """The story of a cell. Raises PageMissing where the ledger has no such cell."""
    plans = list(ledger.events(kind="plan", run=run, limit=1))
    if not plans:
        raise PageMissing(f"there is no run {run} here; `ledger runs` lists them")
    plan = ledger.body(plans[0])
    assert isinstance(plan, Plan)
    items = _items(ledger, run, cell)
    planned = next((each for each in items if each.event.kind == "cell"), None)
    if planned is None:
        raise PageMissing(f"run {run} has no cell {cell}; it planned {plan.cells}")
    rows = [_row(each) for each in items if each.event.kind in _ATTEMPT_KINDS]
    by_seq = {each.seq: each for each in items}
    before, after = (_there(ledger, run, number) for number in (cell - 1, cell + 1))
    return Story(
        run, cell, plans[0].seq, plan, items, planned, _tries(items, rows, by_seq, cell),
        _scorings(ledger, plan, items, by_seq), before, after, rows,
    )  # fmt: skip


def _items(ledger: Ledger, run: str, cell: int) -> list[Item]:
    # By kind, one after the other: the index leads with run and kind, and a run may have a million events.
    kinds = [str(kind) for (kind,) in ledger.sql(_KINDS, (run,)).fetchall()]
    seqs = sorted(int(seq) for kind in kinds for (seq,) in ledger.sql(_SEQS, (run, kind, cell)).fetchall())
    return [_item(index, ledger.event(seq)) for index, seq in enumerate(seqs)]


def _item(index: int, event: Event) -> Item:
    if event.body is None:
        return Item(index, event, None)
    try:
        raw: object = json.loads(event.body)
        body = parse_body(event.kind, event.body) if event.kind in KINDS else None
    except (ValueError, RecursionError, LedgerError) as problem:
        # What somebody wrote into the file: the rest of the story can be told all the same.
        return Item(index, event, None, {}, f"not a body as one can be stored: {problem}")
    told = cast("Mapping[str, Any]", raw if isinstance(raw, dict) else {})
    return Item(index, event, body, told, "" if body is not None else "of a kind that this release doesn't know")


def _there(ledger: Ledger, run: str, cell: int) -> int | None:
    return cell if cell > 0 and ledger.sql(_THERE, (run, cell)).fetchone() else None


def _row(item: Item) -> Row:
    body = item.body
    number = body.attempt if isinstance(body, Request | Fault) else body.of if isinstance(body, Reuse) else None
    return Row(item.event.kind, item.seq, item.event.cell, item.event.causes, number, not item.withheld)


# Attempts


def _tries(items: Sequence[Item], rows: Sequence[Row], by_seq: Mapping[int, Item], cell: int) -> list[Try]:
    attempts = lay_attempts(rows).get(cell, ())
    waits = [each for each in items if each.event.kind == "wait"]
    found: list[Try] = []
    for at, each in enumerate(attempts):
        ends = _start(attempts[at + 1]) if at + 1 < len(attempts) else None
        follow = tuple(
            wait for wait in waits if _start(each) < wait.seq and (ends is None or wait.seq < ends)
        )  # fmt: skip
        waits = [wait for wait in waits if wait not in follow]
        found.append(
            Try(each.number, by_seq.get(each.request), by_seq.get(each.response), by_seq.get(each.fault), follow)
        )
    return found


def _start(attempt: Numbered) -> int:
    return next(seq for seq in (attempt.request, attempt.response, attempt.fault) if seq)


# Readings


def _scorings(
    ledger: Ledger, plan: Plan, items: Sequence[Item], by_seq: Mapping[int, Item]
) -> dict[str, Sequence[Scoring]]:
    known: dict[int, bool] = {}

    def is_freeze(seq: int) -> bool:
        if seq not in known:
            try:
                known[seq] = ledger.event(seq).kind == "freeze"
            except NotFound:
                known[seq] = False
        return known[seq]

    reached: set[int] = set()
    found: dict[str, list[Scoring]] = {each.label: [] for each in plan.rules}
    alone: list[Scoring] = []
    ends = [each for each in items if each.event.kind == "score"]
    ends += [each for each in reversed(items) if each.event.kind in ("confirm", "parse")]
    for end in ends:
        if end.seq in reached:
            continue
        each = _walk(end, by_seq, is_freeze, reached)
        if each.label:
            found.setdefault(each.label, []).append(each)
        else:
            alone.append(each)
    if alone:
        # Their bodies are withheld, and with them under which rule set they were made.
        found[""] = alone
    return {label: sorted(some, key=_newest) for label, some in found.items()}


def _newest(each: Scoring) -> tuple[bool, int]:
    """A reading that was never scored doesn't count, whenever it was made."""
    last = each.score or each.confirm or each.parse
    return each.score is not None, last.seq if last else 0


def _walk(end: Item, by_seq: Mapping[int, Item], is_freeze: Callable[[int], bool], reached: set[int]) -> Scoring:
    parts: dict[str, Item] = {}
    executed: list[Item] = []
    evidence: Item | None = None
    freezes: list[int] = []
    at: Item | None = end
    # Causes are smaller than their effect, so this ends.
    while at is not None:
        kind = at.event.kind
        if kind == "execute":
            executed.insert(0, at)
        elif kind in ("score", "confirm", "parse"):
            parts[kind] = at
        elif kind == "fault" and any(is_freeze(cause) for cause in at.event.causes if cause not in by_seq):
            parts["failed"] = at
        else:
            evidence = None if kind == "cell" else at
            break
        reached.add(at.seq)
        freezes += [cause for cause in at.event.causes if cause not in by_seq and is_freeze(cause)]
        mine = [cause for cause in at.event.causes if cause in by_seq and cause < at.seq]
        at = by_seq[max(mine)] if mine else None
    label = next((name for each in parts.values() if (name := _label(each))), "")
    return Scoring(
        label, parts.get("score"), parts.get("confirm"), tuple(executed), parts.get("parse"), parts.get("failed"),
        evidence, freezes[-1] if freezes else None,
    )  # fmt: skip


def _label(item: Item) -> str:
    return str(item.raw.get("rules", ""))
