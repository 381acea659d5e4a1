"""A comparison as lines for a terminal. What is printed goes through `ledger.printable`, line by line, by the caller;
the cells of the tables are escaped here, where a label's own line breaks would break a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness._compare import Compared, Comparison
from harness._contrast import Contrast, shown_difference, shown_p, shown_range
from harness._filter import NO_GROUP
from harness._pairs import Missing
from harness._report_study import study_text
from ledger.cli import table

__all__ = ["compare_lines"]

_SHOWN = 12
_GROUPS_SHOWN = 50
_STUDIED = 50
_COLUMNS = ("metric", "A", "B", "both", "only A", "only B", "neither", "A - B", "95% interval", "exact McNemar p")
_OPTIONAL = frozenset({"both", "only A", "only B", "neither", "exact McNemar p"})
_UNSHOWN = "the JSON form has all"


def compare_lines(found: Comparison) -> Iterator[str]:
    """The whole comparison, one line at a time."""
    if found.forced:
        yield "!!! NOT COMPARABLE: more moved than what is compared; shown because --force was given !!!"
        yield ""
    if found.part:
        yield f"SUBSET: only cases where {found.part}, chosen when the answers were known: all of it is post hoc"
    for at, pair in enumerate(found.pairs):
        if at:
            yield ""
        yield from _pair(pair)
        yield from _groups(pair, found.by)
    if any(each.p is not None for pair in found.pairs for each in pair.metrics):
        yield ""
        yield "Each p is of one test, uncorrected for the number of metrics and rule sets shown."


def _pair(pair: Compared) -> Iterator[str]:
    a, b = pair.duel.a, pair.duel.b
    yield f"A: {a.run}@{a.candidate} under {a.rules}"
    yield f"B: {b.run}@{b.candidate} under {b.rules}"
    yield from pair.warnings
    found = pair.comparability
    if found.candidate:
        yield f"The candidates differ in: {', '.join(found.candidate)}"
    if found.behaviour is not None:
        yield found.behaviour.sentence()
    if not found.comparable:
        yield "NOT COMPARABLE:"
        yield from ([f"  {found.two_suites()}"] if found.two_suites() else [])
        yield from _some([f"  {each.sentence()}" for each in found.moved])
        yield from (f"  to mend it: {each}" for each in found.mend)
    if found.beside:
        yield f"Also different, which decides nothing of what a score means: {_listed(found.beside)}"
    if pair.shown:
        yield from _numbers(pair)


def _numbers(pair: Compared) -> Iterator[str]:
    yield ""
    yield from _filled(_COLUMNS, [_row(each) for each in pair.metrics])
    if any(each.primary for each in pair.metrics):
        yield "* decides outcomes."
    if any(each.both is not None for each in pair.metrics):
        yield "A and B count the cases that are right (1) there; both, only A and so on count the paired cases."
    if any(each.p is not None for each in pair.metrics):
        yield "One is called higher where p is under 0.05 and the interval doesn't hold zero; else it is inconclusive."
    if any(each.repeated and each.pairs for each in pair.metrics):
        yield "A - B weighs each case alike, however often it was asked: in epochs, or by cases of the same input."
    seeds = {(each.interval.resamples, each.interval.seed) for each in pair.metrics if each.interval is not None}
    for resamples, seed in seeds:
        yield f"Intervals of A - B: {resamples:,} resamples of the cases, percentile, seed {seed}."
    yield ""
    for each in pair.metrics:
        yield each.sentence()
        if not each.pairs:
            continue
        if each.no_p:
            yield f"  exact McNemar not computed: {each.no_p}"
        if each.interval is not None and not each.interval.spread:
            alike = "every paired case differs alike" if each.difference else "no paired case differs"
            yield f"  {alike}: the interval has no width, and says nothing of other cases"
        if each.pairs < each.planned:
            yield f"  {each.pairs} of the {each.planned} cases that it applies to have figures on both sides"
        yield f"  {each.power().partition(': ')[2]}"
    if not pair.metrics:
        yield "no metric is shared by both sides"
    if pair.unshared:
        yield f"On one side alone, and not compared: {', '.join(pair.unshared)}"
    yield from _flips(pair)
    yield from _missing(pair.missing)
    yield from _study(pair)
    for name, row in (pair.repeatability or {}).items():
        if row["repeated"]:
            yield (
                f"{name.upper()}: {row['changed']} of {row['repeated']} repeated cases changed outcome between"
                " identical repeats"
            )


def _groups(pair: Compared, by: str) -> Iterator[str]:
    if not pair.groups:
        return
    yield ""
    yield f"By {by}, each group a part of the cases, chosen when the answers were known (post hoc):"
    some = pair.groups[:_GROUPS_SHOWN]
    yield from _filled(
        (by, "cases", "metric", "A", "B", "only A", "only B", "A - B", "95% interval", "exact McNemar p"),
        [
            [NO_GROUP if group.name is None else group.name, group.cases, *(row[0:3]), *(row[4:6]), *(row[7:])]
            for group in some for row in map(_row, group.metrics)
        ],
    )  # fmt: skip
    if len(pair.groups) > len(some):
        yield f"{len(pair.groups) - len(some)} of the {len(pair.groups)} groups are left out here; {_UNSHOWN}"
    yield "The more groups, the likelier one of them stands out by chance: no p here is corrected for that."


def _study(pair: Compared) -> Iterator[str]:
    for each in pair.study:
        yield ""
        yield f"{each.title}: {each.about}"
        columns = [column.name for column in each.columns]
        lines = [
            [study_text(value, column.form) for value, column in zip(row, each.columns, strict=True)]
            for row in each.rows
        ]
        yield from table(columns, lines[:_STUDIED])
        if len(lines) > _STUDIED:
            yield f"  and {len(lines) - _STUDIED} more; {_UNSHOWN}"
        yield from each.notes


def _filled(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """The table, without the columns that hold nothing in any row."""
    kept = [at for at, name in enumerate(columns) if name not in _OPTIONAL or any(row[at] != "–" for row in rows)]
    yield from table([columns[at] for at in kept], [[row[at] for at in kept] for row in rows])


def _row(each: Contrast) -> list[object]:
    interval = each.interval
    return [
        each.metric + ("*" if each.primary else ""), each.a.text(), each.b.text(), _count(each.both),
        _count(each.only_a), _count(each.only_b), _count(each.neither),
        "–" if each.difference is None else shown_difference(each.difference, each.kind),
        "–" if interval is None else shown_range(interval.low, interval.high, each.kind),
        "–" if each.p is None else shown_p(each.p),
    ]  # fmt: skip


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _flips(pair: Compared) -> Iterator[str]:
    for each in pair.metrics:
        flips = each.flips
        if not flips:
            continue
        yield ""
        yield f"{each.metric}, cases that differ ({len(flips)}):"
        yield from _some(
            [
                f"  {flip.case}{f' (B: {flip.other_name})' if flip.other_name else ''}:"
                f" A {_figures(flip.a, flip.outcomes_a)}, B {_figures(flip.b, flip.outcomes_b)}"
                for flip in flips
            ]
        )
    if pair.stages:
        yield ""
        yield f"What moved each cell ({len(pair.stages)}):"
        yield from _some([f"  {_stage(each)}" for each in pair.stages])


def _figures(values: Sequence[float], outcomes: Sequence[str]) -> str:
    shown = "/".join(f"{value:.4g}" for value in values)
    counted = [each for each in dict.fromkeys(outcomes) if each.startswith("unmeasured")]
    return shown + (f" ({', '.join(counted)})" if counted else "")


def _stage(flip: Mapping[str, Any]) -> str:
    before, after = (_value(flip[name]) for name in ("before", "after"))
    return f"cell {flip['cell']} {flip['case']} {flip['metric']}: {before} → {after} by {flip['stage']}"


def _value(value: object) -> str:
    return "unmeasured" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)


def _missing(missing: Sequence[Missing]) -> Iterator[str]:
    for side in ("a", "b"):
        mine = [each for each in missing if each.side == side]
        if not mine:
            continue
        yield ""
        yield f"Missing in {side.upper()} ({len(mine)}), never filled in:"
        counts = Counter(_why(each) for each in mine)
        for why, count in counts.items():
            names = [each.case or f"cell {each.cell}" for each in mine if _why(each) == why]
            yield f"  {why} ({count}): {_listed(names)}"


def _why(each: Missing) -> str:
    return f"{each.why}: {each.status}, {each.reason}" if each.why == "unmeasured" else each.why


def _listed(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _SHOWN} more; {_UNSHOWN}" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"  and {len(lines) - _SHOWN} more; {_UNSHOWN}"
