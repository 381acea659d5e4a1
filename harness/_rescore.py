"""Rescoring: what was recorded, read, confirmed and scored under other rules; no model is called, nothing old touched.

    1  the run is held, so that nobody asks or rescores at the same time (not for a dry run, which writes nothing)
    2  rule sets that aren't frozen yet are frozen: they read post hoc then, and every scoreboard says so
    3  cells without a score under a rule set, or with one from before their last reply, are derived, append by append
    4  a tally for each rule set that got scores, or whose last tally is older than its last score; no close

Each append holds whole cells, so whatever stops a rescore, the next one does what is missing and no more.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

from harness._errors import RefusedError, RulesError, UsageError
from harness._fit import check_golds
from harness._flips import Flip, Sheet, find_flips, read_scores
from harness._freeze import freeze_rules, standing_rules
from harness._join import join_again
from harness._named_rules import find_rule_sets
from harness._replies import Place, read_places, read_plan
from harness._rescore_work import Batch, Deriver, Job, batches_of, derived_by
from harness._rules import RuleSet, moved_sources
from harness._suite import Ask, Case
from harness._tally import figures, tally_of
from harness._thaw import thaw_cases, thaw_prompts
from harness.suites import stages
from ledger import Draft, Ledger, hold_run, run_is_held, runs_set_aside
from ledger.kinds import Plan, Score, TallyMetric

__all__ = ["Figure", "Rescored", "check_scorable", "find_rule_sets", "rescore_run"]

_DONE = "SELECT body ->> '$.rules', cell, max(seq) FROM main.events WHERE run = ? AND kind = 'score' GROUP BY 1, 2"
_TALLIED = "SELECT body ->> '$.rules', max(seq) FROM main.events WHERE run = ? AND kind = 'tally' GROUP BY 1"
_MANY = 5_000
"""Derivations from which on several processes are worth their start, where the caller leaves the number open."""
_MOST_WORKERS = 8

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one candidate, as it stood under the rule set compared against and as it stands under `rules`.

    `before` is None where that rule set hasn't the metric.
    """

    candidate: str
    metric: str
    kind: str
    rules: str
    before: TallyMetric | None
    after: TallyMetric

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "candidate": self.candidate, "metric": self.metric, "kind": self.kind, "rules": self.rules,
            "before": _counted(self.before) if self.before else None, "after": _counted(self.after),
        }  # fmt: skip


def _counted(figure: TallyMetric) -> dict[str, Any]:
    total = figure.k if figure.kind == "rate" else figure.total
    rate = total / figure.n if figure.n and total is not None else None
    return {
        "k": figure.k, "n": figure.n, "planned": figure.planned, "rate": rate, "unmeasured": figure.unmeasured,
    }  # fmt: skip


@dataclass(frozen=True)
class Rescored:
    """What a rescore came to. `appended` counts the events that were appended, or would have been.

    `rules` are labels, `against` the label that figures and flips are compared with, `derived` the cells that were
    derived by label; `notes` are sentences for people.
    """

    run: str
    appended: int
    rules: tuple[str, ...]
    against: str
    dry_run: bool
    derived: Mapping[str, int]
    figures: tuple[Figure, ...]
    flips: tuple[Flip, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "run": self.run, "appended": self.appended, "rules": list(self.rules), "against": self.against,
            "dry_run": self.dry_run, "derived": dict(self.derived),
            "figures": [each.as_json() for each in self.figures],
            "flips": [each.as_json() for each in self.flips], "notes": list(self.notes),
        }  # fmt: skip


def check_scorable(ledger: Ledger, run: str, rules: Sequence[RuleSet]) -> None:
    """Raises SuiteError for the first case of a run, as it was frozen, that one of `rules` can't score; RefusedError
    where a redaction withholds the cases, or where what was asked isn't what the rules speak of."""
    _, plan = read_plan(ledger, run)
    _check_shown(ledger, run, plan, rules)
    cases = thaw_cases(ledger, plan)
    _check_cases(cases, read_places(ledger, run, plan, list(cases)), rules)


def _check_shown(ledger: Ledger, run: str, plan: Plan, rules: Sequence[RuleSet]) -> None:
    """Raises RefusedError for rules that speak of something else than what was asked: no rescore can mend that."""
    prompts = thaw_prompts(ledger, plan)
    for each in rules:
        check = stages(each.stages).check_rules if each.stages else None
        fault = next(filter(None, (check(prompt, each.score) for prompt in prompts)), None) if check else None
        if fault is not None:
            raise RefusedError(f"run {run} can't be scored under {each.label}: {fault}; ask anew with `harness run`")


