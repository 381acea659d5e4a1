"""People's labels of a run's answers: a file goes on record, and what it agrees on with judges is worked out.

Labels may come before a judge or after one; whoever comes second is held against whoever was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._agreed import agreement_tables
from harness._errors import HarnessError, RefusedError, UsageError
from harness._job import load_rule_sets
from harness._label_store import record_labels
from harness._labels import LabelFile, Scale
from harness._new_rows import file_bytes
from harness._replies import read_plan
from harness._rules import RuleSet
from harness._sides import named_labels
from harness._suite import load_suite
from harness._thaw import thaw_rules
from harness.judging import Rubric
from harness.suites._companion import StudyTable
from ledger import Ledger, over_views, run_is_held

__all__ = ["Labelled", "label_run"]

_RULES = over_views("SELECT rules, freeze FROM run_rules WHERE run = ? ORDER BY freeze")
_JUDGED = "rubric"


@dataclass(frozen=True)
class Labelled:
    """A file of labels on record as event `event`, `appended` now or there before; and the agreement on the run's
    answers with everybody who judged or labelled them. `judged` says whether any judge's grades stand in the run."""

    run: str
    event: int
    appended: bool
    labels: int
    people: tuple[str, ...]
    criteria: tuple[str, ...]
    tables: tuple[StudyTable, ...]
    judged: bool

    def sentences(self) -> list[str]:
        """What people are told of it."""
        people = f"{len(self.people)} {'person' if len(self.people) == 1 else 'people'}"
        how = "on record as" if self.appended else "were on record already, as"
        said = [f"{self.labels} labels by {people} on run {self.run} {how} event {self.event}"]
        if not self.judged:
            said.append(
                f"no judge's grades stand in run {self.run} yet; `harness grade {self.run} --judge SUITE` asks one, and"
                " shows how far it agrees"
            )
        return said

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "run": self.run, "event": self.event, "appended": self.appended, "labels": self.labels,
            "people": list(self.people), "criteria": list(self.criteria),
            "agreement": [each.as_json() for each in self.tables],
        }  # fmt: skip


def label_run(target: str, path: Path, db: Path, *, judge: str = "", rules: Sequence[str] = ()) -> Labelled:
    """Put a file of labels on record about a run, unless it is there, and work out the agreement.

    `judge` is the suite of a judge that is asked next, and `rules` its rule sets: its criteria may be labelled as well.
    Everything is checked before anything is written. Raises UsageError for a file that can't be taken,
    RefusedError for a run that is going on or is a judge's own.
    """
    data = file_bytes(path)
    also = load_rule_sets(load_suite(judge)[0], rules) if judge else []
    with Ledger.open(db) as ledger:
        run, _ = named_labels(ledger, target)
        _, plan = read_plan(ledger, run)
        if plan.grades:
            raise RefusedError(
                f"run {run} is a judge's own; label the answers that it judged, which are those of run"
                f" {' and '.join(plan.grades)}"
            )
        if run_is_held(ledger.path, run):
            raise RefusedError(f"run {run} is going on, so its answers still come in; label it once it has ended")
        judges = _judges(ledger, run)
        found, event, appended = record_labels(ledger, run, data, path, _scales([*judges.values(), *also]))
        return _labelled(ledger, run, judges, found, event, appended=appended)


def _labelled(
    ledger: Ledger, run: str, judges: Mapping[str, RuleSet], found: LabelFile, event: int, *, appended: bool
) -> Labelled:  # fmt: skip
    tables = agreement_tables(ledger, lambda query, given=(): ledger.rows(over_views(query), given), run, judges)
    return Labelled(run, event, appended, len(found.labels), found.raters, found.criteria, tables, bool(judges))


def _judges(ledger: Ledger, run: str) -> dict[str, RuleSet]:
    """The rule sets of judging that stand in a run and can be read, by label."""
    found: dict[str, RuleSet] = {}
    for row in ledger.rows(_RULES, (run,)):
        try:
            rules = thaw_rules(ledger, row["freeze"])
        except HarnessError:
            continue
        if rules.stages == _JUDGED:
            found[str(row["rules"])] = rules
    return found


def _scales(judges: Iterable[RuleSet]) -> dict[str, Scale]:
    """The widest scale of each criterion by its id, over all judges. Raises UsageError for rules that judge nothing."""
    found: dict[str, Scale] = {}
    for rules in judges:
        if rules.stages != _JUDGED:
            raise UsageError(f"--labels: {rules.label} is no rule set of judging, so it has no criteria")
        for each in Rubric.of_rules(rules.score).criteria:
            low, high = found.get(each.id, (each.least, each.most))
            found[each.id] = min(low, each.least), max(high, each.most)
    return found
