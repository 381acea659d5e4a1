"""The gate: whether a run is at most a margin worse than another, case by case, whatever is missing would have been.

    pass          the lower end of the 95% interval of RUN minus AGAINST lies above -margin (one-sided: 97.5%)
    fail          the upper end lies below -margin
    inconclusive  anything else, which is no pass unless the person says so

Where lower is better the sign is turned, so that below zero is always worse. What is missing on a side is never left
out to RUN's good: a pass must hold if everything that RUN lacks were as bad, and everything that AGAINST lacks as good,
as it can be; a fail must hold the other way round. So failures can't fall out of a gate, and nor can cases: those that
AGAINST planned and RUN left out (--limit, --filter) are missing from RUN, or somebody could pick the cases that pass.
Those that RUN alone has are listed, for there is nothing to hold them against.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from harness._compare import Compared, compare
from harness._contradicted import doubts
from harness._contrast import Contrast, shown_difference, shown_range
from harness._errors import UsageError
from harness._gate_named import find_against
from harness._gate_outcomes import Outcome, worst_of
from harness._noninferior import PairedInterval, paired_interval
from harness._pairs import Answer, Pair, clustered, pair_up, read_side
from harness._session import UNFINISHED
from harness._sides import Side, named_labels
from ledger import Ledger, over_views, run_status, standing_of

__all__ = ["CONFIDENCE", "Gate", "GateResult", "gate"]

CONFIDENCE = "95% interval, so 97.5% confidence at the one end that decides"

_APART = 1e-12

_OPEN = over_views(
    "SELECT status, EXISTS (SELECT 1 FROM cells WHERE cells.run = runs.run"
    " AND status IN (SELECT value FROM json_each(?1))"
    " AND rules NOT IN (SELECT rules FROM joins WHERE run = ?2)) AS unfinished FROM runs WHERE run = ?2"
)


@dataclass(frozen=True)
class GateResult:
    """One candidate under one rule set, by one metric. Differences are RUN minus AGAINST, below zero is worse.

    `seen` is the interval over the cases that both sides measured, `worst` and `best` over all that AGAINST planned,
    with what is missing counted against RUN and for it. `missing` counts cells by side and reason. `ours` and `theirs`
    are the figures as text, over the cases that both measured; on `differing` of those the two differ (None where
    nobody counted).
    """

    candidate: str
    against: str
    rules: str
    metric: str
    outcome: Outcome
    why: str
    higher_is_better: bool | None = None
    ours: str = "no data"
    theirs: str = "no data"
    seen: PairedInterval | None = None
    worst: PairedInterval | None = None
    best: PairedInterval | None = None
    unmeasured_cases: int = 0
    differing: int | None = None
    missing: tuple[tuple[str, int], ...] = ()
    mend: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The result in one sentence."""
        where = f" under {self.rules}" if self.rules else ""
        metric = f", {self.metric}" if self.metric else ""
        return f"{self.outcome.upper()}: {self.sides()}{where}{metric}: {self.why}"

    def sides(self) -> str:
        """Whom the result holds against whom: one label where both have it."""
        other = f" against {self.against}" if self.against not in ("", self.candidate) else ""
        return self.candidate + other

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "candidate": self.candidate, "against": self.against, "rules": self.rules, "metric": self.metric,
            "outcome": self.outcome, "why": self.why, "higher_is_better": self.higher_is_better, "run": self.ours,
            "other": self.theirs, "seen": _interval(self.seen), "worst": _interval(self.worst),
            "best": _interval(self.best), "unmeasured_cases": self.unmeasured_cases, "differing": self.differing,
            "missing": dict(self.missing), "mend": list(self.mend),
        }  # fmt: skip


def _interval(found: PairedInterval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "difference": found.difference, "low": found.low, "high": found.high, "cases": found.cases,
        "method": found.method,
    }  # fmt: skip


