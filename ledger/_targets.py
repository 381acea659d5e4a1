"""What a person calls a target, and which one it is: an event, a blob, a run, a freeze, a report, and so on.

`WHAT:NAME` says which kind of thing is meant (`model:llama3.2`). A bare name is looked for among all kinds, and refused
when more than one fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from ledger._errors import NotFound
from ledger._runs import fitting_runs
from ledger._store import Ledger
from ledger._views import over_views
from ledger.kinds import Target, TargetKind

__all__ = ["EVERY_WHAT", "REPLACEABLE", "Found", "find_target"]

EVERY_WHAT: tuple[TargetKind, ...] = get_args(TargetKind)
REPLACEABLE: tuple[TargetKind, ...] = ("run", "freeze", "report", "supersession")
"""What a supersession can speak of."""

_OWN_NAMES: dict[str, TargetKind] = {"freeze": "freeze", "report": "report", "supersede": "supersession"}
_KIND_OF: dict[str, str] = {what: kind for kind, what in _OWN_NAMES.items()}
_SEQ = re.compile(r"[1-9][0-9]{0,15}")
_HASH_START = 8
"""From so many digits on, the start of a hash may be meant."""
_HEX = re.compile(r"[0-9a-f]{8,64}")

_EVENTS = "SELECT seq, kind FROM main.events WHERE substr(hash, 1, length(:name)) = :name ORDER BY seq LIMIT 9"
_BLOBS = "SELECT hash AS id, seq FROM main.blobs WHERE hash >= :name AND hash < :name || 'g' ORDER BY id LIMIT 9"
_FREEZES = (
    "SELECT seq FROM main.events WHERE kind = 'freeze' AND (:name IN (body ->> '$.name',"
    " (body ->> '$.name') || '@' || substr(body ->> '$.identity', 1, 12))"
    " OR (:hex AND :name IN (substr(body ->> '$.digest', 1, length(:name)),"
    " substr(body ->> '$.identity', 1, length(:name))))) ORDER BY seq"
)
_REPORTS = (
    "SELECT seq FROM main.events WHERE kind = 'report' AND :hex"
    " AND substr(body ->> '$.digest', 1, length(:name)) = :name ORDER BY seq"
)
_RULES = over_views(
    "SELECT DISTINCT label AS id FROM (SELECT rules AS label FROM run_rules UNION SELECT (body ->> '$.name') || '@' ||"
    " substr(body ->> '$.identity', 1, 12) FROM main.events WHERE kind = 'freeze' AND body ->> '$.what' = 'rules')"
    " WHERE label = :name OR substr(label, 1, length(:name) + 1) = :name || '@' ORDER BY label <> :name, label"
)
_CANDIDATES = (
    "SELECT DISTINCT CASE WHEN each.value ->> '$.label' = :name THEN :name ELSE each.value ->> '$.digest' END AS id"
    " FROM main.events AS plan CROSS JOIN json_each(plan.body, '$.candidates') AS each WHERE plan.kind = 'plan' AND"
    " (each.value ->> '$.label' = :name OR (:hex AND substr(each.value ->> '$.digest', 1, length(:name)) = :name))"
)
_MODELS = "SELECT :name AS id FROM main.events WHERE kind = 'parse' AND body ->> '$.model' = :name LIMIT 1"
_CODE = (
    "SELECT DISTINCT id FROM (SELECT body ->> '$.environment.eval-ledger' AS id, 0 AS digest FROM main.events"
    " WHERE kind = 'plan' UNION ALL SELECT each.value, 1 FROM main.events AS plan"
    " CROSS JOIN json_each(plan.body, '$.code') AS each WHERE plan.kind = 'plan')"
    " WHERE id = :name OR (digest AND :hex AND substr(id, 1, length(:name)) = :name)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A target, and the events that stand for it in the lineage graph (none for a label, a model, a version)."""

    target: Target
    events: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.target.what}:{self.target.id}"


def _by_event(seq: int, kind: str) -> Found:
    return Found(Target(what=_OWN_NAMES.get(kind, "event"), id=str(seq)), (seq,))


def _is_seq(ledger: Ledger, name: str) -> bool:
    """Whether a name is an event's number. The start of a hash may be digits alone: past the head it is that."""
    return _SEQ.fullmatch(name) is not None and (len(name) < _HASH_START or int(name) <= ledger.head()[0])


def _event(ledger: Ledger, name: str, values: dict[str, Any], what: str) -> list[Found]:
    kind = _KIND_OF.get(what)
    if _is_seq(ledger, name):
        rows = ledger.rows("SELECT seq, kind FROM main.events WHERE seq = ?", (int(name),))
    elif values["hex"]:
        rows = ledger.rows(_EVENTS, values)
    else:
        rows = []
    found = [_by_event(int(row["seq"]), str(row["kind"])) for row in rows if kind in (None, row["kind"])]
    if kind in ("freeze", "report"):
        rows = ledger.rows(_FREEZES if kind == "freeze" else _REPORTS, values)
        found += [_by_event(int(row["seq"]), kind) for row in rows]
    return found


