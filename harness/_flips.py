"""Which cells a rule set moves against another, and the first stage at which the two part.

A flip is one cell and one metric whose value, or whose being measured, differs between two rule sets of one run. Where
no metric moved and the outcome did all the same, the row's metric is "outcome". Metrics that only one of the two rule
sets has are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from harness._attribution import Redo, Stand, first_difference, stand_derived, stands_recorded
from harness._errors import HarnessError, UsageError
from harness._named_rules import frozen_labels
from harness._replies import Place, read_places, read_plan, read_replies
from harness._rules import RuleSet
from harness._suite import Ask, Case
from harness._thaw import thaw_cases, thaw_rules
from harness._typed import typed
from harness.suites import stages
from ledger import Ledger, LedgerError
from ledger.kinds import Plan, Score

__all__ = ["OUTCOME", "Flip", "Reading3", "Sheet", "find_flips", "flips_between", "read_scores"]

OUTCOME = "outcome"
"""What stands as the metric of a cell whose outcome moved and no metric did."""

_SCORES = (
    "SELECT cell, body FROM main.events WHERE run = ? AND kind = 'score' AND body ->> '$.rules' = ? ORDER BY cell, seq"
)
_JUDGE = "judge"
"""The stage at which a cell parts where one of the two rule sets holds the grades of a judge: another reply is read."""
_VALUE_SHOWN = 200
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Reading3:
    """How a cell reads under a rule set: status, reason, and the value as JSON text, shortened; None without one."""

    status: str
    reason: str
    value: str | None

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {"status": self.status, "reason": self.reason, "value": self.value}


@dataclass(frozen=True, slots=True)
class Flip:
    """One cell and metric that moved from `before` to `after`; None is unmeasured and not counted.

    `stage` names the first stage that differs and, where the rule files make the difference, the smallest set of their
    switches that does: "parse: fence", "confirm: relation_in_span", "score: policy"; "parse: code" where the files
    agree and the code moved; "judge" where one side is the grades of a judge. Later stages without which the figure
    would be another follow after ", then ". `rules` is the label moved to.
    """

    cell: int
    case: str
    candidate: str
    metric: str
    before: float | None
    after: float | None
    stage: str
    rules: str
    reading_before: Reading3
    reading_after: Reading3

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "cell": self.cell, "case": self.case, "candidate": self.candidate, "metric": self.metric,
            "before": self.before, "after": self.after, "stage": self.stage, "rules": self.rules,
            "reading_before": self.reading_before.as_json(), "reading_after": self.reading_after.as_json(),
        }  # fmt: skip


class Sheet:
    """What attributing the flips of a run takes; `cases` may be empty where they are withheld: then stages alone are
    named, without switches."""

    def __init__(
        self, ledger: Ledger, run: str, plan: Plan, places: Sequence[Place], cases: Mapping[tuple[str, str], Case],
        known: Sequence[RuleSet] = (),
    ) -> None:  # fmt: skip
        self.ledger = ledger
        self.run = run
        self.plan = plan
        self.places = places
        self.cases = cases
        self.freezes = frozenset(seq for (seq,) in ledger.sql("SELECT seq FROM main.events WHERE kind = 'freeze'"))
        self._candidates = {each.label: each for each in plan.candidates}
        self._rules: dict[str, RuleSet | None] = {each.label: each for each in known}

    def rules(self, label: str) -> RuleSet | None:
        """The rule set of a label as it was frozen; None where it can't be read."""
        if label not in self._rules:
            self._rules[label] = self._thawed(label)
        return self._rules[label]

    def _thawed(self, label: str) -> RuleSet | None:
        planned = [each.freeze for each in self.plan.rules if each.label == label]
        frozen = [each.seq for each in frozen_labels(self.ledger) if each.label == label and each.whole]
        for seq in [*planned, *frozen]:
            try:
                found = thaw_rules(self.ledger, seq)
            except (HarnessError, LedgerError):
                continue
            if found.label == label:
                return found
        return None

    def redos(self, places: Sequence[Place], rules: RuleSet | None) -> list[Redo | None]:
        """What deriving each cell anew takes; None where something of it can't be read."""
        if rules is None or not rules.stages:
            return [None] * len(places)
        entry, ask = stages(rules.stages), cast("Ask", self.plan.ask)
        replies = read_replies(self.ledger, [each for each in places if each.state == "answered"], self._candidates)
        found: list[Redo | None] = []
        for place in places:
            answered = place.state == "answered"
            reply = next(replies)[1] if answered else None
            case = self.cases.get(place.case)
            found.append(None if case is None or (answered and reply is None) else Redo(reply, ask, entry, case))
        return found