@dataclass(frozen=True)
class Gate:
    """Every result. `tag` is what AGAINST was found by, or empty; `unfinished` says that RUN has cells to ask."""

    run: str
    against: str
    tag: str
    suite: str
    margin: Decimal
    lenient: bool
    unfinished: bool
    results: tuple[GateResult, ...]
    warnings: tuple[str, ...]

    @property
    def outcome(self) -> Literal["pass", "fail", "inconclusive", "incomplete", "not comparable"]:
        """The whole in one word: the worst of its results."""
        worst = worst_of({each.outcome for each in self.results})
        return "incomplete" if self.unfinished and worst != "not comparable" else worst

    @property
    def exit_status(self) -> int:
        """0 pass, 1 fail or inconclusive, 3 incomplete, 4 not comparable."""
        lenient = {"inconclusive": 0} if self.lenient else {}
        return {"pass": 0, "fail": 1, "inconclusive": 1, "incomplete": 3, "not comparable": 4, **lenient}[self.outcome]

    def points(self) -> str:
        """The margin in percentage points."""
        return f"{(self.margin * 100).normalize():f}pp"

    def sentence(self) -> str:
        """The whole in one sentence."""
        sides = {(each.candidate, each.against) for each in self.results}
        ours, theirs = self.run, self.against
        if len(sides) == 1 and all(len({one, other, ""}) == 3 for one, other in sides):
            ((one, other),) = sides
            ours, theirs = f"{ours}@{one}", f"{theirs}@{other}"
        said = {
            "pass": f"run {ours} is not more than {self.points()} worse than run {theirs}",
            "fail": f"run {ours} is more than {self.points()} worse than run {theirs}",
            "inconclusive": f"it can't be told whether run {ours} is more than {self.points()} worse than run"
            f" {theirs}" + ("; let through by --inconclusive pass" if self.lenient else ", which is no pass"),
            "incomplete": f"run {self.run} has cells in error or never asked; `harness resume {self.run}` asks them",
            "not comparable": f"more moved between run {ours} and run {theirs} than the candidate",
        }
        return f"{self.outcome.upper()}: {said[self.outcome]} ({CONFIDENCE})"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "outcome": self.outcome, "exit_status": self.exit_status, "run": self.run, "against": self.against,
            "tag": self.tag or None, "suite": self.suite, "margin": float(self.margin), "confidence": CONFIDENCE,
            "inconclusive": "pass" if self.lenient else "fail", "unfinished": self.unfinished,
            "results": [each.as_json() for each in self.results], "warnings": list(self.warnings),
        }  # fmt: skip


def gate(
    ledger: Ledger, run: str, against: str, margin: Decimal, *, metrics: Sequence[str] = (), rules: Sequence[str] = (),
    lenient: bool = False,
) -> Gate:  # fmt: skip
    """Hold RUN (or RUN@CANDIDATE) against AGAINST, a run or a tag, under each rule set that both have (or `rules`).

    Without `metrics` the one that decides outcomes is held. Each candidate is held against its namesake. Raises
    UsageError, saying what can be named, and NotFound.
    """
    ours, labels = named_labels(ledger, run)
    found = find_against(ledger, ours, against)
    theirs, others = named_labels(ledger, found.text)
    compared = compare(ledger, run, found.text, rules=rules, metrics=metrics)
    if any(pair.duel.mode == "rules" for pair in compared.pairs):
        raise UsageError("the gate holds one run, or one candidate, against another; `harness compare` has rule sets")
    results = [result for pair in compared.pairs for result in _results(ledger, pair, margin, metrics)]
    held = {pair.duel.a.candidate for pair in compared.pairs}
    results += [
        GateResult(label, "", "", "", "inconclusive", f"run {theirs} has no candidate of this name to hold it against")
        for label in labels if label not in held
    ]  # fmt: skip
    warnings = dict.fromkeys(said for pair in compared.pairs for said in pair.warnings)
    dropped = [label for label in others if label not in {pair.duel.b.candidate for pair in compared.pairs}]
    said = [*warnings, *(f"B: run {theirs} has {label} too, which run {ours} was not asked of" for label in dropped)]
    suite = str(ledger.rows(over_views("SELECT suite FROM runs WHERE run = ?"), (ours,))[0]["suite"])
    return Gate(ours, theirs, found.tag, suite, margin, lenient, _unfinished(ledger, ours), tuple(results), tuple(said))


