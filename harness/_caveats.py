"""What a person must know before the numbers of a run: a sentence for whatever makes one weaker than it looks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from harness._answer_marks import candidate_marks
from harness._contradicted import doubts
from harness._fingerprint import case_set, plan_of
from harness._history import read_history
from harness._replaced import replaced, replaced_words
from ledger import Ledger, not_reproducible, over_views, run_status, standing_of

__all__ = ["caveats"]

_RUN = over_views("SELECT status FROM runs WHERE run = ?")
_STANDING = over_views("SELECT rules, standing, because FROM rule_standing WHERE run = ?")
_STANDS_ON = over_views("SELECT rules, freeze FROM run_rules WHERE run = ?")
_CELLS = "SELECT count(*) AS cells FROM main.events WHERE run = ? AND kind = 'cell'"


def caveats(ledger: Ledger, run: str, candidate: str, rules: Sequence[str]) -> list[str]:
    """The sentences for one candidate of a run under rule sets of these labels, the gravest first."""
    plan = plan_of(ledger, run)
    standing = standing_of(ledger, run)
    said = list(dict.fromkeys(doubts(ledger, run, candidate, rules)))
    if standing.superseded is not None:
        how = f"by {standing.by}" if standing.by else "without a successor"
        said.append(f"SUPERSEDED {how} (event {standing.superseded}, {standing.category}): {standing.reason}")
    said += [
        f"SUPERSEDED: it rests on {of}, replaced {how} (event {row['event']}, {row['category']}): {row['reason']}"
        for row in replaced(_views(ledger), run, _freezes(ledger, run, rules))
        for of, how in (replaced_words(row),)
    ]
    if any(standing.taints_number(candidate, label) for label in rules):
        said += [f"TAINTED by event {mark.taint} ({mark.what}:{mark.id}): {mark.reason}" for mark in standing.taints]
    for (mine, label), cells in not_reproducible(ledger, run).items():
        if label in rules and mine in (None, candidate):
            said.append(f"NOT REPRODUCIBLE: {cells} of the scores under {label} rest on what a redaction withholds")
    (row,) = ledger.rows(_RUN, (run,))
    status = run_status(ledger, run, row["status"])
    if status == "open":
        said.append("OPEN: the run goes on; these are the numbers so far")
    elif status not in ("complete", "partial"):
        said.append(f"{status.upper()}: the run did not end as planned")
    (counted,) = ledger.rows(_CELLS, (run,))
    if counted["cells"] < plan.cells:
        said.append(f"only {counted['cells']} of {plan.cells} planned cells were written down before the run broke off")
    if plan.via == "import":
        said.append("IMPORTED: recorded elsewhere; what was captured there is all that is known of the answers")
    elif plan.via == "replay":
        said.append("a replay: its answers come from a recording")
    for each in ledger.rows(_STANDING, (run,)):
        if each["rules"] in rules and each["standing"] == "post hoc":
            said.append(f"POST HOC under {each['rules']}: {each['because']}")
    if plan.limit is not None:
        said.append(f"only the first {plan.limit} cases were planned (--limit)")
    if plan.filter:
        said.append(f"only cases where {plan.filter} were planned (--filter)")
    said += [f"{candidate}: {marks}" for marks in candidate_marks(ledger, run, candidate, rules)]
    if not case_set(ledger, run, plan).whole:
        said.append("the list of its cases was withheld, so whether the case sets are the same can't be told")
    return said + read_history(ledger, run).sentences()


def _views(ledger: Ledger) -> Callable[[str, Sequence[Any]], list[dict[str, Any]]]:
    return lambda query, parameters: ledger.rows(over_views(query), parameters)


def _freezes(ledger: Ledger, run: str, rules: Sequence[str]) -> set[int]:
    """The freezes that the numbers of a run rest on under these rule sets: its own files, and theirs."""
    sets = {row["freeze"]: row["rules"] for row in ledger.rows(_STANDS_ON, (run,)) if row["freeze"]}
    (plan,) = ledger.rows("SELECT causes FROM main.events WHERE run = ? AND kind = 'plan'", (run,))
    own = {int(seq) for seq in json.loads(plan["causes"]) if int(seq) not in sets}
    return own | {int(freeze) for freeze, label in sets.items() if label in rules}
