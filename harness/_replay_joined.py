"""The replay check of what joined: every score of a run under a judge's rule set held against the judge's own score
that it names, and every answer that a judge was shown, alone or in a pair, against the bytes that it was read from.

A joined score must rest on the judge's last score by then, of the cell in which that judge was first shown the very
answer that stood for the cell. One without a judge's score must say what the answer comes to by itself. The rule set
that it stands under must be the judge's own, word for word, with a [judge] table that is true of that run; and a tally
of it must rest on a tally of the judge's, as no other tally may.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from harness._errors import HarnessError, RefusedError
from harness._graded import GRADED, evidence_of, gold_of, read_answers, text_of
from harness._join import ARMS, first_repeats, reference_shown, unread_score, why_not_graded
from harness._judged import judged_file, judged_name
from harness._replay_compare import Difference, Recorded, difference_of
from harness._replies import Place, read_places, read_plan, seqs_in
from harness._rules import RuleSet
from harness._suite import Case
from harness._thaw import thaw_cases, thaw_rules
from harness._typed import typed
from harness.parse import Reading
from harness.rubrics import PAIR
from harness.suites import stages
from ledger import Draft, Event, Ledger, LedgerError, Prepared, over_views
from ledger.kinds import Plan, Score

__all__ = ["JoinedCheck", "Seen", "shown_otherwise"]

_SCORES = (
    "SELECT seq, cell, body FROM main.events WHERE run = ? AND kind = 'score' AND body ->> '$.rules' = ? ORDER BY seq"
)
_CELLS = "SELECT seq, cell, causes FROM main.events WHERE run = ? AND kind = 'cell'"
_FREEZE = over_views("SELECT freeze FROM run_rules WHERE run = ? AND rules = ?")
_MODELS = (
    "SELECT parse.body ->> '$.model' AS model, count(*) - count(parse.body) AS withheld FROM main.events AS cell"
    " CROSS JOIN main.events AS parse ON parse.run = cell.run AND parse.kind = 'parse' AND parse.cell = cell.cell"
    " WHERE cell.run = ? AND cell.kind = 'cell' AND coalesce(cell.body ->> '$.candidate', ?2) = ?2 AND parse.seq < ?"
    " GROUP BY 1"
)
_TALLIES = (
    "SELECT tally.seq, tally.run, tally.body ->> '$.rules' FROM json_each(?) AS cause"
    " CROSS JOIN main.events AS tally ON tally.seq = cause.value AND tally.kind = 'tally' AND tally.run <> ?"
)
_SHOWN = 120


@dataclass(frozen=True)
class Seen:
    """One cell of the graded run: `overtaken` gives the event that stood in the place of some evidence when an event
    was written (0: that evidence stood), `reading` what an evidence reads as (None where a redaction withholds it),
    `asked` says whether a request had been sent by then."""

    place: Place
    overtaken: Callable[[Recorded, int], int]
    reading: Callable[[int], Reading | None]
    asked: Callable[[Recorded], bool]


@dataclass(frozen=True)
class _Judge:
    """One judge's run under one of its rule sets: the bodies of its scores by seq, their seqs by cell, and its cell by
    the answer that it was shown. `fault` says why none of it can be."""

    scores: Mapping[int, str]
    by_cell: Mapping[int, Sequence[int]]
    shown: Mapping[int, int]
    gold: Case
    fault: str = ""

    def last(self, answer: int, before: int) -> int:
        """The judge's last score of an answer before an event; 0 for none."""
        seqs = self.by_cell.get(self.shown.get(answer, 0), ())
        return max((seq for seq in seqs if seq < before), default=0)


