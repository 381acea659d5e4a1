"""Comparing: two runs, two candidates, or one run under two rule sets, paired by case.

    from harness._compare import compare

Numbers come with what weakens them, and are refused where more than the candidate (or the rules) moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from harness._answer_marks import SPLITS, server_of, servers, short_words
from harness._caveats import caveats
from harness._comparable import Comparability, comparability
from harness._contrast import Contrast, contrast
from harness._errors import HarnessError, UsageError
from harness._filter import (
    NO_GROUP,
    Condition,
    check_key,
    filters_text,
    fits_all,
    group_of,
    group_order,
    keep,
    known_key,
)
from harness._fingerprint import freeze_of, plan_of
from harness._pairs import Answer, CaseKey, Missing, Pair, metric_pairs, missing_of, pair_up, read_side
from harness._rules import RuleSet
from harness._sides import Duel, Side, name_duels
from harness._study import contrasted, has_contrast, read_records
from harness._suite import Case
from harness._thaw import thaw_cases, thaw_rules
from harness.suites._companion import Record, StudyTable
from ledger import Ledger, over_views

__all__ = ["Compared", "Comparison", "compare"]

_METRICS = over_views(
    "SELECT metric, kind, is_primary, position FROM run_metrics WHERE run = ? AND rules = ? AND candidate = ?"
    " ORDER BY position"
)
_MARKS = over_views(
    "SELECT metric, asked_again, asked_again_of, mixed, marks FROM scoreboard WHERE run = ? AND rules = ?"
    " AND candidate = ? AND marks <> ''"
)
_REPEATABILITY = over_views(
    "SELECT cases, repeated, changed FROM repeatability WHERE run = ? AND rules = ? AND candidate = ?"
)


@dataclass(frozen=True)
class Group:
    """The cases that a key has the same value of (None: that lack it), and each metric over those that are paired."""

    name: str | None
    cases: int
    metrics: tuple[Contrast, ...]


@dataclass(frozen=True)
class Compared:
    """One pair of sides. Without `shown` the numbers are withheld, because more moved than may.

    `cases` counts the cases that both sides planned, `missing` lists what either lacks. `unshared` names metrics that
    one side alone has. `repeatability` has, by side, cases, repeated and changed. `stages` lists, for one run under
    two rule sets, which stage moved each cell that flipped. `study` are the tables that the suite itself brings.
    """

    duel: Duel
    comparability: Comparability
    warnings: tuple[str, ...]
    shown: bool
    cases: int = 0
    metrics: tuple[Contrast, ...] = ()
    unshared: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    repeatability: Mapping[str, Mapping[str, int]] | None = None
    stages: tuple[Mapping[str, Any], ...] = ()
    groups: tuple[Group, ...] = ()
    study: tuple[StudyTable, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        sides = {
            name: {"run": side.run, "candidate": side.candidate, "rules": side.rules}
            for name, side in (("a", self.duel.a), ("b", self.duel.b))
        }
        found = {"mode": self.duel.mode, **sides, **self.comparability.as_json(), "warnings": list(self.warnings)}
        if not self.shown:
            return found
        return found | {
            "cases": self.cases, "metrics": [each.as_json() for each in self.metrics],
            "unshared_metrics": list(self.unshared), "missing": [each.as_json() for each in self.missing],
            "repeatability": {name: dict(row) for name, row in (self.repeatability or {}).items()},
            "flips": [dict(each) for each in self.stages],
            "groups": [
                {"group": each.name, "cases": each.cases, "metrics": [found.as_json() for found in each.metrics]}
                for each in self.groups
            ],
            **({"study": [each.as_json() for each in self.study]} if self.study else {}),
        }  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Every pair of sides that was asked for. `forced` says that numbers which can't be compared are shown all the
    same."""

    pairs: tuple[Compared, ...]
    forced: bool
    filters: tuple[Condition, ...] = ()
    by: str = ""

    @property
    def part(self) -> str:
        """What narrowed the cases, in words; empty for all of them."""
        return filters_text(self.filters)

    @property
    def refused(self) -> bool:
        """Whether numbers are held back: more moved than may, and nobody insisted."""
        return any(not each.shown for each in self.pairs)

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "comparable": all(each.comparability.comparable for each in self.pairs), "forced": self.forced,
            "filter": [each.text for each in self.filters], "by": self.by,
            "comparisons": [each.as_json() for each in self.pairs],
        }  # fmt: skip


