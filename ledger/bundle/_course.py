"""What was asked for, in words: how a run went, what an event says, and which figures are left out of the claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ledger._screen import printable
from ledger.bundle._read import Claim
from ledger.bundle._readme import number
from ledger.bundle._seen import Seen
from ledger.kinds import Close, Plan, Tally

__all__ = ["UNKNOWN", "course", "hidden_tallies", "said_of", "unclaimed"]

UNKNOWN = "UNKNOWN"
"""Stands in a course where a body that tells is hidden."""
_VIA = {"live": "asked live", "replay": "a REPLAY of recorded answers", "import": "IMPORTED answers"}
_MOST = 200


def course(seen: Seen, run: str) -> str:
    """How a run was asked, by its plan, and how it ended, by its newest close."""
    plans, closes = seen.of("plan", run), seen.of("close", run)
    plan = seen.bodies.get(plans[-1].seq) if plans else None
    close = seen.bodies.get(closes[-1].seq) if closes else None
    how = _VIA[plan.via] if isinstance(plan, Plan) else (
        f"{UNKNOWN} whether asked live or a replay (its plan is hidden)"
    )  # fmt: skip
    if isinstance(close, Close):
        return f"{how}, {close.status}, {close.asked} of {close.planned} asked"
    return f"{how}, {f'{UNKNOWN} how it ended (its close is hidden)' if closes else 'not closed'}"


def said_of(seen: Seen, seq: int) -> str:
    """An event that was asked for: its kind, its run and cell, and the start of its body."""
    line = seen.events[seq]
    whose = (f" of run {line.run}" if line.run else "") + (f", cell {line.cell}" if line.cell else "")
    said = seen.texts.get(seq, f"its body is {seen.hidden.get(seq, 'not what its line commits to')}")
    cut = printable(said[:_MOST]) + ("..." if len(said) > _MOST else "")
    return f"event {seq} is a {line.kind}{whose}: {cut}"


def hidden_tallies(seen: Seen, run: str) -> list[int]:
    """The tallies of a run whose figures nobody can name."""
    return [each.seq for each in seen.of("tally", run) if each.seq not in seen.bodies]


def unclaimed(seen: Seen, run: str, claims: Iterable[Claim]) -> Iterator[str]:
    """The figures of a run's newest tallies that aren't claimed. What a hidden tally may have replaced is none."""
    newest: dict[str, tuple[int, Tally]] = {}
    for each in seen.of("tally", run):
        body = seen.bodies.get(each.seq)
        if isinstance(body, Tally):
            newest[body.rules] = (each.seq, body)
    claimed = {(each.tally, each.candidate, each.metric) for each in claims}
    after = max(hidden_tallies(seen, run), default=0)
    for seq, tally in newest.values():
        for each in tally.metrics:
            if seq > after and (seq, each.candidate, each.metric) not in claimed:
                figure = f"{each.k}/{each.n}" if each.kind == "rate" else f"{number(each.total)} over {each.n}"
                named = f"{each.metric!r}, run {run}, {each.candidate!r}, {tally.rules!r}"
                yield f"a claim is left out: {figure}, {named}, of event {seq}"
