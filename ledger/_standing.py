"""How runs stand: which were superseded and by what, and which rest on something found unsafe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ledger._store import Ledger
from ledger._views import over_views

__all__ = ["Standing", "TaintMark", "runs_set_aside", "standing_of", "standing_of_runs", "standing_scoreboard"]

_SUPERSEDED = over_views("SELECT seq, id, \"by\", category, reason FROM supersessions WHERE in_force AND what = 'run'")
_TAINTED = over_views(
    "SELECT DISTINCT tainted_events.run AS run, taints.seq AS taint, taints.what AS what, taints.id AS id,"
    " taints.reason AS reason FROM tainted_events JOIN taints ON taints.seq = tainted_events.taint"
    " WHERE tainted_events.run <> '' ORDER BY 2"
)
_NUMBERS = over_views("SELECT candidate, rules, taint FROM tainted_numbers WHERE run = ?")
# Rules read what was answered, and change nothing of it: a run whose readings alone are unsafe still has good answers.
_UNSAFE_ANSWERS = over_views(
    "SELECT DISTINCT run FROM tainted_events WHERE run <> ''"
    " AND kind IN ('plan', 'cell', 'request', 'response', 'reuse', 'execute')"
)
_STANDING = over_views("SELECT * FROM standing_scoreboard")
_LEFT_OUT = over_views("SELECT count(*) AS runs FROM runs WHERE superseded")


@dataclass(frozen=True, slots=True)
class TaintMark:
    """A taint in force that a run, or one of its numbers, rests on: the seq of the taint, its target and reason."""

    taint: int
    what: str
    id: str
    reason: str


@dataclass(frozen=True)
class Standing:
    """How one run stands. `superseded` is the seq of the supersession in force, `by` its direct successor.

    `tainted_numbers` lists (candidate, rule set) pairs, where None stands for every one.
    """

    superseded: int | None = None
    by: str | None = None
    category: str = ""
    reason: str = ""
    taints: Sequence[TaintMark] = ()
    tainted_numbers: frozenset[tuple[str | None, str | None]] = frozenset()

    def taints_number(self, candidate: str, rules: str) -> bool:
        """Whether a number of this candidate under this rule set rests on a taint."""
        return any((candidate, rules) == (each[0] or candidate, each[1] or rules) for each in self.tainted_numbers)


def standing_of_runs(ledger: Ledger, *, taints: bool = True) -> Mapping[str, Standing]:
    """How every run stands that was superseded or tainted, by run id; without `tainted_numbers`.

    Without `taints`, only the supersessions are looked up, which is quick.
    """
    marks: dict[str, list[TaintMark]] = {}
    for row in ledger.rows(_TAINTED) if taints else ():
        marks.setdefault(str(row["run"]), []).append(TaintMark(row["taint"], row["what"], row["id"], row["reason"]))
    gone = {str(row["id"]): row for row in ledger.rows(_SUPERSEDED)}
    found: dict[str, Standing] = {}
    for run in {*gone, *marks}:
        row: Mapping[str, Any] = gone.get(run, {})
        found[run] = Standing(
            row.get("seq"), row.get("by"), row.get("category", ""), row.get("reason", ""), tuple(marks.get(run, ()))
        )
    return found


def standing_of(ledger: Ledger, run: str) -> Standing:
    """How one run stands."""
    found = standing_of_runs(ledger).get(run, Standing())
    if not found.taints:
        return found
    numbers = frozenset((row["candidate"], row["rules"]) for row in ledger.rows(_NUMBERS, (run,)))
    return Standing(found.superseded, found.by, found.category, found.reason, found.taints, numbers)


def runs_set_aside(ledger: Ledger) -> Mapping[str, Literal["superseded", "tainted"]]:
    """The runs whose answers are never taken over, and why: superseded, or its answers rest on a taint in force.

    A taint that only reaches how answers were read (a rule set, a parse, a score) leaves them good to take over.
    """
    found: dict[str, Literal["superseded", "tainted"]] = {}
    found.update((str(row["run"]), "tainted") for row in ledger.rows(_UNSAFE_ANSWERS))
    found.update((str(row["id"]), "superseded") for row in ledger.rows(_SUPERSEDED))
    return found


def standing_scoreboard(ledger: Ledger) -> tuple[list[dict[str, Any]], int]:
    """The default scoreboard: the rows of every run that was not superseded, and how many runs that leaves out."""
    (left_out,) = ledger.rows(_LEFT_OUT)
    return ledger.rows(_STANDING), int(left_out["runs"])
