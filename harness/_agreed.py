"""Agreement on a run's answers: of judges with people, of judges with one another, of people with one another.

Everything follows from events: the scores of the rule sets of judges that stand in the run, and the files of labels
that are on record about it. A verdict is `pass` or not: a judge that fails a text and one that blocks it say the same
here. Of a label that a later file gives again, the later one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from harness._errors import UsageError
from harness._kappa import Agreement, agreement, agreement_of_scores
from harness._label_store import Rows, StoredLabels, stored_labels, targets_of
from harness._labels import Label, Target, read_labels
from harness._rules import RuleSet
from harness.judging import Rubric
from harness.suites._companion import Column, StudyTable
from ledger import Ledger

__all__ = ["Voice", "agreement_in", "agreement_study", "agreement_tables", "judges_in", "people_in"]

_JUDGED = "rubric"
_EVERY_JUDGE = "all who judged"
VERDICT = "verdict"
_CELLS = "SELECT cell, outcome, reason, verdict, score FROM cells WHERE run = ? AND rules = ? ORDER BY cell"
# What a joined score rests on is the judge's own, in the judge's run, and that rests on the confirm event.
_FINDINGS = (
    "SELECT judged.top AS score, held.body AS body FROM ("
    " SELECT mine.seq AS top, mine.causes AS causes FROM json_each(?1) AS given"
    " CROSS JOIN events AS mine ON mine.seq = given.value"
    " UNION ALL SELECT mine.seq, under.causes FROM json_each(?1) AS given"
    " CROSS JOIN events AS mine ON mine.seq = given.value CROSS JOIN json_each(mine.causes) AS cause"
    " CROSS JOIN events AS under ON under.seq = cause.value AND under.kind = 'score') AS judged"
    " CROSS JOIN json_each(judged.causes) AS cause"
    " CROSS JOIN events AS held ON held.seq = cause.value AND held.kind = 'confirm' AND held.body IS NOT NULL"
)
_MOST_LISTED = 200
_MOST_NAMED = 40
_FEW = 30


@dataclass(frozen=True)
class Voice:
    """One who judged or labelled: whether each cell passes, its scores by criterion and cell, and, for a judge, why
    there is nothing of a cell. `rubric` is the digest of what a judge was shown, empty for a person."""

    name: str
    verdicts: Mapping[int, str]
    scores: Mapping[str, Mapping[int, int]] = field(default_factory=dict[str, "Mapping[int, int]"])
    unmeasured: Mapping[int, str] = field(default_factory=dict[int, str])
    criteria: tuple[str, ...] = ()
    rubric: str = ""


def agreement_tables(
    ledger: Ledger, rows: Rows, run: str, rules: Mapping[str, RuleSet]
) -> tuple[StudyTable, ...]:  # fmt: skip
    """Every table of agreement on a run's answers; none where fewer than two judged or labelled.

    `rows` runs a query over this release's views and over `events` and `edges`, as of some event of the chain; `rules`
    are the rule sets of the run that are shown, by label: those that aren't of judging are passed over. Without
    statsmodels there is no kappa, and a note says what to install.
    """
    judges, stored = judges_in(rows, run, rules), stored_labels(ledger, rows, run)
    if not stored and len(judges) < 2:
        return ()
    people, notes = people_in(rows, run, stored)
    targets = {each.cell: each for each in targets_of(rows, run)}
    if max((each.epoch for each in targets.values()), default=0):
        notes.append("Epochs of a case count as if they were independent, so the intervals are too narrow.")
    found: list[StudyTable] = []
    if judges and people:
        pairs = [(judge, person) for judge in judges for person in people]
        found += [
            _agreement("Agreement with people", ("judge", "person"), pairs, notes),
            _crossed(pairs),
            *_apart(pairs, targets),
        ]
    if len(judges) > 1:
        found.append(_agreement("Agreement among judges", ("judge", "other judge"), list(combinations(judges, 2)), []))
    if len(people) > 1:
        found.append(_agreement("Agreement among people", ("person", "other"), list(combinations(people, 2)), notes))
    return tuple(found)


def agreement_study(
    ledger: Ledger, rows: Rows, run: str, rules: Mapping[str, RuleSet]
) -> list[dict[str, Any]]:  # fmt: skip
    """The tables of `agreement_tables` in the form of a report's `study`; empty where there are none."""
    tables = [each.as_json() for each in agreement_tables(ledger, rows, run, rules)]
    return [{"rules": _EVERY_JUDGE, "candidate": "every candidate", "tables": tables}] if tables else []


