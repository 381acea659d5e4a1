"""Agreement on a run's answers: of judges with people, of judges with one another, of people with one another.

Everything follows from events: the scores of the rule sets of judges that stand in the run, and the files of labels
that are on record about it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

from harness._kappa import Agreement, agreement, agreement_of_scores
from harness._label_store import Rows, stored_labels, targets_of
from harness._labels import Target
from harness._rules import RuleSet
from harness._who_judged import VERDICT, Voice, judges_in, people_in
from harness.suites._companion import Column, StudyTable
from ledger import Ledger

__all__ = ["EVERY_CANDIDATE", "EVERY_JUDGE", "agreement_in", "agreement_study", "agreement_tables", "labels_in"]

EVERY_JUDGE = "all who judged"
EVERY_CANDIDATE = "every candidate"
"""Whose cells, and under which rules, tables of agreement are: in the words of a report."""
_MOST_LISTED = 200
_MOST_NAMED = 40
_FEW = 30


def agreement_tables(
    ledger: Ledger, rows: Rows, run: str, rules: Mapping[str, RuleSet]
) -> tuple[StudyTable, ...]:  # fmt: skip
    """Every table of agreement on a run's answers; none where fewer than two judged or labelled.

    `rows` runs a query over this release's views and over `events` and `edges`, as of some event of the chain; `rules`
    are the rule sets of the run that are shown, by label: those that aren't of judging are passed over.
    """
    judges, stored = judges_in(rows, run, rules), stored_labels(ledger, rows, run)
    if not stored and len(judges) < 2:
        return ()
    people, notes = people_in(rows, run, stored)
    targets = {each.cell: each for each in targets_of(rows, run)}
    repeated = max((each.epoch for each in targets.values()), default=0) > 0
    epochs = ["Epochs of a case count as if they were independent, so the intervals are too narrow."] * repeated
    notes += epochs
    found: list[StudyTable] = []
    if judges and people:
        pairs = [(judge, person) for judge in judges for person in people]
        found += _agreement("Agreement with people", ("judge", "person"), pairs, notes)
        found += [_crossed(pairs), *_apart(pairs, targets)]
    if len(judges) > 1:
        found += _agreement("Agreement among judges", ("judge", "other judge"), list(combinations(judges, 2)), epochs)
    if len(people) > 1:
        pairs = list(islice(combinations(people, 2), _MOST_LISTED))
        left = math.comb(len(people), 2) - len(pairs)
        more = [f"{left} more pairs of people aren't listed."] if left else []
        found += _agreement("Agreement among people", ("person", "other person"), pairs, [*notes, *more])
    return tuple(found)


def agreement_study(
    ledger: Ledger, rows: Rows, run: str, rules: Mapping[str, RuleSet]
) -> list[dict[str, Any]]:  # fmt: skip
    """The tables of `agreement_tables` in the form of a report's `study`; empty where there are none. `labels` are the
    events of the files of labels that they rest on."""
    tables = [each.as_json() for each in agreement_tables(ledger, rows, run, rules)]
    if not tables:
        return []
    labels = [each.seq for each in stored_labels(ledger, rows, run) if each.data is not None]
    return [{"rules": EVERY_JUDGE, "candidate": EVERY_CANDIDATE, "tables": tables, "labels": labels}]


def labels_in(data: Mapping[str, Any]) -> list[int]:
    """The events of the files of labels that a report's data rest on."""
    return [seq for each in data.get("study", ()) for seq in each.get("labels", ())]


