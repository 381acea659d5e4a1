"""What the first page says of a run under each rule set: how its cells ended, and its primary figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ledger.web._outcomes import Segment, outcome_bar
from ledger.web._pages import Headline

__all__ = ["Lack", "Part", "Rates", "Scored", "parts_of", "rule_sets"]

_AT_ONCE = 4


@dataclass(frozen=True)
class Scored:
    """How a run's cells ended under one rule set."""

    rules: str
    bar: Sequence[Segment]


@dataclass(frozen=True)
class Rates:
    """The figures under one rule set that something was measured for."""

    rules: str
    found: Sequence[Headline]


@dataclass(frozen=True)
class Lack:
    """What nothing was measured for, under rule sets that lack the same: metrics, and the candidates of each."""

    rules: Sequence[str]
    of: Sequence[tuple[Sequence[str], Sequence[str]]]


@dataclass(frozen=True)
class Part:
    """Some of the rule sets of a run: their bars, the figures that there are, and what there is no data for."""

    scored: Sequence[Scored]
    rates: Sequence[Rates]
    lacks: Sequence[Lack]


def rule_sets(planned: Iterable[str], counts: Mapping[str, object], headlines: Sequence[Headline]) -> Sequence[str]:
    """The rule sets of a run, its plan's and whatever else it was scored under, in the order of its report."""
    return sorted({*planned, *counts, *(each.rules for each in headlines)})


def parts_of(
    run: str, planned: int, rules: Sequence[str], counts: Mapping[str, Mapping[str, int]] | None,
    headlines: Sequence[Headline],
) -> Sequence[Part]:  # fmt: skip
    """The rule sets that are shown at once, and (where there are more) the rest. No bars where counts aren't known."""
    left = iter(rules)
    parts: list[Part] = []
    for some in (list(islice(left, _AT_ONCE)), list(left)):
        measured = {each: [line for line in headlines if line.rules == each and line.n.value] for each in some}
        missing = {each: [line for line in headlines if line.rules == each and not line.n.value] for each in some}
        counted = {} if counts is None else {each: counts.get(each, {}) for each in some}
        parts.append(
            Part(
                [Scored(each, outcome_bar(run, each, planned, mine)) for each, mine in counted.items()],
                [Rates(each, found) for each, found in measured.items() if found], _lacks(missing),
            )
        )  # fmt: skip
    return [part for part in parts if part.scored or part.rates or part.lacks]


def _lacks(missing: Mapping[str, Sequence[Headline]]) -> Sequence[Lack]:
    alike: dict[tuple[tuple[tuple[str, ...], tuple[str, ...]], ...], list[str]] = {}
    for rules, lines in missing.items():
        if lines:
            alike.setdefault(_named(lines), []).append(rules)
    return [Lack(rules, of) for of, rules in alike.items()]


def _named(lines: Sequence[Headline]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The metrics of each candidate, and together the candidates that lack the same metrics."""
    metrics: dict[str, list[str]] = {}
    for line in lines:
        metrics.setdefault(line.candidate, []).append(line.metric)
    candidates: dict[tuple[str, ...], list[str]] = {}
    for candidate, mine in metrics.items():
        candidates.setdefault(tuple(mine), []).append(candidate)
    return tuple((mine, tuple(them)) for mine, them in candidates.items())
