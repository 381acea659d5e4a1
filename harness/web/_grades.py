"""The ways between an answer and its grades: from a cell that a judge graded to the judge's cell, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.web._reread import Thawed
from harness.web._story import Scoring, Story
from ledger import Event, Ledger, NotFound

__all__ = ["Elsewhere", "Graded", "graded", "judged_in"]

_EFFECTS = "SELECT effect FROM edges WHERE cause = ? ORDER BY effect"
_MOST = 20


@dataclass(frozen=True)
class Elsewhere:
    """A cell of another run. `judge` and `suite` say who graded it there, where that is what it holds."""

    run: str
    cell: int
    judge: str = ""
    suite: str = ""


@dataclass(frozen=True)
class Graded:
    """Of a judge's cell: the answers that it grades, and where its grades joined."""

    answers: Sequence[Elsewhere] = ()
    joined: Sequence[Elsewhere] = ()


def judged_in(ledger: Ledger, scoring: Scoring, thaw: Thawed) -> Elsewhere | None:
    """The judge's cell that a grade rests on; None under a rule set that isn't a judge's. A grade that rests on none
    (the judge was shown nothing) names the judge's run alone."""
    judge = thaw.rules.judge if thaw.rules is not None else None
    if judge is None or scoring.score is None:
        return None
    mine = [
        each
        for each in _events(ledger, scoring.score.event.causes)
        if each.kind == "score" and each.run == judge["run"]
    ]
    return Elsewhere(judge["run"], mine[0].cell if mine else 0, judge["candidate"], judge["suite"])


def graded(ledger: Ledger, story: Story) -> Graded:
    """What a cell grades and where that joined; nothing of a cell that is no judge's."""
    if not story.plan.grades:
        return Graded()
    answers = _places(story, _events(ledger, story.planned.event.causes))
    ends = [each.score.seq for mine in story.scorings.values() for each in mine if each.score is not None]
    effects = [int(seq) for end in ends for (seq,) in ledger.sql(_EFFECTS, (end,)).fetchall()]
    joined = [each for each in _events(ledger, effects) if each.kind == "score"]
    return Graded(answers, _places(story, joined))


def _places(story: Story, events: Iterable[Event]) -> list[Elsewhere]:
    found = [(each.run, each.cell) for each in events if each.cell and each.run not in ("", story.run)]
    return [Elsewhere(run, cell) for run, cell in dict.fromkeys(found)][:_MOST]


def _events(ledger: Ledger, seqs: Iterable[int]) -> list[Event]:
    found: list[Event] = []
    for seq in seqs:
        try:
            found.append(ledger.event(seq))
        except NotFound:
            continue
    return found
