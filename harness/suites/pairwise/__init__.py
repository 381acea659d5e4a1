"""Which of two texts is the better one: a judge is shown both, and asked once in either order.

A case's input is {"task", "first", "second"}, and "reference" where one is shown; a task out of a recorded request is
called "asked", and travels as data like the texts. Its gold is {"condition": "pair", "pair": id,
"order": 0 | 1, "first": "a" | "b", "second": "a" | "b"}. A cell says which position won; what became of a pair follows
from its two cells (harness._pair_outcomes), and no cell is right or wrong by itself.
"""

from __future__ import annotations

from types import MappingProxyType

from harness.judging import check_rules
from harness.suites._registry import Stages
from harness.suites.pairwise._case import check_case, check_prompt, group, messages
from harness.suites.pairwise._choice import (
    METRICS,
    PRIMARY,
    answer,
    confirm,
    confirm_rules,
    schema,
    score,
    score_rules,
)

__all__ = ["STAGES"]

STAGES = Stages(
    name="pairwise",
    package="harness.suites.pairwise",
    turns="pairwise/1: the template's turns, each text between lines of its own nonce",
    messages=messages,
    schema=schema,
    confirm=confirm,
    score=score,
    group=group,
    groups=("pair",),
    check_prompt=check_prompt,
    check_case=check_case,
    confirm_rules=confirm_rules,
    reasons=MappingProxyType({}),
    rejections=MappingProxyType({}),
    metrics=METRICS,
    primary=PRIMARY,
    answer=answer,
    score_rules=score_rules,
    check_rules=check_rules,
    uses=("harness.judging",),
    fails_closed=True,
    one_answer=True,
)
