"""The replay check: every recorded parse, confirm, score and tally derived again from the recorded bytes, and compared.

Each event is derived from the very evidence that its causes name, under the rule set frozen with its label, by the code
that is here; also those that a later attempt overtook. So two things come out: whether the numbers follow from the
bytes, and, where code moved since, whether it still does the same.

What a judge's grades came to in the run that they joined is held against the judge's own (harness._replay_joined).

An event must also rest on what stood for its cell by then, its cell must be one that the plan has, and a tally must
name the freeze of its rule set: else the bytes would be right, and the wrong ones.

What rests on something withheld can't be checked and is counted apart, unless it doesn't even follow from the parse
that is still shown; so is a cell that ended in a fault of the harness itself, where this code gets further: that says
nothing about what was derived.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from harness._derivations import Spot, derivations, unmeasured
from harness._derive import derive_parsed
from harness._errors import HarnessError, RefusedError, UsageError
from harness._graded import read_as_text
from harness._moved_code import moved_modules
from harness._named_rules import frozen_labels
from harness._replay_checked import Checked, RulesChecked
from harness._replay_compare import Difference, Recorded, difference_of, tally_difference
from harness._replay_joined import JoinedCheck, Seen, shown_otherwise
from harness._replay_strays import strays_of, unplanned_runs
from harness._replies import (
    Place,
    Row,
    attempt_rows,
    lay_attempts,
    place_at,
    read_places,
    read_plan,
    read_replies,
    seqs_in,
    shown_places,
)
from harness._rules import RuleSet
from harness._suite import Ask, Case
from harness._thaw import thaw_cases, thaw_rules
from harness._typed import typed
from harness.suites import Stages, stages
from ledger import Ledger, LedgerError, NotFound, Prepared
from ledger.kinds import Confirm, Parse, Plan, Score

__all__ = ["Checked", "RulesChecked", "check_cells", "check_run", "check_runs"]

_DERIVED = (
    "SELECT seq, kind, cell, causes, body FROM main.events WHERE run = ? AND kind IN ('parse', 'confirm', 'score')"
    " AND cell BETWEEN ? AND ? ORDER BY cell, seq"
)
_LOST = "SELECT seq FROM main.events WHERE run = ? AND kind = 'fault' AND body ->> '$.reason' = 'fate_unknown'"
_CELLS_AT_ONCE = 500
Cases = Mapping[tuple[str, str], Case]
"""The frozen cases of a plan, by fixture and id."""


def check_run(
    ledger: Ledger, run: str, label: str | None = None, *, cases: Cases | None = None,
    joined: bool = True,
) -> Checked:  # fmt: skip
    """Check a run, or what was derived of it under one rule set. Appends nothing.

    `cases` stand in for those of the frozen fixtures. Without `joined`, what rests on a judge's run can't be checked:
    the ledger doesn't hold it whole. Raises UsageError for a probe, which has no frozen rule set, and
    for a label that the run has nothing under; RefusedError where its fixtures are withheld.
    """
    _, plan = read_plan(ledger, run)
    cases = thaw_cases(ledger, plan) if cases is None else cases
    places = read_places(ledger, run, plan, list(cases), partly=True)
    check = _Check(ledger, run, plan, cases, places, label, joined=joined)
    check.go()
    check.tallies()
    if label is not None and label not in check.by_label:
        raise UsageError(f"run {run} was never scored under {label!a}")
    strays = strays_of(ledger, run, plan.cells) if label is None else ()
    if plan.grades and label is None and joined:
        strays += shown_otherwise(ledger, run, plan, cases)
    return Checked(run, tuple(each.done() for each in check.by_label.values()), strays=strays)


def check_cells(
    ledger: Ledger, run: str, plan: Plan, cases: Mapping[tuple[str, str], Case], cells: Collection[int]
) -> Checked:
    """Check what was derived of some cells alone, in a ledger that may lack the rest: no tally, and no judge's grade.

    Of `plan`, `ask` and each candidate's `protocol` and `stream` are looked at. Raises as `check_run`.
    """
    known = {each.label for each in plan.candidates}
    places = [each for each in shown_places(ledger, run, cells) if each.candidate in known]
    check = _Check(ledger, run, plan, cases, places, None, joined=False)
    check.go()
    return Checked(run, tuple(each.done() for each in check.by_label.values()))


def check_runs(
    ledger: Ledger, runs: Iterable[str] | None = None, *, known: Callable[[str], Cases | None] = lambda run: None
) -> Iterator[Checked]:
    """Check runs one by one, by default all of the ledger; what can't be checked at all says why.

    `known` has the frozen cases of a run, where somebody thawed them before.
    """
    wanted = [event.run for event in ledger.events(kind="plan")] if runs is None else runs
    for run in wanted:
        try:
            yield check_run(ledger, run, cases=known(run))
        except HarnessError as error:
            yield Checked(run, (), str(error))
    if runs is None:
        for run in unplanned_runs(ledger):
            yield Checked(run, (), strays=strays_of(ledger, run, 0))


class _Rules:
    """One rule set while it is checked. `rules` is None where its file or sources are withheld."""

    def __init__(self, label: str, freeze: int, rules: RuleSet | None, fault: str) -> None:
        self.label = label
        self.freeze = freeze
        self.rules = rules
        self.fault = fault
        self.reproduced = self.withheld = self.internal = 0
        self.differences: list[Difference] = []
        self.scores: list[tuple[int, int, str]] = []

    def note(self, difference: Difference | None) -> None:
        if difference is None:
            self.reproduced += 1
        else:
            self.differences.append(difference)

    def done(self) -> RulesChecked:
        moved = moved_modules(self.rules) if self.rules is not None else ()
        return RulesChecked(
            self.label, self.freeze, moved, self.reproduced, self.withheld, self.internal, tuple(self.differences),
            self.fault,
        )  # fmt: skip


class _Check:
    """The check of one run; `by_label` gathers what was found."""

    def __init__(
        self, ledger: Ledger, run: str, plan: Plan, cases: Mapping[tuple[str, str], Case], places: Sequence[Place],
        only: str | None, *, joined: bool,
    ) -> None:  # fmt: skip
        self.ledger = ledger
        self.with_joined = joined
        self.run = run
        self.ask: Ask = cast("Ask", plan.ask)
        self.candidates = {each.label: each for each in plan.candidates}
        self.plan = plan
        self.cases = cases
        self.places = places
        self.only = only
        self.by_label: dict[str, _Rules] = {}
        self.joined = JoinedCheck(ledger, run)
        shown = dict(ledger.sql("SELECT seq, body IS NOT NULL FROM main.events WHERE kind = 'freeze'").fetchall())
        self.freezes = set(shown)
        self.unread = not all(shown.values())
        self.lost = {seq for (seq,) in ledger.sql(_LOST, (run,))}
        planned = {each.label: each.freeze for each in plan.rules}
        labels = frozen_labels(ledger)
        self.freezes_of = {(each.label, each.seq) for each in labels}
        self.frozen = {each.label: each.seq for each in reversed(labels) if each.whole} | planned

    def go(self) -> None:
        for start in range(0, len(self.places), _CELLS_AT_ONCE):
            self._cells(self.places[start : start + _CELLS_AT_ONCE])

    def _rules(self, label: str) -> _Rules:
        found = self.by_label.get(label)
        if found is None:
            freeze, rules, fault = self.frozen.get(label, 0), None, ""
            try:
                rules = thaw_rules(self.ledger, freeze) if freeze else None
                fault = "" if freeze or not label or self.unread else "no rule set was frozen under this label"
                if rules is not None and (rules.label != label or not rules.stages):
                    rules, fault = None, f"event {freeze} froze {rules.label}, by which nothing of it was scored"
            except LedgerError as error:
                fault = str(error)
            except HarnessError as error:
                # A withheld file is no fault of the code: its scores are counted as withheld.
                fault = "" if error.exit_status == 4 else str(error)
            found = self.by_label[label] = _Rules(label, freeze, rules, fault)
        return found

    def _cells(self, places: Sequence[Place]) -> None:
        first, last = places[0].cell, places[-1].cell
        events: dict[int, list[Recorded]] = {}
        for seq, kind, cell, causes, body in self.ledger.sql(_DERIVED, (self.run, first, last)):
            events.setdefault(cell, []).append(Recorded(seq, kind, cell, seqs_in(causes), body))
        rows: dict[int, list[Row]] = {}
        for row in attempt_rows(self.ledger, self.run, first, last):
            rows.setdefault(row.cell, []).append(row)
        cells = [
            _Cell(
                place, self._case(place), events.get(place.cell, []), rows.get(place.cell, []), self.freezes, self.lost
            )
            for place in places
        ]  # fmt: skip
        at = [(cell, seq, place) for cell in cells for seq, place in cell.evidence(self.ledger).items()]
        replies = read_replies(self.ledger, [place for _, _, place in at], self.candidates)
        for (cell, seq, _), (_, reply) in zip(at, replies, strict=True):
            cell.replies[seq] = reply
        for cell in cells:
            self._cell(cell)

    def _case(self, place: Place) -> Case:
        case = self.cases.get(place.case)
        if case is None:
            raise RefusedError(f"cell {place.cell}: no case {place.case[1]!a} is in the frozen {place.case[0]!a}")
        return case

    def _cell(self, cell: _Cell) -> None:
        derived: dict[tuple[int, str], list[Prepared]] = {}
        for event in cell.events:
            label = cell.label_of(event, self.frozen)
            if self.only is not None and label != self.only:
                continue
            rules = self._rules(label)
            if rules.rules is None or event.body is None:
                rules.withheld += not rules.fault
                continue
            if event.kind == "score":
                rules.scores.append((event.seq, event.cell, event.body))
            if rules.rules.judge is not None:
                if self.with_joined:
                    self._joined_score(cell, event, rules, rules.rules)
                else:
                    rules.withheld += 1
                continue
            evidence, failed = cell.rests_on(event)
            overtaken = cell.overtaken(event, evidence)
            if overtaken:
                fields = (("evidence", f"event {evidence}" if evidence else "none", f"event {overtaken}"),)
                where = (self.run, cell.place.cell, cell.place.case[1])
                rules.note(Difference(*where, event.kind, label, event.seq, fields))
                continue
            entry = stages(rules.rules.stages)
            if evidence == 0:
                rules.note(self._without_reply(cell, event, rules.rules, entry))
                continue
            reply = cell.replies.get(evidence)
            if reply is None:
                self._withheld(cell, event, rules, evidence, entry)
                continue
            key = (evidence, label)
            if key not in derived:
                spot = Spot(self.run, cell.place.cell, cell.place.planned, evidence)
                derived[key], _ = derivations(
                    reply, spot, ask=self.ask, stages=entry, case=cell.case, rules=[rules.rules], frozen={label: 1}
                )
            if failed and derived[key][0].kind != "fault":
                rules.internal += 1
                continue
            found = difference_of(self.ledger, self.run, event, derived[key], cell.place.case[1], label)
            rules.note(found and replace(found, evidence=evidence))

    def _joined_score(self, cell: _Cell, event: Recorded, rules: _Rules, rule_set: RuleSet) -> None:
        seen = Seen(
            cell.place, cell.overtaken, lambda evidence: read_as_text(cell.replies.get(evidence)),
            lambda at: any(row.kind == "request" and row.seq < at.seq for row in cell.rows),
        )  # fmt: skip
        found = self.joined.difference(seen, event, rule_set, rules.freeze, self.freezes)
        if found is False:
            rules.withheld += 1
        elif found is not True:
            rules.note(found)

    def _without_reply(self, cell: _Cell, event: Recorded, rules: RuleSet, entry: Stages) -> Difference | None:
        """A score of a cell that was not asked, or whose fate nobody knows, as far as it had come by then."""
        sent = any(row.kind == "request" and row.seq < event.seq for row in cell.rows)
        how_far = "fate_unknown" if sent else "not_asked"
        score = unmeasured(rules, entry, cell.case, how_far, how_far)
        return difference_of(self.ledger, self.run, event, [_as_event(score, event)], cell.place.case[1], rules.label)

    def _withheld(self, cell: _Cell, event: Recorded, rules: _Rules, evidence: int, entry: Stages) -> None:
        """What rests on something withheld can't be checked, but for a score that says that it is."""
        assert rules.rules is not None
        if evidence not in cell.replies:
            rules.note(
                Difference(
                    self.run, cell.place.cell, cell.place.case[1], event.kind, rules.label, event.seq,
                    (("causes", f"event {evidence}", "no attempt of this cell"),),
                )
            )  # fmt: skip
            return
        said = typed(Score, event.body or "", f"event {event.seq}") if event.kind == "score" else None
        if said is not None and said.reason == "withheld":
            score = unmeasured(rules.rules, entry, cell.case, "error", "withheld")
            rules.note(
                difference_of(self.ledger, self.run, event, [_as_event(score, event)], cell.place.case[1], rules.label)
            )
            return
        again = self._of_the_parse(cell, event, rules.rules, entry)
        case = cell.place.case[1]
        other = difference_of(self.ledger, self.run, event, again, case, rules.label) if again is not None else None
        if other is not None:
            rules.note(replace(other, evidence=evidence))
        else:
            # It follows from the parse, and nobody can say whether that follows from the reply.
            rules.withheld += 1

    def _of_the_parse(
        self, cell: _Cell, event: Recorded, rules: RuleSet, entry: Stages
    ) -> list[Prepared] | None:  # fmt: skip
        """A confirm or score made again of the recorded parse that it rests on; None where that isn't shown either."""
        parse = cell.parse_of(event)
        if event.kind == "parse" or parse is None or parse.body is None:
            return None
        body = typed(Parse, parse.body, f"event {parse.seq}")
        value = body.value
        if "value" in body.blobs:
            try:
                value = self.ledger.blob(parse.seq, "value").decode("utf-8", "surrogatepass")
            except NotFound:
                return None
        made = derive_parsed(body, value, stages=entry, case=cell.case, rules=rules)
        if made is None:
            return None
        confirm, score = made
        return [_as_event(each, event) for each in (confirm, score) if each is not None]

    def tallies(self) -> None:
        """Count every tally again, of the scores that `go` found."""
        for event in self.ledger.events(kind="tally", run=self.run):
            found = tally_difference(
                self.ledger, event, self.plan, self.places,
                lambda label: (self._rules(label).rules, self._rules(label).scores), self.freezes_of, self.only,
            )  # fmt: skip
            if found is None:
                continue
            label, difference = found
            rules = self._rules(label)
            if rules.rules is None or (rules.rules.judge is not None and not self.with_joined):
                rules.withheld += not rules.fault
                continue
            other = self.joined.tally(event, rules.rules)
            if other is not None:
                fields = (*(difference.fields if difference else ()), other)
                difference = Difference(self.run, 0, "", "tally", label, event.seq, fields)
            rules.note(difference)


