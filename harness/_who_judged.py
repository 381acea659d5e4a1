"""Who judged or labelled a run's answers, each as one voice, out of events.

A judge is a rule set of judging that stands in the run, a person whoever a file of labels on record names. A verdict is
`pass` or not: a judge that fails a text and one that blocks it say the same here. Of a label that a later file gives
again, the later one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness._errors import UsageError
from harness._label_store import Rows, StoredLabels, targets_of
from harness._labels import Label, read_labels
from harness._rules import RuleSet
from harness.judging import Rubric

__all__ = ["VERDICT", "Voice", "judges_in", "people_in"]

_JUDGED = "rubric"
VERDICT = "verdict"
"""What a verdict is called among criteria."""
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


def judges_in(rows: Rows, run: str, rules: Mapping[str, RuleSet]) -> list[Voice]:
    """The rule sets of judging that stand in a run, each as one voice, which goes by its name, or by its whole label
    where another has that name; those without a measured cell are none."""
    judged = {label: each for label, each in rules.items() if each.stages == _JUDGED}
    names = [each.name for each in judged.values()]
    found = [
        _judge(rows, run, label, each, each.name if names.count(each.name) == 1 else label)
        for label, each in judged.items()
    ]
    return [each for each in found if each.verdicts]


def _judge(rows: Rows, run: str, label: str, rules: RuleSet, name: str) -> Voice:
    cells = rows(_CELLS, (run, label))
    measured = {row["cell"]: row for row in cells if row["outcome"] != "unmeasured"}
    by_score = {row["score"]: row["cell"] for row in measured.values()}
    rubric = Rubric.of_rules(rules.score)
    scores: dict[str, dict[int, int]] = {each: {} for each in rubric.ids}
    for row in rows(_FINDINGS, (json.dumps(sorted(by_score)),)):
        for criterion, number in _vector(json.loads(row["body"])).items():
            if criterion in scores:
                scores[criterion][by_score[row["score"]]] = number
    return Voice(
        name,
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
    by_rater: dict[str, dict[tuple[int, str], str | int]] = {}
    for (rater, cell, of), value in said.items():
        by_rater.setdefault(rater, {})[cell, of] = value
    return [_person(name, theirs) for name, theirs in by_rater.items()], notes


def _said(labels: Iterable[Label]) -> Iterable[tuple[tuple[str, int, str], str | int]]:
    for each in labels:
        if each.verdict is not None:
            yield (each.rater, each.cell, VERDICT), _passes(each.verdict)
        for name, number in each.scores.items():
            yield (each.rater, each.cell, f"criterion {name}"), number


def _person(name: str, said: Mapping[tuple[int, str], str | int]) -> Voice:
    verdicts: dict[int, str] = {}
    scores: dict[str, dict[int, int]] = {}
    for (cell, of), value in said.items():
        if isinstance(value, int):
            scores.setdefault(of.removeprefix("criterion "), {})[cell] = value
        else:
            verdicts[cell] = str(value)
    return Voice(name, verdicts, scores, {}, tuple(scores))