def agreement_in(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables of agreement in a report's data."""
    return [table for each in data.get("study", ()) if each["rules"] == _EVERY_JUDGE for table in each["tables"]]


# Who judged, who labelled


def judges_in(rows: Rows, run: str, rules: Mapping[str, RuleSet]) -> list[Voice]:
    """The rule sets of judging that stand in a run, each as one voice; those without a measured cell are none."""
    found = [_judge(rows, run, label, each) for label, each in rules.items() if each.stages == _JUDGED]
    return [each for each in found if each.verdicts]


def _judge(rows: Rows, run: str, label: str, rules: RuleSet) -> Voice:
    cells = rows(_CELLS, (run, label))
    measured = {row["cell"]: row for row in cells if row["outcome"] != "unmeasured"}
    by_score = {row["score"]: row["cell"] for row in measured.values()}
    rubric = Rubric.of_rules(rules.score)
    scores: dict[str, dict[int, int]] = {each: {} for each in rubric.ids}
    for row in rows(_FINDINGS, (json.dumps(sorted(by_score)),)):
        for name, number in _vector(json.loads(row["body"])).items():
            if name in scores:
                scores[name][by_score[row["score"]]] = number
    return Voice(
        label,
        {cell: _passes(row["verdict"]) for cell, row in measured.items()},
        scores,
        {row["cell"]: row["reason"] for row in cells if row["outcome"] == "unmeasured"},
        rubric.ids,
        rubric.digest,
    )


def _passes(verdict: str) -> str:
    return "pass" if verdict == "pass" else "not pass"


def _vector(confirm: Mapping[str, Any]) -> Mapping[str, int]:
    for each in confirm["findings"]:
        if each.get("layer") == "vector":
            return each["scores"]
    return {}


def people_in(rows: Rows, run: str, stored: Sequence[StoredLabels]) -> tuple[list[Voice], list[str]]:
    """Everybody who labelled a run's answers, by the files on record; and what of these files can't be used."""
    targets, notes = targets_of(rows, run), list[str]()
    said: dict[tuple[str, int, str], str | int] = {}
    replaced = 0
    for each in stored:
        if each.data is None:
            notes.append(f"The labels of event {each.seq} are withheld by a redaction.")
            continue
        try:
            labels = read_labels(each.data, Path(f"event {each.seq}"), targets, None, run).labels
        except UsageError as error:
            notes.append(f"The labels of event {each.seq} can't be held against the run any more: {error}.")
            continue
        for key, value in _said(labels):
            replaced += key in said and said[key] != value
            said[key] = value
    if replaced:
        notes.append(f"{replaced} labels were given again otherwise by a later file, which counts.")
    names = dict.fromkeys(rater for rater, _, _ in said)
    return [_person(name, said) for name in names], notes


def _said(labels: Iterable[Label]) -> Iterable[tuple[tuple[str, int, str], str | int]]:
    for each in labels:
        if each.verdict is not None:
            yield (each.rater, each.cell, VERDICT), _passes(each.verdict)
        for name, number in each.scores.items():
            yield (each.rater, each.cell, f"criterion {name}"), number


def _person(name: str, said: Mapping[tuple[str, int, str], str | int]) -> Voice:
    verdicts: dict[int, str] = {}
    scores: dict[str, dict[int, int]] = {}
    for (rater, cell, of), value in said.items():
        if rater == name and isinstance(value, int):
            scores.setdefault(of.removeprefix("criterion "), {})[cell] = value
        elif rater == name:
            verdicts[cell] = str(value)
    return Voice(name, verdicts, scores, {}, tuple(scores))


# Tables


_FIGURES = (
    Column("on"), Column("n", "count"), Column("alike", "count"), Column("share", "percent"), Column("low", "percent"),
    Column("high", "percent"), Column("kappa", "decimal"), Column("kappa low", "decimal"),
    Column("kappa high", "decimal"), Column("only the one", "count"), Column("only the other", "count"),
)  # fmt: skip


def _agreement(
    title: str, who: tuple[str, str], pairs: Sequence[tuple[Voice, Voice]], notes: Sequence[str]
) -> StudyTable:
    rows: list[tuple[str | int | float | None, ...]] = []
    told = list(notes)
    few = False
    for one, other in pairs:
        about = f"{one.name} and {other.name}"
        for on, ours, theirs in _held(one, other):
            both = sorted(ours.keys() & theirs.keys())
            found, why = _measured([(ours[cell], theirs[cell]) for cell in both], on)
            few = few or 0 < found.n < _FEW
            told += [f"{about}, {on}: {why}"] if why else []
            rows.append((one.name, other.name, on, *_figures(found), len(ours) - len(both), len(theirs) - len(both)))
        told += _left_out(one, other)
    told = [*dict.fromkeys(told)]
    if few:
        told.append(f"Kappa's interval is one of large samples; of fewer than {_FEW} answers it is rough.")
    about = (
        "The share of answers labelled alike (Wilson interval), and Cohen's kappa with its 95% interval: of verdicts,"
        " pass or not; of a criterion's scores, with linear weights."
    )
    return StudyTable(title, about, (*map(Column, who), *_FIGURES), tuple(rows), tuple(told))


def _held(one: Voice, other: Voice) -> Iterable[tuple[str, Mapping[int, str | int], Mapping[int, str | int]]]:
    """What both gave: verdicts, and scores by criterion, unless they were shown two wordings of it."""
    if one.verdicts and other.verdicts:
        yield VERDICT, one.verdicts, other.verdicts
    if one.rubric and other.rubric and one.rubric != other.rubric:
        return
    for name in one.criteria:
        if one.scores.get(name) and other.scores.get(name):
            yield name, one.scores[name], other.scores[name]


def _measured(pairs: Sequence[tuple[str | int, str | int]], on: str) -> tuple[Agreement, str]:
    """The figures, and a sentence where there is no kappa."""
    try:
        if all(isinstance(one, int) and isinstance(other, int) for one, other in pairs) and pairs:
            found = agreement_of_scores([(int(one), int(other)) for one, other in pairs])
        else:
            found = agreement([(str(one), str(other)) for one, other in pairs])
    except UsageError as error:
        return Agreement.uncorrected(len(pairs), sum(one == other for one, other in pairs)), str(error)
    if found.why == "one_label":
        label = pairs[0][0]
        return found, f"kappa is undefined, for both said {label} of all {found.n}: nothing tells that from chance."
    if found.why == "no_data":
        return found, "no answer has a label of both."
    if found.kappa_low is None:
        return found, "kappa has no interval here: its variance formula gives none where there is nothing to vary."
    return found, ""


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
            named = [
                f"{cell} ({voice.unmeasured[cell]})" if cell in voice.unmeasured else str(cell) for cell in missing
            ]
            more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
            yield f"Left out for want of anything by {voice.name}: cells {', '.join(named[:_MOST_NAMED])}{more}."


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
