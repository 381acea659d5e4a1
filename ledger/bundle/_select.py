"""Which events a bundle holds: what was asked for, what that rests on, and what shows that nothing was left out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledger._errors import NotFound, Refused
from ledger._event import Event, hash_of
from ledger._runs import find_run
from ledger._store import Ledger

__all__ = ["Asked", "Selection", "find_asked", "pages", "select"]

_MORE = "`ledger checkpoint` makes one that does"
_PAGE = 500
_WITHIN = "SELECT seq, causes FROM main.events WHERE seq IN (SELECT value FROM json_each(?))"
_OF_RUN = "SELECT seq, causes FROM main.events WHERE run = ?"
_SAID = (
    "SELECT seq FROM main.events WHERE kind IN ('report', 'publish', 'supersede', 'taint', 'clear') AND seq <= ?"
    " ORDER BY seq"
)
_REPORTS = "SELECT seq FROM main.events WHERE kind = 'report' AND body ->> '$.digest' = ? ORDER BY seq DESC LIMIT 1"
_FIXTURES = (
    "SELECT seq, body ->> '$.digest' AS digest, body ->> '$.name' AS name FROM main.events"
    " WHERE kind = 'freeze' AND seq <= ? AND body ->> '$.what' = 'fixture' ORDER BY seq"
)
_PLANS = "SELECT seq, run, causes FROM main.events WHERE kind = 'plan' AND seq <= ? ORDER BY seq"
_CLOSE = "SELECT max(seq) AS seq FROM main.events WHERE run = ? AND kind = 'close' AND seq <= ?"
_LAST = "SELECT max(seq) AS seq FROM main.events WHERE run = ?"


@dataclass(frozen=True)
class Asked:
    """What a person asked for: runs by id, events by seq, and the event of the report that was given as a file."""

    runs: tuple[str, ...] = ()
    events: tuple[int, ...] = ()
    report: int | None = None
    report_digest: str | None = None


@dataclass(frozen=True)
class FixtureRuns:
    """One fixture that an asked run stands on: its name, every freeze of the same file, and (run, plan) on them."""

    name: str
    freezes: tuple[int, ...]
    plans: tuple[tuple[str, int], ...]


@dataclass
class Selection:
    """The events of a bundle, by seq. Blobs of those in `context` are left out: nobody asked for them."""

    asked: Asked
    seqs: list[int]
    context: frozenset[int] = frozenset()
    fixtures: list[FixtureRuns] = field(default_factory=list[FixtureRuns])


def find_asked(ledger: Ledger, targets: Sequence[str], report: Path | None) -> Asked:
    """What targets name: a seq in digits, else a run (`run:` says so). Raises NotFound, also for an unrecorded file."""
    runs: dict[str, None] = {}
    events: set[int] = set()
    for target in targets:
        if target.isascii() and target.isdigit():
            events.add(ledger.event(int(target)).seq)
        else:
            runs[find_run(ledger, target.removeprefix("run:"))] = None
    if report is None:
        return Asked(tuple(runs), tuple(sorted(events)))
    digest = hash_of(report.read_bytes())
    rows = ledger.rows(_REPORTS, (digest,))
    if not rows:
        raise NotFound(
            f"{report}: no report event of {ledger.path} is of this file (BLAKE3 {digest}); `harness report -o` records"
            " one, and a file that was changed since is another"
        )
    seq = int(rows[0]["seq"])
    body: dict[str, Any] = json.loads(ledger.event(seq).body or "{}")
    figures: list[dict[str, Any]] = [each for each in body.get("figures", ()) if isinstance(each, dict)]
    for run in [each.get("run") for each in figures] or [body.get("run")]:
        if run:
            runs[find_run(ledger, str(run))] = None
    return Asked(tuple(runs), tuple(sorted({*events, seq})), seq, digest)


def pages(ledger: Ledger, seqs: Sequence[int]) -> Iterator[Event]:
    """The events of these seqs, in their order, a page at a time."""
    for at in range(0, len(seqs), _PAGE):
        wanted = seqs[at : at + _PAGE]
        # From the first to the last where they lie close together; one by one where they don't.
        if wanted[-1] - wanted[0] < 4 * len(wanted):
            among = set(wanted)
            yield from (each for each in ledger.events(after=wanted[0] - 1, limit=wanted[-1] - wanted[0] + 1)
                        if each.seq in among)  # fmt: skip
        else:
            for seq in wanted:
                yield ledger.event(seq)


def _causes(rows: Iterable[dict[str, Any]]) -> set[int]:
    return {int(cause) for row in rows for cause in json.loads(row["causes"])}


def _reached(ledger: Ledger, seqs: Iterable[int], known: set[int]) -> None:
    """Add events and everything that their causes reach to `known`."""
    wanted = sorted(set(seqs) - known)
    while wanted:
        known.update(wanted)
        found: set[int] = set()
        for at in range(0, len(wanted), _PAGE):
            found |= _causes(ledger.rows(_WITHIN, (json.dumps(wanted[at : at + _PAGE]),)))
        wanted = sorted(found - known)


def select(ledger: Ledger, asked: Asked, size: int) -> Selection:
    """The events behind what was asked for, among the first `size`. Raises Refused where those don't cover it."""
    for seq in asked.events:
        if seq > size:
            raise Refused(f"no checkpoint covers event {seq}: the newest is of {size} events; {_MORE}")
    known: set[int] = set()
    for run in asked.runs:
        last = int(ledger.rows(_LAST, (run,))[0]["seq"])
        if last > size:
            raise Refused(
                f"no checkpoint covers run {run}: its last event is {last}, and the newest is of {size}; {_MORE}"
            )
        rows = ledger.rows(_OF_RUN, (run,))
        own = {int(row["seq"]) for row in rows}
        known |= own
        _reached(ledger, _causes(rows), known)
    seqs = {1, *asked.events, *known}
    fixtures: list[FixtureRuns] = []
    if asked.runs:
        fixtures = _fixtures(ledger, asked.runs, size)
        seqs.update(int(row["seq"]) for row in ledger.rows(_SAID, (size,)))
        for run, plan in {each for fixture in fixtures for each in fixture.plans}:
            seqs.add(plan)
            (close,) = ledger.rows(_CLOSE, (run, size))
            if close["seq"] is not None:
                seqs.add(int(close["seq"]))
    seqs |= _redactions(ledger, seqs, size)
    ours = {*known, *asked.events, *_reports(ledger, asked.runs, size)}
    return Selection(asked, sorted(seqs), frozenset(seqs - ours - {1}), fixtures)