def compare(
    ledger: Ledger, a: str, b: str | None = None, *, rules: Sequence[str] = (), metrics: Sequence[str] = (),
    force: bool = False, filters: Sequence[Condition] = (), by: str = "",
) -> Comparison:  # fmt: skip
    """Compare what `a` and `b` name (see harness._sides) under each rule set; `metrics` keeps only these, `filters` the
    cases that meet every condition by the labels that A's run froze (B's, where A lacks the case). `by` is a key of
    those labels, by whose values every metric is compared group by group too.

    Raises UsageError, saying what can be named; NotFound for a run that isn't there. What isn't comparable is no error:
    the pair says so, without numbers unless `force` is given.
    """
    if by and by not in SPLITS:
        check_key(by, "--by")
    duels = name_duels(ledger, a, b, rules)
    pairs = tuple(_compared(ledger, duel, metrics, filters, by, force=force) for duel in duels)
    known = {each["metric"] for duel in duels for side in (duel.a, duel.b) for each in _metrics_of(ledger, side)}
    for name in metrics:
        if name not in known:
            raise UsageError(f"--metric: expected one of {', '.join(sorted(known)) or 'none'}, got {name!a}")
    forced = force and any(not each.comparability.comparable for each in pairs)
    return Comparison(pairs, forced, tuple(filters), by)


def _metrics_of(ledger: Ledger, side: Side) -> list[dict[str, Any]]:
    return ledger.rows(_METRICS, (side.run, side.rules, side.candidate))


def _compared(
    ledger: Ledger, duel: Duel, only: Sequence[str], filters: Sequence[Condition], by: str, *, force: bool
) -> Compared:  # fmt: skip
    found = comparability(ledger, duel)
    warnings = _warnings(ledger, duel)
    if not found.comparable and not force:
        return Compared(duel, found, warnings, shown=False)
    a, b = duel.a, duel.b
    # Where the arms differ (and somebody insisted), a case is the same case in either.
    with_arm = found.a.components["arms"] == found.b.components["arms"]
    left, right = (read_side(ledger, s.run, s.candidate, s.rules, with_arm=with_arm) for s in (a, b))
    cases = _cases_of(ledger, duel, left, right) if filters or by not in ("", *SPLITS) else {}
    if filters:
        keep(list(cases.values()), filters)
        fitting = {key for key, place in cases.items() if fits_all(filters, *place)}
        # Cells whose case was withheld stay, to be listed.
        left, right = ([each for each in side if each.key is None or each.key in fitting] for side in (left, right))
    pairs = pair_up(left, right)
    ours, theirs = _metrics_of(ledger, a), _metrics_of(ledger, b)
    kinds = {row["metric"]: row["kind"] for row in theirs}
    shared = [row for row in ours if kinds.get(row["metric"]) == row["kind"]]
    names = {row["metric"] for row in shared}
    direction = _directions(ledger, a)
    chosen = [
        row for row in sorted(shared, key=lambda row: (not row["is_primary"], row["position"]))
        if not only or row["metric"] in only
    ]  # fmt: skip

    marks = [{row["metric"]: row for row in ledger.rows(_MARKS, (s.run, s.rules, s.candidate))} for s in (a, b)]

    def contrasts(some: Sequence[Pair]) -> tuple[Contrast, ...]:
        return tuple(
            _marked(
                contrast(
                    metric_pairs(some, row["metric"]), kind=row["kind"], primary=bool(row["is_primary"]),
                    higher_is_better=direction.get(row["metric"]),
                ),
                *(side.get(row["metric"]) for side in marks),
            )
            for row in chosen
        )  # fmt: skip

    groups: list[Group] = []
    if by in SPLITS:
        split = _by_server(ledger, duel, pairs, by)
        groups = [Group(name, sum(bool(e.a and e.b) for e in some), contrasts(some)) for name, some in split]
    elif by:
        known_key([cases[pair.key] for pair in pairs if pair.key in cases], by, "--by")
        of = {pair.key: group_of(by, *cases[pair.key]) for pair in pairs if pair.key in cases}
        for name in sorted(set(of.values()), key=group_order):
            some = [pair for pair in pairs if pair.key in of and of[pair.key] == name]
            groups.append(Group(name, sum(bool(pair.a and pair.b) for pair in some), contrasts(some)))
    return Compared(
        duel, found, warnings, shown=True, cases=sum(bool(pair.a and pair.b) for pair in pairs),
        metrics=contrasts(pairs),
        groups=tuple(groups),
        unshared=tuple(dict.fromkeys(row["metric"] for row in (*ours, *theirs) if row["metric"] not in names)),
        missing=tuple(missing_of(pairs, left, right)),
        # Counted by a view, over whole runs.
        repeatability={} if filters else {name: _repeatability(ledger, s) for name, s in (("a", a), ("b", b))},
        stages=tuple(
            each for each in (_stages(ledger, duel) if duel.mode == "rules" else ())
            if not filters or each["cell"] in {answer.cell for answer in left}
        ),
        study=_study(ledger, duel, left, right),
    )  # fmt: skip


