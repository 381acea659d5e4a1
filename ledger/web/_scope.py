"""What belongs to the files of one run: its own events, what they stand on, and what was said of it since."""

from __future__ import annotations

from dataclasses import dataclass

from ledger._errors import NotFound
from ledger._runs import find_run
from ledger._store import Ledger
from ledger.web._queries import query

__all__ = ["Scope", "scope_of"]

_CELLS = "SELECT cell FROM main.events WHERE run = ? AND kind = 'cell' ORDER BY cell"


@dataclass(frozen=True)
class Scope:
    """One run, the events whose pages go with it, its cells, and the report that is asked for, if one is."""

    run: str
    events: frozenset[int]
    cells: tuple[int, ...]
    report: int | None


def scope_of(ledger: Ledger, run: str | None, report: int | None) -> Scope:
    """The scope of a run (by id, its start, name or latest), or of the run that a report speaks of. Raises NotFound."""
    if report is not None:
        found = ledger.rows(
            "SELECT kind, body ->> '$.run' AS run FROM main.events WHERE seq = ?", (report,)
        )  # fmt: skip
        if not found or found[0]["kind"] != "report":
            raise NotFound(f"event {report} is no report; `ledger log --kind report` lists them")
        if not found[0]["run"]:
            raise NotFound(f"event {report} speaks of no single run, or its body is withheld; name a run with --run")
        subject = str(found[0]["run"])
    else:
        subject = find_run(ledger, run or "latest")
    events = {int(row["seq"]) for row in ledger.rows(query("scope"), {"run": subject})}
    if report is not None:
        events.add(report)
    cells = tuple(int(row["cell"]) for row in ledger.rows(_CELLS, (subject,)))
    return Scope(subject, frozenset(events), cells, report)