def _unfinished(ledger: Ledger, run: str) -> bool:
    (row,) = ledger.rows(_OPEN, (json.dumps(sorted(UNFINISHED)), run))
    return bool(row["unfinished"]) or run_status(ledger, run, row["status"]) not in ("complete", "partial")


def _results(ledger: Ledger, pair: Compared, margin: Decimal, only: Sequence[str]) -> list[GateResult]:
    a, b = pair.duel.a, pair.duel.b
    named: tuple[str, str, str] = (a.candidate, b.candidate, a.rules)
    if not pair.shown:
        moved = pair.comparability.two_suites("RUN", "AGAINST") or "; ".join(
            dict.fromkeys(each.sentence() for each in pair.comparability.moved)
        )
        return [GateResult(*named, "", "not comparable", moved, mend=pair.comparability.mend)]
    # A suite may decide outcomes by one metric for some of its cases and by another for the rest.
    deciding = [each for each in pair.metrics if each.primary and each.planned]
    chosen = [each for each in pair.metrics if each.metric in only] if only else deciding
    lacks = [name for name in only if name not in {each.metric for each in pair.metrics}]
    found = [GateResult(*named, name, "inconclusive", "only one side has this metric") for name in lacks]
    if not chosen and not lacks:
        return [GateResult(*named, "", "inconclusive", "no metric that decides outcomes has a case on both sides")]
    with_arm = pair.comparability.a.components["arms"] == pair.comparability.b.components["arms"]
    left, right = (read_side(ledger, s.run, s.candidate, s.rules, with_arm=with_arm) for s in (a, b))
    unsafe = _set_aside(ledger, a) or _set_aside(ledger, b)
    pairs = pair_up(left, right)
    withheld = sum(each.key is None for each in (*left, *right))
    missing = _missing(pair)
    found += [_judged(each, named, pairs, withheld, missing, margin, unsafe) for each in chosen]
    return found


def _set_aside(ledger: Ledger, side: Side) -> str:
    """Why no pass may rest on a side's numbers, or empty."""
    standing = standing_of(ledger, side.run)
    if standing.superseded is not None:
        return f"run {side.run} was superseded (event {standing.superseded})"
    if standing.taints_number(side.candidate, side.rules):
        return f"the numbers of run {side.run} rest on what event {standing.taints[0].taint} taints"
    if doubts(ledger, side.run, side.candidate, [side.rules]):
        return f"the numbers of run {side.run} don't hold: the ledger's own events contradict them"
    return ""


def _missing(pair: Compared) -> tuple[tuple[str, int], ...]:
    counts = Counter(
        f"{'RUN' if each.side == 'a' else 'AGAINST'}: {each.why}"
        + (f" ({each.status}, {each.reason})" if each.status else "")
        for each in pair.missing
    )
    return tuple(counts.items())


