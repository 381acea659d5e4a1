"""Taking over responses of earlier runs: only for the same identity and a byte-identical request, each once.

Labels never decide it: not a file's name, not a case's id, not a run's name. Nothing comes out of a superseded or
tainted run. What was taken over is read and scored anew, so a moved gold or rule set takes effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness._attempts import read_exchange
from harness._capture import Exchange
from harness._composed import composed, recorded
from harness._derivations import unmeasured
from harness._derive import Reply, derive
from harness._environment import environment, moved_environment, named_shifts, shifts_in_words
from harness._identity import digest
from harness._plan import Measurement
from harness._recorded import attempts_of, exchange_of
from harness._rerolls import counts_text, named, word_of
from harness._rules import RuleSet
from harness._session import UNFINISHED, Start
from harness._suite import Suite
from ledger import Draft, Event, Ledger, runs_set_aside
from ledger.kinds import Plan, Reuse, Score

__all__ = ["Takeover", "find_answers", "take_over"]

_AN_APPEND = 500
_CELLS = (
    "SELECT cell, body ->> '$.identity' AS identity, body ->> '$.input' AS input, body ->> '$.gold' AS gold,"
    " body ->> '$.case' AS name, body ->> '$.fixture' AS fixture, body ->> '$.candidate' AS candidate,"
    " body ->> '$.epoch' AS epoch, body ->> '$.twin' AS twin, body ->> '$.arm' AS arm"
    " FROM main.events WHERE run = ? AND kind = 'cell' AND body IS NOT NULL ORDER BY cell"
)


@dataclass(frozen=True)
class Takeover:
    """What is taken over, as the start of the run. `gold_moved` counts cells whose key is another than it was when the
    response came; `why_not` says for the cells that are asked why nothing could be taken over, with their number.

    `outcomes` says by rule set what the answers that are taken over come to; `again` the same, under the first, of
    those that could be and are asked for again, as --reuse-outcomes says."""

    start: Start
    reused: int
    fresh: int
    gold_moved: int
    why_not: Mapping[str, int]
    elsewhere: Mapping[str, int] = field(default_factory=dict[str, int])
    """What moved in the environment since, in words, with how many of the responses came before."""
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    again: Mapping[str, int] = field(default_factory=dict[str, int])
    found: Sequence[tuple[Measurement, _Found]] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "answers": self.reused, "outcomes": {rules: dict(counts) for rules, counts in self.outcomes.items()},
            "asks": self.fresh, "asks_again": dict(self.again),
        }  # fmt: skip

    def sentences(self) -> list[str]:
        """What people are told of it, before anything is sent."""
        first = next(iter(self.outcomes.values()), dict[str, int]())
        again = f", {sum(self.again.values())} of them although they had an answer" if self.again else ""
        again += f" ({counts_text(self.again)})" if self.again else ""
        said = [f"takes over {self.reused} answers" + (f": {counts_text(first)}" if first else "")]
        said[0] += f"; asks {self.fresh}{again}"
        said += [
            f"under {rules} the answers taken over are {counts_text(counts)}"
            for rules, counts in self.outcomes.items() if counts != first
        ]  # fmt: skip
        if self.gold_moved:
            said.append(
                f"the gold of {self.gold_moved} of them moved since: the responses are still good, and are scored anew"
            )
        said += [
            f"the environment of {count} of them moved since ({moved}): they are read and scored anew in this one"
            for moved, count in self.elsewhere.items()
        ]
        said += [f"{count} cells are asked because {why}" for why, count in self.why_not.items()]
        return said


@dataclass(frozen=True)
class _Source:
    """An earlier cell: where it stands, and what is compared."""

    run: str
    cell: int
    row: Mapping[str, object]
    server: Mapping[str, str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class _Found:
    """A response that may stand for a measurement: its event, what it was an answer to, and the key of its cell."""

    event: Event
    exchange: Exchange
    gold: str
    model: str | None
    environment: Mapping[str, str]


def take_over(ledger: Ledger, run: str, found: Takeover) -> Takeover:
    """Append a reuse event for every answer that was found, before anything is asked."""
    standing = _append(ledger, run, found.found)
    return replace(found, start=replace(found.start, recorded=standing, reused=frozenset(standing)))


def find_answers(
    ledger: Ledger, suite: Suite, measurements: Sequence[Measurement], servers: Mapping[str, Mapping[str, str]],
    rules: Sequence[RuleSet], outcomes: Sequence[str] = (), run: str = "",
) -> Takeover:  # fmt: skip
    """The earlier response that fits each planned cell, and what it comes to under each rule set. Writes nothing.

    With `outcomes` only answers are taken over that one of these names is of under some rule set; the other cells are
    asked again. `run` is the one that plans the cells, which takes nothing over from itself.
    """
    by_identity, by_label = _sources(ledger, suite, run)
    key = bytes.fromhex(ledger.genesis.identity_key)
    requests = composed(suite, [each for each in measurements if each.identity in by_identity])
    why_not: Counter[str] = Counter()
    again: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {each.label: Counter() for each in rules}
    taken: list[tuple[Measurement, _Found]] = []
    used: set[int] = set()
    for measurement in measurements:
        found, why = None, ""
        for source in by_identity.get(measurement.identity, ()):
            now = servers.get(measurement.candidate.label, {}).get("weights", "")
            before = source.server.get("weights", "")
            if now and before and now != before:
                why = why or f"the weights behind {measurement.candidate.model} moved from {before[:19]} to {now[:19]}"
                continue
            found, said = _usable(ledger, source, measurement, requests.get(measurement.cell), used)
            why = why or said
            if found is not None:
                break
        if found is None:
            why_not[why or _moved(measurement, by_label, key)] += 1
            continue
        scores = _scores(found.exchange, measurement, suite, rules)
        if outcomes and not any(named(score, outcomes) for score in scores):
            again[word_of(scores[0])] += 1
            continue
        for score in scores:
            counts[score.rules][word_of(score)] += 1
        used.add(found.event.seq)
        taken.append((measurement, found))
    moved = sum(digest(each.case.gold_text, key) != found.gold for each, found in taken)
    models: dict[str, frozenset[str]] = {}
    for measurement, found in taken:
        label = measurement.candidate.label
        models[label] = models.get(label, frozenset()) | ({found.model} if found.model else set())
    here = environment()
    shifts = (shifts_in_words(named_shifts(moved_environment(found.environment, here))) for _, found in taken)
    elsewhere = Counter(filter(None, shifts))
    return Takeover(
        Start(models=models), len(taken), len(measurements) - len(taken), moved, dict(why_not), elsewhere,
        {label: dict(each) for label, each in counts.items()}, dict(again), taken,
    )  # fmt: skip


def _scores(exchange: Exchange, measurement: Measurement, suite: Suite, rules: Sequence[RuleSet]) -> list[Score]:
    """What an earlier answer comes to under the rule sets of now."""
    candidate = measurement.candidate
    reply = Reply(exchange.wire, exchange.fault_reason, candidate.protocol, candidate.stream, exchange.at)
    stages, case = suite.stage_functions, measurement.case
    found: list[Score] = []
    for each in rules:
        try:
            found.append(derive(reply, ask=suite.ask, stages=stages, case=case, rules=each).score)
        except Exception:  # noqa: BLE001  a fault in our own code is an outcome of the cell, by name
            found.append(unmeasured(each, stages, case, "error", "internal"))
    return found


def _sources(
    ledger: Ledger, suite: Suite, run: str
) -> tuple[dict[str, list[_Source]], dict[tuple[object, ...], _Source]]:
    """Earlier cells, newest run first, by identity; and the newest by what people call it, to say what moved."""
    aside = runs_set_aside(ledger)
    by_identity: dict[str, list[_Source]] = {}
    by_label: dict[tuple[object, ...], _Source] = {}
    for event in reversed(list(ledger.events(kind="plan"))):
        body = ledger.body(event)
        if (
            not isinstance(body, Plan) or event.run == run or event.run in aside or body.via != "live"
            or body.purpose != "evaluation" or body.suite != suite.name
        ):  # fmt: skip
            continue
        servers = {candidate.label: candidate.server for candidate in body.candidates}
        for row in ledger.rows(_CELLS, (event.run,)):
            source = _Source(event.run, int(row["cell"]), row, servers.get(str(row["candidate"]), {}), body.environment)
            by_identity.setdefault(str(row["identity"]), []).append(source)
            by_label.setdefault((row["fixture"], row["name"], row["candidate"], row["epoch"]), source)
    return by_identity, by_label


def _usable(
    ledger: Ledger, source: _Source, measurement: Measurement, wanted: tuple[str, str, bytes] | None, used: set[int]
) -> tuple[_Found | None, str]:
    """The last response of an earlier cell if it is an answer to the very request; else why it can't be taken."""
    attempts = [each for each in attempts_of(ledger, source.run, source.cell) if each.request is not None]
    last = attempts[-1] if attempts else None
    if last is None or last.response is None or last.response.seq in used:
        return None, "no earlier run has an answer for them"
    exchange = exchange_of(ledger, last)
    if exchange is None:
        return None, "what was answered was withheld since"
    reading = read_exchange(exchange, measurement.candidate, max_wait=0)
    if reading.status in UNFINISHED:
        return None, "no earlier run has an answer for them"
    if wanted is None or recorded(ledger, last) != wanted:
        return None, "the request that would be sent is not, byte for byte, the recorded one"
    return _Found(last.response, exchange, str(source.row["gold"]), reading.model, source.environment), ""


