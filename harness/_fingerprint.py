"""Two fingerprints of a number's surroundings, so that two numbers can be told to mean the same, or not.

`comparable` covers all that decides what a score means beside the candidate:

    suite       the suite's name: it is part of every cell's identity
    ask         the shape that was asked for
    cases       every case of the frozen fixtures: digest of its input, its twin, digest of its gold; in no order
    arms        the conditions that were measured
    epochs      how often each case was asked
    rules       the digest of the rule file: reading, confirming, metrics, the policy for the unmeasured, bars; of a
                judge's grades, whose they are and whether it was shown the gold, but not in which run of it
    code        the digests of the sources that carry the rule set out, by module

No label is in it: not a fixture's name, a case's id, a rule set's name, or a run's. Neither is how many of the cases
were planned (`--limit`, `--filter`): what is missing is listed, not another experiment. Code that moved is settled by
behaviour: see `harness._compare`.

`identical` covers that and everything else that went in: candidate (label and digest, which covers protocol, model,
parameters, prompt and turn logic), the models that the server resolved, what it told of itself, its address, the
environment, both packages' code, what a person accepted on the way, by which way the answers came, and how many cells
were planned.

Each is a digest keyed with the ledger's identity key (`harness._identity`) over its components and its version; so the
fingerprints of two ledgers are never equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness._errors import UsageError
from harness._identity import file_digest, twins, value_digest
from harness._judged import without_run
from harness._moved import read_frozen_cases
from ledger import Ledger, NotFound, over_views
from ledger.kinds import Freeze, Plan

__all__ = [
    "FINGERPRINT_VERSION",
    "Fingerprints",
    "FrozenSet",
    "case_set",
    "fingerprints",
    "freeze_of",
    "plan_of",
    "resolved_models",
]

FINGERPRINT_VERSION = 1
_FREEZE = over_views("SELECT freeze FROM run_rules WHERE run = ? AND rules = ?")
_PLANNED = (
    "SELECT body ->> '$.case' AS name, body ->> '$.fixture' AS fixture, body ->> '$.input' AS input,"
    " body ->> '$.gold' AS gold, body ->> '$.twin' AS twin FROM main.events"
    " WHERE run = ? AND kind = 'cell' AND body IS NOT NULL ORDER BY cell"
)
_MODELS = (
    "SELECT DISTINCT parse.body ->> '$.model' AS model FROM main.events AS cell"
    " CROSS JOIN main.events AS parse ON parse.run = cell.run AND parse.kind = 'parse' AND parse.cell = cell.cell"
    " WHERE cell.run = ? AND cell.kind = 'cell' AND cell.body ->> '$.candidate' = ?"
    " AND parse.body ->> '$.model' IS NOT NULL ORDER BY 1"
)
_ACCEPTED = (
    "SELECT body ->> '$.component' AS component, body ->> '$.before' AS before, body ->> '$.after' AS after"
    " FROM main.events WHERE run = ? AND kind = 'accept' ORDER BY seq"
)


@dataclass(frozen=True)
class FrozenSet:
    """The cases of a plan's fixtures: gold digest by (input digest, twin), and what people call each.

    `whole` is false where a fixture's list was withheld: only the planned cells tell of it then.
    """

    golds: Mapping[tuple[str, int], str]
    names: Mapping[tuple[str, int], str]
    whole: bool


@dataclass(frozen=True)
class Fingerprints:
    """Both digests, their version, and the components by name: `more` is what `identical` adds to `components`."""

    comparable: str
    identical: str
    version: int
    components: Mapping[str, Any]
    more: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"version": self.version, "comparable": self.comparable, "identical": self.identical}


def plan_of(ledger: Ledger, run: str) -> Plan:
    """A run's plan. Raises UsageError where there is none."""
    for event in ledger.events(kind="plan", run=run, limit=1):
        body = ledger.body(event)
        if isinstance(body, Plan):
            return body
    raise UsageError(f"run {run} has no plan; `ledger verify` says more")


