"""Two judges on one corpus: how often they agree, on what, and where they don't. Neither is taken for the right one.

One judge may be on both sides, asked twice or under two rule sets: then it is held against itself, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness._kappa import Agreement, agreement, agreement_of_scores
from harness.judging import Rubric
from harness.rubrics._rates import RATE, Cell, rate_of
from harness.rubrics._seen import Seen, see
from harness.suites._companion import Column, Record, StudyTable

__all__ = ["contrast"]

_VERDICT, _VECTOR = "verdict", "whole vector"


@dataclass(frozen=True, slots=True)
class _Both:
    """One cell of either judge, of the same input."""

    a: Seen
    b: Seen

    @property
    def measured(self) -> bool:
        return self.a.vector is not None and self.b.vector is not None

    def agrees(self, what: str) -> bool:
        if what == _VERDICT:
            return self.a.verdict == self.b.verdict
        ours, theirs = self.a.vector or {}, self.b.vector or {}
        return ours == theirs if what == _VECTOR else ours.get(what) == theirs.get(what)


def contrast(
    a: Sequence[Record], b: Sequence[Record], rules: Mapping[str, Any]
) -> tuple[StudyTable, ...]:  # fmt: skip
    """Agreement over the texts that both graded, the same arm by arm, and every cell on which they part."""
    rubric = Rubric.of_rules(rules)
    theirs = {_place(each): each for each in b}
    pairs = [_Both(see(each, rubric), see(theirs[_place(each)], rubric)) for each in a if _place(each) in theirs]
    if not pairs:
        return ()
    read = [each for each in pairs if each.measured]
    names = {_judge(side) for each in pairs for side in (each.a, each.b)}
    alone = next(iter(names)) if len(names) == 1 else ""
    return (_agreement(read, len(pairs), rubric, alone), _by_arm(read), _flips(pairs, rubric, alone))


def _judge(each: Seen) -> str:
    return each.record.judge or each.record.candidate


def _place(record: Record) -> tuple[str, int, str, int]:
    """What makes two cells the same one; a cell whose event is withheld is like no other."""
    return (record.input or f"cell {record.cell} of {record.candidate}", record.twin, record.arm, record.epoch)


def _agreement(read: Sequence[_Both], planned: int, rubric: Rubric, alone: str) -> StudyTable:
    # Kappa's variance takes what it counts as independent, and repeats of a text aren't.
    once = list({each.a.text: each for each in reversed(read)}.values())
    rows: list[tuple[Cell, ...]] = []
    for what in (_VERDICT, *rubric.ids, _VECTOR):
        agreed = rate_of((each.a.text, each.agrees(what)) for each in read)
        kappa = None if what == _VECTOR else _kappa(once, what)
        rows.append((what, *agreed.cells, *_kappa_cells(kappa)))
    return StudyTable(
        "Agreement of one judge with itself" if alone else "Agreement of the two judges",
        f"Of the {planned} cells that both were asked for, those that both could be read on, and on how many of them"
        " the two gave the same.",
        (
            Column("what"), *RATE, Column("kappa", "decimal"), Column("kappa's 95% low", "decimal"),
            Column("kappa's 95% high", "decimal"),
        ),
        tuple(rows),
        (
            "Where a text was asked more than once, its repeats are one cluster of the interval. Cohen's kappa takes"
            " off what chance would give (linear weights for scores), over the first repeat of each text; a dash stands"
            " where it is undefined.",
            f"Both sides are {alone}: asked twice, set otherwise, or read by two rule sets. So this is about how steady"
            " its grades are, and nobody else agrees with them."
            if alone else "Two judges that agree may be wrong together: agreement is no oracle.",
        ),
    )  # fmt: skip


def _kappa(once: Sequence[_Both], what: str) -> Agreement:
    if what == _VERDICT:
        return agreement([(each.a.verdict, each.b.verdict) for each in once])
    return agreement_of_scores([((each.a.vector or {})[what], (each.b.vector or {})[what]) for each in once])


def _kappa_cells(found: Agreement | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if found is None else (found.kappa, found.kappa_low, found.kappa_high)


def _by_arm(read: Sequence[_Both]) -> StudyTable:
    arms = list(dict.fromkeys(each.a.arm for each in read))
    return StudyTable(
        "Agreement arm by arm",
        "The same, for each arm apart.",
        (Column("arm"), Column("what"), *RATE),
        tuple(
            (
                arm or "withheld", what,
                *rate_of((each.a.text, each.agrees(what)) for each in read if each.a.arm == arm).cells,
            )
            for arm in arms for what in (_VERDICT, _VECTOR)
        ),
        ("Agreement on attacks that both resisted, and on repeats, isn't agreement on hard texts.",),
    )  # fmt: skip


def _flips(pairs: Sequence[_Both], rubric: Rubric, alone: str) -> StudyTable:
    apart = [each for each in pairs if not (each.measured and each.agrees(_VECTOR) and each.agrees(_VERDICT))]
    apart = [each for each in apart if each.a.measured or each.b.measured]
    return StudyTable(
        "Where the judge parts from itself" if alone else "Where the two judges part",
        f"Each cell whose scores or verdict differ, and each that one of them alone could be read on; scores in the"
        f" order of the criteria: {', '.join(rubric.ids)}.",
        (
            Column("case"), Column("arm"), Column("A's scores"), Column("A's verdict"), Column("B's scores"),
            Column("B's verdict"),
        ),
        tuple(
            (
                each.a.record.case + (f" (epoch {each.a.record.epoch})" if each.a.record.epoch else ""),
                each.a.arm or "withheld", each.a.shown_vector(rubric), each.a.shown_verdict,
                each.b.shown_vector(rubric), each.b.shown_verdict,
            )
            for each in apart
        ),
        ("Which of the two is right isn't told here; either run's calibration holds it against the oracles.",),
    )  # fmt: skip
