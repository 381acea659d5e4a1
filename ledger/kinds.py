"""The event kinds of version 1: one pydantic model a kind, each the schema of that kind's body.

A body is validated at the door, written as RFC 8785 bytes, and read back through the same model. `blobs` is filled in
by the append, which salts and hashes each blob. Old versions of a body (`schema`) stay readable for ever.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from ledger._canonical import load
from ledger._errors import BadBody, NotFound

__all__ = [
    "KINDS",
    "NEVER_REDACTED",
    "Accept",
    "Anchor",
    "BlobRef",
    "Body",
    "Cell",
    "Clear",
    "Close",
    "Confirm",
    "Execute",
    "Fault",
    "Freeze",
    "Genesis",
    "Import",
    "Masked",
    "Note",
    "Outcome",
    "Parse",
    "Plan",
    "PlanCandidate",
    "PlanFixture",
    "PlanMetric",
    "PlanRules",
    "Publish",
    "Redact",
    "Report",
    "Request",
    "Response",
    "Reuse",
    "RunStatus",
    "Schema",
    "Score",
    "Supersede",
    "Taint",
    "Tally",
    "TallyMetric",
    "Target",
    "Wait",
    "parse_body",
]

Hex32 = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{32}\z")]
Hex64 = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]
Origin = Annotated[str, StringConstraints(pattern=r"\A[a-z0-9][a-z0-9./-]{0,99}\z")]
Seq = Annotated[int, Field(ge=1, le=2**53 - 1)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Scope = Literal["ledger", "run", "cell", "any"]
RunStatus = Literal["complete", "partial", "incomplete", "interrupted", "aborted"]
Outcome = Literal["correct", "incorrect", "graded", "unmeasured"]

NEVER_REDACTED = frozenset(
    {
        "genesis", "schema", "freeze", "plan", "score", "tally", "close", "supersede", "taint", "clear", "redact",
        "anchor",
    }
)  # fmt: skip
"""Kinds whose bodies are never withheld: they hold no text of a case or a model. Their blobs can be."""


class Part(BaseModel):
    """A piece of a body: frozen, strict, and closed to unknown fields."""

    # NaN keeps its name in JSON, where the door then finds and refuses it; as null it would slip through.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, ser_json_inf_nan="constants")


class BlobRef(Part):
    """Names one blob of the event: `hash` = BLAKE3(salt ‖ bytes), `size` in bytes."""

    hash: Hex64
    size: Count


class Body(Part):
    """What every body has. `kind` and `scope` belong to the class, not to the stored JSON.

    `scope` says what the line must carry: "ledger" no run, "run" a run and cell 0, "cell" a run and a cell from 1.
    """

    kind: ClassVar[str]
    scope: ClassVar[Scope]

    # `schema` is the stored name; pydantic keeps that word for itself.
    version: int = Field(default=1, alias="schema", ge=1)
    blobs: dict[str, BlobRef] = Field(default_factory=dict)


class Genesis(Body):
    """The ledger is made. `tables` is the digest of the table and guard DDL; `identity_key` keys case digests."""

    kind = "genesis"
    scope = "ledger"
    format: Literal["eval-ledger/1"] = "eval-ledger/1"
    origin: Origin
    id: Hex32
    identity_key: Hex64
    tables: Hex64


class Schema(Body):
    """The views and indexes in force from here on: those of `release`, with the digest of their DDL."""

    kind = "schema"
    scope = "ledger"
    release: Seq
    digest: Hex64


class Freeze(Body):
    """A file is fixed. `digest` is its plain BLAKE3; for a rule set `identity` covers the sources of its stages too."""

    kind = "freeze"
    scope = "ledger"
    what: Literal["fixture", "rules", "prompt", "prices", "prediction"]
    name: str
    digest: Hex64
    identity: Hex64
    sources: dict[str, Hex64] = Field(default_factory=dict)


class PlanFixture(Part):
    """A fixture that a plan stands on, by the seq of its freeze."""

    name: str
    freeze: Seq
    cases: Count


class PlanMetric(Part):
    """A metric of a rule set; `planned` counts, for each candidate, the cells that it applies to."""

    name: str
    kind: Literal["rate", "mean"]
    planned: Count
    primary: bool


class PlanRules(Part):
    """A rule set that a plan is scored under: `label` = name@first 12 digits of `identity`."""

    name: str
    label: str
    identity: Hex64
    freeze: Seq
    metrics: list[PlanMetric]


class PlanCandidate(Part):
    """Everything that decides a request beside the case, and (not part of `digest`) the address it is reached at."""

    label: str
    protocol: str
    model: str
    parameters: dict[str, JsonValue]
    prompt: Hex64
    prompt_freeze: Seq | None
    stream: bool
    digest: Hex64
    base_url: str


class Plan(Body):
    """A run opens. One a run."""

    kind = "plan"
    scope = "run"
    name: str
    tags: list[str]
    purpose: Literal["evaluation", "probe"]
    suite: str
    ask: str
    fixtures: list[PlanFixture]
    rules: list[PlanRules]
    candidates: list[PlanCandidate]
    arms: list[str]
    epochs: Count
    limit: Count | None
    cells: Count
    via: Literal["live", "replay"]
    environment: dict[str, str]
    code: dict[str, Hex64]


class Cell(Body):
    """One planned measurement. Digests are keyed with the ledger's identity key."""

    kind = "cell"
    scope = "cell"
    case: str
    fixture: str
    identity: Hex64
    input: Hex64
    gold: Hex64
    candidate: str
    arm: str
    epoch: Count
    twin: Count


