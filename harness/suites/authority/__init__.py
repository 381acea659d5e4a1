"""Memory-authority auditing: which instruction in a memory changes the standing of which other.

A model reads numbered memory items and proposes authority changes, each with a verbatim span of the item it rests on;
a deterministic confirmer accepts only what the text bears out; scoring holds the confirmed findings against the
frozen key.

A case's input is {"text": markdown}; its bulleted and numbered lines, in order, are M001, M002, … Its gold is
{"expected": [{"type", "source", "target"}, …], "forbidden": [type, …], "reference": anything}. A case that expects
something is a positive; any other is a negative, on which no finding of a forbidden type may be confirmed (an empty
`forbidden` forbids all four types).
"""

from __future__ import annotations

from types import MappingProxyType

from harness.suites._registry import Metric, Stages
from harness.suites.authority._case import GROUPS, check_case, group
from harness.suites.authority._confirm import REJECTIONS, confirm, confirm_rules
from harness.suites.authority._prompt import check_prompt, messages
from harness.suites.authority._schema import REASONS, schema
from harness.suites.authority._score import score

__all__ = ["STAGES"]

STAGES = Stages(
    name="authority",
    package="harness.suites.authority",
    turns="authority/1: one user message",
    messages=messages,
    schema=schema,
    confirm=confirm,
    score=score,
    group=group,
    groups=GROUPS,
    check_prompt=check_prompt,
    check_case=check_case,
    confirm_rules=confirm_rules,
    reasons=REASONS,
    rejections=REJECTIONS,
    metrics=(
        Metric("exact", "rate", "positive", higher_is_better=True),
        Metric("direction", "rate", "positive", higher_is_better=True),
        Metric("negative_pass", "rate", "negative", higher_is_better=True),
        Metric("false_fire", "rate", "negative", higher_is_better=False),
        Metric("false_fire_without_confirmer", "rate", "negative", higher_is_better=False),
    ),
    primary=MappingProxyType({"positive": "exact", "negative": "negative_pass"}),
    uses=("harness.scorers",),
)
