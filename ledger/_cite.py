"""Locators: a stable name for one value of one event, and the check that it still says what it said.

    ledger:ORIGIN/ID/SEQ[,attempt=N]/HASH/DIGEST[#POINTER]

ORIGIN and ID are the ledger's, SEQ and HASH the event's. POINTER is a JSON pointer (RFC 6901, as a URI fragment) into
its body; without one, the whole body is meant. DIGEST is BLAKE3 keyed with the ledger's identity key over the RFC 8785
form of the value, so that a locator can be shown around and doesn't give a short value away. `attempt`, from 0, stands
in locators of events that belong to one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from blake3 import blake3

from ledger._canonical import canonical, load
from ledger._errors import BadBody, BadLine, LedgerError, NotFound
from ledger._event import HASH, INTEGER, Event, commits, hash_of
from ledger._pointer import pointer_from_fragment, pointer_to_fragment, resolve
from ledger._store import Ledger
from ledger._views import over_views

__all__ = ["Checked", "Citation", "check_locator", "cite"]

_REFERENCE = re.compile(rf"({INTEGER})(?:,attempt=({INTEGER}))?(?:#(.*))?", re.DOTALL)
_LOCATOR = re.compile(
    rf"ledger:([a-z0-9][a-z0-9./-]{{0,99}})/([0-9a-f]{{32}})/({INTEGER})(?:,attempt=({INTEGER}))?/({HASH})/({HASH})"
    r"(?:#(.*))?",
    re.DOTALL,
)
_FORM = "ledger:ORIGIN/ID/SEQ[,attempt=N]/HASH/DIGEST[#/json/pointer]"
_LONGEST_SHOWN = 200
_FIGURES = frozenset({"tally", "report", "score", "close"})
_MARKS = over_views(
    "SELECT DISTINCT candidate, marks FROM scoreboard WHERE run = ? AND marks <> '' AND rules = coalesce(?, rules)"
    " AND candidate = coalesce(?, candidate) ORDER BY 1, 2"
)
_NOT_HELD = over_views("SELECT DISTINCT held_why FROM scoreboard WHERE run = ? AND NOT held ORDER BY 1")


@dataclass(frozen=True, slots=True)
class Citation:
    """One value of one event, and the locator that names it.

    `not_held` says, where it is a figure, how its run's own events contradict the run's figures; empty where none does.
    `marks` says, where it is one, how the answers came about: (candidate, who answered and what was asked again).
    """

    locator: str
    origin: str
    id: str
    event: Event
    attempt: int | None
    pointer: str
    digest: str
    value: Any
    not_held: Sequence[str] = ()
    marks: Sequence[tuple[str, str]] = ()

    def as_json(self) -> dict[str, Any]:
        """For `cite --json`."""
        return {
            "locator": self.locator, "origin": self.origin, "id": self.id, "seq": self.event.seq,
            "hash": self.event.hash, "kind": self.event.kind, "run": self.event.run, "cell": self.event.cell,
            "attempt": self.attempt, "pointer": self.pointer, "digest": self.digest, "value": self.value,
            "not_held": list(self.not_held),
            "marks": [{"candidate": candidate, "marks": said} for candidate, said in self.marks],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of a locator found. `problems` is empty when all of it holds; `found` says what stands there, and
    `marks` is as in `Citation`.

    `withheld`: the event is the one named, but a redaction withholds its body, so the value can't be held against it.
    """

    locator: str
    problems: Sequence[str]
    withheld: bool
    found: str
    value: Any
    marks: Sequence[tuple[str, str]] = ()

    @property
    def holds(self) -> bool:
        """Whether everything that the locator says is so."""
        return not self.problems and not self.withheld


