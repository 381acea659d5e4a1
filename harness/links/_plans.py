"""Links of a plan: what it names of its freezes, what it counts, and the product that its cells must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from harness._candidate import Candidate, Protocol
from harness._errors import HarnessError
from harness._filter import filters_text, fits_all, read_filters
from harness._given import Given, read_given
from harness._identity import twins
from harness._plan import applies_to, digest_of_candidate
from harness._prices import parse_prices
from harness._rules import RuleSet
from harness._thaw import thaw_rules
from harness.links._broken import Finder
from harness.links._freezes import Freezes, FrozenCase
from harness.suites import Stages, stages
from ledger import LedgerError
from ledger.kinds import Plan, PlanCandidate

__all__ = ["Kept", "Laid", "PlanLinks", "arm_of"]

_MOST_SPELT = 10
"""Whole numbers whose two spellings are tried in every combination: a thousand digests, in the worst of cases."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A case that a plan keeps: the name and the freeze of its fixture, and its twin among those kept."""

    fixture: str
    freeze: int
    frozen: FrozenCase
    twin: int


@dataclass(frozen=True, slots=True)
class Laid:
    """A planned cell as the plan's product has it."""

    cell: int
    candidate: PlanCandidate
    epoch: int
    kept: Kept


@dataclass
class PlanLinks:
    """A plan held against what it stands on. After `check`: `kept` are its cases in order (None where a fixture is
    withheld), `rules` its rule sets that can be thawed, `stages` the functions that they name."""

    freezes: Freezes
    finder: Finder
    seq: int
    plan: Plan
    causes: Sequence[int]
    kept: Sequence[Kept] | None = None
    rules: Sequence[RuleSet] = ()
    stages: Stages | None = None

    def check(self) -> None:
        """Hold every link of the plan itself."""
        plan = self.plan
        self._once("plan.labels", "candidates", [each.label for each in plan.candidates])
        self._once("plan.labels", "rules", [each.label for each in plan.rules])
        self._once("plan.labels", "fixtures", [each.name for each in plan.fixtures])
        if plan.purpose == "probe":
            # What a probe has no use for is empty: no scoreboard counts it, so nothing may hide behind the word.
            shape = plan.cells, len(plan.candidates), len(plan.fixtures), len(plan.rules)
            self.finder.hold("plan.probe", self.seq, "cells, candidates, fixtures, rules", shape, 0, (1, 1, 0, 0))
            return
        self._check_causes()
        self._check_rules()
        every = self._check_fixtures()
        for each in plan.candidates:
            self._check_prompt(each)
        self._check_prices()
        if every is not None:
            self.kept = self._keep(every)
        if self.kept is not None:
            cells = len(plan.candidates) * plan.epochs * len(self.kept)
            self.finder.hold("plan.cells", self.seq, "cells", plan.cells, self.seq, cells)
            self._check_counts(self.kept)

    def laid_out(self) -> Iterator[Laid]:
        """The cells of the plan in order: candidate by candidate, epoch by epoch, case by case."""
        cell = 0
        for candidate in self.plan.candidates:
            for epoch in range(self.plan.epochs):
                for kept in self.kept or ():
                    cell += 1
                    yield Laid(cell, candidate, epoch, kept)

    def candidate(self, planned: PlanCandidate) -> Candidate | None:
        """A candidate as it was asked, with its frozen prompt; None where that is withheld."""
        prompt = b""
        if planned.prompt_freeze is not None:
            found = self.freezes.blob(planned.prompt_freeze, "file")
            if found is None:
                return None
            prompt = found
        elif planned.protocol != "text" and self.plan.fixtures:
            return None
        try:
            made = Candidate(
                planned.label,
                cast("Protocol", planned.protocol),
                planned.model,
                planned.parameters,
                planned.stream,
                planned.base_url,
            )
            return made.with_prompt(prompt)
        except HarnessError:
            return None

    # Names and freezes

    def _once(self, link: str, what: str, names: Sequence[str]) -> None:
        for name, times in Counter(names).items():
            if times > 1:
                self.finder.broken(link, self.seq, f"{what} {name!a}", f"{times} times", self.seq, "once")

    def _check_causes(self) -> None:
        plan = self.plan
        named = {each.freeze for each in plan.fixtures} | {each.freeze for each in plan.rules}
        named |= {each.prompt_freeze for each in plan.candidates if each.prompt_freeze is not None}
        named |= {plan.prices} if plan.prices is not None else set()
        others = {seq for seq in self.causes if self.freezes.body(seq) is None}
        missing = sorted(named - {*self.causes})
        more = sorted({*self.causes} - named - others)
        if missing or more:
            self.finder.broken("plan.causes", self.seq, "causes", sorted(self.causes), self.seq, sorted(named))

    def _check_rules(self) -> None:
        thawed: list[RuleSet] = []
        for each in self.plan.rules:
            freeze = self.freezes.body(each.freeze)
            if freeze is None:
                continue
            at = f"rules {each.label}"
            said = each.name, each.identity, each.label
            follows = freeze.name, freeze.identity, f"{freeze.name}@{freeze.identity[:12]}"
            if not self.finder.hold("plan.rules", self.seq, at, said, each.freeze, follows):
                continue
            try:
                found = thaw_rules(self.freezes.ledger, each.freeze)
            except (HarnessError, LedgerError):
                continue
            thawed.append(found)
            chosen = set(found.primary.values())
            metrics = [(metric.name, metric.kind, metric.name in chosen) for metric in found.metrics]
            mine = [(metric.name, metric.kind, metric.primary) for metric in each.metrics]
            self.finder.hold("plan.metrics", self.seq, f"{at}, metrics", mine, each.freeze, metrics)
        self.rules = thawed
        name = next((each.stages for each in thawed if each.stages), "")
        self.stages = stages(name) if name else None

    def _check_fixtures(self) -> list[tuple[str, int, FrozenCase]] | None:
        every: list[tuple[str, int, FrozenCase]] | None = []
        for each in self.plan.fixtures:
            freeze = self.freezes.body(each.freeze)
            if freeze is None:
                every = None
                continue
            said, follows = ("fixture", f"{self.plan.suite}/{each.name}"), (freeze.what, freeze.name)
            self.finder.hold("plan.fixtures", self.seq, f"fixture {each.name}", said, each.freeze, follows)
            cases = self.freezes.cases(each.freeze)
            if cases is None:
                every = None
                continue
            self.finder.hold("plan.fixtures", self.seq, f"cases of {each.name}", each.cases, each.freeze, len(cases))
            if every is not None:
                every += [(each.name, each.freeze, case) for case in cases]
        return every

    def _check_prompt(self, candidate: PlanCandidate) -> None:
        at = f"the prompt of {candidate.label}"
        if candidate.prompt_freeze is not None:
            freeze = self.freezes.body(candidate.prompt_freeze)
            if freeze is not None:
                said, follows = ("prompt", candidate.prompt), (freeze.what, freeze.digest)
                self.finder.hold("plan.prompt", self.seq, at, said, candidate.prompt_freeze, follows)
        made = self.candidate(candidate)
        if made is None or self.stages is None:
            return
        key = bytes.fromhex(self.freezes.ledger.genesis.identity_key)
        at, given = self.plan.candidates.index(candidate), _given(self.plan)
        said = given.asked() if given is not None else ()
        asked: Mapping[str, Any] = said[at].parameters if at < len(said) else {}
        digests = (
            digest_of_candidate(replace(made, parameters=each), self.stages.turns, key)
            for each in _spellings(made.parameters, asked)
        )
        first = next(digests)
        if candidate.digest not in (first, *digests):
            place = f"the digest of {candidate.label}"
            self.finder.broken("plan.candidate", self.seq, place, candidate.digest, self.seq, first)

    def _check_prices(self) -> None:
        if self.plan.prices is None:
            return
        freeze = self.freezes.body(self.plan.prices)
        if freeze is None:
            return
        self.finder.hold("plan.prices", self.seq, "prices", "prices", self.plan.prices, freeze.what)
        file = self.freezes.blob(self.plan.prices, "file")
        if file is None:
            return
        try:
            listed = parse_prices(file, freeze.name)
        except HarnessError:
            return
        for each in self.plan.candidates:
            found = listed.find(each.label)
            follows = found.as_body() if found is not None else {}
            self.finder.hold(
                "plan.price", self.seq, f"the price of {each.label}", each.price, self.plan.prices, follows
            )

    # Which cases, and how many

    def _keep(self, every: Sequence[tuple[str, int, FrozenCase]]) -> Sequence[Kept] | None:
        plan = self.plan
        given = _given(plan)
        try:
            conditions = read_filters(given.filters) if given is not None else ()
        except HarnessError:
            self.finder.broken(
                "plan.filter", self.seq, "filter", plan.filter, self.seq, "conditions that can't be read"
            )
            return None
        if plan.filter and not conditions:
            self.finder.skip("which cases a filter kept, in a plan that doesn't say how it was asked for")
            return None
        kept = [each for each in every if fits_all(conditions, each[0], each[2].case)]
        narrowed = filters_text(conditions) if len(kept) < len(every) else ""
        self.finder.hold("plan.filter", self.seq, "filter", plan.filter, self.seq, narrowed)
        if plan.limit is not None and plan.limit >= len(kept):
            self.finder.broken("plan.limit", self.seq, "limit", plan.limit, self.seq, f"none: {len(kept)} cases")
        asked = kept if plan.limit is None else kept[: plan.limit]
        numbers = twins(each.input for _, _, each in asked)
        return [Kept(name, freeze, case, twin) for (name, freeze, case), twin in zip(asked, numbers, strict=True)]

    def _check_counts(self, kept: Sequence[Kept]) -> None:
        entry = self.stages
        if entry is None:
            return
        groups = [entry.group(each.frozen.case.gold) for each in kept]
        by_label = {each.label: each for each in self.rules}
        for each in self.plan.rules:
            rules = by_label.get(each.label)
            if rules is None or not rules.stages:
                continue
            known = {metric.name: metric for metric in rules.metrics}
            for metric in each.metrics:
                if metric.name not in known:
                    continue
                planned = self.plan.epochs * sum(applies_to(known[metric.name], group) for group in groups)
                at = f"planned of {metric.name} under {each.label}"
                self.finder.hold("plan.planned", self.seq, at, metric.planned, each.freeze, planned)


