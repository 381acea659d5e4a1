"""One recorded event held against what is derived in its place, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from harness._errors import UsageError
from harness._replies import Place
from harness._rules import RuleSet
from harness._tally import tally_of
from harness._typed import typed
from harness.parse._usage import as_kept_before
from ledger import KINDS, Draft, Event, Ledger, NotFound, Prepared
from ledger.kinds import Plan, Score, Tally

__all__ = ["Difference", "Recorded", "difference_of", "tally_difference"]

_SHOWN = 300
_NOWHERE = "a" * 16


@dataclass(frozen=True)
class Recorded:
    """A parse, confirm or score event as it stands; `body` is None where it is withheld."""

    seq: int
    kind: str
    cell: int
    causes: tuple[int, ...]
    body: str | None

    @cached_property
    def label(self) -> str:
        """The rule set that it is under, by its own word; empty where it is withheld."""
        if self.body is None:
            return ""
        try:
            return str(cast("dict[str, Any]", json.loads(self.body))["rules"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UsageError(f"event {self.seq} names no rule set; `ledger verify` says more") from None


@dataclass(frozen=True, slots=True)
class Difference:
    """A recorded event that this code derives otherwise. `kind` is its stage: parse, confirm, score, or tally; or cell
    or reuse, for one that has no place in its run.

    `fields` holds (name, as recorded, as derived), the values as JSON text, shortened; cell 0 is the run's own.
    `evidence` is the event that it should follow from, 0 where there is none.
    """

    run: str
    cell: int
    case: str
    kind: str
    rules: str
    seq: int
    fields: tuple[tuple[str, str, str], ...]
    evidence: int = 0

    @property
    def place(self) -> tuple[bool, int, int]:
        """What orders differences: cells first, each in order of its events, then tallies."""
        return self.kind == "tally", self.cell, self.seq

    def sentence(self) -> str:
        """Where it is, and how it differs, field by field."""
        of = f"cell {self.cell}" + (f" ({self.case})" if self.case else "") if self.cell else "the run"
        how = "; ".join(f"{name}: recorded {was}, derived {now}" for name, was, now in self.fields)
        under = f" under {self.rules}" if self.rules else ""
        rests = f", which rests on event {self.evidence}" if self.evidence else ""
        return f"event {self.seq}, the {self.kind} of {of}{under}{rests}: {how}"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "run": self.run, "cell": self.cell, "case": self.case, "stage": self.kind, "rules": self.rules,
            "seq": self.seq,
            "fields": [{"field": name, "recorded": was, "derived": now} for name, was, now in self.fields],
        }  # fmt: skip


def difference_of(
    ledger: Ledger, run: str, event: Recorded, derived: Sequence[Prepared], case: str, label: str
) -> Difference | None:
    """How a recorded event differs from the one of its kind among `derived`; None when it doesn't."""
    there = next((each for each in derived if each.kind == event.kind), None)
    if there is None:
        got = ", ".join(each.kind for each in derived)
        return Difference(run, event.cell, case, event.kind, label, event.seq, (("kind", event.kind, f"only {got}"),))
    assert event.body is not None
    fields = _fields(event.kind, event.body, there.body)
    blobs = _blobs(ledger, event.seq, event.body) if '"blobs":' in event.body else {}
    now = [blob.data for blob in there.blobs]
    if blobs is not None and list(blobs.values()) != now:
        fields = (*fields, ("blobs", _text(blobs.values()), _text(now)))
    return Difference(run, event.cell, case, event.kind, label, event.seq, fields) if fields else None


def _text(blobs: Iterable[bytes]) -> str:
    return _short(json.dumps(b"".join(blobs).decode("utf-8", "replace")))


def _fields(kind: str, recorded: str, derived: str) -> tuple[tuple[str, str, str], ...]:
    if recorded == derived:
        return ()
    # A body of an older release may lack fields that have a default since: by way of the model, both have them. Those
    # that came with a later schema it can't have, and says nothing of.
    was, now = _plain(kind, recorded), _plain(kind, derived)
    if kind == "parse" and was.get("schema") == 1:
        now = {**now, "usage": as_kept_before(now.get("usage"), was.get("usage"))}
    unsaid = {"schema", *typed(KINDS[kind], recorded, f"a {kind}").unsaid()}
    return tuple(
        (name, _short(json.dumps(was.get(name))), _short(json.dumps(now.get(name))))
        for name in dict.fromkeys([*was, *now])
        if name not in unsaid and json.dumps(was.get(name), sort_keys=True) != json.dumps(now.get(name), sort_keys=True)
    )


def _plain(kind: str, text: str) -> Mapping[str, Any]:
    body = typed(KINDS[kind], text, f"a {kind}").model_copy(update={"blobs": {}})
    return cast(
        "Mapping[str, Any]", json.loads(Draft(body, run=_NOWHERE, cell=0 if kind == "tally" else 1).prepared().body)
    )


def _blobs(ledger: Ledger, seq: int, body: str) -> dict[str, bytes] | None:
    """The blobs that a body names; None where one is withheld."""
    try:
        return {name: ledger.blob(seq, name) for name in json.loads(body).get("blobs", {})}
    except NotFound:
        return None


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def tally_difference(
    ledger: Ledger, event: Event, plan: Plan, places: Sequence[Place],
    known: Callable[[str], tuple[RuleSet | None, Sequence[tuple[int, int, str]]]],
    freezes: Collection[tuple[str, int]], only: str | None,
) -> tuple[str, Difference | None] | None:  # fmt: skip
    """A tally counted again, of the scores that stood before it: its rule set's label, and how it differs.

    `known` gives a label's rule set and scores (seq, cell, body), in order of seq within a cell; `freezes` holds every
    label with the freezes of it, for from what a tally names follows whether it is confirmatory. None for a tally that
    is not asked about.
    """
    body = ledger.body(event)
    assert isinstance(body, Tally)
    if only is not None and body.rules != only:
        return None
    rules, scores = known(body.rules)
    if rules is None:
        return body.rules, None
    last: dict[int, str] = {}
    for seq, cell, text in scores:
        if seq < event.seq:
            last[cell] = text
    counted: dict[str, list[Score]] = {each.label: [] for each in plan.candidates}
    for place in places:
        if place.cell in last:
            counted[place.candidate].append(typed(Score, last[place.cell], f"the score of cell {place.cell}"))
    again = tally_of(body.rules, rules.metrics, rules.primary, body.freeze, counted)
    fields = _fields("tally", event.body or "", Draft(again, run=event.run).prepared().body)
    if (body.rules, body.freeze) not in freezes:
        fields = (*fields, ("freeze", str(body.freeze), f"the freeze of {body.rules}"))
    found = Difference(event.run, 0, "", "tally", body.rules, event.seq, fields, body.freeze)
    return body.rules, found if fields else None
