"""A target writes: the first half of a trigger arm, where a live model writes on a task and a judge grades what it
wrote.

A case's input is {"task": text}, which is asked as it stands. Nothing is held against a gold here: a reply that can be
read as a text was `answered`, and what it is worth is the judge's to say, in a run of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from harness._chat import Chat, user
from harness._json import JSON
from harness.suites._registry import Confirmed, Metric, Scored, Stages

__all__ = ["STAGES"]

_ANSWERED = Metric("answered", "rate", "all", higher_is_better=True)


def _messages(template: str, case_input: JSON) -> Chat:
    task = case_input.get("task") if isinstance(case_input, Mapping) else None
    if not isinstance(task, str):
        raise ValueError("expected an input {task}, got another")
    return user(template.replace("{{ task }}", task))


def _schema(value: JSON) -> tuple[str | None, JSON]:
    return None, value


def _confirm(value: JSON, case_input: JSON, rules: Mapping[str, Any]) -> Confirmed:
    return Confirmed()


def _score(value: JSON, confirmed: Confirmed, gold: JSON, rules: Mapping[str, Any]) -> Scored:
    return Scored("correct", None, {"answered": 1}, "answered")


def _group(gold: JSON) -> frozenset[str]:
    return frozenset()


def _check_prompt(template: str) -> str | None:
    return None if template.count("{{ task }}") == 1 else "expected {{ task }} once in the prompt"


def _check_case(case_input: JSON, gold: JSON) -> str | None:
    if isinstance(case_input, Mapping) and isinstance(case_input.get("task"), str) and case_input["task"]:
        return None
    return 'input: expected {"task": "…"} with a text that is asked'


def _confirm_rules(table: Mapping[str, Any]) -> Mapping[str, Any]:
    if table:
        raise ValueError(f"unknown key {min(table)!a}; nothing that a target writes is confirmed here")
    return MappingProxyType({})


STAGES = Stages(
    name="written",
    package="harness.suites.written",
    turns="written/1: one user message",
    messages=_messages,
    schema=_schema,
    confirm=_confirm,
    score=_score,
    group=_group,
    groups=(),
    check_prompt=_check_prompt,
    check_case=_check_case,
    confirm_rules=_confirm_rules,
    reasons={},
    rejections={},
    metrics=(_ANSWERED,),
    primary={"all": "answered"},
    prompt="{{ task }}",
)
