"""The shape that a reply has to have: an object with `proposals`, or the bare list of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from harness._json import JSON
from harness.suites.authority._case import TYPES

__all__ = ["FIELDS", "MOST", "REASONS", "fault_of", "schema"]

FIELDS = (
    "type",
    "source_item_id",
    "target_item_id",
    "cited_evidence_span",
    "scope_terms",
    "rationale",
    "confidence",
)
MOST = 1000
"""Proposals in one reply; past it the findings would no longer fit one event."""

REASONS = MappingProxyType(
    {
        "root_not_object": "The answer is neither an object nor a list.",
        "missing_proposals": "The answer is an object without `proposals`.",
        "proposals_not_list": "`proposals` is not a list.",
        "too_many_proposals": f"The answer holds more than {MOST} proposals.",
        "proposal_not_object": "A proposal is not an object.",
        **{f"missing_field_{field}": f"A proposal has no `{field}`." for field in FIELDS},
        "unknown_type": f"The type of a proposal is none of {', '.join(TYPES)}.",
        "bad_type": "The type of a proposal is not text.",
        "bad_source_item_id": "The source of a proposal is not text.",
        "bad_target_item_id": "The target of a proposal is not text.",
        "bad_cited_evidence_span": "The cited span of a proposal is not text.",
        "bad_scope_terms": "The scope terms of a proposal are not a list of texts.",
        "bad_rationale": "The rationale of a proposal is not text.",
        "bad_confidence": "The confidence of a proposal is not a number.",
    }
)


def schema(value: JSON, /) -> tuple[str | None, JSON]:
    """(None, the list of proposals), or (the first reason met, None). Nothing is converted or trimmed."""
    if isinstance(value, Mapping):
        if "proposals" not in value:
            return "missing_proposals", None
        proposals = value["proposals"]
        if not isinstance(proposals, list):
            return "proposals_not_list", None
    elif isinstance(value, list):
        proposals = value
    else:
        return "root_not_object", None
    if len(proposals) > MOST:
        return "too_many_proposals", None
    for proposal in proposals:
        reason = fault_of(proposal)
        if reason is not None:
            return reason, None
    return None, proposals


def fault_of(proposal: JSON) -> str | None:
    """The reason why one proposal has the wrong shape, or None."""
    if not isinstance(proposal, Mapping):
        return "proposal_not_object"
    for field in FIELDS:
        if field not in proposal:
            return f"missing_field_{field}"
    for field in FIELDS:
        if not _fits(field, proposal[field]):
            return f"bad_{field}"
    return None if proposal["type"] in TYPES else "unknown_type"


def _fits(field: str, value: JSON) -> bool:
    if field == "scope_terms":
        return isinstance(value, list) and all(isinstance(term, str) for term in value)
    if field == "confidence":
        # A bool is an int to Python, and neither it nor a number past every Decimal is a confidence.
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, Decimal) and value.is_finite())
        )
    return isinstance(value, str)
