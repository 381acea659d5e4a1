"""Does a report event say what the report says that it records? Its figures are what a correction later starts from."""

from __future__ import annotations

from typing import Any

from harness._differences import Difference, compare_data
from harness._report_data import Data
from harness._report_write import causes_of, figures_of
from ledger import Ledger
from ledger.kinds import Report

__all__ = ["hold_event"]


def hold_event(ledger: Ledger, seq: int, said: Data, form: str) -> list[Difference]:
    """Every place where the body or the causes of report event `seq` differ from what the data `said` of its file give.

    `said` must be the data of a report: they were held against the ledger before.
    """
    event = ledger.event(seq)
    body = ledger.body(event)
    if not isinstance(body, Report):
        return []
    correction: Any = said.get("correction")
    receipt = said["receipt"]
    should: Data = {
        "run": receipt["run"], "head": receipt["head"], "size": receipt["size"], "format": form,
        "corrects": correction["corrects"] if correction else None, "figures": figures_of(said),
        "causes": causes_of(ledger, said),
    }  # fmt: skip
    got: Data = {
        "run": body.run, "head": body.head, "size": body.size, "format": body.format, "corrects": body.corrects,
        "figures": list(body.figures), "causes": list(event.causes),
    }  # fmt: skip
    # An older release may have left a key of a figure out; floats are those that it computed.
    found = compare_data(got, should, whole=False, close=True)
    return [
        Difference(f"event {seq}, which records it: {each.where}", each.says, each.should, place=("event", *each.place))
        for each in found
    ]
