"""Links of what came of asking: attempts in their order, one response each, and a reason for each that follows.

A cell is asked again only where a wait says why, or a resume asked for it. Runs of releases that recorded no resume
can't be held to that, and it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from harness._attempts import read_exchange
from harness._candidate import Candidate
from harness._identity import file_digest
from harness._outcomes import Status
from harness._outcomes import reason as known_reason
from harness._recorded import attempts_of, exchange_of
from harness._replies import seqs_in
from harness._session import UNFINISHED
from harness._typed import typed
from harness.links._broken import Finder
from harness.links._cells import CellLinks
from harness.links._requests import RequestLinks
from harness.parse import Reading, Wire
from ledger import Ledger, NotFound
from ledger.kinds import Fault, Import, Request, Response, Reuse, Wait

__all__ = ["AnswerLinks"]

_EVENTS = (
    "SELECT event.seq, event.kind, event.cell, event.causes, event.body, blob.encoding, blob.data"
    " FROM main.events AS event"
    " LEFT JOIN main.blobs AS blob ON event.kind = 'request' AND blob.seq = event.seq"
    " AND blob.hash = event.body ->> '$.blobs.body.hash' WHERE event.run = ?"
    " AND event.kind IN ('request', 'response', 'fault', 'wait', 'reuse', 'import') AND event.cell > 0"
    " ORDER BY event.cell, event.seq"
)
_ORIGIN = (
    "SELECT origin.kind, origin.hash, origin.run, origin.cell, theirs.seq, theirs.body ->> '$.identity'"
    " FROM main.events AS origin LEFT JOIN main.events AS theirs ON theirs.run = origin.run AND theirs.kind = 'cell'"
    " AND theirs.cell = origin.cell WHERE origin.seq = ?"
)
_MINE = (
    "SELECT body ->> '$.identity' FROM main.events WHERE run = ? AND kind = 'cell' AND cell = ? ORDER BY seq LIMIT 1"
)
_STOOD = (
    "SELECT body ->> '$.outcome', body ->> '$.status', body ->> '$.reason', max(seq) FROM main.events"
    " WHERE run = ? AND kind = 'score' AND cell = ? AND seq < ? GROUP BY body ->> '$.rules'"
)
_LATER = ("request", "response", "wait", "reuse", "import")
Row = tuple[int, str, int, str, str | None, str | None, bytes | None]


@dataclass(slots=True)
class _Attempt:
    """One attempt by the seqs of its events, 0 for none; `number` is -1 of what was taken over or imported."""

    number: int
    turn: int
    request: int
    response: int = 0
    fault: int = 0
    wait: int = 0
    why: str = ""
    whole: bool | None = None
    cut: int = 0
    after: str | None = None

    @property
    def ended(self) -> int:
        return max(self.response, self.fault)


@dataclass
class AnswerLinks:
    """Holds the attempts of one run, cell by cell. `closes` and `resumes` are the seqs of these events in order, with
    what each resume asked again (None where it is withheld); `recorded` says that the run's resumes are events; `moved`
    that other code asked."""

    ledger: Ledger
    finder: Finder
    run: str
    cells: CellLinks
    requests: RequestLinks
    closes: Sequence[int]
    resumes: Mapping[int, Sequence[str] | None]
    recorded: bool
    moved: bool
    _taken: dict[int, int] = field(default_factory=dict[int, int])

    def check(self) -> None:
        """Hold every event between the cells and what is derived."""
        rows: Iterator[Row] = iter(self.ledger.sql(_EVENTS, (self.run,)))
        for cell, some in groupby(rows, key=lambda row: row[2]):
            self._cell(cell, some)

    def _cell(self, cell: int, rows: Iterator[Row]) -> None:
        attempts: list[_Attempt] = []
        steps: Mapping[str, Callable[[Row, list[_Attempt]], None]] = {
            "request": self._request, "response": self._response, "fault": self._fault, "wait": self._wait,
            "reuse": self._reuse, "import": self._import,
        }  # fmt: skip
        for row in rows:
            if row[1] in _LATER:
                self._after_close(row)
            steps[row[1]](row, attempts)
        for each in attempts:
            if each.whole is not None:
                at = each.cut or each.response
                self.finder.hold("response.whole", each.response, "whole", each.whole, at, not each.cut, cell=cell)

    def _after_close(self, row: Row) -> None:
        """A closed run is asked again only by a resume."""
        seq, kind, cell = row[:3]
        closed = max((each for each in self.closes if each < seq), default=0)
        if not closed or any(closed < each < seq for each in self.resumes):
            return
        if not self.recorded:
            self.finder.skip("what reopened a closed run, in runs of releases that recorded no resume")
            return
        link = f"{kind if kind in ('request', 'response') else 'request'}.after_close"
        self.finder.broken(link, seq, kind, "after the run was closed", closed, "a resume ahead of it", cell=cell)

    # One kind of event each

    def _request(self, row: Row, attempts: list[_Attempt]) -> None:
        seq, _, cell, _, text, encoding, data = row
        last = attempts[-1] if attempts else None
        body = None if text is None else typed(Request, text, f"event {seq}")
        follows = (last.number if last is not None else -1) + 1
        if body is not None:
            at = last.request or last.ended if last is not None else self.cells.at.get(cell, 0)
            self.finder.hold("request.attempt", seq, "attempt", body.attempt, at, follows, cell=cell)
            self.finder.hold("request.turn", seq, "turn", body.turn, at, 0, cell=cell)
        if last is not None:
            self._again(seq, cell, last)
        attempts.append(_Attempt(follows if body is None else body.attempt, 0 if body is None else body.turn, seq))
        if body is not None:
            kept = self.cells.kept.get(cell)
            sent = self._plain(seq, encoding, data)
            self.requests.check(seq, cell, body, sent, kept, self.cells.candidate.get(cell, ""))

    def _response(self, row: Row, attempts: list[_Attempt]) -> None:
        seq, _, cell, causes, text, _, _ = row
        asked = seqs_in(causes)
        mine = next((each for each in attempts if each.request and each.request in asked), None)
        if mine is None or len(asked) != 1:
            last = attempts[-1].request if attempts else 0
            self.finder.broken("response.of", seq, "causes", causes, last, "the request of its cell", cell=cell)
            return
        if mine.response:
            self.finder.broken("response.once", seq, "a response to", f"event {mine.request}", mine.response,
                               "the one that it has", cell=cell)  # fmt: skip
            return
        if mine.fault:
            self.finder.broken("response.once", seq, "a response to", f"event {mine.request}", mine.fault,
                               "a fault: no response came", cell=cell)  # fmt: skip
        mine.response = seq
        if text is not None:
            body = typed(Response, text, f"event {seq}")
            said, follows = (body.attempt, body.turn), (mine.number, mine.turn)
            self.finder.hold("response.attempt", seq, "attempt and turn", said, mine.request, follows, cell=cell)
            mine.whole = body.whole
            mine.after = Wire(body.status, tuple(body.headers), b"").header("retry-after") or ""

    def _fault(self, row: Row, attempts: list[_Attempt]) -> None:
        seq, _, cell, causes, text, _, _ = row
        asked = seqs_in(causes)
        mine = next((each for each in attempts if each.request and each.request in asked), None)
        mine = mine or next((each for each in attempts if each.response and each.response in asked), None)
        if text is None:
            if mine is not None:
                mine.fault = mine.fault or seq
            return
        body = typed(Fault, text, f"event {seq}")
        self._reason(seq, cell, body)
        if body.attempt is None:
            return
        if mine is None:
            attempts.append(_Attempt(body.attempt, body.turn or 0, 0, fault=seq))
            return
        if mine.number >= 0:
            said, at = (body.attempt, body.turn), (mine.number, mine.turn)
            self.finder.hold("fault.attempt", seq, "attempt and turn", said, mine.request, at, cell=cell)
        if mine.fault:
            self.finder.broken(
                "fault.once", seq, "a fault of", f"event {mine.request}", mine.fault, "the one that it has", cell=cell
            )
        mine.fault = mine.fault or seq
        if mine.response in asked:
            mine.cut = seq

    def _reason(self, seq: int, cell: int, body: Fault) -> None:
        """A reason always has the same stage, and lies with the same; of other code's reasons nothing is said."""
        if self.moved:
            return
        status: Status = "fate_unknown" if body.reason == "fate_unknown" else "error"
        try:
            known = known_reason(status, body.reason)
        except LookupError:
            self.finder.broken("fault.reason", seq, "reason", body.reason, 0, "a name of the taxonomy", cell=cell)
            return
        said, follows = (body.stage, body.domain), (str(known.stage), str(known.domain))
        self.finder.hold("fault.reason", seq, "stage and domain", said, 0, follows, cell=cell)

    def _wait(self, row: Row, attempts: list[_Attempt]) -> None:
        seq, _, cell, _, text, _, _ = row
        last = attempts[-1] if attempts else None
        if text is None or last is None:
            return
        body = typed(Wait, text, f"event {seq}")
        said, follows = (body.attempt, body.turn), (last.number, last.turn)
        self.finder.hold("wait.attempt", seq, "attempt and turn", said, last.request, follows, cell=cell)
        last.wait, last.why = seq, body.why
        if last.response == 0 or last.after is not None:
            at = last.response or last.fault
            self.finder.hold("wait.asked", seq, "asked", body.asked, at, last.after or "", cell=cell)

    def _reuse(self, row: Row, attempts: list[_Attempt]) -> None:
        seq, _, cell, causes, text, _, _ = row
        attempts.append(_Attempt(-1, 0, 0, response=seq))
        if text is None:
            return
        body = typed(Reuse, text, f"event {seq}")
        if body.of not in seqs_in(causes):
            return  # of another ledger: nothing here tells of it
        before = self._taken.setdefault(body.of, seq)
        if before != seq:
            self.finder.broken("reuse.once", seq, "of", body.of, before, "taken over by it already", cell=cell)
        origin = self.ledger.sql(_ORIGIN, (body.of,)).fetchone()
        if origin is None:
            return
        kind, digest, run, there, theirs, identity = origin
        self.finder.hold("reuse.of", seq, "of", "response", body.of, kind, cell=cell)
        self.finder.hold("reuse.hash", seq, "hash", body.hash, body.of, digest, cell=cell)
        (mine,) = self.ledger.sql(_MINE, (self.run, cell)).fetchone() or (None,)
        if identity is not None and mine is not None:
            self.finder.hold("reuse.identity", seq, "the identity of its cell", mine, theirs, identity, cell=cell)
        self._same_request(seq, cell, body.of, str(run), int(there))

    def _same_request(self, seq: int, cell: int, of: int, run: str, there: int) -> None:
        """What was taken over answered the very request that this cell would have sent."""
        kept = self.cells.kept.get(cell)
        for each in attempts_of(self.ledger, run, there):
            if each.response is None or each.response.seq != of or each.request is None:
                continue
            try:
                body, sent = self.ledger.body(each.request), self.ledger.blob(each.request, "body")
            except NotFound:
                return
            if isinstance(body, Request):
                self.requests.check_text(seq, cell, body, sent, kept, self.cells.candidate.get(cell, ""))

    def _import(self, row: Row, attempts: list[_Attempt]) -> None:
        seq, _, cell, _, text, _, _ = row
        attempts.append(_Attempt(-1, 0, 0, response=seq))
        if text is None:
            return
        body = typed(Import, text, f"event {seq}")
        try:
            output = self.ledger.blob(seq, "output")
        except NotFound:
            return
        self.finder.hold("import.digest", seq, "digest", body.digest, seq, file_digest(output), cell=cell)

    # Why a cell was asked again

    def _again(self, seq: int, cell: int, last: _Attempt) -> None:
        if not last.ended:
            self.finder.broken("request.open", seq, "a request", "while one was open", last.request,
                               "a response or a fault first", cell=cell)  # fmt: skip
            return
        # Of a request that a killed process left open, the resume itself writes the fault.
        began = max(last.request, last.response) or last.fault
        asked = [why for at, why in self.resumes.items() if began < at < seq]
        if last.wait and last.ended < last.wait < seq and not asked:
            reading = self._reading(cell, last)
            if reading is not None and (reading.status != "error" or (reading.reason != last.why and not self.moved)):
                said = f"{reading.status}, {reading.reason}"
                self.finder.broken("wait.why", last.wait, "why", last.why, last.ended, said, cell=cell)
            return
        if not asked:
            if not self.recorded:
                self.finder.skip("why cells were asked again, in runs of releases that recorded no resume")
                return
            self.finder.broken(
                "request.again", seq, "asked again", "no wait and no resume", last.ended, "a reason", cell=cell
            )
            return
        if None in asked:
            return
        named = {name for each in asked for name in each or ()}
        scores = self.ledger.sql(_STOOD, (self.run, cell, seq)).fetchall()
        if not scores and not self.moved:
            # What was recorded and never scored is read by a resume, and not asked again.
            reading = self._reading(cell, last)
            if reading is not None and reading.status not in UNFINISHED:
                self.finder.broken("request.again", seq, "asked again, what was", reading.status, last.ended,
                                   "its score first", cell=cell)  # fmt: skip
            return
        if not scores or any(status in UNFINISHED for _, status, _, _ in scores):
            return
        free = all(outcome == "unmeasured" or outcome in named for outcome, *_ in scores)
        if free and any(named & {outcome, status, reason} for outcome, status, reason, _ in scores):
            return
        at = max(at for at in self.resumes if at < seq)
        said = ", ".join(sorted({reason or outcome for outcome, _, reason, _ in scores}))
        self.finder.broken("request.again", seq, "asked again, what was", said, at, sorted(named), cell=cell)

    def _reading(self, cell: int, last: _Attempt) -> Reading | None:
        label = self.cells.candidate.get(cell, "")
        planned = next((each for each in self.cells.planned.plan.candidates if each.label == label), None)
        made: Candidate | None = self.cells.planned.candidate(planned) if planned is not None else None
        if made is None:
            return None
        for each in attempts_of(self.ledger, self.run, cell):
            seqs = {event.seq for event in (each.request, each.response, each.fault) if event is not None}
            if last.ended in seqs or last.request in seqs:
                exchange = exchange_of(self.ledger, each)
                return None if exchange is None else read_exchange(exchange, made, max_wait=0)
        return None

    def _plain(self, seq: int, encoding: str | None, data: bytes | None) -> bytes | None:
        if data is None or not encoding:
            return data
        try:
            return self.ledger.blob(seq, "body")
        except NotFound:
            return None
