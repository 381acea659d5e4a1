"""Suites whose answers are judgements: a judge scores a text by a rubric, and code settles what follows.

A case's input is {"task", "text"}, and "reference" where the judge is shown one; text and reference travel as data. So
does a task out of a recorded request, which is called "asked" and not "task".
The judge's reply is one object with a whole number for every criterion (at the top, or under "scores"), "flags" where
the rubric has any, and its own "total" and "verdict", which are kept, classed, and never believed.
"""

from __future__ import annotations

from harness.judging import check_rules
from harness.suites._registry import Stages
from harness.suites.rubric._answer import answer, schema
from harness.suites.rubric._case import GROUPS, check_case, check_gold, group
from harness.suites.rubric._confirm import REJECTIONS, confirm
from harness.suites.rubric._prompt import check_prompt, messages
from harness.suites.rubric._rules import METRICS, PRIMARY, confirm_rules, score_rules
from harness.suites.rubric._score import score

__all__ = ["STAGES"]

STAGES = Stages(
    name="rubric",
    package="harness.suites.rubric",
    turns="rubric/1: the template's turns, untrusted text between lines with a nonce",
    messages=messages,
    schema=schema,
    confirm=confirm,
    score=score,
    group=group,
    groups=GROUPS,
    check_prompt=check_prompt,
    check_case=check_case,
    confirm_rules=confirm_rules,
    reasons={},
    rejections=REJECTIONS,
    metrics=METRICS,
    primary=PRIMARY,
    answer=answer,
    score_rules=score_rules,
    check_gold=check_gold,
    check_rules=check_rules,
    uses=("harness.judging",),
    fails_closed=True,
    one_answer=True,
)