class Masked(Part):
    """Where a secret was masked before anything was stored: in what, how many times, how many bytes each."""

    where: str
    times: Count
    bytes: Count


class Request(Body):
    """Written before bytes leave. Blob `body`: the exact body bytes. The claim on (run, cell, turn, attempt)."""

    kind = "request"
    scope = "cell"
    attempt: Count
    turn: Count
    method: str
    url: str
    headers: list[tuple[str, str]]
    masked: list[Masked] = Field(default_factory=list[Masked])


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


class Reuse(Body):
    """A recorded response is taken over; its event is the cause, or named by `hash` when it is another ledger's."""

    kind = "reuse"
    scope = "cell"
    of: Seq
    hash: Hex64


class Parse(Body):
    """A response is read under a rule set. `value` is JSON text as sent; when it is long, the blob `value` holds it.

    `span` lists [start, end) byte offsets into the decoded text (UTF-8).
    """

    kind = "parse"
    scope = "cell"
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

    it is empty when the cell is unmeasured. `applies` names those metrics either way.
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


class TallyMetric(Part):
    """One figure of a tally: k of n measured of `planned`; `total` sums a mean's values."""

    candidate: str
    metric: str
    kind: Literal["rate", "mean"]
    k: Count | None
    total: float | None
    n: Count
    planned: Count
    primary: bool


class Tally(Body):
    """A scoring pass over a run is complete. What rests on the whole run rests on this event."""

    kind = "tally"
    scope = "run"
    rules: str
    freeze: Seq
    outcomes: dict[str, Count]
    metrics: list[TallyMetric]


class Close(Body):
    """A run stops. The last close wins; a later ask reopens the run, a rescore doesn't."""

    kind = "close"
    scope = "run"
    status: RunStatus
    planned: Count
    asked: Count
    outcomes: dict[str, dict[str, Count]]
    reason: str


class Accept(Body):
    """A person accepts a component that moved."""

    kind = "accept"
    scope = "run"
    component: str
    before: str
    after: str
    reason: str


class Target(Part):
    """What a supersede or taint speaks of: an event by seq, or a run by its id."""

    what: str
    id: str


class Supersede(Body):
    """A run, a freeze or a report is replaced, by another or by none."""

    kind = "supersede"
    scope = "ledger"
    target: Target
    by: Target | None
    category: Literal["transport", "capture", "parser", "harness", "fixture", "provider", "operator", "other"]
    reason: str


class Taint(Body):
    """Something is found unsafe to build on."""

    kind = "taint"
    scope = "ledger"
    target: Target
    reason: str


class Clear(Body):
    """A finding is withdrawn; it stays in the record."""

    kind = "clear"
    scope = "ledger"
    taint: Seq
    reason: str


class Report(Body):
    """Numbers are written down. Blob `file`: the report. `figures` carries every number with what it rests on."""

    kind = "report"
    scope = "ledger"
    run: str
    format: str
    digest: Hex64
    head: Hex64
    size: Count
    figures: list[JsonValue]


class Publish(Body):
    """A report is handed to someone."""

    kind = "publish"
    scope = "ledger"
    report: Seq
    to: str


class Import(Body):
    """Foreign evidence comes in. Blob `file`: the artifact, whole."""

    kind = "import"
    scope = "any"
    format: str
    tool: str
    grade: Literal["bytes", "parsed", "text"]
    digest: Hex64


class Redact(Body):
    """Withholds bodies (by seq) and blobs (by hash). Its causes are exactly the events concerned."""

    kind = "redact"
    scope = "ledger"
    bodies: list[Seq]
    blobs_withheld: list[Hex64]
    category: str
    reason: str


class Note(Body):
    """A person says something about the ledger, a run or an event."""

    kind = "note"
    scope = "any"
    text: str


class Anchor(Body):
    """A checkpoint was signed, or someone outside vouched for one."""

    kind = "anchor"
    scope = "ledger"
    what: Literal["checkpoint", "rfc3161"]
    size: Count
    root: str
    key: str


def _registry() -> dict[str, type[Body]]:
    found: dict[str, type[Body]] = {}
    for model in Body.__subclasses__():
        found[model.kind] = model
    return found


KINDS: dict[str, type[Body]] = _registry()
"""Every kind of version 1, by name, in the order of this page."""


def parse_body(kind: str, text: str) -> Body:
    """The typed body of a stored event. Raises NotFound for a kind of a newer release, BadBody for a misfit."""
    model = KINDS.get(kind)
    if model is None:
        raise NotFound(f"the kind {kind!r} is not one this release knows; a newer one wrote it")
    from pydantic import ValidationError

    load(text.encode("utf-8"))
    try:
        return model.model_validate_json(text)
    except ValidationError as problem:
        raise BadBody(f"{kind}: {first_problem(problem)}") from None


def first_problem(problem: Any) -> str:
    """The first thing pydantic found, as `place: what, got value`, without its address and its advice."""
    error = problem.errors(include_url=False)[0]
    where = ".".join(map(str, error["loc"])) or "the body"
    return f"{where}: {error['msg']}, got {error['input']!r}"[:400]
