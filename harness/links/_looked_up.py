"""Links of look-ups: whom they speak of, and what a plan says that they told."""

from __future__ import annotations

from collections.abc import Sequence

from harness._typed import typed
from harness.engines import Told, said_of_server
from harness.links._broken import Finder
from ledger import Ledger, NotFound
from ledger.kinds import Lookup, Plan

__all__ = ["check_lookups"]

_LOOKUPS = "SELECT seq, body FROM main.events WHERE run = ? AND kind = 'lookup' ORDER BY seq"


def check_lookups(ledger: Ledger, run: str, plan: tuple[int, Plan], causes: Sequence[int], finder: Finder) -> None:
    """Hold every look-up of a run, and what its plan says of servers to those that the plan rests on."""
    at, planned = plan
    labels = [each.label for each in planned.candidates]
    told: dict[str, list[tuple[int, Told]]] = {}
    unseen = False
    for seq, text in ledger.sql(_LOOKUPS, (run,)):
        if text is None:
            unseen = unseen or seq in causes
            continue
        body = typed(Lookup, text, f"event {seq}")
        if body.candidate not in labels:
            finder.broken("lookup.candidate", seq, "candidate", body.candidate, at, " or ".join(labels))
        if seq not in causes:
            continue
        try:
            reply = ledger.blob(seq, "body") if "body" in body.blobs else None
        except NotFound:
            unseen = True
            continue
        told.setdefault(body.candidate, []).append((seq, Told(body, reply)))
    if unseen or (not told and planned.suite_arms is None):
        if any(each.server for each in planned.candidates):
            finder.skip("what servers told of themselves: it isn't recorded, or is withheld")
        return
    for each in planned.candidates:
        mine = told.get(each.label, [])
        follows = said_of_server([one for _, one in mine], each.model)
        for name in sorted({*each.server, *follows}):
            other = next((seq for seq, one in mine if name in said_of_server([one], each.model)), 0)
            said, should = each.server.get(name, "none"), follows.get(name, "none")
            finder.hold("plan.server", at, f"{name} of the server of {each.label}", said, other, should)
