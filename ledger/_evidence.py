"""What other packages read out of the bytes that an event rests on, for whoever looks at that event.

`ledger` knows no protocol. A package offers to read as an entry point of the group `eval_ledger.show`, a function that
takes the opened ledger and an event, appends nothing, and returns what it found as (what it is, text), text from
outside; empty where there is nothing to add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import cast

from ledger._event import Event
from ledger._store import Ledger

__all__ = ["GROUP", "Read", "read_evidence"]

GROUP = "eval_ledger.show"

Read = tuple[str, str]


def read_evidence(ledger: Ledger, event: Event) -> list[Read]:
    """What every installed package adds to an event. One that can't be loaded, or can't read it, adds nothing: the
    event itself is shown all the same."""
    found: list[Read] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            show = cast("Callable[[Ledger, Event], Sequence[Read]]", point.load())
            found += show(ledger, event)
        except Exception:  # noqa: BLE001, S112 - whatever another package trips over, the event is shown
            continue
    return found
