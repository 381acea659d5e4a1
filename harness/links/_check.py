"""The check of one run's links, from the freezes that it stands on to its closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness._plan import code_digests
from harness._replies import seqs_in
from harness._typed import typed
from harness.links._answers import AnswerLinks
from harness.links._broken import Broken, Finder
from harness.links._causes import check_causes
from harness.links._cells import CellLinks
from harness.links._claims import check_accepts, check_graded
from harness.links._ends import check_closes, check_tallies
from harness.links._freezes import Freezes
from harness.links._imports import check_imports
from harness.links._looked_up import check_lookups
from harness.links._marked import check_chosen
from harness.links._plans import PlanLinks
from harness.links._requests import RequestLinks
from harness.links._resumes import check_resumes
from ledger import Ledger
from ledger.kinds import Accept, Plan

__all__ = ["RunLinks", "check_links", "held_on_read"]

_PLANS = "SELECT seq, causes, body FROM main.events WHERE run = ? AND kind = 'plan' ORDER BY seq"
_ACCEPTS = "SELECT seq, body FROM main.events WHERE run = ? AND kind = 'accept' AND body IS NOT NULL ORDER BY seq"
_CLOSES = "SELECT seq FROM main.events WHERE run = ? AND kind = 'close' ORDER BY seq"
_RESUMES = "SELECT seq, body ->> '$.retry' FROM main.events WHERE run = ? AND kind = 'resume' ORDER BY seq"
_EVIDENCE = (
    "SELECT kind, min(seq) FROM main.events WHERE run = ? AND kind IN ('request', 'import') AND cell > 0 GROUP BY kind"
)


@dataclass(frozen=True)
class RunLinks:
    """What came of checking a run: what is broken, in order of events, and what couldn't be held, in sentences.

    It isn't `whole` where nothing of the run can be held: a fixture of it is frozen without a file.
    """

    run: str
    broken: tuple[Broken, ...]
    not_held: tuple[str, ...]
    whole: bool = True

    @property
    def ok(self) -> bool:
        """Whether every link that could be held holds."""
        return not self.broken


def check_links(ledger: Ledger, run: str, *, frozen: Freezes | None = None) -> RunLinks:
    """Hold every link of a run. `frozen` shares what was read of freezes between runs. Raises LedgerError."""
    return _Run(ledger, run, frozen).whole()


def held_on_read(ledger: Ledger, run: str) -> Sequence[Broken]:
    """The links that cost a digest or a count: what a figure may not be shown without. Raises LedgerError."""
    return _Run(ledger, run, None).on_read()


class _Run:
    """One run while its links are held."""

    def __init__(self, ledger: Ledger, run: str, frozen: Freezes | None) -> None:
        self.ledger = ledger
        self.run = run
        self.finder = Finder(run)
        self.frozen = frozen or Freezes(ledger, Finder())
        plans = ledger.sql(_PLANS, (run,)).fetchall()
        self.seq, causes, text = plans[0] if plans else (0, "[]", None)
        self.plan = typed(Plan, text, f"event {self.seq}") if text is not None else None
        self.causes = seqs_in(causes)

    def on_read(self) -> Sequence[Broken]:
        if self.plan is None or self._bare(self.plan):
            return ()
        planned = self._planned(self.plan)
        CellLinks(planned, self.finder, self.run).check()
        check_tallies(self.ledger, self.run, self.plan, self.finder)
        return self._done().broken

    def whole(self) -> RunLinks:
        if self.plan is None:
            # A bundle may hide it; a ledger can't.
            return RunLinks(self.run, (), ())
        if bare := self._bare(self.plan):
            said = f"run {self.run}: {', '.join(bare)} is frozen without a file, so nothing of it can be held"
            return RunLinks(self.run, (), (said,), whole=False)
        planned = self._planned(self.plan)
        cells = CellLinks(planned, self.finder, self.run)
        cells.check()
        self._via(self.plan)
        moved = dict(self.plan.code) != dict(code_digests())
        requests = RequestLinks(planned, self.finder, self._addresses(self.plan), moved)
        closes = [seq for (seq,) in self.ledger.sql(_CLOSES, (self.run,))]
        resumes = {seq: _words(retry) for seq, retry in self.ledger.sql(_RESUMES, (self.run,))}
        recorded = self.plan.suite_arms is not None
        AnswerLinks(
            self.ledger, self.finder, self.run, cells, requests, closes, resumes, recorded=recorded, moved=moved
        ).check()
        if requests.masked:
            self.finder.skip(f"what masked bytes of {requests.masked} requests were")
        check_causes(self.ledger, self.run, self.finder, judged=bool(self.plan.grades))
        tallies = check_tallies(self.ledger, self.run, self.plan, self.finder)
        check_closes(self.ledger, self.run, (self.seq, self.plan), tallies, self.finder)
        check_lookups(self.ledger, self.run, (self.seq, self.plan), self.causes, self.finder)
        check_accepts(self.ledger, self.run, (self.seq, self.plan), self.finder)
        check_resumes(self.ledger, self.run, (self.seq, self.plan), self.finder)
        check_chosen(self.ledger, self.run, (self.seq, self.plan), self.finder)
        check_graded(self.ledger, self.run, (self.seq, self.plan), planned.kept or (), self.finder)
        if self.plan.via == "import":
            check_imports(self.ledger, self.run, self.plan, cells, self.finder)
        return self._done()

    def _bare(self, plan: Plan) -> list[str]:
        """The fixtures that are frozen without a file: nothing of a run of them can be held."""
        return [each.name for each in plan.fixtures if self._is_bare(each.freeze)]

    def _is_bare(self, seq: int) -> bool:
        """Whether a freeze never had a file: what was withheld is still named."""
        freeze = self.frozen.body(seq)
        return freeze is not None and "file" not in freeze.blobs

    def _planned(self, plan: Plan) -> PlanLinks:
        planned = PlanLinks(self.frozen, self.finder, self.seq, plan, self.causes)
        planned.check()
        return planned

    def _via(self, plan: Plan) -> None:
        """Who answered: a server that was asked here, or somebody elsewhere whose answers were imported."""
        kinds = dict(self.ledger.sql(_EVIDENCE, (self.run,)).fetchall())
        wrong = kinds.get("request" if plan.via == "import" else "import")
        if wrong is not None:
            self.finder.broken("plan.via", self.seq, "via", plan.via, wrong, " and ".join(kinds))

    def _addresses(self, plan: Plan) -> dict[str, Sequence[tuple[int, str]]]:
        found: dict[str, Sequence[tuple[int, str]]] = {}
        accepts = [(seq, typed(Accept, text, f"event {seq}")) for seq, text in self.ledger.sql(_ACCEPTS, (self.run,))]
        for each in plan.candidates:
            known = [(self.seq, each.base_url)]
            for seq, accept in accepts:
                if accept.component == "endpoint" and accept.before == known[-1][1]:
                    known.append((seq, accept.after))
            found[each.label] = known
        return found

    def _done(self) -> RunLinks:
        own = set(self.causes)
        freezes = [each for each in self.frozen.finder.found if each.event in own]
        found = sorted([*freezes, *self.finder.found], key=lambda each: each.event)
        return RunLinks(self.run, tuple(found), tuple(self.finder.not_held))


def _words(text: Any) -> Sequence[str] | None:
    """What a resume asked again; None where that is withheld."""
    import json

    return [str(each) for each in json.loads(text)] if isinstance(text, str) else None