def _by_server(ledger: Ledger, duel: Duel, pairs: Sequence[Pair], by: str) -> list[tuple[str | None, list[Pair]]]:
    """The pairs, split by who answered either side; of a case with repeats each side's cells of one server together."""
    told = [servers(ledger, side.run, plan_of(ledger, side.run)) for side in (duel.a, duel.b)]
    split: dict[str | None, list[Pair]] = {}
    for pair in pairs:
        sides: list[dict[str | None, tuple[Answer, ...]]] = []
        for names, answers in zip(told, (pair.a, pair.b), strict=True):
            mine: dict[str | None, tuple[Answer, ...]] = {}
            for each in answers:
                name = server_of(names.get(each.cell, {}), by)
                mine[name] = (*mine.get(name, ()), each)
            sides.append(mine or {None: ()})
        for (one, a), (other, b) in product(sides[0].items(), sides[1].items()):
            name = one if one == other else f"A {one or NO_GROUP}, B {other or NO_GROUP}"
            split.setdefault(name, []).append(replace(pair, a=a, b=b))
    return [(name, split[name]) for name in sorted(split, key=group_order)]


def _marked(found: Contrast, a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> Contrast:
    """The contrast with the marks of either side's figures, which are of its whole candidate."""
    marked = [
        side if row is None else replace(side, marks=row["marks"], short=short_words(row))
        for side, row in ((found.a, a), (found.b, b))
    ]
    return replace(found, a=marked[0], b=marked[1])


def _study(ledger: Ledger, duel: Duel, left: Sequence[Answer], right: Sequence[Answer]) -> tuple[StudyTable, ...]:
    """What the suite says of the two sides' cells; nothing where it brings no tables or a rule set can't be read."""
    try:
        ours, theirs = (thaw_rules(ledger, freeze_of(ledger, side.run, side.rules)) for side in (duel.a, duel.b))
    except HarnessError:
        return ()
    if not has_contrast(ours, theirs):
        return ()
    joined = ours.judge is not None or theirs.judge is not None
    if joined and (duel.a.run, duel.a.candidate) != (duel.b.run, duel.b.candidate):
        # Grades of two targets' answers: no text was graded by both sides, so there is nothing to agree on.
        return ()

    def records(side: Side, rules: RuleSet, kept: Sequence[Answer]) -> list[Record]:
        cells = {each.cell for each in kept}
        found = read_records(ledger, partial(_rows, ledger), side.run, rules, cells=cells)
        return [each for each in found if each.candidate == side.candidate]

    return contrasted(records(duel.a, ours, left), records(duel.b, theirs, right), ours, theirs)


def _rows(ledger: Ledger, query: str, parameters: Sequence[Any]) -> list[dict[str, Any]]:
    return ledger.rows(over_views(query), parameters)


def _cases_of(
    ledger: Ledger, duel: Duel, left: Sequence[Answer], right: Sequence[Answer]
) -> dict[CaseKey, tuple[str, Case]]:
    """Every case of either side, as A's run froze it (B's, where A lacks it), with its fixture.

    Raises RefusedError where the frozen cases were withheld.
    """
    found: dict[CaseKey, tuple[str, Case]] = {}
    for side, answers in ((duel.a, left), (duel.b, right)):
        cases = thaw_cases(ledger, plan_of(ledger, side.run))
        for each in answers:
            case = cases.get((each.fixture, each.case))
            if each.key is not None and case is not None:
                found.setdefault(each.key, (each.fixture, case))
    return found


def _directions(ledger: Ledger, side: Side) -> dict[str, bool]:
    """Which way each metric is better, by the frozen rule file; empty where it can't be read any more."""
    try:
        found = thaw_rules(ledger, freeze_of(ledger, side.run, side.rules))
    except HarnessError:
        return {}
    return {metric.name: metric.higher_is_better for metric in found.metrics}


def _repeatability(ledger: Ledger, side: Side) -> dict[str, int]:
    for row in ledger.rows(_REPEATABILITY, (side.run, side.rules, side.candidate)):
        return {name: int(row[name] or 0) for name in ("cases", "repeated", "changed")}
    return {"cases": 0, "repeated": 0, "changed": 0}


def _stages(ledger: Ledger, duel: Duel) -> tuple[Mapping[str, Any], ...]:
    from harness._flips import flips_between

    try:
        flips = flips_between(ledger, duel.a.run, duel.a.rules, duel.b.rules)
    except UsageError:
        # A run that broke off before anything was scored: no cell moved from anywhere.
        return ()
    return tuple(each.as_json() for each in flips if each.candidate == duel.a.candidate)


def _warnings(ledger: Ledger, duel: Duel) -> tuple[str, ...]:
    """What weakens either side's numbers; said once where it is the same of both."""
    sides = (("A", duel.a), ("B", duel.b))
    said = {name: caveats(ledger, side.run, side.candidate, [side.rules]) for name, side in sides}
    both = [each for each in said["A"] if duel.a.run == duel.b.run and each in said["B"]]
    alone = [f"{name}: {each}" for name, _ in sides for each in said[name] if each not in both]
    shown = _references(ledger, duel) if duel.mode == "rules" else ()
    return (*(f"A and B: {each}" for each in both), *alone, *shown)


def _references(ledger: Ledger, duel: Duel) -> tuple[str, ...]:
    """That one run's two rule sets hold grades of judges that weren't shown the same."""
    try:
        rules = [thaw_rules(ledger, freeze_of(ledger, side.run, side.rules)) for side in (duel.a, duel.b)]
    except HarnessError:
        return ()
    judges = [each.judge for each in rules if each.judge is not None]
    gold = [bool(each.get("reference")) for each in judges]
    if len(gold) < 2 or gold[0] == gold[1]:
        return ()
    seeing, blind = ("A", "B") if gold[0] else ("B", "A")
    return (f"{seeing}'s judge was shown each case's gold as a reference and {blind}'s graded blind: they measure two"
            " things",)  # fmt: skip