def _as_event(body: Confirm | Score, event: Recorded) -> Prepared:
    from ledger import Draft

    return Draft(body, run="a" * 16, cell=event.cell).prepared()


class _Cell:
    """One cell: its derived events, and the attempts that they may rest on."""

    def __init__(
        self, place: Place, case: Case, events: Sequence[Recorded], rows: Sequence[Row], freezes: set[int],
        lost: set[int],
    ) -> None:  # fmt: skip
        self.place = place
        self.lost = lost
        self.case = case
        self.events = events
        self.rows = rows
        self.freezes = freezes
        self.by_seq = {event.seq: event for event in events}
        self.faults = {row.seq: row for row in rows if row.kind == "fault"}
        self.replies: dict[int, Any] = {}
        self.stood: dict[int, tuple[int, set[int]]] = {}

    def rests_on(self, event: Recorded) -> tuple[int, bool]:
        """The evidence of an event (0 for none), and whether our own code failed between the two."""
        failed = False
        causes = event.causes
        # Causes are smaller than their effect, so this ends.
        while True:
            last = max((each for each in causes if each not in self.freezes and each != self.place.planned), default=0)
            fault = self.faults.get(last)
            if last in self.by_seq and last < event.seq:
                causes = self.by_seq[last].causes
            elif fault is not None and any(each in self.freezes for each in fault.causes):
                failed, causes = True, fault.causes
            else:
                return last, failed

    def overtaken(self, event: Recorded, evidence: int) -> int:
        """The evidence that stood for the cell when `event` was written, where it rests on other; else 0.

        An attempt whose fate nobody knew by then overtakes nothing: what came before it may stand, or nothing.
        """
        if not all(row.told for row in self.rows):
            return 0
        before = sum(row.seq < event.seq for row in self.rows)
        if before not in self.stood:
            attempts = lay_attempts(self.rows[:before]).get(self.place.cell, ())
            known = [each.response or each.fault for each in attempts]
            last = known[-1] if known else 0
            vague = last == 0 or attempts[-1].fault in self.lost
            self.stood[before] = (last, {0, *known} if vague else {last})
        last, may = self.stood[before]
        return 0 if evidence in may else last or max(may)

    def parse_of(self, event: Recorded) -> Recorded | None:
        """The parse that an event rests on, whatever stands between them."""
        causes = event.causes
        while mine := [self.by_seq[each] for each in causes if each in self.by_seq]:
            found = max(mine, key=lambda each: each.seq)
            if found.kind == "parse":
                return found
            causes = found.causes
        return None

    def label_of(self, event: Recorded, frozen: Mapping[str, int]) -> str:
        """The rule set that an event says it is under; of a withheld one, by the freeze that its parse rests on."""
        if event.label:
            return event.label
        causes = [event.causes, *(self.by_seq[each].causes for each in event.causes if each in self.by_seq)]
        under = {cause for some in causes for cause in some if cause in self.freezes}
        return next((label for label, seq in frozen.items() if seq in under), "")

    def evidence(self, ledger: Ledger) -> dict[int, Place]:
        """Where the evidence is that events of the cell rest on, by seq; what is none of its attempts is left out."""
        found: dict[int, Place] = {}
        for seq in {self.rests_on(event)[0] for event in self.events} - {0}:
            place = self.place if seq == self.place.evidence else place_at(ledger, self.place, seq, self.rows)
            if place is not None and place.state == "answered":
                found[seq] = place
        return found
