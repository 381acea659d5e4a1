"""Where else a redaction's text may stand because a judge was shown it: in the requests and replies of the judge's run,
and among the frozen cases that it was asked about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ledger._look import blob_names
from ledger._redact_targets import Targets
from ledger._resting import Resting
from ledger._store import Ledger

__all__ = ["ShownTo", "shown_to"]

_JUDGES = (
    "SELECT plan.run AS run, fixture.value ->> '$.freeze' AS freeze, (SELECT group_concat(blobs.hash) FROM main.blobs"
    " WHERE blobs.seq = fixture.value ->> '$.freeze' AND blobs.data IS NOT NULL"
    " AND blobs.hash NOT IN (SELECT value FROM json_each(?2))) AS left FROM main.events AS plan"
    " CROSS JOIN json_each(plan.body, '$.fixtures') AS fixture WHERE plan.kind = 'plan'"
    " AND json_array_length(plan.body, '$.grades') > 0 AND plan.run IN (SELECT value FROM json_each(?1))"
    " ORDER BY plan.seq"
)
_ASKED = frozenset({"request", "response", "parse"})
_MOST = 15


@dataclass(frozen=True)
class ShownTo:
    """A judge's run that was shown what is withheld: those of its cells, the freeze of its cases, and which blobs of
    that can still be read."""

    run: str
    cells: Sequence[int]
    freeze: int
    blobs: Sequence[str]

    @property
    def readable(self) -> str:
        """What may hold the text, in words."""
        shown = ", ".join(map(str, self.cells[:_MOST])) + (", …" if len(self.cells) > _MOST else "")
        said = f"run {self.run}, a judge's: what it was sent and replied in cells {shown}" if shown else ""
        cases = f"its frozen cases (event {self.freeze}: {' and '.join(self.blobs)})" if self.blobs else ""
        return f"{said}, and {cases}" if said and cases else said or f"run {self.run}, a judge's: {cases}"

    @property
    def advice(self) -> Iterator[str]:
        """The commands that withhold it there as well."""
        if self.blobs:
            names = " ".join(f"--blob {name}" for name in self.blobs)
            yield (
                f"`ledger redact {self.freeze} {names}` withholds the cases that the judge's run {self.run} was asked"
                " about, all of them; it can't be read under other rules then"
            )
        for cell in self.cells[:_MOST]:
            yield f"`ledger redact --run {self.run} --cell {cell}` withholds what the judge was sent and replied there"
        if len(self.cells) > _MOST:
            yield f"and so for {len(self.cells) - _MOST} more cells of run {self.run}"


def shown_to(ledger: Ledger, targets: Targets, resting: Sequence[Resting]) -> list[ShownTo]:
    """The judges' runs that rest on what `targets` name, oldest first, as far as anything there can still be read."""
    rests: dict[str, set[int]] = {}
    open_: dict[str, set[int]] = {}
    for each in resting:
        rests.setdefault(each.run, set()).add(each.cell)
        if each.kind in _ASKED and not each.withheld and each.seq not in targets.bodies:
            open_.setdefault(each.run, set()).add(each.cell)
    hashes = json.dumps([blob.hash for blob in targets.blobs])
    found: list[ShownTo] = []
    for row in ledger.rows(_JUDGES, (json.dumps(sorted(rests)), hashes)):
        names = blob_names(ledger.event(row["freeze"]))
        left = sorted(names[each] for each in (row["left"] or "").split(",") if each in names)
        cells = sorted(open_.get(row["run"], ()))
        if left or cells:
            found.append(ShownTo(row["run"], cells, row["freeze"], left))
    return found