def _judged(
    contrast: Contrast, named: tuple[str, str, str], pairs: Sequence[Pair], withheld: int,
    missing: tuple[tuple[str, int], ...], margin: Decimal, unsafe: str,
) -> GateResult:  # fmt: skip
    """Hold one metric's cases to the margin."""
    metric = contrast.metric
    known = contrast.higher_is_better
    mine = [pair for pair in pairs if pair.b and (pair.applies is None or metric in pair.applies)]
    sign = -1.0 if known is False else 1.0
    # An input with its twins is one case, as one with its epochs is.
    cases = clustered(mine)
    whole = contrast.kind == "rate" and all(
        len(some) == 1 and len(pair.a) <= 1 == len(pair.b) for some in cases for pair in some
    )
    measured = [
        [_mean(a) - _mean(b) for a, b in (pair.values(metric) for pair in some) if a and b] for some in cases
    ]  # fmt: skip
    seen = [sign * _mean(each) for each in measured if each]
    lacking, unknown = _lacking(cases, metric, withheld)
    # The worst that an unmeasured cell can be is 0, or 1 where lower is better; of AGAINST it is the other end.
    low, high = (1.0, 0.0) if known is False else (0.0, 1.0)
    worst = [sign * _apart(some, metric, low, high) for some in cases] + [-1.0] * withheld
    best = [sign * _apart(some, metric, high, low) for some in cases] + [1.0] * withheld
    outside = any(not -1 <= each <= 1 for each in (*worst, *best, *seen))
    intervals = (None, None, None) if outside else (
        paired_interval(seen, whole=whole), paired_interval(worst, whole=whole), paired_interval(best, whole=whole)
    )  # fmt: skip
    reason = unsafe or ("its figures aren't between 0 and 1" if outside else "")
    if known is None:
        reason = reason or "its rule set can't be read any more, so nobody can tell whether higher is better"
    outcome, why = _decide(*intervals, float(margin), unknown, reason)
    return GateResult(
        *named, metric, outcome, why, known, contrast.a.text(), contrast.b.text(), *intervals, lacking,
        None if outside else sum(abs(each) > _APART for each in seen), missing,
    )  # fmt: skip


def _lacking(cases: Sequence[Sequence[Pair]], metric: str, withheld: int) -> tuple[int, str]:
    """The cases that lack a measurement, and the same in words with how many of them on which side."""
    sides = [
        tuple(
            any(not side or any(metric not in each.metrics for each in side) for side in sides)
            for sides in ([pair.a for pair in some], [pair.b for pair in some])
        )
        for some in cases
    ]
    count = sum(any(each) for each in sides) + withheld
    if not count:
        return 0, ""
    ours, theirs, both = sum(a for a, _ in sides), sum(b for _, b in sides), sum(a and b for a, b in sides)
    said = f" ({ours} in RUN, {theirs} in AGAINST, {both} of them in both)" if ours and theirs else ""
    return count, f"{_cases(count)} that lack{'s' if count == 1 else ''} a measurement{said}"


def _apart(case: Sequence[Pair], metric: str, ours: float, theirs: float) -> float:
    """A case's mean difference over its twins, with what is missing on either side filled."""
    return _mean([_filled(pair.a, metric, ours) - _filled(pair.b, metric, theirs) for pair in case])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _filled(cells: Sequence[Answer], metric: str, missing: float) -> float:
    return _mean([each.metrics.get(metric, missing) for each in cells]) if cells else missing


def _decide(
    seen: PairedInterval | None, worst: PairedInterval | None, best: PairedInterval | None, margin: float, unknown: str,
    reason: str,
) -> tuple[Outcome, str]:  # fmt: skip
    if reason:
        return "inconclusive", reason
    if worst is None or best is None:
        return "inconclusive", "no case is planned on both sides"
    bar = f"-{100 * margin:g}pp"
    if worst.low > -margin:
        left = f", with the {unknown} counted against it" if unknown else ""
        return "pass", f"the difference is {_range(worst)}; its lower end is above {bar}{left}"
    if best.high < -margin:
        left = f", even with the {unknown} counted for it" if unknown else ""
        return "fail", f"the difference is {_range(best)}; its upper end is below {bar}{left}"
    if seen is None:
        return "inconclusive", "no case has figures on both sides"
    if unknown and (seen.low > -margin or seen.high < -margin):
        side = "pass" if seen.low > -margin else "fail"
        return "inconclusive", (
            f"it would {side} on the {_cases(seen.cases)} that both measured ({_range(seen)}), but the"
            f" {unknown} could turn it"
        )
    return "inconclusive", f"the difference is {_range(seen)}, and {bar} lies in it"


def _cases(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'}"


def _range(found: PairedInterval) -> str:
    interval = shown_range(found.low, found.high, "rate").removesuffix("pp")
    return f"{shown_difference(found.difference, 'rate')} ({interval})"
