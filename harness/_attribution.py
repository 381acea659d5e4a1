"""Why a cell came out otherwise under another rule set: the stages that made the difference, in their order, and the
switches of the two rule files behind each.

A switch is one entry of a file: a leniency of [read], a clause of [confirm], and of [score] and [unmeasured] the
policy, the metrics, the primary and what else the suite reads there; another scorer is one switch, `scorer`, whatever
options it has. Where a switch of [score] says where the answer stands, it is behind a difference of parsing, and is
called score.NAME there. The smallest set of them that turns the one result into the other is looked for by
deriving anew, with the code that is here; where no set of them does, the code itself moved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

from harness._derive import Reply, derive, derive_read, read_and_check, unmeasured_score
from harness._replies import Place, seqs_in
from harness._rules import RuleSet
from harness._suite import Ask, Case
from harness._typed import typed
from harness.parse import ReadRules
from harness.suites import Stages
from ledger import Ledger, NotFound
from ledger.kinds import Confirm, Parse, Score

__all__ = ["Held", "Redo", "Stand", "first_difference", "stand_derived", "stands_recorded"]

_DERIVED = (
    "SELECT event.seq, event.kind, event.cell, event.causes, event.body FROM json_each(?2) AS wanted"
    " CROSS JOIN main.events AS event ON event.run = ?1"
    " AND event.kind IN ('parse', 'confirm', 'score', 'fault') AND event.cell = wanted.value ORDER BY event.seq"
)
_OWN = "score."
"""Ahead of a [score] switch that is behind a difference of an earlier stage."""
_MOST_TOGETHER = 2
_MOST_TRIED = 100


@dataclass(frozen=True, slots=True)
class Held:
    """What a parse event holds of a reading. `value` is None, too, where it is withheld."""

    status: str
    reason: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Stand:
    """What stands of a cell under a rule set, and the evidence that it rests on.

    `parse` and `confirm` (its findings, as JSON) are None where there is none; `failed` says that our own code gave up.
    """

    evidence: int
    parse: Held | None
    confirm: str | None
    score: Score
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Redo:
    """What deriving a cell anew takes; `reply` is None for one that there is nothing to read for."""

    reply: Reply | None
    ask: Ask
    stages: Stages
    case: Case


class _Event(NamedTuple):
    seq: int
    kind: str
    causes: tuple[int, ...]
    body: str | None


# What stands


def stands_recorded(
    ledger: Ledger, run: str, cells: Sequence[int], labels: Collection[str], freezes: Collection[int]
) -> dict[tuple[int, str], Stand]:
    """The last score of each cell under each rule set, with the parse and confirm events that it rests on.

    `freezes` are the seqs of the ledger's freezes: a cause that is one of them is no evidence.
    """
    events: dict[int, _Event] = {}
    last: dict[tuple[int, str], tuple[_Event, Score]] = {}
    for seq, kind, cell, causes, body in ledger.sql(_DERIVED, (run, json.dumps(list(cells)))):
        event = events[seq] = _Event(seq, kind, seqs_in(causes), body)
        if kind == "score":
            score = typed(Score, body, f"event {seq}")
            if score.rules in labels:
                last[cell, score.rules] = (event, score)
    return {place: _chain(ledger, events, event, score, freezes) for place, (event, score) in last.items()}


def _chain(
    ledger: Ledger, events: Mapping[int, _Event], event: _Event, score: Score, freezes: Collection[int]
) -> Stand:
    parse: Held | None = None
    confirm: str | None = None
    failed = False
    at = event
    # Causes are smaller than their effect, so this ends.
    while True:
        last = max((cause for cause in at.causes if cause not in freezes and cause < at.seq), default=0)
        following = events.get(last)
        if following is not None and following.kind == "confirm":
            body = None if following.body is None else typed(Confirm, following.body, f"event {last}")
            confirm = _plain(body.findings) if body is not None else "withheld"
        elif following is not None and following.kind == "parse":
            parse = _held(ledger, following)
        elif following is not None and following.kind == "fault" and any(each in freezes for each in following.causes):
            failed = True
        else:
            return Stand(last, parse, confirm, score, failed)
        at = following


def _held(ledger: Ledger, event: _Event) -> Held:
    if event.body is None:
        return Held("withheld", "", None)
    body = typed(Parse, event.body, f"event {event.seq}")
    value = body.value
    if "value" in body.blobs:
        try:
            value = ledger.blob(event.seq, "value").decode("utf-8", "surrogatepass")
        except NotFound:
            value = None
    return Held(body.status, body.reason, value)


def stand_derived(place: Place, redo: Redo, rules: RuleSet) -> Stand:
    """What a cell comes to under a rule set, derived and not recorded."""
    if redo.reply is None:
        how_far = "fate_unknown" if place.state == "open" else "not_asked"
        score = unmeasured_score(
            rules, redo.stages, redo.case, status=how_far, stage="harness", reason=how_far, domain="harness"
        )
        return Stand(place.planned, None, None, score)
    derived = derive(redo.reply, ask=redo.ask, stages=redo.stages, case=redo.case, rules=rules)
    parse = derived.parse and Held(derived.parse.status, derived.parse.reason, derived.reading.value)
    confirm = _plain(derived.confirm.findings) if derived.confirm else None
    return Stand(place.evidence, parse, confirm, derived.score)


def _plain(findings: Sequence[Any]) -> str:
    return json.dumps(findings, sort_keys=True)


# Where two part


def first_difference(
    before: Stand | None, after: Stand | None, old: RuleSet | None, new: RuleSet | None, redo: Redo | None
) -> str:
    """The stage at which two stands of a cell part, and the switches that make it so; then every later stage without
    whose switches the figures would be others. See `Flip.stage`."""
    if before is None or after is None:
        return "evidence: not scored"
    if "withheld" in (before.score.reason, after.score.reason):
        return "evidence: withheld"
    if before.failed or after.failed:
        return "deriving: code"
    if before.evidence != after.evidence:
        return "evidence: another reply"
    stage, switches = "score", _score_switches
    if before.parse != after.parse:
        stage, switches = "parse", _parse_switches
    elif before.confirm != after.confirm:
        stage, switches = "confirm", _confirm_switches
    if old is None or new is None or redo is None:
        return stage
    first = f"{stage}: {switches(after, old, new, redo)}"
    return ", then ".join([first, *_later(stage, after, old, new, redo)])


def _later(stage: str, after: Stand, old: RuleSet, new: RuleSet, redo: Redo) -> list[str]:
    """The stages after the first that moved the figures further, each with its switches."""
    names = {metric.name for metric in old.metrics} & {metric.name for metric in new.metrics}
    reply = redo.reply

    def figures(rules: RuleSet) -> object:
        if reply is None:
            return None
        score = derive(reply, ask=redo.ask, stages=redo.stages, case=redo.case, rules=rules).score
        return score.outcome, score.value, {name: score.metrics.get(name) for name in names}

    found: list[str] = []
    try:
        wanted, mixed = figures(new), replace(old, read=new.read)
        if stage == "parse":
            mixed = _with_own(mixed, new, _own_chosen(_parse_switches(after, old, new, redo)))
        if stage == "parse" and figures(mixed) != wanted:
            confirmed = replace(mixed, confirm=new.confirm)
            if figures(confirmed) != figures(mixed):
                found.append(f"confirm: {_confirm_switches(after, mixed, new, redo)}")
            mixed = confirmed
        elif stage == "confirm":
            mixed = replace(mixed, confirm=new.confirm)
            mixed = _with_own(mixed, new, _own_chosen(_confirm_switches(after, old, new, redo)))
        if stage != "score" and figures(mixed) != wanted:
            found.append(f"score: {_score_switches(after, mixed, new, redo)}")
    except Exception:  # noqa: BLE001  our own code may fail on a reply; the first stage is what can be said then
        return []
    return found


def _parse_switches(after: Stand, old: RuleSet, new: RuleSet, redo: Redo) -> str:
    reply = redo.reply
    if reply is None:
        return "code"
    names = [each.name for each in fields(ReadRules) if getattr(old.read, each.name) != getattr(new.read, each.name)]
    # Where no answer is taken out of what was read, [score] has no part in it.
    own = [_OWN + name for name in _own_moved(old, new)] if redo.stages.answer is not None else []

    def makes_it(chosen: Sequence[str]) -> bool:
        rules = replace(old.read, **{name: getattr(new.read, name) for name in chosen if name in names})
        read = read_and_check(reply, ask=redo.ask, stages=redo.stages, rules=rules)
        if redo.stages.answer is None:
            return Held(read.status, read.reason, read.reading.value) == after.parse
        mixed = _with_own(replace(old, read=rules), new, [name.removeprefix(_OWN) for name in chosen if name in own])
        derived = derive_read(read, stages=redo.stages, case=redo.case, rules=mixed)
        parse = derived.parse
        return parse is not None and Held(parse.status, parse.reason, derived.reading.value) == after.parse

    return _smallest([*names, *own], makes_it, same_code=old.sources == new.sources)


def _confirm_switches(after: Stand, old: RuleSet, new: RuleSet, redo: Redo) -> str:
    reply = redo.reply
    if reply is None:
        return "code"
    read = read_and_check(reply, ask=redo.ask, stages=redo.stages, rules=new.read)
    if read.status != "parsed":
        return "code"
    absent = object()
    keys = dict.fromkeys([*old.confirm, *new.confirm])
    names = [name for name in keys if old.confirm.get(name, absent) != new.confirm.get(name, absent)]
    own = [_OWN + name for name in _own_moved(old, new)] if redo.stages.answer is not None else []

    def makes_it(chosen: Sequence[str]) -> bool:
        table = MappingProxyType({name: (new if name in chosen else old).confirm[name] for name in keys})
        if redo.stages.answer is None:
            return _plain(redo.stages.confirm(read.value, redo.case.input, table).findings) == after.confirm
        mixed = _with_own(
            replace(old, read=new.read, confirm=table), new, [name.removeprefix(_OWN) for name in chosen if name in own]
        )
        confirmed = derive_read(read, stages=redo.stages, case=redo.case, rules=mixed).confirm
        return confirmed is not None and _plain(confirmed.findings) == after.confirm

    return _smallest([*names, *own], makes_it, same_code=old.sources == new.sources)


def _score_switches(after: Stand, old: RuleSet, new: RuleSet, redo: Redo) -> str:
    own = _own_moved(old, new)
    # A scorer brings its metrics, and the primary that goes with them.
    brought = {"scorer": ("primary", "metrics")}.get(own[0], ("metrics",)) if own else ()
    names = [
        name
        for name in ("policy", "primary", "metrics")
        if name not in brought and getattr(old, name) != getattr(new, name)
    ]
    wanted = _figures(after.score)
    # What both say of the reply is the same by now, so either reading serves.
    read = read_and_check(redo.reply, ask=redo.ask, stages=redo.stages, rules=new.read) if redo.reply else None

    def makes_it(chosen: Sequence[str]) -> bool:
        rules = _with_own(old, new, [name for name in chosen if name in own])
        rules = _rebuilt(replace(rules, **{name: getattr(new, name) for name in chosen if name in names}))
        if not set(rules.primary.values()) <= {metric.name for metric in rules.metrics}:
            return False
        if read is not None:
            return _figures(derive_read(read, stages=redo.stages, case=redo.case, rules=rules).score) == wanted
        score = after.score
        named = {"status": score.status, "stage": score.stage, "reason": score.reason, "domain": score.domain}
        return _figures(unmeasured_score(rules, redo.stages, redo.case, **named)) == wanted

    return _smallest([*names, *own], makes_it, same_code=old.sources == new.sources)


# What a suite reads of [score] for itself


def _own(rules: RuleSet) -> dict[str, Any]:
    return {name: value for name, value in rules.score.items() if name not in ("primary", "metrics")}


def _own_moved(old: RuleSet, new: RuleSet) -> list[str]:
    """The suite's own switches of [score] that differ; where the scorers do, that alone: their options are theirs."""
    before, after = _own(old), _own(new)
    if before.get("scorer") != after.get("scorer") or before.keys() != after.keys():
        return ["scorer"]
    return [name for name in after if before[name] != after[name]]


