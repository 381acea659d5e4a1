"""Saying that something was replaced, is unsafe, or is safe after all. Nothing is ever un-said: each is an event."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from ledger._drafts import Draft
from ledger._errors import BadBody, NotFound, Refused, RunHeld
from ledger._event import Event
from ledger._lock import hold_run
from ledger._store import Ledger
from ledger._targets import REPLACEABLE, Found, find_target
from ledger._views import over_views
from ledger.kinds import Clear, Supersede, Taint

__all__ = ["CATEGORIES", "Category", "Superseded", "clear", "given_reason", "supersede", "taint"]

Category = Literal["transport", "capture", "parser", "harness", "fixture", "provider", "operator", "other"]
CATEGORIES: tuple[Category, ...] = (
    "transport", "capture", "parser", "harness", "fixture", "provider", "operator", "other",
)  # fmt: skip

_LOCK = "supersessions000"
"""A name of a run id's form that no run ever has: ids are base 32, without 0."""

_STANDING = over_views('SELECT seq, what, id, "by" FROM supersessions WHERE in_force ORDER BY seq')
# The same view over the supersessions there are and one more: what would stand, once it is said.
_WOULD_STAND = over_views(
    'SELECT seq, what, id, "by" FROM supersessions WHERE in_force ORDER BY seq',
    {
        "events": "SELECT seq, at, kind, body FROM main.events WHERE kind = 'supersede'"
        " UNION ALL SELECT :seq, '', 'supersede', :body"
    },
)
_CLEARED = over_views("SELECT cleared_by FROM taints WHERE seq = ?")


@dataclass(frozen=True, slots=True)
class Superseded:
    """What was said: the event, the target, its successor or None, and the earlier supersession that it overrides."""

    event: Event
    target: Found
    by: Found | None
    overrides: int | None


@contextmanager
def _alone(ledger: Ledger) -> Generator[None]:
    # Two at once could each be free of a cycle, and together make one.
    try:
        with hold_run(ledger.path, _LOCK):
            yield
    except RunHeld:
        raise Refused(f"another process is superseding something in {ledger.path}; try again") from None


def given_reason(reason: str) -> str:
    """The reason, which mustn't be empty. Raises BadBody."""
    if not reason.strip():
        raise BadBody("expected a reason, got an empty one; say why, for those who read this later")
    return reason


def supersede(ledger: Ledger, target: str, *, by: str | None, category: Category, reason: str) -> Superseded:
    """Say that a run, a freeze or a report is replaced, or take an earlier supersession back.

    Raises NotFound for what the ledger doesn't hold, BadBody without a reason, and Refused for what replaces itself,
    for a successor of another kind, for a cycle, and for what has been said already.
    """
    reason = given_reason(reason)
    with _alone(ledger):
        found = find_target(ledger, target, REPLACEABLE)
        successor = find_target(ledger, by, REPLACEABLE) if by is not None else None
        if successor is not None:
            _check_successor(ledger, found, successor)
        standing = {(row["what"], row["id"]): row for row in ledger.rows(_STANDING)}
        now = standing.get((found.target.what, found.target.id))
        if now is not None and now["by"] == (successor.target.id if successor else None):
            how = f"by {successor}" if successor else "without a successor"
            raise Refused(f"{found} is superseded {how} already, by event {now['seq']}")
        body = Supersede(
            target=found.target, by=successor.target if successor else None, category=category, reason=reason
        )
        _check_cycle(ledger, body)
        causes = sorted({*found.events, *(successor.events if successor else ())})
        (event,) = ledger.append(Draft(body, causes=causes))
    return Superseded(event, found, successor, now["seq"] if now else None)


def _check_successor(ledger: Ledger, found: Found, successor: Found) -> None:
    if found.target == successor.target:
        raise Refused(f"{found} can't be superseded by itself")
    if found.target.what != successor.target.what:
        raise Refused(f"{found} can only be superseded by another {found.target.what}, got {successor}")
    if found.target.what == "freeze":
        kinds = [json.loads(ledger.event(each.events[0]).body or "{}").get("what") for each in (found, successor)]
        if kinds[0] != kinds[1]:
            raise Refused(f"{found} freezes a {kinds[0]}, and {successor} a {kinds[1]}: one can't replace the other")


def _check_cycle(ledger: Ledger, body: Supersede) -> None:
    values = {"seq": ledger.head()[0] + 1, "body": body.model_dump_json(by_alias=True)}
    after = {(row["what"], row["id"]): row for row in ledger.rows(_WOULD_STAND, values)}
    for what, start in after:
        place: str | None = start
        passed: list[str] = []
        while place is not None and (what, place) in after:
            passed.append(place)
            place = after[what, place]["by"]
            if place in passed:
                chain = " → ".join([*passed, place])
                said = max(after[what, each]["seq"] for each in passed if after[what, each]["seq"] < values["seq"])
                raise Refused(
                    f"that would make a circle of successors ({what} {chain}); `ledger supersede {said} --no-successor`"
                    " would take the newest of them back first"
                )


def taint(ledger: Ledger, target: str, *, reason: str) -> tuple[Event, Found]:
    """Say that something is unsafe to build on. Raises NotFound for what the ledger doesn't hold, BadBody."""
    reason = given_reason(reason)
    found = find_target(ledger, target)
    (event,) = ledger.append(Draft(Taint(target=found.target, reason=reason), causes=found.events))
    return event, found


def clear(ledger: Ledger, seq: int, *, reason: str) -> tuple[Event, Taint]:
    """Withdraw a taint, by the seq of its event. Raises NotFound, Refused when it is withdrawn already, BadBody."""
    reason = given_reason(reason)
    event = ledger.event(seq)
    body = ledger.body(event)
    if not isinstance(body, Taint):
        raise NotFound(f"event {seq} is a {event.kind}, not a taint; `ledger log --kind taint` lists them")
    (row,) = ledger.rows(_CLEARED, (seq,))
    if row["cleared_by"] is not None:
        raise Refused(f"taint {seq} was cleared by event {row['cleared_by']} already")
    (made,) = ledger.append(Draft(Clear(taint=seq, reason=reason), causes=[seq]))
    return made, body