def case_set(ledger: Ledger, run: str, plan: Plan) -> FrozenSet:
    """Every case of the fixtures that a plan stands on, as they were frozen."""
    rows: list[tuple[str, str, str]] = []
    whole = True
    for fixture in plan.fixtures:
        try:
            listed = read_frozen_cases(ledger.blob(fixture.freeze, "cases"))
        except (NotFound, ValueError, KeyError, TypeError):
            # Withheld, or written by something else than this program.
            whole = False
            break
        rows += [(f"{fixture.name}/{case.id}", case.input, case.gold) for case in listed]
    if not whole:
        planned = ledger.rows(_PLANNED, (run,))
        found = {(row["input"], row["twin"]): row for row in planned}
        names = {key: f"{row['fixture']}/{row['name']}" for key, row in found.items()}
        return FrozenSet({key: row["gold"] for key, row in found.items()}, names, whole)
    keys = list(zip([asked for _, asked, _ in rows], twins(asked for _, asked, _ in rows), strict=True))
    golds = {key: gold for key, (_, _, gold) in zip(keys, rows, strict=True)}
    return FrozenSet(golds, {key: name for key, (name, _, _) in zip(keys, rows, strict=True)}, whole)


def resolved_models(ledger: Ledger, run: str, candidate: str) -> tuple[str, ...]:
    """The models that answered for a candidate in a run, as the server named them, sorted."""
    return tuple(str(row["model"]) for row in ledger.rows(_MODELS, (run, candidate)))


def fingerprints(ledger: Ledger, run: str, rules: str, candidate: str) -> Fingerprints:
    """The fingerprints of one candidate's numbers in a run under the rule set labelled `rules`.

    Raises UsageError when the run has no such candidate, or was never scored under such a rule set.
    """
    plan = plan_of(ledger, run)
    mine = next((each for each in plan.candidates if each.label == candidate), None)
    if mine is None:
        raise UsageError(f"run {run} has no candidate {candidate!a}")
    frozen, rule_file = _frozen_rules(ledger, run, rules)
    cases = case_set(ledger, run, plan)
    components: dict[str, Any] = {
        "suite": plan.suite,
        "ask": plan.ask,
        "cases": sorted([asked, twin, gold] for (asked, twin), gold in cases.golds.items()),
        "arms": sorted(plan.arms),
        "epochs": plan.epochs,
        "rules": rule_file,
        "code": dict(frozen.sources),
    }
    more: dict[str, Any] = {
        "candidate": {"label": mine.label, "digest": mine.digest},
        "models": list(resolved_models(ledger, run, candidate)),
        "server": dict(mine.server),
        "address": mine.base_url,
        "environment": dict(plan.environment),
        "packages": dict(plan.code),
        "accepted": ledger.rows(_ACCEPTED, (run,)),
        "via": plan.via,
        # Without a filter as it always was, so that the fingerprints of older runs stay what they were.
        "planned": {"cells": plan.cells, "limit": plan.limit} | ({"filter": plan.filter} if plan.filter else {}),
    }
    key = bytes.fromhex(ledger.genesis.identity_key)
    comparable = value_digest({"fingerprint": FINGERPRINT_VERSION, "comparable": components}, key)
    both = {"fingerprint": FINGERPRINT_VERSION, "comparable": components, "identical": more}
    return Fingerprints(comparable, value_digest(both, key), FINGERPRINT_VERSION, components, more)


def freeze_of(ledger: Ledger, run: str, rules: str) -> int | None:
    """The seq of the freeze that a run's rule set rests on; None where the run names none, or not the rule set."""
    return next((row["freeze"] for row in ledger.rows(_FREEZE, (run, rules))), None)


def _frozen_rules(ledger: Ledger, run: str, rules: str) -> tuple[Freeze, str]:
    """The freeze of a rule set, and the digest that says which file it is."""
    seq = freeze_of(ledger, run, rules)
    body = None if seq is None else ledger.body(seq)
    if seq is None or not isinstance(body, Freeze):
        raise UsageError(f"run {run} was not scored under {rules!a}")
    try:
        anywhere = without_run(ledger.blob(seq, "file"))
    except NotFound:
        anywhere = None
    return body, body.digest if anywhere is None else file_digest(anywhere)