def _own_chosen(switches: str) -> list[str]:
    """The [score] switches among those that a stage before scoring is put down to."""
    return [name.removeprefix(_OWN) for name in switches.split(" + ") if name.startswith(_OWN)]


def _with_own(base: RuleSet, new: RuleSet, chosen: Sequence[str]) -> RuleSet:
    """`base` with some of the suite's own switches as `new` has them, and the metrics that they bring."""
    if not chosen:
        return base
    after = _own(new)
    if "scorer" in chosen:
        return _rebuilt(replace(base, metrics=new.metrics, primary=new.primary), after)
    kept = set(base.primary.values()) <= {metric.name for metric in new.metrics}
    mixed = replace(base, metrics=new.metrics, primary=base.primary if kept else new.primary)
    return _rebuilt(mixed, {**_own(base), **{name: after[name] for name in chosen}})


def _rebuilt(rules: RuleSet, own: Mapping[str, Any] | None = None) -> RuleSet:
    """A rule set whose `score`, which its stages take, says what its fields say."""
    kinds = MappingProxyType({metric.name: metric.kind for metric in rules.metrics})
    table = {**(_own(rules) if own is None else own), "primary": rules.primary, "metrics": kinds}
    return replace(rules, score=MappingProxyType(table))


def _figures(score: Score) -> tuple[object, ...]:
    return score.outcome, score.value, dict(score.metrics), score.policy


def _smallest(names: Sequence[str], makes_it: Callable[[Sequence[str]], bool], *, same_code: bool) -> str:
    """The smallest set of switches that makes the difference, joined; "code" where none is needed, or none does.

    Where both rule sets have the `same_code`, it can't be that none is needed, and that isn't tried.

    Small sets are tried one by one; past them the whole set is thinned, switch by switch, as far as it still does.
    """

    def does(chosen: Sequence[str]) -> bool:
        try:
            return makes_it(chosen)
        except Exception:  # noqa: BLE001  our own code may fail on a reply; a set that fails makes no difference
            return False

    if not names or (not same_code and does(())):
        return "code"
    tried = 0
    for count in range(1, min(_MOST_TOGETHER, len(names)) + 1):
        for chosen in combinations(names, count):
            tried += 1
            if tried > _MOST_TRIED:
                break
            if does(chosen):
                return " + ".join(chosen)
    chosen = list(names)
    if not does(chosen):
        return "code"
    for name in names:
        fewer = [each for each in chosen if each != name]
        if does(fewer):
            chosen = fewer
    return " + ".join(chosen)