def _check_cases(
    cases: Mapping[tuple[str, str], Case], places: Sequence[Place], rules: Sequence[RuleSet]
) -> None:  # fmt: skip
    """Cases that were never planned, by a filter or a limit, are let be."""
    planned = dict.fromkeys(place.case for place in places if place.case in cases)
    found = [(f"fixture {key[0]}, line {cases[key].line}", cases[key]) for key in planned]
    for entry in {each.stages for each in rules if each.stages}:
        check_golds(stages(entry), [each for each in rules if each.stages == entry], found)


def rescore_run(
    ledger: Ledger, run: str, rules: Sequence[RuleSet], *, against: str | None = None, dry_run: bool = False,
    workers: int = 1, progress: Progress | None = None,
) -> Rescored:  # fmt: skip
    """Score a run anew under `rules`, and compare with `against` (a label or name), else with its first rule set.

    `workers` processes derive; 0 leaves the number open. A dry run appends nothing, and may be of a run that is going
    on: it shows how that stands. Raises UsageError (a rule set can't score a case, for one), RefusedError (the code
    isn't the one a rule set was frozen with; a fixture is withheld), RunHeld, IncompleteError (a worker died),
    LedgerError.
    """
    seq, plan = read_plan(ledger, run)
    for each in rules:
        if moved_sources(each):
            raise RefusedError(
                f"{each.label} was frozen with other code; under this one {each.name} is another rule set"
            )
    base = _against(ledger, run, plan, against)
    with nullcontext() if dry_run else hold_run(ledger.path, run), _few_collections():
        done = _Rescore(ledger, run, seq, plan, rules, dry_run=dry_run).go(base, workers, progress)
    # What a judge is read as anew joins what it graded anew.
    joined = join_again(ledger, run) if plan.grades and not dry_run else []
    return replace(done, notes=(*done.notes, *joined))


