"""The event kinds of version 1: one pydantic model a kind, each the schema of that kind's body.

A body is validated at the door, written as RFC 8785 bytes, and read back through the same model. `blobs` is filled in
by the append, which salts and hashes each blob. Old versions of a body (`schema`) stay readable for ever.
"""

from __future__ import annotations

from typing import Any, cast

from ledger._canonical import load
from ledger._errors import BadBody, NotFound
from ledger.kinds._base import BlobRef, Body, Outcome, RunStatus
from ledger.kinds._ledger import (
    Accept,
    Anchor,
    Clear,
    Gate,
    Genesis,
    Import,
    Note,
    Publish,
    Redact,
    Report,
    Schema,
    Supersede,
    Taint,
    Target,
    TargetKind,
)
from ledger.kinds._plan import (
    Cell,
    Close,
    Freeze,
    Plan,
    PlanCandidate,
    PlanFixture,
    PlanMetric,
    PlanRules,
    Resume,
    Tally,
    TallyMetric,
)
from ledger.kinds._reply import Confirm, Execute, Fault, Lookup, Masked, Parse, Request, Response, Reuse, Score, Wait

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
    "Gate",
    "Genesis",
    "Import",
    "Lookup",
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
    "Resume",
    "Reuse",
    "RunStatus",
    "Schema",
    "Score",
    "Supersede",
    "Taint",
    "Tally",
    "TallyMetric",
    "Target",
    "TargetKind",
    "Wait",
    "parse_body",
]

NEVER_REDACTED = frozenset(
    {
        "genesis", "schema", "freeze", "plan", "score", "tally", "close", "supersede", "taint", "clear", "redact",
        "anchor",
    }
)  # fmt: skip
"""Kinds whose bodies are never withheld: they hold no text of a case or a model. Their blobs can be."""

KINDS: dict[str, type[Body]] = {
    model.kind: model
    for model in (
        Genesis,
        Schema,
        Freeze,
        Plan,
        Cell,
        Request,
        Response,
        Fault,
        Wait,
        Reuse,
        Parse,
        Confirm,
        Execute,
        Score,
        Tally,
        Close,
        Accept,
        Supersede,
        Taint,
        Clear,
        Report,
        Publish,
        Import,
        Redact,
        Note,
        Anchor,
        Resume,
        Gate,
        Lookup,
    )
}
"""Every kind of version 1, by name: the first release's in the order of its table, then the later ones."""


def parse_body(kind: str, text: str) -> Body:
    """The typed body of a stored event. Raises NotFound for a kind of a newer release, BadBody for a misfit."""
    model = KINDS.get(kind)
    if model is None:
        raise NotFound(f"the kind {kind!r} is not one this release knows; a newer one wrote it")
    from pydantic import ValidationError

    value = load(text.encode("utf-8"))
    version = cast("dict[str, Any]", value).get("schema") if isinstance(value, dict) else None
    if isinstance(version, int) and version > model.latest():
        raise BadBody(f"{kind}: schema {version} is newer than {model.latest()}, the last that this release knows")
    try:
        return model.model_validate_json(text)
    except ValidationError as problem:
        raise BadBody(f"{kind}: {first_problem(problem)}") from None


def first_problem(problem: Any) -> str:
    """The first thing pydantic found, as `place: what, got value`, without its address and its advice."""
    error = problem.errors(include_url=False)[0]
    where = ".".join(map(str, error["loc"])) or "the body"
    return f"{where}: {error['msg']}, got {error['input']!r}"[:400]
