"""What a ledger has recorded: its candidates, and for each request the responses that came, in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from harness._candidate import PROTOCOLS, Candidate
from harness._errors import EngineError
from harness._secrets import Secrets
from ledger import Event, Ledger, LedgerError, NotFound, runs_set_aside
from ledger.kinds import Fault, Freeze, Plan, PlanCandidate, Request, Response

__all__ = ["NO_RECORDING", "Key", "Recordings", "request_key", "split_reference"]

NO_RECORDING = "no_recording"
"""The value of the header `x-eval-ledger` on the answer to a request that has no recording."""

Key = tuple[str, str, bytes]
"""What a request is recognised by: method, path with query, body."""


def request_key(method: str, target: str, body: bytes) -> Key:
    """The key of a request. Secret query values are masked on both sides, as they are in the record."""
    parts = urlsplit(Secrets().mask_url("http://host" + target)[0])
    return method, parts.path + (f"?{parts.query}" if parts.query else ""), body


def split_reference(reference: str) -> tuple[Path, str]:
    """ "LEDGER[@CANDIDATE]" as (path, candidate or ""); either may hold "@" itself. Raises EngineError."""
    pieces = reference.split("@")
    for count in range(len(pieces), 0, -1):
        path = Path("@".join(pieces[:count]))
        if path.is_file():
            return path, "@".join(pieces[count:])
    raise EngineError(f"expected replay/LEDGER[@CANDIDATE] with the path of a ledger, got no file at {pieces[0]!r}")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded response, by the seqs of its events."""

    response: int
    fault: str


class Recordings:
    """The recordings of the runs that count, each to be given out once.

    What was recorded in a superseded or tainted run is never given. Runs that were themselves replays count only where
    the ledger has no others, for all they hold is copies.
    """

    def __init__(self, ledger: Ledger, *, suite: str | None, fixtures: Collection[str] = ()) -> None:
        self._ledger = ledger
        self._runs = _runs(ledger, suite, fixtures)
        self._waiting: dict[Key, deque[Recorded]] = defaultdict(deque)
        for run in self._runs:
            self._index(run)

    def candidates(self, wanted: str) -> tuple[Candidate, ...]:
        """The recorded candidates, without an address to reach them at. Raises EngineError when there is none such.

        Two that differ and were called the same are told apart by the first digits of their digests.
        """
        found: dict[tuple[str, str, str], PlanCandidate] = {}
        for plan in self._runs.values():
            for candidate in plan.candidates:
                found.setdefault((candidate.label, candidate.digest, urlsplit(candidate.base_url).path), candidate)
        labels = [label for label, _, _ in found]
        named = {
            label if labels.count(label) == 1 else f"{label}@{digest[:8]}": candidate
            for (label, digest, _), candidate in found.items()
        }
        chosen = {
            name: candidate for name, candidate in named.items() if not wanted or wanted in (name, candidate.label)
        }
        if not chosen:
            there = ", ".join(sorted(named))
            raise EngineError(f"expected a candidate of {self._ledger.path}, which has {there}; got {wanted!r}")
        return tuple(self._candidate(name, candidate) for name, candidate in chosen.items())

    def take(self, key: Key) -> tuple[Response, bytes, str] | None:
        """The next recording of this request: the response, its body's bytes, the reason of its cut or empty."""
        waiting = self._waiting.get(key)
        while waiting:
            recorded = waiting.popleft()
            try:
                response = self._ledger.body(recorded.response)
                body = self._ledger.blob(recorded.response, "body")
            except NotFound:
                continue
            assert isinstance(response, Response)
            return response, body, recorded.fault
        return None

    def _candidate(self, label: str, planned: PlanCandidate) -> Candidate:
        if planned.protocol not in PROTOCOLS:
            raise EngineError(f"{label} speaks {planned.protocol!r}, which this release can't replay")
        candidate = Candidate(
            label=label, protocol=planned.protocol, model=planned.model,
            parameters=planned.parameters, stream=planned.stream, base_url=planned.base_url, recorded=True,
        )  # fmt: skip
        if planned.prompt_freeze is None:
            return replace(candidate, prompt_digest=planned.prompt)
        try:
            frozen = self._ledger.body(planned.prompt_freeze)
            file = self._ledger.blob(planned.prompt_freeze, "file")
        except NotFound as error:
            raise EngineError(f"the prompt of {label} can't be had, so its requests can't be made: {error}") from None
        if not isinstance(frozen, Freeze) or frozen.digest != planned.prompt:
            raise EngineError(f"the prompt of {label} is not the one its plan names; `ledger verify` says more")
        return candidate.with_prompt(file)

    def _index(self, run: str) -> None:
        requests = {event.seq: event for event in self._ledger.events(kind="request", run=run)}
        faults: dict[int, str] = {}
        untold: set[int] = set()
        for event in self._ledger.events(kind="fault", run=run):
            body = self._body(event)
            if isinstance(body, Fault):
                faults.update(dict.fromkeys(event.causes, body.reason))
            else:
                untold.update(event.causes)
        for event in self._ledger.events(kind="response", run=run):
            response = self._body(event)
            asked = next((requests[cause] for cause in event.causes if cause in requests), None)
            if asked is None or not isinstance(response, Response) or _is_no_recording(response):
                continue
            request = self._body(asked)
            if not isinstance(request, Request) or (not response.whole and event.seq in untold):
                continue
            try:
                sent = self._ledger.blob(asked, "body")
            except NotFound:
                continue
            parts = urlsplit(request.url)
            key = request_key(request.method, parts.path + (f"?{parts.query}" if parts.query else ""), sent)
            self._waiting[key].append(Recorded(event.seq, "" if response.whole else faults.get(event.seq, "cut")))

    def _body(self, event: Event) -> object:
        """The body of an event, or None where it was withheld or can't be read: such a recording doesn't count."""
        try:
            return self._ledger.body(event)
        except LedgerError:
            return None


def _is_no_recording(response: Response) -> bool:
    return any(name.lower() == "x-eval-ledger" and value == NO_RECORDING for name, value in response.headers)


def _last(names: Iterable[str]) -> set[str]:
    """Fixture names without their suite: a plan may say "v0" or "authority/v0"."""
    return {name.rpartition("/")[2] for name in names}


def _runs(ledger: Ledger, suite: str | None, fixtures: Collection[str]) -> dict[str, Plan]:
    aside = runs_set_aside(ledger)
    plans: dict[str, Plan] = {}
    suites: set[str] = set()
    for event in ledger.events(kind="plan"):
        body = ledger.body(event)
        if not isinstance(body, Plan) or event.run in aside:
            continue
        suites.add(body.suite)
        fits = suite is None or body.suite == suite
        if fixtures and not _last(fixtures) & _last(fixture.name for fixture in body.fixtures):
            fits = False
        if fits:
            plans[event.run] = body
    if not plans:
        wanted = f"the suite {suite}" if suite else "any suite"
        wanted += f" with {', '.join(sorted(fixtures))}" if fixtures else ""
        has = f"it has runs of {', '.join(sorted(suites))}" if suites else "it has no run that counts"
        raise EngineError(f"{ledger.path} holds no recorded run of {wanted}; {has}")
    live = {run: plan for run, plan in plans.items() if plan.via == "live"}
    return live or plans
