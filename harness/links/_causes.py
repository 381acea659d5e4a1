"""Links of causes: what each kind of event may rest on, and that what is derived under a rule set rests on that one.

One query a run finds the causes that no row of `MAY_REST_ON` allows. A cause is of the event's own cell (`cell`), of
its run as a whole (`run`), of no run (`ledger`), or anything else (`other`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from harness.links._broken import Finder
from ledger import Ledger

__all__ = ["MAY_REST_ON", "check_causes"]

_OWN = ("cell cell", "request cell", "response cell", "reuse cell", "import cell", "fault cell")
MAY_REST_ON: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "plan": ("freeze ledger", "lookup run"),
    # A judge's cell is caused by the answers that it grades.
    "cell": ("plan run", "response other", "reuse other", "import other"),
    "request": ("cell cell",),
    "response": ("request cell",),
    "fault": (*_OWN, "freeze ledger"),
    "wait": ("request cell", "response cell", "fault cell"),
    "reuse": ("cell cell", "response other"),
    "parse": ("freeze ledger", "response cell", "reuse cell", "import cell"),
    "confirm": ("parse cell",),
    # A joined score rests on a judge's, of the judge's run.
    "score": (*_OWN, "parse cell", "confirm cell", "freeze ledger", "score other"),
    "tally": ("freeze ledger", "plan run", "tally other"),
    "close": ("plan run", "tally run"),
    "accept": ("plan run", "resume run"),
    "resume": ("plan run", "close run", "lookup run"),
})  # fmt: skip
"""By kind: what its causes may be, as kind and place. Kinds that aren't here may rest on anything."""

_STRANGE = (
    "SELECT effect.seq, effect.kind, effect.cell, cause.seq, cause.kind || CASE WHEN cause.run = '' THEN ' of no run'"
    " WHEN cause.run <> effect.run THEN ' of run ' || cause.run WHEN cause.cell <> effect.cell"
    " THEN ' of cell ' || cause.cell ELSE '' END"
    " FROM main.events AS effect CROSS JOIN json_each(effect.causes) AS each"
    " CROSS JOIN main.events AS cause ON cause.seq = each.value"
    " WHERE effect.run = ?1 AND effect.kind IN (SELECT key FROM json_each(?2)) AND NOT EXISTS ("
    " SELECT 1 FROM json_each(?2, '$.' || effect.kind) AS allowed WHERE allowed.value = cause.kind || CASE"
    " WHEN cause.run = '' THEN ' ledger' WHEN cause.run <> effect.run THEN ' other' WHEN cause.cell = 0 THEN ' run'"
    " WHEN cause.cell = effect.cell THEN ' cell' ELSE ' other' END) ORDER BY effect.seq, cause.seq"
)
_UNDER = (
    "SELECT effect.seq, effect.cell, effect.body ->> '$.rules', cause.seq, CASE cause.kind WHEN 'freeze'"
    " THEN (cause.body ->> '$.name') || '@' || substr(cause.body ->> '$.identity', 1, 12)"
    " ELSE cause.body ->> '$.rules' END AS under"
    " FROM main.events AS effect CROSS JOIN json_each(effect.causes) AS each"
    " CROSS JOIN main.events AS cause ON cause.seq = each.value"
    " WHERE effect.run = ?1 AND effect.kind IN ('parse', 'confirm', 'score') AND effect.body IS NOT NULL"
    " AND cause.body IS NOT NULL AND (cause.kind = 'freeze' OR (cause.kind IN ('parse', 'confirm')"
    " AND cause.run = effect.run)) AND under IS NOT effect.body ->> '$.rules' ORDER BY effect.seq, cause.seq"
)


def check_causes(ledger: Ledger, run: str, finder: Finder, *, judged: bool) -> None:
    """Hold the causes of every event of a run. `judged` says that it is a judge's, whose cells rest on answers."""
    allowed = {kind: list(may) for kind, may in MAY_REST_ON.items()}
    if not judged:
        allowed["cell"] = ["plan run"]
    for seq, kind, cell, cause, what in ledger.sql(_STRANGE, (run, json.dumps(allowed))):
        finder.broken(f"{kind}.causes", seq, "cause", what, cause, " or ".join(allowed[kind]), cell=cell)
    for seq, cell, said, cause, under in ledger.sql(_UNDER, (run,)):
        finder.broken("derived.rules", seq, "rules", said, cause, under, cell=cell)
