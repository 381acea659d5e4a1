"""A run from its beginning: freeze, plan, take over what may be reused, then ask and score to the close."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness._budget import Purse
from harness._candidate import Candidate
from harness._filter import Condition
from harness._freeze import freeze_prices, freeze_suite
from harness._lookups import LookedUp, look_up
from harness._pilot import Pilot
from harness._plan import plan_causes, plan_run
from harness._replaced import replaced, replaced_words
from harness._reuse import Takeover, find_answers, take_over
from harness._rules import RuleSet
from harness._session import Finished, Progress, RunOptions, Session, SilentProgress
from harness._suite import Fixture, Suite
from ledger import Draft, Ledger, hold_run, new_run_id, over_views
from ledger.kinds import Note

__all__ = ["Finished", "Progress", "RunOptions", "SilentProgress", "perform_run"]


def perform_run(
    ledger: Ledger,
    suite: Suite,
    fixtures: Sequence[Fixture],
    rules: Sequence[RuleSet],
    candidates: Sequence[Candidate],
    options: RunOptions,
    progress: Progress,
    *,
    given: str = "",
    filters: Sequence[Condition] = (),
    note: str = "",
    purse: Purse | None = None,
    say: Callable[[str], object] = lambda sentence: None,
    grades: Sequence[str] = (),
    evidence: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> tuple[Finished, Takeover | None]:
    """Run a suite and return how it ended, and what was taken over if that was asked for.

    Ctrl-C closes the run as interrupted; what was in flight says so. `given` goes into the plan, beside what servers
    that are asked live tell of themselves; `note` is noted on the run, `purse` holds prices and budget, and `say` is
    told, before anything is asked, what the run stands on that was superseded. `grades` are the runs whose answers it
    judges, and `evidence` the events that each case was made of then, by its id. Raises UsageError before anything is
    asked, and LedgerError when the ledger can't be written: the run then stays open in the file and reads as
    interrupted.
    """
    run = new_run_id()
    with hold_run(ledger.path, run):
        prompts = {candidate.prompt.encode("utf-8"): candidate.prompt_name for candidate in candidates}
        frozen = freeze_suite(ledger, suite, fixtures, rules, prompts)
        purse = (purse or Purse()).checked(candidates)
        if purse.prices is not None and options.via == "live":
            frozen = replace(frozen, prices=freeze_prices(ledger, Path(purse.prices.path).name, purse.prices.file))
        looked = look_up(ledger, run, candidates) if options.via == "live" else LookedUp()
        planned = plan_run(
            ledger, run, suite=suite, fixtures=fixtures, rules=rules, candidates=candidates, frozen=frozen,
            epochs=options.epochs, limit=options.limit, via=options.via, name=options.name, tags=options.tags,
            arm=options.arm, given=given, servers=looked.servers, lookups=looked.events, filters=filters,
            prices=purse.bodies(candidates), grades=grades, evidence=evidence,
        )  # fmt: skip
        if note:
            ledger.append(Draft(Note(text=note), run=run, causes=[planned.plan]))
        for sentence in _stands_on_replaced(ledger, run, plan_causes(frozen)):
            say(sentence)
        taken = None
        if options.reuse:
            taken = find_answers(
                ledger, suite, planned.measurements, looked.servers, rules, options.reuse_outcomes, run
            )  # fmt: skip
            for sentence in taken.sentences():
                say(sentence)
            taken = take_over(ledger, run, taken)
        start = taken.start if taken else None
        if options.via == "live":
            meter = purse.meter(candidates, ledger)
            done = start.reused if start else frozenset[int]()
            cells = Counter(each.candidate.label for each in planned.measurements if each.cell not in done)
            after = Pilot(ledger, run, purse, meter.prices, cells, say).over if purse.pilot else None
            options = replace(options, meter=meter, pilot=purse.pilot, after_pilot=after)
        session = Session(ledger, suite, rules, planned, frozen.rules, options, progress, start)
        return session.conduct(), taken


def _stands_on_replaced(ledger: Ledger, run: str, freezes: Sequence[int]) -> list[str]:
    def rows(query: str, parameters: Sequence[Any]) -> list[dict[str, Any]]:
        return ledger.rows(over_views(query), parameters)

    return [
        f"warning: this run stands on {what}, which was superseded {how} (event {row['event']}, {row['category']}:"
        f" {row['reason']})"
        for row in replaced(rows, run, freezes)
        for what, how in (replaced_words(row),)
    ]
