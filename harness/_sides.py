"""What a person names to be compared: runs, candidates in them, and rule sets; resolved, or refused in one sentence.

    RUN              its one candidate; or each label that both runs have
    RUN@CANDIDATE    one of its candidates, by its whole label, which may hold @ / and : itself

One run under two rule sets, where two are named; one run's two candidates, where it has two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness._errors import UsageError
from harness._fingerprint import plan_of
from ledger import Ledger, NotFound, find_run, over_views, refuse_newer
from ledger.kinds import Plan

__all__ = ["Duel", "Side", "name_duels", "named_labels"]

_RULES = over_views("SELECT rules, freeze FROM run_rules WHERE run = ? ORDER BY freeze")


@dataclass(frozen=True)
class Side:
    """One side: a candidate of a run under one rule set, by its label."""

    run: str
    candidate: str
    rules: str


@dataclass(frozen=True)
class Duel:
    """Two sides to be held against each other; `mode` says what may differ between them."""

    mode: Literal["candidates", "rules"]
    a: Side
    b: Side


@dataclass(frozen=True)
class _Named:
    """What an argument names: a run, and a candidate if it says one."""

    run: str
    plan: Plan
    candidate: str | None

    @property
    def labels(self) -> list[str]:
        """The candidates that it leaves to choose from."""
        return [self.candidate] if self.candidate else [each.label for each in self.plan.candidates]


def name_duels(ledger: Ledger, a: str, b: str | None = None, rules: Sequence[str] = ()) -> list[Duel]:
    """Every pair of sides that the arguments name, in the order of the candidates and then of the rule sets.

    Raises UsageError, listing what can be named; NotFound for a run that isn't there.
    """
    first = _named(ledger, a)
    second = _named(ledger, b) if b is not None else None
    same = second is None or (second.run, second.labels) == (first.run, first.labels)
    if same and len(rules) == 2 and (second is None or len(first.labels) == 1):
        return _under_two(ledger, first, rules)
    pairs = _pairs_in_one(ledger, first) if second is None else _pairs_in_two(first, second)
    other = second or first
    labels = _common_rules(ledger, first.run, other.run, rules)
    return [
        Duel("candidates", Side(first.run, left, under), Side(other.run, right, against))
        for left, right in pairs
        for under, against in labels
    ]


def named_labels(ledger: Ledger, text: str) -> tuple[str, list[str]]:
    """The run that RUN or RUN@CANDIDATE names, and the labels of the candidates that it leaves.

    Raises UsageError, NotFound and Refused as `name_duels` does.
    """
    found = _named(ledger, text)
    return found.run, found.labels


def _named(ledger: Ledger, text: str) -> _Named:
    try:
        return _measured(ledger, find_run(ledger, text), None)
    except NotFound as problem:
        said = problem
    # A run's name may hold @, and so may a label: the shortest head that is a run and has the rest decides.
    lacks = ""
    for at in (at for at, letter in enumerate(text) if letter == "@"):
        try:
            run = find_run(ledger, text[:at])
        except NotFound:
            continue
        plan = plan_of(ledger, run)
        if any(each.label == text[at + 1 :] for each in plan.candidates):
            return _measured(ledger, run, text[at + 1 :])
        lacks = lacks or f"run {run} has no candidate {text[at + 1 :]!a}; it has {_choices(run, plan)}"
    raise UsageError(lacks) if lacks else said


def _measured(ledger: Ledger, run: str, candidate: str | None) -> _Named:
    plan = plan_of(ledger, run)
    if plan.purpose == "probe":
        raise UsageError(f"{run} is a probe, which no scoreboard counts; `ledger log --run {run}` shows it")
    refuse_newer(ledger, run)
    return _Named(run, plan, candidate)


def _choices(run: str, plan: Plan) -> str:
    return " and ".join(f"{run}@{each.label}" for each in plan.candidates)


def _pairs_in_one(ledger: Ledger, named: _Named) -> list[tuple[str, str]]:
    if len(named.labels) == 2:
        return [(named.labels[0], named.labels[1])]
    scored = ", ".join(str(row["rules"]) for row in ledger.rows(_RULES, (named.run,)))
    if len(named.labels) == 1:
        raise UsageError(
            f"{named.run}@{named.labels[0]} alone can't be compared; name another run or candidate, or two rule sets"
            f" with --rules ({scored})"
        )
    raise UsageError(f"run {named.run} has {len(named.labels)} candidates; name two: {_choices(named.run, named.plan)}")


def _pairs_in_two(first: _Named, second: _Named) -> list[tuple[str, str]]:
    ours, theirs = first.labels, second.labels
    if first.run == second.run and ours == theirs:
        raise UsageError(
            "A and B name the same numbers; name two candidates, two runs, or one run under two --rules:"
            f" {_choices(first.run, first.plan)}"
        )
    if len(ours) == 1 and len(theirs) == 1:
        return [(ours[0], theirs[0])]
    common = [(label, label) for label in ours if label in theirs]
    if common and first.run != second.run:
        return common
    where = " and ".join(
        _choices(each.run, each.plan) for each in ([first] if first.run == second.run else [first, second])
    )
    raise UsageError(f"it isn't clear which candidates to hold against each other; name one a side, out of {where}")


# Rule sets


def _labels(ledger: Ledger, run: str) -> list[str]:
    """The labels a run was scored under: those of its plan first, primary before the rest as the plan has them."""
    rows = [str(row["rules"]) for row in ledger.rows(_RULES, (run,))]
    planned = [each.label for each in plan_of(ledger, run).rules]
    return [*planned, *(label for label in rows if label not in planned)]


def _fitting(labels: Sequence[str], name: str) -> list[str]:
    return [label for label in labels if label == name] or [
        label for label in labels if label.rpartition("@")[0] == name
    ]


def _under_two(ledger: Ledger, named: _Named, rules: Sequence[str]) -> list[Duel]:
    labels = _labels(ledger, named.run)
    chosen: list[str] = []
    for name in rules:
        fits = _fitting(labels, name)
        if len(fits) != 1:
            raise UsageError(_not_scored(named.run, name, fits or labels, several=bool(fits)))
        chosen += fits
    if chosen[0] == chosen[1]:
        raise UsageError(f"both --rules name {chosen[0]}; run {named.run} was scored under {', '.join(labels)}")
    return [
        Duel("rules", Side(named.run, label, chosen[0]), Side(named.run, label, chosen[1])) for label in named.labels
    ]


def _not_scored(run: str, name: str, labels: Sequence[str], *, several: bool) -> str:
    has = ", ".join(labels) or "none"
    if several:
        return f"{name!a} fits {len(labels)} rule sets of run {run}; name one by its label: {has}"
    return (
        f"run {run} was not scored under {name!a}; it has {has}; `harness rescore {run} --rules NAME` reads it under"
        " another"
    )


def _common_rules(ledger: Ledger, run_a: str, run_b: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The rule sets to compare under, as a label on either side: the same one where both have it, else of one name."""
    ours, theirs = _labels(ledger, run_a), _labels(ledger, run_b)
    wanted = list(dict.fromkeys(names)) or _names_of_both(ours, theirs)
    if not wanted and ours and theirs:
        # The first of each, so that it is said that the rules moved, and what else did.
        return [(ours[0], theirs[0])]
    if not wanted:
        bare = run_a if not ours else run_b
        raise UsageError(f"run {bare} was never scored; `harness rescore {bare} --rules NAME` scores it")
    found: list[tuple[str, str]] = []
    for name in wanted:
        left, right = _fitting(ours, name), _fitting(theirs, name)
        for run, fits, labels in ((run_a, left, ours), (run_b, right, theirs)):
            if not fits:
                raise UsageError(_not_scored(run, name, labels, several=False))
        common = [label for label in left if label in right]
        found += [(label, label) for label in common] if common else [(left[-1], right[-1])]
    return list(dict.fromkeys(found))


def _names_of_both(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """The labels that both have; where one is of another make on either side, its name."""
    common = [label for label in ours if label in theirs]
    covered = {label.rpartition("@")[0] for label in common}
    names = {label.rpartition("@")[0] for label in theirs} - covered
    return [*common, *dict.fromkeys(name for name in (label.rpartition("@")[0] for label in ours) if name in names)]
