"""A run from its beginning: freeze, plan, take over what may be reused, then ask and score to the close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness._candidate import Candidate
from harness._freeze import freeze_suite
from harness._plan import plan_run
from harness._reuse import Takeover, take_over
from harness._rules import RuleSet
from harness._session import Finished, Progress, RunOptions, Session, SilentProgress
from harness._suite import Fixture, Suite
from ledger import Ledger, hold_run, new_run_id

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
    servers: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Finished, Takeover | None]:
    """Run a suite and return how it ended, and what was taken over if that was asked for.

    Ctrl-C closes the run as interrupted; what was in flight says so. `given` and `servers` go into the plan. Raises
    UsageError before anything is asked, and LedgerError when the ledger can't be written: the run then stays open in
    the file and reads as interrupted.
    """
    run = new_run_id()
    with hold_run(ledger.path, run):
        prompts = [candidate.prompt.encode("utf-8") for candidate in candidates]
        frozen = freeze_suite(ledger, suite, fixtures, rules, prompts)
        planned = plan_run(
            ledger, run, suite=suite, fixtures=fixtures, rules=rules, candidates=candidates, frozen=frozen,
            epochs=options.epochs, limit=options.limit, via=options.via, name=options.name, tags=options.tags,
            arm=options.arm, given=given, servers=servers or {},
        )  # fmt: skip
        taken = take_over(ledger, suite, planned, servers or {}) if options.reuse else None
        start = taken.start if taken else None
        session = Session(ledger, suite, rules, planned, frozen.rules, options, progress, start)
        return session.conduct(), taken
