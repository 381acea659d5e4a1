"""Links of what people say of other events: what is corrected, published, superseded, tainted and cleared is there.

A candidate, a model and a harness version can be named before any event has them, so those targets aren't held.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness._replies import seqs_in
from harness.links._broken import Finder
from ledger import BadBody, Ledger, NotFound
from ledger.kinds import Clear, Publish, Report, Supersede, Taint, Target

__all__ = ["check_said"]

_SAID = (
    "SELECT seq, causes FROM main.events WHERE kind IN ('supersede', 'taint', 'clear', 'publish', 'report')"
    " AND body IS NOT NULL ORDER BY seq"
)
_KIND = "SELECT kind FROM main.events WHERE seq = ?"
_STANDS = "SELECT kind, run FROM main.events WHERE seq = ?"
_PLAN = "SELECT seq FROM main.events WHERE run = ? AND kind = 'plan' ORDER BY seq LIMIT 1"
_OWNERS = "SELECT seq FROM main.blobs WHERE hash = ?"
_OF_KIND = {"freeze": "freeze", "report": "report", "supersession": "supersede"}


def check_said(ledger: Ledger, finder: Finder) -> None:
    """Hold every such event of the ledger. Raises LedgerError."""
    for seq, text in ledger.sql(_SAID).fetchall():
        causes = seqs_in(text)
        try:
            body = ledger.body(seq)
        except (NotFound, BadBody):
            continue
        if isinstance(body, Clear):
            _event(ledger, finder, "clear.taint", seq, body.taint, "taint")
        elif isinstance(body, Publish):
            _event(ledger, finder, "publish.report", seq, body.report, "report")
        elif isinstance(body, Report) and body.corrects is not None:
            _event(ledger, finder, "report.corrects", seq, body.corrects, "report")
        elif isinstance(body, Taint):
            _target(ledger, finder, "taint.target", seq, body.target, causes, min(causes, default=0))
        elif isinstance(body, Supersede):
            _target(ledger, finder, "supersede.target", seq, body.target, causes, min(causes, default=0))
            if body.by is not None:
                _target(ledger, finder, "supersede.by", seq, body.by, causes, max(causes, default=0))


def _event(ledger: Ledger, finder: Finder, link: str, seq: int, named: int, kind: str) -> None:
    row = ledger.sql(_KIND, (named,)).fetchone() if named < seq else None
    if row is None or row[0] != kind:
        what = "nothing before it" if row is None else f"a {row[0]}"
        finder.broken(link, seq, link.partition(".")[2], f"event {named}, {what}", named, f"a {kind} before it")


def _target(
    ledger: Ledger, finder: Finder, link: str, seq: int, target: Target, causes: Sequence[int], rests: int
) -> None:  # fmt: skip
    if target.what in ("event", *_OF_KIND):
        kind = _OF_KIND.get(target.what)
        row = ledger.sql(_KIND, (int(target.id),)).fetchone() if target.id.isdecimal() else None
        stands = [int(target.id)] if row is not None and kind in (None, row[0]) else []
    elif target.what == "run":
        stands = [at for (at,) in ledger.sql(_PLAN, (target.id,))]
    elif target.what == "blob":
        stands = [at for (at,) in ledger.sql(_OWNERS, (target.id,))]
    else:
        return
    place = link.partition(".")[2]
    if not stands:
        finder.broken(link, seq, place, f"{target.what}:{target.id}", rests, "something that is there")
        return
    for cause in causes if link == "taint.target" and target.what == "run" else ():
        # Supersessions of old releases have no causes, so only a finding is held to the run that it rests on.
        (kind, run) = ledger.sql(_STANDS, (cause,)).fetchone() or ("", "")
        if kind == "plan" and run != target.id:
            finder.broken(link, seq, place, f"run:{target.id}", cause, f"run:{run}")
