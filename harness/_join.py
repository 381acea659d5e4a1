"""A judge's grades join the run that they grade: scores of its cells under a rule set that says whose they are.

    judged          the judge's own score of the cell, under the joined label; caused by that score, and by the answer
    no answer       unmeasured for the answer's own reason: a fault, a cut reply, a refusal, nothing
    not judged      unmeasured, `not_graded`: past --limit, of another candidate, or an answer that came later

and a tally over the whole run, which names the judge's; no close. Of a judge that was asked several times (--epochs)
the first repeat joins: choosing among them would be choosing a grade. What stands already isn't written again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from harness._derive import unmeasured_score
from harness._errors import HarnessError, RefusedError
from harness._fingerprint import resolved_models
from harness._freeze import freeze_rules
from harness._graded import Condition, gold_of, read_answers
from harness._judged import GOLD, judged_file, judged_name
from harness._outcomes import Status
from harness._outcomes import reason as known_reason
from harness._replies import Place, read_places, read_plan, seqs_in
from harness._rules import RuleSet, ruleset_from_frozen
from harness._session import UNFINISHED
from harness._suite import Case
from harness._tally import tally_of
from harness._thaw import thaw_cases, thaw_rules
from harness._typed import typed
from harness.parse import Reading
from harness.suites import Stages, stages
from harness.suites._registry import EVERY_GROUP
from ledger import Draft, Ledger, RunHeld, hold_run, over_views
from ledger.kinds import Plan, PlanCandidate, Score

__all__ = [
    "ARMS",
    "Joined",
    "first_repeats",
    "join_again",
    "join_judge",
    "judges_of",
    "reference_shown",
    "unread_score",
    "why_not_graded",
]

ARMS: Mapping[str, Condition] = {"graded": "graded", "trigger": "live"}
"""The arms whose grades join, with the condition of their cases."""

_AN_APPEND = 500
_RULES = over_views("SELECT rules, freeze FROM run_rules WHERE run = ? ORDER BY freeze")
_TALLIED = "SELECT max(seq) FROM main.events WHERE run = ? AND kind = 'tally' AND body ->> '$.rules' = ?"
_CELLS = "SELECT cell, causes FROM main.events WHERE run = ? AND kind = 'cell' ORDER BY cell"
_SCORES = (
    "SELECT cell, max(seq), causes, body FROM main.events WHERE run = ? AND kind = 'score' AND body ->> '$.rules' = ?"
    " GROUP BY cell"
)
_JUDGES = (
    "SELECT plan.run FROM main.events AS plan CROSS JOIN json_each(plan.body, '$.grades') AS graded"
    " WHERE plan.kind = 'plan' AND graded.value = ? ORDER BY plan.seq"
)


@dataclass(frozen=True, slots=True)
class Joined:
    """What came of joining one judge under one of its rule sets: `label` is the rule set in the graded run, empty where
    nothing joined and `note` says why. `outcomes` counts the cells of the graded run under it."""

    run: str
    judge_run: str
    candidate: str
    rules: str
    label: str = ""
    appended: int = 0
    outcomes: Mapping[str, int] | None = None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "run": self.run, "judge_run": self.judge_run, "judge": self.candidate, "rules": self.rules,
            "label": self.label, "appended": self.appended, "outcomes": dict(self.outcomes or {}), "note": self.note,
        }  # fmt: skip


def judges_of(ledger: Ledger, run: str) -> list[str]:
    """The judges' runs that grade a run, oldest first."""
    return [judge for (judge,) in ledger.sql(_JUDGES, (run,))]


def join_judge(ledger: Ledger, judge_run: str) -> tuple[Joined, ...]:
    """Join every grade of a judge's run to the run that it grades, under each of the judge's rule sets.

    Nothing for a run that judges nobody. Raises RunHeld where the graded run is going on, LedgerError.
    """
    _, plan = read_plan(ledger, judge_run)
    if not plan.grades or not set(plan.arms) <= set(ARMS):
        return ()
    found: list[Joined] = []
    for graded in dict.fromkeys(plan.grades):
        with hold_run(ledger.path, graded):
            found += _Join(ledger, judge_run, plan, graded).go()
    return tuple(found)


