"""Bodies of one measurement: what was asked, what came, how it was read, confirmed and scored."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from ledger.kinds._base import Body, Count, Hex64, Outcome, Part, Seq

__all__ = [
    "Confirm",
    "Execute",
    "Fault",
    "Lookup",
    "Masked",
    "Parse",
    "Request",
    "Response",
    "Reuse",
    "Score",
    "Wait",
]


class Masked(Part):
    """Where a secret was masked before anything was stored: in what, how many times, how many bytes each."""

    where: str
    times: Count
    bytes: Count


class Request(Body):
    """Written before bytes leave. Blob `body`: the exact body bytes. The claim on (run, cell, turn, attempt).

    `tools` is the digest of the list of tools that the body carries, null where it carries none; it came with schema 2.
    """

    kind = "request"
    scope = "cell"
    since: ClassVar[Mapping[str, int]] = MappingProxyType({"tools": 2})

    version: int = Field(default=2, alias="schema", ge=1)
    attempt: Count
    turn: Count
    method: str
    url: str
    headers: list[tuple[str, str]]
    masked: list[Masked] = Field(default_factory=list[Masked])
    tools: Hex64 | None = None

    @model_validator(mode="after")
    def _fits_its_schema(self) -> Self:
        return self.refuse_too_new()


class Response(Body):
    """Headers came. Blob `body`: the body's bytes as they crossed the wire, content coding still on."""

    kind = "response"
    scope = "cell"
    attempt: Count
    turn: Count
    status: Count
    headers: list[tuple[str, str]]
    whole: bool
    headers_ms: Count
    total_ms: Count
    masked: list[Masked] = Field(default_factory=list[Masked])


class Fault(Body):
    """No whole response came, or the harness failed."""

    kind = "fault"
    scope = "any"
    attempt: Count | None
    turn: Count | None
    stage: str
    reason: str
    domain: Literal["harness", "provider", "model"]
    detail: str
    total_ms: Count | None


class Wait(Body):
    """The harness waits before attempt + 1. `asked` is what the server asked for, word for word, or empty."""

    kind = "wait"
    scope = "cell"
    attempt: Count
    turn: Count
    seconds: float
    why: str
    asked: str


class Lookup(Body):
    """What was asked of a server beside the cases. Blob `body`: what it said, where it said anything.

    `candidate` is the label of the one whose server was asked, `status` null where no reply came, and then `detail`
    says why. The plan, or the decision to resume it, that rests on what was told has this event among its causes.
    """

    kind = "lookup"
    scope = "run"
    candidate: str
    method: str
    url: str
    headers: list[tuple[str, str]]
    status: Count | None
    detail: str
    masked: list[Masked] = Field(default_factory=list[Masked])


class Reuse(Body):
    """A recorded response is taken over; its event is the cause, or named by `hash` when it is another ledger's."""

    kind = "reuse"
    scope = "cell"
    of: Seq
    hash: Hex64


class Parse(Body):
    """A response is read under a rule set. `value` is JSON text as sent; when it is long, the blob `value` holds it.

    `span` lists [start, end) byte offsets into the decoded text (UTF-8). `served` has the names of who answered, as the
    reply tells them: `model`, `fingerprint` and `provider`, each with every name that it gave, and only those that it
    gave; it came with schema 2, and is null where a parse doesn't say.
    """

    kind = "parse"
    scope = "cell"
    since: ClassVar[Mapping[str, int]] = MappingProxyType({"served": 2})

    version: int = Field(default=2, alias="schema", ge=1)
    rules: str
    status: str
    stage: str
    reason: str
    domain: str
    flags: list[str]
    value: str | None
    span: list[tuple[Count, Count]]
    usage: dict[str, Count] | None
    stop: str | None
    model: str | None
    served: dict[str, list[str]] | None = None

    @model_validator(mode="after")
    def _fits_its_schema(self) -> Self:
        return self.refuse_too_new()


class Confirm(Body):
    """A parsed value is held against evidence, claim by claim."""

    kind = "confirm"
    scope = "cell"
    rules: str
    findings: list[JsonValue]
    rejections: list[JsonValue]


class Execute(Body):
    """Untrusted code ran in the sandbox. Blobs: `stdout`, `stderr`, and files."""

    kind = "execute"
    scope = "cell"
    argv: list[str]
    isolation: str
    exit: int | None
    signal: int | None
    limits: list[str]


class Score(Body):
    """A cell gets its outcome under a rule set. `metrics` holds the figures of the metrics that apply to the cell;

    it is empty when the cell is unmeasured, but for what the rule set's policy for the unmeasured counts it as:
    `policy` is then that policy's name, and the outcome stays unmeasured. `applies` names the metrics either way.
    `verdict` and `classes` are the scorer's own words for what it found, `blocked_by` what keeps an answer from
    passing.
    """

    kind = "score"
    scope = "cell"
    rules: str
    outcome: Outcome
    status: str
    stage: str
    reason: str
    domain: str
    value: float | None
    applies: list[str]
    metrics: dict[str, float]
    policy: str = ""
    verdict: str = ""
    classes: dict[str, str] = Field(default_factory=dict[str, str])
    blocked_by: list[str] = Field(default_factory=list[str])
