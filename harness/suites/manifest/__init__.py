"""Suites without Python: a prompt template, cases, and a scorer that the rule file names.

A case's input is a text, named fields, or messages; its gold is what the scorer compares. The scorer and its options
stand in the rule file's [score] table, so another scorer is another rule set, and a rescore.
"""

from __future__ import annotations

from harness.suites._registry import Stages
from harness.suites.manifest._prompt import DEFAULT, check_prompt, messages
from harness.suites.manifest._scorer import NOTHING, SOMETHING, Scorer, primary
from harness.suites.manifest._scorers import SCORERS
from harness.suites.manifest._stages import (
    METRICS,
    REJECTIONS,
    answer,
    check_case,
    check_gold,
    confirm,
    confirm_rules,
    group,
    schema,
    score,
    score_rules,
)

__all__ = ["SCORERS", "STAGES", "Scorer"]

STAGES = Stages(
    name="manifest",
    package="harness.suites.manifest",
    turns="manifest/1: the template's turns",
    messages=messages,
    schema=schema,
    confirm=confirm,
    score=score,
    group=group,
    groups=(SOMETHING, NOTHING),
    check_prompt=check_prompt,
    check_case=check_case,
    confirm_rules=confirm_rules,
    reasons={},
    rejections=REJECTIONS,
    metrics=METRICS,
    primary=primary(every="correct"),
    answer=answer,
    score_rules=score_rules,
    check_gold=check_gold,
    uses=("harness.scorers",),
    prompt=DEFAULT,
)