def join_again(ledger: Ledger, judge_run: str) -> list[str]:
    """Join what a judge's run came to since, and say so; nothing for a run that judges nobody."""
    try:
        joined = join_judge(ledger, judge_run)
    except RunHeld as error:
        return [f"{error}; its grades join once that has ended: `harness resume {judge_run}`"]
    return [
        each.note or f"the grades of {each.candidate} joined run {each.run} as {each.label}"
        for each in joined
        if each.note or each.appended
    ]


def first_repeats(ledger: Ledger, judge_run: str, plan: Plan) -> dict[str, dict[int, int]]:
    """By candidate of a judge's run: its cell by the answer (an event's seq) that it was shown first."""
    share = max(1, plan.cells // max(1, len(plan.candidates)))
    once = max(1, share // max(1, plan.epochs))
    found: dict[str, dict[int, int]] = {each.label: {} for each in plan.candidates}
    for cell, causes in ledger.sql(_CELLS, (judge_run,)).fetchall():
        at = int((cell - 1) // share)
        if (cell - 1) % share < once and at < len(plan.candidates):
            answers = found[plan.candidates[at].label]
            for seq in seqs_in(causes):
                answers.setdefault(seq, cell)
    return found


def reference_shown(ledger: Ledger, plan: Plan) -> str:
    """What a judge of answers was shown as a reference, by its frozen cases: "gold", or nothing. Raises RefusedError
    where a redaction withholds them."""
    shown = (case.input for case in thaw_cases(ledger, plan).values())
    return GOLD if any(isinstance(each, Mapping) and "reference" in each for each in shown) else ""


def unread_score(rules: RuleSet, entry: Stages, gold: Case, status: Status, name: str) -> Score:
    """The score of a cell that was never shown to the judge: the metric that is its outcome misses it, and no figure of
    how the judge did, nor what an unreadable reply of a judge counts as."""
    groups = entry.group(gold.gold)
    outcome = next((metric for group, metric in rules.primary.items() if group in (EVERY_GROUP, *groups)), "")
    known = known_reason(status, name)
    score = unmeasured_score(
        rules, entry, gold, status=known.status, stage=str(known.stage), reason=known.name, domain=str(known.domain)
    )
    return score.model_copy(update={"applies": [outcome] if outcome else [], "metrics": {}, "policy": ""})


@dataclass(frozen=True, slots=True)
class _Scored:
    """A score as it stands: its seq, what caused it, its body."""

    seq: int
    causes: tuple[int, ...]
    body: Score


class _Join:
    """One judge's run, and one run that it grades."""

    def __init__(self, ledger: Ledger, judge_run: str, plan: Plan, graded: str) -> None:
        self.ledger = ledger
        self.judge_run = judge_run
        self.plan = plan
        self.run = graded
        self.planned, self.target = read_plan(ledger, graded)
        cases: Mapping[tuple[str, str], Case] = {}
        with suppress(RefusedError):
            cases = thaw_cases(ledger, self.target)
        self.places = read_places(ledger, graded, self.target, list(cases), partly=True)
        self.gold = gold_of(ARMS[plan.arms[0]] if plan.arms else "graded", plan.arms[0] if plan.arms else "graded")
        self.shown = first_repeats(ledger, judge_run, plan)
        self.readings = self._readings()

    def _readings(self) -> Mapping[int, Reading | None]:
        """What the cells come to that no judge was shown, as far as they were answered."""
        seen = {seq for answers in self.shown.values() for seq in answers}
        unseen = [each for each in self.places if each.state == "answered" and each.evidence not in seen]
        candidates = {each.label: each for each in self.target.candidates}
        return {place.cell: reading for place, reading in read_answers(self.ledger, unseen, candidates)}

    def go(self) -> Iterator[Joined]:
        first = self.plan.rules[0].label if self.plan.rules else ""
        for row in self.ledger.rows(_RULES, (self.judge_run,)):
            for candidate in self.plan.candidates:
                try:
                    yield self._join(candidate, str(row["rules"]), row["freeze"], first=str(row["rules"]) == first)
                except HarnessError as error:
                    yield Joined(self.run, self.judge_run, candidate.label, str(row["rules"]), note=str(error))

    def _join(self, candidate: PlanCandidate, label: str, freeze: int | None, *, first: bool) -> Joined:
        none = Joined(self.run, self.judge_run, candidate.label, label)
        tally = self._last_tally(self.judge_run, label)
        grades = self._scores(self.judge_run, label)
        shown = self.shown[candidate.label]
        if not tally or not any(
            grades[cell].body.status not in UNFINISHED for cell in shown.values() if cell in grades
        ):
            why = "no reply of the judge came" if tally else "the judge's run was never counted; `harness resume` does"
            return Joined(*_of(none), note=f"nothing of {candidate.label} joined: {why}")
        rules = self._rules(thaw_rules(self.ledger, freeze), candidate, label, first=first)
        frozen = freeze_rules(self.ledger, [rules])
        entry, stood = stages(rules.stages), self._scores(self.run, rules.label)
        scores: dict[int, Score] = {}
        drafts: list[Draft] = []
        for place in self.places:
            grade = grades.get(shown.get(place.evidence, 0))
            draft = self._draft(place, rules, entry, frozen.rules[rules.label], grade)
            assert isinstance(draft.body, Score)
            scores[place.cell] = draft.body
            before = stood.get(place.cell)
            if before is None or (before.causes, before.body) != (tuple(draft.causes), draft.body):
                drafts.append(draft)
        for start in range(0, len(drafts), _AN_APPEND):
            self.ledger.append(*drafts[start : start + _AN_APPEND])
        appended = frozen.new + len(drafts)
        if drafts or self._last_tally(self.run, rules.label) < tally:
            body = tally_of(
                rules.label, rules.metrics, rules.primary, frozen.rules[rules.label], self._by_candidate(scores)
            )
            causes = sorted({frozen.rules[rules.label], self.planned, tally})
            self.ledger.append(Draft(body, run=self.run, causes=causes))
            appended += 1
        outcomes = Counter(score.outcome for score in scores.values())
        return Joined(*_of(none), rules.label, appended, dict(sorted(outcomes.items())))

    def _draft(self, place: Place, rules: RuleSet, entry: Stages, freeze: int, grade: _Scored | None) -> Draft:
        if grade is not None:
            body = grade.body.model_copy(update={"rules": rules.label})
            causes = sorted({place.planned, place.evidence, grade.seq})
            return Draft(body, run=self.run, cell=place.cell, causes=causes)
        body = unread_score(rules, entry, self.gold, *self._why_not(place))
        evidence = [place.evidence] if place.state == "answered" else []
        return Draft(body, run=self.run, cell=place.cell, causes=sorted({freeze, place.planned, *evidence}))

    def _why_not(self, place: Place) -> tuple[Status, str]:
        if place.state != "answered":
            return ("fate_unknown", "fate_unknown") if place.state == "open" else ("not_asked", "not_asked")
        return why_not_graded(self.readings.get(place.cell))

    def _rules(self, rules: RuleSet, candidate: PlanCandidate, label: str, *, first: bool) -> RuleSet:
        if not rules.stages:
            raise RefusedError(f"{label} only reads, so nothing of it is a grade")
        judge = {
            "suite": self.plan.suite, "rules": label, "candidate": candidate.label, "digest": candidate.digest,
            "models": resolved_models(self.ledger, self.judge_run, candidate.label), "run": self.judge_run,
            "reference": reference_shown(self.ledger, self.plan),
        }  # fmt: skip
        name = judged_name(self.plan.suite, candidate.label, "" if first else rules.name)
        return ruleset_from_frozen(name, judged_file(rules.file, judge), rules.stages, rules.sources)

    def _scores(self, run: str, label: str) -> dict[int, _Scored]:
        return {
            cell: _Scored(seq, seqs_in(causes), typed(Score, body, f"event {seq}"))
            for cell, seq, causes, body in self.ledger.sql(_SCORES, (run, label)).fetchall()
        }

    def _last_tally(self, run: str, label: str) -> int:
        return next((int(seq or 0) for (seq,) in self.ledger.sql(_TALLIED, (run, label))), 0)

    def _by_candidate(self, scores: Mapping[int, Score]) -> dict[str, Sequence[Score]]:
        found: dict[str, list[Score]] = {each.label: [] for each in self.target.candidates}
        for place in self.places:
            found[place.candidate].append(scores[place.cell])
        return dict(found)


def _of(none: Joined) -> tuple[str, str, str, str]:
    return none.run, none.judge_run, none.candidate, none.rules


def why_not_graded(reading: Reading | None) -> tuple[Status, str]:
    """Why an answer has no grade: what it read as, withheld, or that nobody showed it to the judge."""
    if reading is None:
        return "error", "withheld"
    return (reading.status, reading.reason) if reading.status != "parsed" else ("not_asked", "not_graded")