def _redactions(ledger: Ledger, seqs: set[int], size: int) -> set[int]:
    """The redactions of these events, which vouch for what is withheld. Raises Refused for one after `size`."""
    found: set[int] = set()
    for event in ledger.events(kind="redact"):
        if seqs.intersection(event.causes):
            if event.seq > size:
                raise Refused(f"no checkpoint covers event {event.seq}, which redacts something of this; {_MORE}")
            found.add(event.seq)
    return found


def _reports(ledger: Ledger, runs: Sequence[str], size: int) -> set[int]:
    """The reports that speak of one of the runs."""
    among = set(runs)
    found: set[int] = set()
    for event in ledger.events(kind="report"):
        if event.seq <= size and event.body is not None and json.loads(event.body).get("run") in among:
            found.add(event.seq)
    return found


def _fixtures(ledger: Ledger, runs: Sequence[str], size: int) -> list[FixtureRuns]:
    plans = [
        (str(row["run"]), int(row["seq"]), set(map(int, json.loads(row["causes"]))))
        for row in ledger.rows(_PLANS, (size,))
    ]
    frozen = ledger.rows(_FIXTURES, (size,))
    used = {cause for run, _, causes in plans if run in runs for cause in causes}
    found: list[FixtureRuns] = []
    done: set[str] = set()
    for row in frozen:
        digest = str(row["digest"])
        if int(row["seq"]) not in used or digest in done:
            continue
        done.add(digest)
        freezes = tuple(int(each["seq"]) for each in frozen if each["digest"] == digest)
        standing = tuple((run, plan) for run, plan, causes in plans if causes & set(freezes))
        found.append(FixtureRuns(str(row["name"]), freezes, standing))
    return found