def cite(ledger: Ledger, reference: str) -> Citation:
    """The locator for `SEQ[,attempt=N][#/json/pointer]`.

    Raises BadBody for another form, NotFound for an event or value that isn't there, for a wrong attempt, and for an
    event that doesn't match its own hash or commitment.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise BadBody(f"expected SEQ, SEQ#/json/pointer or SEQ,attempt=N#/json/pointer, got {reference!r}")
    pointer = pointer_from_fragment(match[3] or "")
    event = ledger.event(_seq(match[1]))
    body = _body(event)
    problems = [*_unsound(event), *_wrong_attempt(event, body, match[2])]
    if problems:
        raise NotFound(f"{'; '.join(problems)}; there stands {_describe(event, body)}")
    if body is None:
        raise NotFound(f"the body of event {event.seq} was withheld by a redaction; there is nothing to cite")
    value = resolve(body, pointer)
    digest = _digest(ledger, value)
    attempt = _attempt(body)
    place = f"{event.seq}" + ("" if attempt is None else f",attempt={attempt}")
    genesis = ledger.genesis
    locator = f"ledger:{genesis.origin}/{genesis.id}/{place}/{event.hash}/{digest}"
    if pointer:
        locator += "#" + pointer_to_fragment(pointer)
    not_held, marks = _not_held(ledger, event, body), _marks(ledger, event, body, pointer)
    return Citation(locator, genesis.origin, genesis.id, event, attempt, pointer, digest, value, not_held, marks)


def _not_held(ledger: Ledger, event: Event, body: dict[str, Any]) -> Sequence[str]:
    run = event.run or body.get("run")
    if event.kind not in _FIGURES or not isinstance(run, str):
        return ()
    return [str(row["held_why"]) for row in ledger.rows(_NOT_HELD, (run,))]


def _marks(ledger: Ledger, event: Event, body: dict[str, Any] | None, pointer: str) -> Sequence[tuple[str, str]]:
    """The marks of the figures that an event has; of one figure alone, where `pointer` leads into it."""
    if event.kind not in _FIGURES - {"score"} or body is None:
        return ()
    said = event.run or body.get("run")
    runs = {said} if isinstance(said, str) else _runs(ledger, event)
    parts = pointer.split("/")[1:]
    row: Any = None
    if len(parts) > 1 and parts[0] in ("metrics", "figures"):
        row = resolve(body, "/" + "/".join(parts[:2]))
    figure = cast("dict[str, Any]", row) if isinstance(row, dict) else body
    narrow = [each if isinstance(each := figure.get(name), str) else None for name in ("rules", "candidate")]
    if figure is not body and narrow[0] is None and isinstance(body.get("rules"), str):
        narrow[0] = body["rules"]
    return [
        (str(row["candidate"]), str(row["marks"]))
        for run in sorted(runs) for row in ledger.rows(_MARKS, (run, *narrow))
    ]  # fmt: skip


def _runs(ledger: Ledger, event: Event) -> set[str]:
    """The runs whose tallies a report rests on."""
    return {run for cause in event.causes if (run := ledger.event(cause).run)}


def check_locator(ledger: Ledger, locator: str) -> Checked:
    """Resolve a locator in this ledger and compare everything that it says. Raises BadBody for what is no locator."""
    match = _LOCATOR.fullmatch(locator)
    if match is None:
        raise BadBody(f"expected a locator {_FORM}, got {locator!r}")
    origin, number, seq, attempt, digest_of_event, digest, fragment = match.groups()
    pointer = pointer_from_fragment(fragment or "")
    genesis = ledger.genesis
    if (origin, number) != (genesis.origin, genesis.id):
        problem = f"it names the ledger {origin}/{number}, and this one is {genesis.origin}/{genesis.id}"
        return Checked(locator, [problem], withheld=False, found="", value=None)
    try:
        event = ledger.event(_seq(seq))
        body = _body(event)
    except LedgerError as problem:
        return Checked(locator, [str(problem)], withheld=False, found="", value=None)
    problems = _unsound(event)
    if event.hash != digest_of_event:
        problems.append(f"event {seq} has another hash than {digest_of_event}")
    problems += _wrong_attempt(event, body, attempt)
    value: Any = None
    if body is not None:
        try:
            value = resolve(body, pointer)
        except NotFound as problem:
            problems.append(str(problem))
        else:
            if _digest(ledger, value) != digest:
                problems.append(f"the value at {pointer or 'the whole body'} has another digest than {digest}")
    marks: Sequence[tuple[str, str]] = () if problems else _marks(ledger, event, body, pointer)
    found = _describe(event, body, pointer, value)
    return Checked(locator, problems, withheld=body is None, found=found, value=value, marks=marks)


def _seq(text: str) -> int:
    number = int(text)
    if not 1 <= number < 2**53:
        raise NotFound(f"there is no event {text}; they are counted from 1")
    return number


def _body(event: Event) -> dict[str, Any] | None:
    if event.body is None:
        return None
    try:
        value = load(event.body.encode("utf-8"))
    except (BadBody, UnicodeEncodeError):
        value = None
    if not isinstance(value, dict):
        raise BadLine(f"the body of event {event.seq} is no JSON object; `ledger verify` says more")
    return cast("dict[str, Any]", value)


def _unsound(event: Event) -> list[str]:
    problems: list[str] = []
    try:
        line = event.line
    except UnicodeEncodeError:
        line = b""
    if hash_of(line) != event.hash:
        problems.append(f"event {event.seq} doesn't match its own hash (`ledger verify` says more)")
    if event.body is not None and not commits(event.salt, event.body.encode("utf-8"), event.body_hash):
        problems.append(f"the body of event {event.seq} doesn't match its commitment (`ledger verify` says more)")
    return problems


def _attempt(body: dict[str, Any] | None) -> int | None:
    found = body.get("attempt") if body is not None else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _wrong_attempt(event: Event, body: dict[str, Any] | None, said: str | None) -> list[str]:
    if said is None or body is None or _attempt(body) == int(said):
        return []
    is_now = _attempt(body)
    is_what = "belongs to no attempt" if is_now is None else f"is attempt {is_now} (they are counted from 0)"
    return [f"it names attempt {said}, and event {event.seq} {is_what}"]


def _digest(ledger: Ledger, value: Any) -> str:
    return blake3(canonical(value), key=bytes.fromhex(ledger.genesis.identity_key)).hexdigest()


def _describe(event: Event, body: dict[str, Any] | None, pointer: str = "", value: Any = None) -> str:
    place = f" of run {event.run}" if event.run else ""
    place += f" cell {event.cell}" if event.cell else ""
    if body is not None and isinstance(body.get("turn"), int):
        place += f" turn {body['turn']}"
    attempt = _attempt(body)
    place += "" if attempt is None else f" attempt {attempt}"
    said = f"event {event.seq}, a {event.kind}{place}, hash {event.hash}"
    if body is None:
        return f"{said}, its body withheld by a redaction"
    if pointer and value is not None:
        shown = json.dumps(value, ensure_ascii=False)
        said += f", and at {pointer} {shown[:_LONGEST_SHOWN]}{'…' if len(shown) > _LONGEST_SHOWN else ''}"
    return said