def _moved(measurement: Measurement, by_label: Mapping[tuple[object, ...], _Source], key: bytes) -> str:
    """For a cell whose identity nobody has: what moved since the newest cell that people call the same."""
    label = (measurement.fixture, measurement.case.id, measurement.candidate.label, measurement.epoch)
    source = by_label.get(label)
    if source is None:
        return "no earlier run that counts measured them"
    if source.row["input"] != digest(measurement.case.input_text, key):
        return "the input of their case moved"
    if source.row["twin"] != measurement.twin:
        return "another case with the same input now stands before theirs"
    return "the prompt, the model, a parameter or the arm moved"


def _append(ledger: Ledger, run: str, taken: Sequence[tuple[Measurement, _Found]]) -> dict[int, Exchange]:
    standing: dict[int, Exchange] = {}
    for start in range(0, len(taken), _AN_APPEND):
        some = taken[start : start + _AN_APPEND]
        drafts = [
            Draft(
                Reuse(of=found.event.seq, hash=found.event.hash), run=run, cell=measurement.cell,
                causes=sorted([measurement.seq, found.event.seq]),
            )
            for measurement, found in some
        ]  # fmt: skip
        for event, (measurement, found) in zip(ledger.append(*drafts), some, strict=True):
            standing[measurement.cell] = replace(found.exchange, request=None, response=event.seq, fault=None)
    return standing