def _blob(ledger: Ledger, name: str, values: dict[str, Any], what: str) -> list[Found]:
    rows = ledger.rows(_BLOBS, values) if values["hex"] else []
    return [Found(Target(what="blob", id=str(row["id"])), (int(row["seq"]),)) for row in rows]


def _run(ledger: Ledger, name: str, values: dict[str, Any], what: str) -> list[Found]:
    found: list[Found] = []
    for run in fitting_runs(ledger, name)[:9]:
        (plan,) = ledger.rows("SELECT seq FROM main.events WHERE run = ? AND kind = 'plan'", (run,))
        found.append(Found(Target(what="run", id=run), (int(plan["seq"]),)))
    return found


def _rules(ledger: Ledger, name: str, values: dict[str, Any], what: str) -> list[Found]:
    labels = [str(row["id"]) for row in ledger.rows(_RULES, values)]
    found: list[Found] = []
    for label in [name] if name in labels else labels:
        rows = ledger.rows(_FREEZES, {"name": label, "hex": False})
        found.append(Found(Target(what="rules", id=label), tuple(int(row["seq"]) for row in rows)))
    return found


def _labelled(query: str) -> Callable[[Ledger, str, dict[str, Any], TargetKind], list[Found]]:
    def find(ledger: Ledger, name: str, values: dict[str, Any], what: TargetKind) -> list[Found]:
        return [Found(Target(what=what, id=str(row["id"]))) for row in ledger.rows(query, values)]

    return find


_FINDERS: dict[TargetKind, Callable[[Ledger, str, dict[str, Any], Any], list[Found]]] = {
    "event": _event,
    "blob": _blob,
    "run": _run,
    "freeze": _event,
    "report": _event,
    "supersession": _event,
    "rules": _rules,
    "candidate": _labelled(_CANDIDATES),
    "model": _labelled(_MODELS),
    "harness": _labelled(_CODE),
}


def _look(ledger: Ledger, what: TargetKind, name: str) -> list[Found]:
    values = {"name": name, "hex": _HEX.fullmatch(name) is not None}
    found = _FINDERS[what](ledger, name, values, what)
    return list({str(each): each for each in found}.values())


def find_target(ledger: Ledger, wanted: str, among: Sequence[TargetKind] = EVERY_WHAT) -> Found:
    """The target that `wanted` names, out of the kinds `among`. Raises NotFound, also when more than one fits."""
    said, colon, rest = wanted.partition(":")
    if colon and said in EVERY_WHAT:
        if said not in among:
            raise NotFound(f"expected {_listed(among)}, got {wanted!r}")
        found = _look(ledger, said, rest)
        if not found:
            raise NotFound(f"{ledger.path} holds no {said} {rest!r}")
    else:
        found = _bare(ledger, wanted, among)
    if len(found) > 1:
        shown = ", ".join(map(str, found[:8])) + (", …" if len(found) > 8 else "")
        raise NotFound(f"{wanted!r} fits more than one target ({shown}); say which")
    return found[0]


def _bare(ledger: Ledger, wanted: str, among: Sequence[TargetKind]) -> list[Found]:
    if _is_seq(ledger, wanted):
        found = _look(ledger, "event", wanted)
        if not found:
            raise NotFound(f"there is no event {wanted}; the head is {ledger.head()[0]}")
        if found[0].target.what in among:
            return found
        event = ledger.event(int(wanted))
        more = f"; its run is run:{event.run}" if event.run and "run" in among else ""
        raise NotFound(f"expected {_listed(among)}; event {wanted} is a {event.kind}{more}")
    named: dict[str, Found] = {}
    # What only one thing can be called comes first: a run's whole id needs no search through every parse.
    for what in sorted(among, key=lambda each: each != "run"):
        named.update((str(each), each) for each in _look(ledger, what, wanted))
        if what == "run" and f"run:{wanted}" in named:
            break
    # A rule set's label names its freeze too; where both may be meant, the rule set is: everything read under it.
    rules = {seq for each in named.values() if each.target.what == "rules" for seq in each.events}
    kept = [each for each in named.values() if not (each.target.what == "freeze" and set(each.events) <= rules)]
    if not kept:
        raise NotFound(f"nothing in {ledger.path} is called {wanted!r}; expected {_listed(among)}")
    return kept


def _listed(among: Sequence[TargetKind]) -> str:
    return "one of " + ", ".join(f"{what}:…" for what in among)