class JoinedCheck:
    """The joined scores of one run; each judge is read once."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger = ledger
        self._run = run
        self._judges: dict[str, _Judge] = {}

    def difference(
        self, seen: Seen, event: Recorded, rules: RuleSet, freeze: int, freezes: set[int]
    ) -> Difference | bool | None:
        """How a joined event differs from what it should be; None when it doesn't, False where that can't be told
        because the answer is withheld. `freeze` is the event that froze `rules`, `freezes` are all."""
        judge = self._judge(rules, freeze)
        if judge.fault:
            return self._differs(seen, event, rules, "judge", judge.fault, f"what {rules.label} says")
        if event.kind != "score":
            return self._differs(seen, event, rules, "judge", "scores alone")
        own = {seen.place.planned, *freezes}
        grades = [cause for cause in event.causes if cause in judge.scores]
        answer = max((cause for cause in event.causes if cause not in own and cause not in grades), default=0)
        stood = seen.overtaken(event, answer)
        if stood:
            return self._differs(seen, event, rules, "evidence", f"event {stood}", f"event {answer}")
        last = judge.last(answer, event.seq) if answer else 0
        if grades != ([last] if last else []):
            named = ", ".join(f"event {seq}" for seq in grades) or "none"
            return self._differs(seen, event, rules, "grade", f"event {last}" if last else "none", named)
        if last:
            body = typed(Score, judge.scores[last], f"event {last}").model_copy(update={"rules": rules.label})
            found = self._against(seen, event, rules, body)
            return found and replace(found, evidence=last)
        return self._unread(seen, event, rules, judge, answer)

    def _unread(
        self, seen: Seen, event: Recorded, rules: RuleSet, judge: _Judge, answer: int
    ) -> Difference | bool | None:
        entry = stages(rules.stages)
        if not answer:
            how_far = "fate_unknown" if seen.asked(event) else "not_asked"
            return self._against(seen, event, rules, unread_score(rules, entry, judge.gold, how_far, how_far))
        reading = seen.reading(answer)
        if reading is None and typed(Score, event.body or "", f"event {event.seq}").reason != "withheld":
            return False
        return self._against(seen, event, rules, unread_score(rules, entry, judge.gold, *why_not_graded(reading)))

    def _against(self, seen: Seen, event: Recorded, rules: RuleSet, body: Score) -> Difference | None:
        derived = [_prepared(body, event.cell)]
        return difference_of(self._ledger, self._run, event, derived, seen.place.case[1], rules.label)

    def _differs(
        self, seen: Seen, event: Recorded, rules: RuleSet, field: str, should: str, recorded: str = ""
    ) -> Difference:
        fields = ((field, recorded or event.kind, should),)
        return Difference(
            self._run, seen.place.cell, seen.place.case[1], event.kind, rules.label, event.seq, fields
        )  # fmt: skip

    def _judge(self, rules: RuleSet, freeze: int) -> _Judge:
        if rules.label not in self._judges:
            assert rules.judge is not None
            judge = _read_judge(self._ledger, self._run, rules.judge)
            fault = judge.fault or _claims(self._ledger, rules, rules.judge, freeze)
            self._judges[rules.label] = replace(judge, fault=fault)
        return self._judges[rules.label]

    def tally(self, event: Event, rules: RuleSet) -> tuple[str, str, str] | None:
        """What is wrong with the tallies of other runs that a tally rests on, as a field of a difference."""
        others = self._ledger.sql(_TALLIES, (json.dumps(event.causes), self._run)).fetchall()
        mine = [] if rules.judge is None else [
            seq for seq, run, label in others if (run, label) == (rules.judge["run"], rules.judge["rules"])
        ]  # fmt: skip
        if len(others) == len(mine) == (rules.judge is not None):
            return None
        named = ", ".join(f"event {seq} of run {run}" for seq, run, _ in others) or "none"
        return "tallies", named, "one of the judge's" if rules.judge is not None else "none of another run"


def _prepared(body: Score, cell: int) -> Prepared:
    return Draft(body, run="a" * 16, cell=cell).prepared()


def _read_judge(ledger: Ledger, run: str, judge: Mapping[str, Any]) -> _Judge:
    nothing = gold_of("graded", "graded")
    try:
        _, plan = read_plan(ledger, judge["run"])
    except (HarnessError, LedgerError) as error:
        return _Judge({}, {}, {}, nothing, str(error))
    mine = [(each.label, each.digest) for each in plan.candidates]
    if run not in plan.grades or plan.suite != judge["suite"] or (judge["candidate"], judge["digest"]) not in mine:
        return _Judge({}, {}, {}, nothing, f"run {judge['run']} has no such judge of this run")
    scores: dict[int, str] = {}
    by_cell: dict[int, list[int]] = {}
    for seq, cell, body in ledger.sql(_SCORES, (judge["run"], judge["rules"])).fetchall():
        scores[seq] = body
        by_cell.setdefault(cell, []).append(seq)
    shown = first_repeats(ledger, judge["run"], plan)[judge["candidate"]]
    arm = plan.arms[0] if plan.arms and plan.arms[0] in ARMS else "graded"
    return _Judge(scores, by_cell, shown, gold_of(ARMS[arm], arm))


def _claims(ledger: Ledger, rules: RuleSet, judge: Mapping[str, Any], freeze: int) -> str:
    """What of a joined rule set isn't so; empty where all of it is, or a redaction withholds what would tell."""
    (row,) = ledger.rows(_FREEZE, (judge["run"], judge["rules"])) or ({"freeze": None},)
    if row["freeze"] is None:
        return f"run {judge['run']} has no rule set {judge['rules']}"
    try:
        own = thaw_rules(ledger, row["freeze"])
    except HarnessError as error:
        return "" if error.exit_status == 4 else str(error)
    if (judged_file(own.file, judge), own.stages, own.sources) != (rules.file, rules.stages, rules.sources):
        return f"the rules of {judge['rules']}, which run {judge['run']} was scored under"
    named = [judged_name(judge["suite"], judge["candidate"], each) for each in ("", own.name)]
    if rules.name not in named:
        return f"the name {' or '.join(named)}"
    with suppress(RefusedError):
        reference = reference_shown(ledger, read_plan(ledger, judge["run"])[1])
        if judge.get("reference", "") != reference:
            return f"the reference {reference or 'none'}"
    told = ledger.rows(_MODELS, (judge["run"], judge["candidate"], freeze))
    models = {row["model"] for row in told} - {None}
    claimed = set(judge["models"])
    if models - claimed or (claimed - models and not any(row["withheld"] for row in told)):
        return f"the models {', '.join(sorted(models)) or 'none'}"
    return ""


