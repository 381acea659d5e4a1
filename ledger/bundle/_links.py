"""The links between the events of a bundle, as the page holds them that every bundle carries.

`verify.py` is a page of its own, and imports nothing of this package; this reader calls it, so that both find the same
false. What is shown whole is held to every link once more, by other code (harness.links, through `_rederived`).
"""

from __future__ import annotations

from typing import Any, cast

from ledger.bundle import verify
from ledger.bundle._read import BundleFile
from ledger.bundle._seen import Seen

__all__ = ["hold_links"]


def hold_links(bundle: BundleFile, seen: Seen) -> tuple[list[str], list[str]]:
    """What is false between the events that are shown, and which links aren't held; `seen.weak` is filled in."""
    page: Any = verify
    events = {
        line.seq: page.Event(
            line.seq, line.prev, line.kind, line.run, line.cell, line.causes, line.body_hash, seen.hashes[line.seq], b""
        )
        for line in seen.events.values()
    }

    def read(seq: int, name: str) -> bytes | None:
        file = seen.files.get((seq, name))
        return None if file is None else bundle.whole(file)

    gone = {seq for seq, why in seen.withheld() if why == "redacted"}
    links = page.Links(events, dict(sorted(seen.raw.items())), read, gone)
    links.hold(bundle.about.asked.runs)
    seen.weak = frozenset(cast("set[int]", links.weak))
    return cast("list[str]", links.problems), sorted(cast("set[str]", links.told))
