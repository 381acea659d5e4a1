"""The texts of a cell by the seqs that the view `answers` has: question, gold, meta, the answer as read, and the reply.

None is stored as a text of its own. They are read out of frozen files and out of the bytes that went over the wire, by
the code that reads them for a judge. Each that a redaction took away says so in its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from harness._errors import HarnessError, UsageError
from harness._fingerprint import plan_of
from harness._graded import read_as_text
from harness._messages import read_asked
from harness._replies import Place, read_replies
from harness._suite import Case
from harness._task_text import given_text, plain_text, short_of_images, turns_text
from harness._thaw import thaw_fixture
from ledger import Event, Ledger, LedgerError, NotFound, over_views
from ledger.kinds import Cell, Parse, Plan, PlanCandidate, Reuse

__all__ = ["NOTHING", "AnswerTexts", "Text"]

_WITHHELD = over_views("SELECT redact, category FROM withheld WHERE seq = ? ORDER BY redact LIMIT 1")
_FAULT = (
    "SELECT max(fault.seq) FROM main.edges CROSS JOIN main.events AS fault ON fault.seq = edges.effect"
    " WHERE edges.cause = ? AND fault.kind = 'fault'"
)
_CANDIDATE = over_views("SELECT candidate FROM cell_candidates WHERE seq = ?")


@dataclass(frozen=True, slots=True)
class Text:
    """A text; or `why` there is none to show, in words. `gone` says that a redaction withholds it."""

    text: str | None
    why: str = ""
    gone: bool = False

    def __str__(self) -> str:
        return self.text if self.text is not None else f"({self.why})" if self.why else ""


NOTHING = Text(None)
"""There is no such text, and nothing to say of it."""


class AnswerTexts:
    """Reads texts out of one ledger, each when it is asked for; plans and frozen cases are kept.

    What can't be had is a `Text` that says why: nothing here raises for what stands in a ledger.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._plans: dict[str, Plan] = {}
        self._cases: dict[int, Mapping[str, Case]] = {}

    def case(self, planned: int) -> Case | Text:
        """The frozen case of a planned cell."""
        try:
            cell = self._ledger.event(planned)
            if cell.body is None:
                return self._gone(planned)
            body = self._ledger.body(cell)
            if not isinstance(body, Cell):
                return Text(None, f"event {planned} plans no cell")
            freeze = next(each.freeze for each in self._plan(cell.run).fixtures if each.name == body.fixture)
            if freeze not in self._cases:
                self._cases[freeze] = thaw_fixture(self._ledger, freeze)
            return self._cases[freeze][body.case]
        except NotFound as problem:
            return self._missing(problem)
        except (HarnessError, LedgerError) as problem:
            return Text(None, str(problem))
        except (StopIteration, KeyError):
            return Text(None, "its case isn't among the frozen ones; `ledger verify` says more")

    def given(self, planned: int) -> Text:
        """What the case itself gives to be asked."""
        found = self.case(planned)
        return found if isinstance(found, Text) else Text(given_text(short_of_images(found)))

    def gold(self, planned: int) -> Text:
        """What the case says is right: a string as it is, anything else as the JSON that was written."""
        found = self.case(planned)
        return found if isinstance(found, Text) else Text(plain_text(found.gold, found.gold_text))

    def meta(self, planned: int) -> Text:
        """The labels of the case, as the JSON that was written."""
        found = self.case(planned)
        return found if isinstance(found, Text) else Text(found.meta_text)

    def question(self, planned: int, asked: int | None) -> Text:
        """What was sent, every turn of it; of what nobody asked here, what the case gives."""
        if asked is None:
            return self.given(planned)
        try:
            request = self._ledger.event(asked)
            if request.body is None:
                return self._gone(asked)
            body = self._ledger.blob(request, "body")
            protocol = self._candidate(self._ledger.event(planned)).protocol
            found = read_asked(body, protocol)
        except NotFound:
            return self._gone(asked)
        except (HarnessError, LedgerError) as problem:
            return Text(None, str(problem))
        if found is None or not found.messages:
            return Text(body.decode("utf-8", "backslashreplace"))
        return Text(turns_text(found))

    def read(self, parse: int | None) -> Text:
        """The answer as it was read: a string as it is, anything else as the JSON that was sent."""
        if parse is None:
            return NOTHING
        try:
            body = self._ledger.body(parse)
            if not isinstance(body, Parse):
                return Text(None, f"event {parse} is no reading")
            text = body.value
            if "value" in body.blobs:
                text = self._ledger.blob(parse, "value").decode("utf-8", "surrogatepass")
        except NotFound:
            return self._gone(parse)
        except LedgerError as problem:
            return Text(None, str(problem))
        if text is None:
            return NOTHING
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return Text(text)
        return Text(value if isinstance(value, str) else text)

    def reply(self, planned: int, replied: int | None) -> Text:
        """The text of a reply, streams joined and codings undone; or why it has none, such as that it broke off."""
        if replied is None:
            return Text(None, "no reply came")
        try:
            cell, event = self._ledger.event(planned), self._ledger.event(replied)
            if event.body is None:
                return self._gone(replied)
            candidate = self._candidate(cell)
            place = self._place(cell, event, candidate)
            ((_, reply),) = read_replies(self._ledger, [place], {candidate.label: candidate})
            found = read_as_text(reply)
        except NotFound as problem:
            return self._missing(problem)
        except (HarnessError, LedgerError) as problem:
            return Text(None, str(problem))
        if found is None:
            return self._gone(place.origin)
        if found.text:
            return Text(found.text)
        said = f"no text: {found.reason or found.status}"
        return Text(None, f"{said}; `ledger show {place.origin} --blob body` has the bytes")

    def _place(self, cell: Event, replied: Event, candidate: PlanCandidate) -> Place:
        body = self._ledger.body(replied)
        origin = body.of if isinstance(body, Reuse) else replied.seq
        # Only what cut this very reply: a fault that came of another request says nothing of it.
        faults = [self._ledger.sql(_FAULT, (cause,)).fetchone()[0] for cause in self._ledger.event(origin).causes]
        fault = next((seq for seq in faults if seq is not None), 0)
        return Place(cell.cell, cell.seq, ("", ""), candidate.label, "answered", replied.seq, origin, fault)

    def _plan(self, run: str) -> Plan:
        if run not in self._plans:
            self._plans[run] = plan_of(self._ledger, run)
        return self._plans[run]

    def _candidate(self, cell: Event) -> PlanCandidate:
        plan = self._plan(cell.run)
        (row,) = self._ledger.rows(_CANDIDATE, (cell.seq,))
        for each in plan.candidates:
            if each.label == row["candidate"]:
                return each
        raise UsageError("nothing says whose answer it is, so how it is read")

    def _missing(self, problem: NotFound) -> Text:
        return Text(None, str(problem), gone=True)

    def _gone(self, seq: int) -> Text:
        for row in self._ledger.rows(_WITHHELD, (seq,)):
            return Text(None, f"withheld by event {row['redact']}: {row['category']}", gone=True)
        return Text(None, f"not in the file: event {seq}", gone=True)