def agreement_in(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables of agreement in a report's data."""
    return [table for each in data.get("study", ()) if each["rules"] == EVERY_JUDGE for table in each["tables"]]


# Tables


_FIGURES = (
    Column("on"), Column("n", "count"), Column("alike", "count"), Column("share", "percent"), Column("low", "percent"),
    Column("high", "percent"), Column("kappa", "decimal"), Column("kappa low", "decimal"),
    Column("kappa high", "decimal"),
)  # fmt: skip
_ABOUT = (
    "The share of answers labelled alike (Wilson interval), and Cohen's kappa with its 95% interval: of verdicts, pass"
    " or not; of a criterion's scores, with linear weights."
)
_WHY: Mapping[str, str] = {
    "one_label": "Kappa is undefined where both gave one label throughout, for nothing tells that from chance",
    "no_data": "No answer has a label of both",
    "no_interval": "Kappa has no interval where nothing varies: in full agreement, or where one of the two never does",
}


def _agreement(
    title: str, who: tuple[str, str], pairs: Sequence[tuple[Voice, Voice]], notes: Sequence[str]
) -> list[StudyTable]:
    """The figures of every pair, and, where something was left out of them, how much and which cells."""
    rows: list[tuple[str | int | float | None, ...]] = []
    left: list[tuple[str | int | float | None, ...]] = []
    whys: dict[str, list[str]] = {}
    for one, other in pairs:
        for on, ours, theirs in _held(one, other):
            both = sorted(ours.keys() & theirs.keys())
            found, why = _measured([(ours[cell], theirs[cell]) for cell in both])
            if why:
                whys.setdefault(why, []).append(f"{one.name} and {other.name} ({on})")
            rows.append((one.name, other.name, on, *_figures(found)))
            if len(ours) + len(theirs) > 2 * len(both):
                left.append((one.name, other.name, on, len(ours) - len(both), len(theirs) - len(both)))
    told = [*notes, *(f"{_WHY[why]}: {', '.join(whose)}." for why, whose in whys.items())]
    if any(0 < int(row[3] or 0) < _FEW for row in rows):
        told.append(f"Kappa's interval is one of large samples; of fewer than {_FEW} answers it is rough.")
    tables = [StudyTable(title, _ABOUT, (*map(Column, who), *_FIGURES), tuple(rows), tuple(told))]
    named = tuple(dict.fromkeys(said for pair in pairs for said in _left_out(*pair)))
    if left or named:
        columns = (*map(Column, who), Column("on"), Column(f"only the {who[0]}", "count"))
        tables.append(
            StudyTable(
                f"Left out of: {title.lower()}", "Answers that only one of the two said anything of.",
                (*columns, Column(f"only the {who[1]}", "count")), tuple(left), named,
            )
        )  # fmt: skip
    return tables


def _held(one: Voice, other: Voice) -> Iterable[tuple[str, Mapping[int, str | int], Mapping[int, str | int]]]:
    """What both gave: verdicts, and scores by criterion, unless they were shown two wordings of it."""
    if one.verdicts and other.verdicts:
        yield VERDICT, one.verdicts, other.verdicts
    if one.rubric and other.rubric and one.rubric != other.rubric:
        return
    for name in one.criteria:
        if one.scores.get(name) and other.scores.get(name):
            yield name, one.scores[name], other.scores[name]


def _measured(pairs: Sequence[tuple[str | int, str | int]]) -> tuple[Agreement, str]:
    """The figures; and, where something of them is missing, why: a key of `_WHY`."""
    if pairs and all(isinstance(one, int) and isinstance(other, int) for one, other in pairs):
        found = agreement_of_scores([(int(one), int(other)) for one, other in pairs])
    else:
        found = agreement([(str(one), str(other)) for one, other in pairs])
    return found, found.why or ("no_interval" if found.kappa_low is None else "")


def _figures(found: Agreement) -> tuple[int | float | None, ...]:
    return (
        found.n, found.agreed, found.share, found.low, found.high, found.kappa, found.kappa_low, found.kappa_high,
    )  # fmt: skip


def _left_out(one: Voice, other: Voice) -> Iterable[str]:
    """Which cells one of two has nothing of, as cells of the run."""
    mine = one.verdicts.keys() | {cell for each in one.scores.values() for cell in each}
    theirs = other.verdicts.keys() | {cell for each in other.scores.values() for cell in each}
    for voice, has, lacks in ((one, theirs, mine), (other, mine, theirs)):
        missing = sorted(has - lacks)
        if missing:
            yield f"Nothing by {voice.name} of cells {_ranges(missing, voice.unmeasured)}."


def _ranges(cells: Sequence[int], why: Mapping[int, str]) -> str:
    """Cells as ranges, each with why there is nothing of it where that is known; of very many, the first."""
    runs: list[tuple[int, int, str]] = []
    for cell in cells:
        said = why.get(cell, "")
        if runs and runs[-1][1:] == (cell - 1, said):
            runs[-1] = (runs[-1][0], cell, said)
        else:
            runs.append((cell, cell, said))
    named = [
        (str(first) if first == last else f"{first}–{last}") + (f" ({said})" if said else "")
        for first, last, said in runs[:_MOST_NAMED]
    ]
    left = sum(last - first + 1 for first, last, _ in runs[_MOST_NAMED:])
    return ", ".join(named) + (f" and {left} more" if left else "")


def _crossed(pairs: Sequence[tuple[Voice, Voice]]) -> StudyTable:
    rows: list[tuple[str | int | float | None, ...]] = []
    for judge, person in pairs:
        both = judge.verdicts.keys() & person.verdicts.keys()
        seen = [(judge.verdicts[cell] == "pass", person.verdicts[cell] == "pass") for cell in both]
        if seen:
            crossed = (seen.count(each) for each in ((True, True), (True, False), (False, True), (False, False)))
            rows.append((judge.name, person.name, *crossed))
    columns = ("both pass", "only the judge passes", "only the person passes", "neither passes")
    return StudyTable(
        "Verdicts of judges and people", "How often each passes what the other does or doesn't.",
        (Column("judge"), Column("person"), *(Column(each, "count") for each in columns)), tuple(rows),
    )  # fmt: skip


def _apart(pairs: Sequence[tuple[Voice, Voice]], targets: Mapping[int, Target]) -> list[StudyTable]:
    rows = [
        (judge.name, person.name, cell, targets[cell].case if cell in targets else "", judge.verdicts[cell],
         person.verdicts[cell])
        for judge, person in pairs
        for cell in sorted(judge.verdicts.keys() & person.verdicts.keys())
        if judge.verdicts[cell] != person.verdicts[cell]
    ]  # fmt: skip
    if not rows:
        return []
    left = len(rows) - _MOST_LISTED
    columns = (
        Column("judge"), Column("person"), Column("cell", "count"), Column("case"), Column("the judge says"),
        Column("the person says"),
    )  # fmt: skip
    return [
        StudyTable(
            "Where judges and people differ", "Every answer that one passes and the other doesn't.", columns,
            tuple(rows[:_MOST_LISTED]), (f"{left} more aren't listed.",) if left > 0 else (),
        )
    ]  # fmt: skip
