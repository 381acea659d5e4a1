"""Bodies about the ledger itself and about what stands in it: genesis, schema, findings, reports, redactions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from ledger.kinds._base import Body, Count, Hex32, Hex64, Origin, Part, Seq

__all__ = [
    "Accept",
    "Anchor",
    "Clear",
    "Gate",
    "Genesis",
    "Import",
    "Note",
    "Publish",
    "Redact",
    "Report",
    "Schema",
    "Supersede",
    "Taint",
    "Target",
    "TargetKind",
]


TargetKind = Literal[
    "event", "blob", "run", "freeze", "report", "supersession", "rules", "candidate", "model", "harness"
]


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


class Target(Part):
    """What a supersession or taint speaks of.

    `id` is a seq in decimal for event, freeze, report and supersession; a hash for blob; the run's id for run; the
    label for rules; the label or the digest for candidate; what the server called it for model; a package version or a
    code digest for harness.
    """

    what: TargetKind
    id: str


class Accept(Body):
    """A person accepts a component that moved."""

    kind = "accept"
    scope = "run"
    component: str
    before: str
    after: str
    reason: str


class Supersede(Body):
    """A run, a freeze or a report is replaced, by another or by none; or an earlier supersession is taken back."""

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
    """Numbers are written down. Blob `file`: the report. `figures` carries every number with what it rests on.

    `corrects` is the seq of the report that this one corrects.
    """

    kind = "report"
    scope = "ledger"
    run: str
    format: str
    digest: Hex64
    head: Hex64
    size: Count
    figures: list[JsonValue]
    corrects: Seq | None = None


class Publish(Body):
    """A report is handed to someone."""

    kind = "publish"
    scope = "ledger"
    report: Seq
    to: str


class Gate(Body):
    """A run was held to a gate. Its causes are the tallies that its figures come from.

    `what` is "margin" where RUN was held against another (`against`, found by `tag` where it isn't empty) and may be
    worse by `margin`, a share as decimal text; "bars" where it was held to the bars of its rule sets, and then those
    three are empty. `lenient` says that an inconclusive result lets it through. `results` has a line for each
    candidate, rule set and metric, as `--json` prints it, and `outcome` is the whole in one word.
    """

    kind = "gate"
    scope = "ledger"
    what: Literal["margin", "bars"]
    run: str
    against: str
    tag: str
    suite: str
    margin: str
    lenient: bool
    outcome: Literal["pass", "fail", "inconclusive", "incomplete", "not comparable"]
    results: list[JsonValue]


class Import(Body):
    """Foreign evidence comes in. Of a run: blob `file`, the whole artifact. Of a cell: blob `output`, what was caught.

    `digest` is the plain BLAKE3 of that blob. `claimed` holds what the artifact says of itself, its times among it.
    """

    kind = "import"
    scope = "any"
    format: str
    tool: str
    grade: Literal["bytes", "parsed", "text"]
    digest: Hex64
    claimed: dict[str, str] = Field(default_factory=dict[str, str])


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
