"""What could be compared: ready names for the form, out of the newest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ledger import Ledger, LedgerError, printable
from ledger.kinds import Plan

__all__ = ["Offer", "Offers", "offers"]

_RUNS = 50
_MOST = 8


@dataclass(frozen=True)
class Offer:
    """A comparison to be had by one click: what it holds against what, and the query of its address."""

    what: str
    a: str
    b: str
    query: Mapping[str, Any]


@dataclass(frozen=True)
class Offers:
    """`names` are runs and candidates of them as they can be typed, each with a word on it; `rules` rule set labels;
    `ready` a few comparisons that are likely wanted."""

    names: Sequence[tuple[str, str]] = ()
    rules: Sequence[str] = ()
    ready: Sequence[Offer] = field(default_factory=tuple[Offer, ...])


def offers(ledger: Ledger) -> Offers:
    """What the newest runs offer to be compared."""
    plans: list[tuple[str, Plan]] = []
    for event in reversed(ledger.newest(_RUNS, kind="plan")):
        try:
            body = ledger.body(event)
        except (LedgerError, ValueError, TypeError, RecursionError):
            continue  # withheld, or not what was written: there is nothing to offer of it
        if isinstance(body, Plan) and body.purpose == "evaluation" and body.candidates and _can_be_typed(body):
            plans.append((event.run, body))
    names: list[tuple[str, str]] = []
    for run, plan in plans:
        said = f"{plan.suite}{f', {plan.name}' if plan.name else ''}"
        names.append((run, said))
        if len(plan.candidates) > 1:
            names += [(f"{run}@{each.label}", said) for each in plan.candidates]
    rules = sorted({each.label for _, plan in plans for each in plan.rules})
    ready = [*_two_runs(plans), *_two_candidates(plans), *_two_rule_sets(plans)]
    return Offers(names, rules, ready[:_MOST])


def _can_be_typed(plan: Plan) -> bool:
    """Whether its labels are what a person can see and type; what isn't can be named by the run alone, elsewhere."""
    labels = [each.label for each in (*plan.candidates, *plan.rules)]
    return all(printable(label) == label for label in labels)


def _two_runs(plans: Sequence[tuple[str, Plan]]) -> list[Offer]:
    """The newest two runs of a suite, where it is clear whom to hold against whom."""
    found: list[Offer] = []
    last: dict[str, tuple[str, Plan]] = {}
    for run, plan in plans:
        newer = last.get(plan.suite)
        if newer is None:
            last[plan.suite] = run, plan
            continue
        labels = [{each.label for each in one.candidates} for one in (plan, newer[1])]
        clear = labels[0] & labels[1] or all(len(each) == 1 for each in labels)
        if clear and not any(offer.what == f"two runs of {plan.suite}" for offer in found):
            found.append(Offer(f"two runs of {plan.suite}", run, newer[0], {"a": run, "b": newer[0]}))
    return found[:3]


def _two_candidates(plans: Sequence[tuple[str, Plan]]) -> list[Offer]:
    found: list[Offer] = []
    for run, plan in plans:
        if len(plan.candidates) > 1:
            a, b = (f"{run}@{each.label}" for each in plan.candidates[:2])
            found.append(Offer(f"two candidates of {plan.name or plan.suite}", a, b, {"a": a, "b": b}))
    return found[:3]


def _two_rule_sets(plans: Sequence[tuple[str, Plan]]) -> list[Offer]:
    found: list[Offer] = []
    for run, plan in plans:
        if len(plan.rules) > 1:
            a = run if len(plan.candidates) == 1 else f"{run}@{plan.candidates[0].label}"
            two = sorted(each.label for each in plan.rules)[:2]
            found.append(Offer(f"two rule sets of {plan.name or plan.suite}", two[0], two[1], {"a": a, "rules": two}))
    return found[:3]