def arm_of(plan: Plan, fixture: str) -> str | None:
    """The arm that a plan gives the cells of a fixture; None where its cells alone tell (plans of schema 1)."""
    if not plan.arms:
        return ""
    by_suite = plan.suite_arms
    if by_suite is not None:
        names = [by_suite.get(each.name, "") for each in plan.fixtures]
        if list(dict.fromkeys(filter(None, names))) == plan.arms:
            return by_suite.get(fixture, "")
        return plan.arms[0] if len(plan.arms) == 1 else None
    return None


def _given(plan: Plan) -> Given | None:
    try:
        return read_given(plan.given)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _spellings(parameters: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Parameters as somebody may have spelled them: a plan's body writes 1.0 as 1, and a request may have 1.0.

    What was asked for on the command line, `asked`, keeps its spelling in the plan; of other whole numbers both are
    tried, the first few of them in every combination.
    """
    known = {name: asked[name] for name in parameters if name in asked and asked[name] == parameters[name]}
    free = {name: value for name, value in parameters.items() if name not in known}
    places = list(_whole_numbers(free))[:_MOST_SPELT]
    for choice in range(1 << len(places)):
        chosen = {place for at, place in enumerate(places) if choice >> at & 1}
        yield {name: known[name] if name in known else _spelt(value, (name,), chosen)
               for name, value in parameters.items()}  # fmt: skip


def _whole_numbers(value: Any, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """Where whole numbers stand in a value."""
    if isinstance(value, dict):
        for name, inside in cast("dict[str, Any]", value).items():
            yield from _whole_numbers(inside, *above, name)
    elif isinstance(value, list):
        for at, inside in enumerate(cast("list[Any]", value)):
            yield from _whole_numbers(inside, *above, at)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield above


def _spelt(value: Any, place: tuple[str | int, ...], chosen: Container[tuple[str | int, ...]]) -> Any:
    """A value with the whole numbers at the chosen places written as fractions."""
    if isinstance(value, dict):
        return {name: _spelt(inside, (*place, name), chosen) for name, inside in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_spelt(inside, (*place, at), chosen) for at, inside in enumerate(cast("list[Any]", value))]
    return float(value) if place in chosen else value