def read_scores(ledger: Ledger, run: str, label: str) -> dict[int, Score]:
    """The last score of each cell under a rule set, by cell."""
    return {
        cell: typed(Score, body, f"the score of cell {cell} of run {run}")
        for cell, body in ledger.sql(_SCORES, (run, label)).fetchall()
    }


def flips_between(ledger: Ledger, run: str, before: str, after: str) -> list[Flip]:
    """Every cell and metric of a run that moves from one rule set to another, as recorded; both by label.

    Raises UsageError for a label that the run was never scored under.
    """
    _, plan = read_plan(ledger, run)
    stand = {label: read_scores(ledger, run, label) for label in (before, after)}
    for label, scores in stand.items():
        if not scores:
            raise UsageError(f"run {run} was never scored under {label!r}")
    cases: Mapping[tuple[str, str], Case] = {}
    with suppress(HarnessError):
        cases = thaw_cases(ledger, plan)
    sheet = Sheet(ledger, run, plan, read_places(ledger, run, plan, list(cases)), cases)
    return list(find_flips(sheet, before, after, stand[before], stand[after]))


def find_flips(
    sheet: Sheet, before: str, after: str, was: Mapping[int, Score], now: Mapping[int, Score],
    derive: frozenset[int] = frozenset(),
) -> Iterator[Flip]:  # fmt: skip
    """The flips from the rule set labelled `before` to `after`, by the last scores of their cells.

    The cells of `derive` aren't recorded under `after` (a dry run) and are derived to be shown.
    """
    shared = _shared(was, now)
    moved = [
        (place, found)
        for place in sheet.places
        if (found := list(_moved(was.get(place.cell), now.get(place.cell), shared)))
    ]
    for start in range(0, len(moved), _AT_ONCE):
        some = moved[start : start + _AT_ONCE]
        rules = sheet.rules(before), sheet.rules(after)
        cells = [place.cell for place, _ in some]
        stands = stands_recorded(sheet.ledger, sheet.run, cells, {before, after}, sheet.freezes)
        for (place, rows), redo in zip(some, sheet.redos([place for place, _ in some], rules[1]), strict=True):
            left, right = stands.get((place.cell, before)), stands.get((place.cell, after))
            if place.cell in derive:
                right = stand_derived(place, redo, rules[1]) if redo and rules[1] else None
            judged = any(each is not None and each.judge is not None for each in rules)
            stage = _JUDGE if judged else first_difference(left, right, *rules, redo)
            readings = _reading(left), _reading(right)
            for metric, old, new in rows:
                yield Flip(
                    place.cell, place.case[1], place.candidate, metric, old, new, stage, after, *readings
                )  # fmt: skip


def _shared(was: Mapping[int, Score], now: Mapping[int, Score]) -> frozenset[str]:
    """The metrics that both rule sets have, by what their scores say that applies."""
    before, after = ({name for score in scores.values() for name in score.applies} for scores in (was, now))
    return frozenset(before & after)


def _moved(
    was: Score | None, now: Score | None, shared: frozenset[str]
) -> Iterator[tuple[str, float | None, float | None]]:
    if was is None or now is None:
        return
    any_metric = False
    for name in dict.fromkeys([*was.applies, *now.applies]):
        if name not in shared:
            continue
        before, after = was.metrics.get(name), now.metrics.get(name)
        measured = was.outcome != "unmeasured", now.outcome != "unmeasured"
        if before != after or measured[0] != measured[1]:
            any_metric = True
            yield name, before, after
    if not any_metric and (was.outcome, was.value) != (now.outcome, now.value):
        yield OUTCOME, _worth(was), _worth(now)


def _worth(score: Score) -> float | None:
    return {"correct": 1.0, "incorrect": 0.0}.get(score.outcome, score.value)


def _reading(stand: Stand | None) -> Reading3:
    if stand is None:
        return Reading3("not scored", "", None)
    value = stand.parse.value if stand.parse is not None else None
    if value is not None and len(value) > _VALUE_SHOWN:
        value = value[:_VALUE_SHOWN] + "…"
    if value is not None:
        # What a reply holds may not be text that JSON or a body can carry.
        value = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return Reading3(stand.score.status, stand.score.reason, value)
