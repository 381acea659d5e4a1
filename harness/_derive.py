"""Deriving: from wire bytes, a case and a rule set to parse, confirm and score. A pure function.

A run calls it after asking, a rescore calls it alone, and a replay check calls it and compares: the same bytes under
the same rules give the same bodies, wherever and whenever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, overload

from harness._json import JSON, loads
from harness._outcomes import Status
from harness._outcomes import reason as known_reason
from harness._rules import RuleSet
from harness._suite import Ask, Case
from harness.parse import Protocol, Reading, ReadRules, Wire, read_fault, read_reply
from harness.suites import Answer, Scored, Stages, Unscorable
from ledger.kinds import Confirm, Parse, Score

__all__ = [
    "VALUE_IN_BODY", "Derived", "Read", "Reply", "derive", "derive_parsed", "derive_read", "parse_body",
    "read_and_check", "unmeasured_score",
]  # fmt: skip

MAX_COUNT = 2**53 - 1
_MAX_COUNTS = 200
_MAX_LABEL = 1_000
VALUE_IN_BODY = 65_536
"""A parsed value of more bytes of UTF-8 than this goes into the blob `value`: a body has an end, a reply may not."""


@dataclass(frozen=True)
class Reply:
    """What came of asking: a response (`wire`), or none and the `fault` (stage, reason) that says why.

    `protocol` and `stream` say how the bytes are to be read; `at` is when the response was recorded, for Retry-After.
    """

    wire: Wire | None
    fault: tuple[str, str] | None
    protocol: Protocol
    stream: bool
    at: datetime | None = None


@dataclass(frozen=True)
class Derived:
    """The bodies that follow from a reply under one rule set. `parse` is None when no response came to be read."""

    reading: Reading
    parse: Parse | None
    parse_blobs: Mapping[str, bytes]
    confirm: Confirm | None
    score: Score


@dataclass(frozen=True, slots=True)
class Read:
    """A reply as it was read and held against the suite's shape: the same for all rule sets with one [read] table.

    `status`, `stage`, `reason` and `domain` are the reading's own, or the misfit's; `value` is what the later stages
    take, when the status is parsed. `came` says whether a response came at all.
    """

    reading: Reading
    status: str
    stage: str
    reason: str
    domain: str
    value: JSON
    came: bool


def read_and_check(reply: Reply, *, ask: Ask, stages: Stages, rules: ReadRules) -> Read:
    """Read one reply, and check the shape of its value. Never raises for what a reply holds."""
    if reply.wire is None:
        reading = read_fault(*(reply.fault or ("harness", "internal")))
    else:
        reading = read_reply(
            reply.wire, protocol=reply.protocol, stream=reply.stream, ask=ask, rules=rules, now=reply.at
        )
    status, stage, reason, domain = reading.status, str(reading.stage), reading.reason, str(reading.domain)
    value: JSON = None
    if status == "parsed" and stages.one_answer and "identical_candidates" in reading.flags:
        found = known_reason("ambiguous", "two_candidates")
        status, stage, reason, domain = found.status, str(found.stage), found.name, str(found.domain)
    elif status == "parsed" and reading.value is not None:
        misfit, value = stages.schema(loads(reading.value))
        if misfit is not None:
            found = known_reason("wrong_shape", misfit, own=stages.reasons)
            status, stage, reason, domain = found.status, str(found.stage), found.name, str(found.domain)
    return Read(reading, status, stage, reason, domain, value, reply.wire is not None)


def derive(reply: Reply, *, ask: Ask, stages: Stages, case: Case, rules: RuleSet) -> Derived:
    """Read, confirm and score one reply. Never raises for what a reply holds."""
    return derive_read(
        read_and_check(reply, ask=ask, stages=stages, rules=rules.read), stages=stages, case=case, rules=rules
    )


def derive_read(read: Read, *, stages: Stages, case: Case, rules: RuleSet) -> Derived:
    """What follows from a reply that was read under the [read] table of `rules`."""
    reading, value = read.reading, read.value
    named = {"status": read.status, "stage": read.stage, "reason": read.reason, "domain": read.domain}
    if read.status == "parsed" and stages.answer is not None:
        answer = stages.answer(value, case.input, rules.score)
        reading, value = _answered(reading, answer), answer.value
        named = _named(answer.status, answer.reason, stages.reasons)
    parse, blobs = parse_body(reading, rules.label, **named) if read.came else (None, {})
    if named["status"] != "parsed":
        return Derived(reading, parse, blobs, None, unmeasured_score(rules, stages, case, **named))
    return Derived(reading, parse, blobs, *_confirm_and_score(value, stages, case, rules))


def _confirm_and_score(value: JSON, stages: Stages, case: Case, rules: RuleSet) -> tuple[Confirm, Score]:
    confirmed = stages.confirm(value, case.input, rules.confirm)
    confirm = Confirm(rules=rules.label, findings=list(confirmed.findings), rejections=list(confirmed.rejections))
    scored = stages.score(value, confirmed, case.gold, rules.score)
    if isinstance(scored, Unscorable):
        return confirm, unmeasured_score(rules, stages, case, **_named(scored.status, scored.reason))
    return confirm, _measured_score(rules, stages, case, scored)


def derive_parsed(
    parse: Parse, value: str | None, *, stages: Stages, case: Case, rules: RuleSet
) -> tuple[Confirm | None, Score] | None:
    """What follows from a parse as it was recorded, for a reply whose bytes are withheld; `value` is its JSON text.

    None where the parse alone doesn't tell: the value isn't shown, or taking the answer out of it again gives another.
    """
    if parse.status != "parsed":
        named = {"status": parse.status, "stage": parse.stage, "reason": parse.reason, "domain": parse.domain}
        return None, unmeasured_score(rules, stages, case, **named)
    if value is None:
        return None
    try:
        misfit, found = stages.schema(loads(value))
    except ValueError:
        return None
    if misfit is not None:
        return None
    if stages.answer is not None:
        answer = stages.answer(found, case.input, rules.score)
        if answer.status != "parsed" or (answer.text is not None and answer.text != value):
            return None
        found = answer.value
    return _confirm_and_score(found, stages, case, rules)


def _named(status: Status, name: str, own: Mapping[str, str] | None = None) -> dict[str, str]:
    found = known_reason(status, name, own)
    return {"status": status, "stage": str(found.stage), "reason": found.name, "domain": str(found.domain)}


def _answered(reading: Reading, answer: Answer) -> Reading:
    """The reading as a rule set's answer makes it: of a text, what is kept is the slice that was taken, and where."""
    if answer.text is None:
        return reading
    span = reading.span
    if answer.span is not None and reading.value is not None and reading.text is not None and len(span) == 1:
        value = loads(reading.value)
        begin, end = span[0]
        if isinstance(value, str) and reading.text.encode("utf-8", "surrogatepass")[begin:end] == _bytes(value):
            start, stop = answer.span
            span = ((begin + len(_bytes(value[:start])), begin + len(_bytes(value[:stop]))),)
    return replace(reading, value=answer.text, span=span)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def parse_body(
    reading: Reading, rules: str, *, status: str, stage: str, reason: str, domain: str
) -> tuple[Parse, dict[str, bytes]]:
    """A reading as the body of a parse event under the rule set labelled `rules`, and its blobs."""
    value, blobs = reading.value, dict[str, bytes]()
    if value is not None:
        data = value.encode("utf-8", "surrogatepass")
        if len(data) > VALUE_IN_BODY or _fit(value) != value:
            value, blobs["value"] = None, data
    body = Parse(
        rules=rules, status=status, stage=stage, reason=reason, domain=domain, flags=list(reading.flags),
        value=value, span=list(reading.span), usage=_usage(reading), stop=_label(reading.stop),
        model=_label(reading.model),
        served={what: [_label(name) for name in names] for what, names in reading.served.items()},
    )  # fmt: skip
    return body, blobs