@contextmanager
def _few_collections() -> Generator[None]:
    """Look for cycles seldom: deriving makes none, and each look walks everything that waits for its append."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _against(ledger: Ledger, run: str, plan: Plan, wanted: str | None) -> str:
    planned = [each.label for each in plan.rules]
    if wanted is None:
        if not planned:
            raise UsageError(f"run {run} was planned under no rule set; say with --against what to compare with")
        return planned[0]
    labels = list(dict.fromkeys([*planned, *(label for label, *_ in ledger.sql(_DONE, (run,)))]))
    fits = [label for label in labels if wanted in (label, label.partition("@")[0])]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise UsageError(f"--against {wanted!r} fits {' and '.join(fits)}; give the label of one")
    raise UsageError(f"run {run} was never scored under {wanted!r}; it was under {', '.join(labels) or 'none'}")


class _Rescore:
    """One rescore of one run."""

    def __init__(
        self, ledger: Ledger, run: str, planned: int, plan: Plan, rules: Sequence[RuleSet], *, dry_run: bool
    ) -> None:
        self.ledger = ledger
        self.run = run
        self.planned = planned
        self.plan = plan
        self.rules = list({each.label: each for each in rules}.values())
        if not self.rules:
            raise UsageError("expected a rule set to apply, got none")
        if len({each.stages for each in self.rules}) > 1 or not self.rules[0].stages:
            raise RulesError("the rule sets to apply belong to different suites, or only read")
        self.dry_run = dry_run
        _check_shown(ledger, run, plan, self.rules)
        self.cases = thaw_cases(ledger, plan)
        self.places = read_places(ledger, run, plan, list(self.cases))
        _check_cases(self.cases, self.places, self.rules)
        self.appended = 0
        self.notes: list[str] = []

    def go(self, against: str, workers: int, progress: Progress | None) -> Rescored:
        frozen = self._freeze()
        done, newest = self._done()
        todo = [
            (place, missing)
            for place in self.places
            if (missing := tuple(
                each.label for each in self.rules if done.get((each.label, place.cell), 0) <= place.newest
            ))
        ]  # fmt: skip
        labels = [each.label for each in self.rules]
        stand = {label: read_scores(self.ledger, self.run, label) for label in dict.fromkeys([against, *labels])}
        made: dict[str, set[int]] = {label: set() for label in labels}
        total, so_far = len(todo), 0
        with closing(self._derive(todo, frozen, workers)) as derived:
            for batch, scores in derived:
                each = iter(scores)
                for place, missing in batch:
                    for label in missing:
                        made[label].add(place.cell)
                        stand[label][place.cell] = next(each)
                so_far += len(batch)
                if progress is not None:
                    progress(so_far, total)
        self._tally(stand, made, newest, frozen)
        self._remark()
        sheet = Sheet(self.ledger, self.run, self.plan, self.places, self.cases, self.rules)
        flips = [
            flip
            for each in self.rules
            if each.label != against
            for flip in find_flips(
                sheet,
                against,
                each.label,
                stand[against],
                stand[each.label],
                frozenset(made[each.label]) if self.dry_run else frozenset(),
            )
        ]
        return Rescored(
            self.run, self.appended, tuple(labels), against, self.dry_run,
            {label: len(cells) for label, cells in made.items()}, tuple(self._figures(stand, against)), tuple(flips),
            tuple(self.notes),
        )  # fmt: skip

    def _freeze(self) -> dict[str, int]:
        if not self.dry_run:
            frozen = freeze_rules(self.ledger, self.rules)
            self.appended += frozen.new
            return dict(frozen.rules)
        standing = standing_rules(self.ledger, self.rules)
        self.appended += len(self.rules) - len(standing)
        return {each.label: standing.get(each.label, 0) for each in self.rules}

    def _done(self) -> tuple[dict[tuple[str, int], int], dict[str, int]]:
        """The seq of the last score by (label, cell), and of the very last by label."""
        done: dict[tuple[str, int], int] = {}
        newest: dict[str, int] = {}
        for label, cell, seq in self.ledger.sql(_DONE, (self.run,)).fetchall():
            done[label, cell] = seq
            newest[label] = max(newest.get(label, 0), seq)
        return done, newest

    def _derive(self, todo: Batch, frozen: Mapping[str, int], workers: int) -> Generator[tuple[Batch, list[Score]]]:
        """Each batch with its events, once they are durable (or would be)."""
        batches = batches_of(todo, len(self.rules))
        if not batches:
            return
        if workers == 0:
            # One is left for the process that appends.
            several = max(1, min((os.cpu_count() or 1) - 1, _MOST_WORKERS))
            workers = several if len(todo) * len(self.rules) >= _MANY else 1
        if workers == 1:
            deriver = Deriver(
                self.ledger, self.run, cast("Ask", self.plan.ask), self.plan.candidates, stages(self.rules[0].stages),
                self.cases, self.rules, frozen,
            )  # fmt: skip
            found = (deriver.derive(batch) for batch in batches)
        else:
            files = tuple((each.name, each.file, each.stages, each.digest, frozen[each.label]) for each in self.rules)
            found = derived_by(Job(self.ledger.path.absolute(), self.run, files), batches, workers)
        # Closed from here, whatever stops the caller: no process outlives the rescore.
        with closing(found):
            for batch, (events, scores) in zip(batches, found, strict=True):
                self.appended += len(events)
                if not self.dry_run:
                    self.ledger.append(*events)
                yield batch, scores

    def _tally(
        self, stand: Mapping[str, Mapping[int, Score]], made: Mapping[str, set[int]], newest: Mapping[str, int],
        frozen: Mapping[str, int],
    ) -> None:  # fmt: skip
        tallied = {label: int(seq) for label, seq in self.ledger.sql(_TALLIED, (self.run,))}
        for each in self.rules:
            if not made[each.label] and tallied.get(each.label, 0) > newest.get(each.label, 0):
                continue
            freeze = frozen[each.label]
            self.appended += 1
            if not self.dry_run:
                body = tally_of(each.label, each.metrics, each.primary, freeze, self._by_candidate(stand[each.label]))
                self.ledger.append(Draft(body, run=self.run, causes=sorted([freeze, self.planned])))

    def _by_candidate(self, scores: Mapping[int, Score]) -> dict[str, list[Score]]:
        found: dict[str, list[Score]] = {each.label: [] for each in self.plan.candidates}
        for place in self.places:
            if place.cell in scores:
                found[place.candidate].append(scores[place.cell])
        return found

    def _figures(self, stand: Mapping[str, Mapping[int, Score]], against: str) -> Iterator[Figure]:
        before = self._by_candidate(stand[against])
        for each in self.rules:
            old = figures(each.metrics, each.primary, before)
            new = figures(each.metrics, each.primary, self._by_candidate(stand[each.label]))
            for was, now in zip(old, new, strict=True):
                yield Figure(now.candidate, now.metric, now.kind, each.label, was if was.planned else None, now)

    def _remark(self) -> None:
        aside = runs_set_aside(self.ledger).get(self.run)
        if aside:
            self.notes.append(f"the run was {aside}: what is derived here stands on it all the same")
        if self.dry_run and run_is_held(self.ledger.path, self.run):
            self.notes.append("the run is going on; this is how it stands now")
        withheld = sum(place.withheld for place in self.places)
        if withheld:
            self.notes.append(f"{withheld} cells are withheld by a redaction themselves, so nothing is read for them")