def shown_otherwise(
    ledger: Ledger, run: str, plan: Plan, cases: Mapping[tuple[str, str], Case]
) -> tuple[Difference, ...]:
    """The cases of a judge's run whose texts aren't the answers that they were made of, as the bytes have them, or
    whose cell doesn't rest on those. What a redaction withholds can't be told."""
    made = {case.id: case for (name, _), case in cases.items() if name in (GRADED, PAIR) and evidence_of(case)}
    wanted = frozenset(evidence for case in made.values() for evidence in evidence_of(case))
    answers: dict[int, _Answered] = {}
    for graded in dict.fromkeys(plan.grades):
        answers.update(_answers(ledger, graded, wanted))
    found: list[Difference] = []
    rows = {cell: (seq, seqs_in(causes)) for seq, cell, causes in ledger.sql(_CELLS, (run,))}
    for place in read_places(ledger, run, plan, list(cases), partly=True):
        case = made.get(place.case[1])
        if case is None or place.cell not in rows:
            continue
        seq, causes = rows[place.cell]
        named = ", ".join(map(str, causes))
        fields = [
            ("causes", named, f"event {evidence} among them") for evidence in evidence_of(case)
            if evidence not in causes
        ]  # fmt: skip
        told = [answers[evidence] for evidence in evidence_of(case) if evidence in answers]
        fields += [field for each in told for field in _otherwise(case, each)]
        if fields:
            found.append(Difference(run, place.cell, case.id, "cell", "", seq, tuple(fields)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Answered:
    """What a cell of a graded run was answered; None where that is no text."""

    run: str
    cell: int
    candidate: str
    text: str | None


def _otherwise(case: Case, answer: _Answered) -> list[tuple[str, str, str]]:
    """How a case differs from an answer that it was made of, as a field of a difference."""
    given, gold, meta = _table(case.input), _table(case.gold), _table(case.meta)
    name = "text"
    if gold.get("condition") == "pair":
        where = [answer.run, answer.cell]
        places = zip(meta.get("runs") or (), meta.get("cells") or (), strict=False)
        sides = [side for side, place in zip("ab", places, strict=False) if list(place) == where]
        who = f"{answer.run}@{answer.candidate}"
        name = next((each for each in ("first", "second") for side in sides
                     if gold.get(each) == side and gold.get(side) == who), "")  # fmt: skip
        if not name:
            said = {each: gold.get(each) for each in ("first", "second", "a", "b")}
            return [("sides", _short(said), f"cell {answer.cell} of {who} on one of them")]
    text = given.get(name)
    return [] if text == answer.text else [(name, _short(text), _short(answer.text))]


def _table(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _answers(ledger: Ledger, graded: str, wanted: frozenset[int]) -> dict[int, _Answered]:
    """Those answers of a run by their events; a withheld one isn't among them."""
    try:
        _, plan = read_plan(ledger, graded)
        places = read_places(ledger, graded, plan, list(thaw_cases(ledger, plan)), partly=True)
    except HarnessError:
        return {}
    places = [each for each in places if each.evidence in wanted and each.state == "answered"]
    candidates = {each.label: each for each in plan.candidates}
    return {
        place.evidence: _Answered(graded, place.cell, place.candidate, text_of(reading))
        for place, reading in read_answers(ledger, places, candidates)
        if reading is not None
    }


def _short(text: object) -> str:
    said = json.dumps(text)
    return said if len(said) <= _SHOWN else said[:_SHOWN] + "…"