def _usage(reading: Reading) -> dict[str, int] | None:
    if reading.usage is None:
        return None
    counts = [(name, count) for name, count in reading.usage.items() if 0 <= count <= MAX_COUNT]
    return {_label(name): count for name, count in counts[:_MAX_COUNTS]}


@overload
def _label(text: str) -> str: ...
@overload
def _label(text: None) -> None: ...
def _label(text: str | None) -> str | None:
    """A server's name for something, as a body may hold it: cut where it is no name any more."""
    if text is None or len(text) <= _MAX_LABEL:
        return _fit(text)
    return _fit(text[:_MAX_LABEL]) + f"… ({len(text)} characters)"


@overload
def _fit(text: str) -> str: ...
@overload
def _fit(text: None) -> None: ...
def _fit(text: str | None) -> str | None:
    """Text of a server as a body may hold it: U+0000 and lone surrogates as visible escapes. The bytes are kept."""
    if text is None:
        return None
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _applies(rules: RuleSet, stages: Stages, case: Case) -> list[str]:
    groups = stages.group(case.gold)
    return [metric.name for metric in rules.metrics if metric.applies == "all" or metric.applies in groups]


def _measured_score(rules: RuleSet, stages: Stages, case: Case, scored: Scored) -> Score:
    applies = _applies(rules, stages, case)
    metrics: dict[str, Any] = {name: float(figure) for name, figure in scored.metrics.items() if name in applies}
    return Score(
        rules=rules.label, outcome=scored.outcome, status="parsed", stage="", reason="", domain="", value=scored.value,
        applies=applies, metrics=metrics, verdict=scored.verdict, classes=dict(scored.classes),
        blocked_by=list(scored.blocked_by),
    )  # fmt: skip


def unmeasured_score(
    rules: RuleSet, stages: Stages, case: Case, *, status: str, stage: str, reason: str, domain: str
) -> Score:
    """The score of a cell that has no measurement: it names why, and no value stands in for what isn't known.

    Where the rule set's policy counts such cells all the same, the outcome stays, and the score names the policy.
    """
    applies = _applies(rules, stages, case)
    counted = rules.policy.figures(status, reason, applies) if rules.policy else {}
    return Score(
        rules=rules.label, outcome="unmeasured", status=status, stage=stage, reason=reason, domain=domain, value=None,
        applies=applies, metrics=counted, policy=rules.policy.name if rules.policy and counted else "",
        blocked_by=[f"unmeasured:{reason}"] if stages.fails_closed else [],
    )  # fmt: skip
