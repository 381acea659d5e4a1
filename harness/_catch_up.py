"""After a resume: the rule sets of earlier rescores are scored on what came since, so that none of them lags behind,
and what judges graded joins anew: an answer that came since has no grade yet, and says so."""

from __future__ import annotations

from harness._errors import HarnessError
from harness._join import join_again
from harness._rescore import rescore_run
from harness._rules import RuleSet, moved_sources
from harness._thaw import thaw_rules
from ledger import Ledger, over_views
from ledger.kinds import Plan

__all__ = ["catch_up"]

_RULES = over_views("SELECT rules, freeze FROM run_rules WHERE run = ? ORDER BY freeze")


def catch_up(ledger: Ledger, run: str) -> list[str]:
    """Score a run under every rule set that its plan doesn't name and a rescore did; returns sentences for people.

    One that was frozen with other code is left as it stands, and named: under this code it is another rule set.
    """
    plan = ledger.body(next(ledger.events(kind="plan", run=run)))
    assert isinstance(plan, Plan)
    planned = {each.label for each in plan.rules}
    said: list[str] = []
    current: list[RuleSet] = []
    judges: dict[str, None] = {}
    for row in ledger.rows(_RULES, (run,)):
        if row["rules"] in planned:
            continue
        try:
            rules = thaw_rules(ledger, row["freeze"])
        except HarnessError as error:
            said.append(f"{row['rules']} was not applied to what came since: {error}")
            continue
        if rules.judge is not None:
            judges[rules.judge["run"]] = None
        elif moved_sources(rules):
            said.append(
                f"{row['rules']} was frozen with other code, so it says nothing of what came since;"
                f" `harness rescore {run} --rules {rules.name}` scores all of it anew"
            )
        else:
            current.append(rules)
    if current:
        done = rescore_run(ledger, run, current)
        if done.appended:
            said.append(f"{' and '.join(done.rules)}, of an earlier rescore, scored on what came since")
    for judge in judges:
        said += join_again(ledger, judge)
        said.append(f"answers that came since have no grade of run {judge}; `harness grade {run}` asks for one")
    return said
