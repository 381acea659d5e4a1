"""Where suites plug in: the stage functions that a suite.toml names under `stages`, and what they hand back.

The spine (derive, run, rescore) knows these shapes and imports no suite; a suite's package is imported when its name
is asked for. Stage functions are pure: no clock, no disk, no network, and on any JSON at all they return, never
raise.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, cast

from harness._chat import Chat, Message
from harness._errors import SuiteError
from harness._json import JSON
from harness._outcomes import Status

__all__ = [
    "EVERY_GROUP",
    "Answer",
    "Chat",
    "Confirmed",
    "Kind",
    "Message",
    "Metric",
    "Outcome",
    "ScoreRules",
    "Scored",
    "Stages",
    "Unscorable",
    "fill",
    "places",
    "settle",
    "stage_names",
    "stages",
]

Outcome = Literal["correct", "incorrect", "graded"]
Kind = Literal["rate", "mean"]
EVERY_GROUP = "all"
"""The group that every case is in."""

_PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "authority": "harness.suites.authority",
        "manifest": "harness.suites.manifest",
        "pairwise": "harness.suites.pairwise",
        "rubric": "harness.suites.rubric",
        "written": "harness.suites.written",
    }
)
_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")


@dataclass(frozen=True)
class Metric:
    """A figure of a suite.

    `rate`: each cell it applies to gives 0 or 1. `mean`: a number in [0, 1]. `applies` is the group of cases that it
    counts, or "all"; no other cell is in its n or its planned.
    """

    name: str
    kind: Kind
    applies: str
    higher_is_better: bool


@dataclass(frozen=True)
class Confirmed:
    """What held against the evidence, and what didn't.

    Both are JSON objects fit for an event body: every one has `proposal` (index in the parsed value, from 0), every
    rejection also `reason` (the first clause that failed) and `reasons` (all of them). Text of a model stands in
    neither; what is quoted comes from the case.
    """

    findings: tuple[dict[str, Any], ...] = ()
    rejections: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Scored:
    """The outcome of one measured cell. `value` is None unless `graded`; `metrics` holds only those that apply.

    `verdict` is the scorer's own word for what it found, such as `true_negative` or `folded`; `classes` are further
    such words by what they speak of, and `blocked_by` names what keeps the answer from passing. All are names, never a
    text of the case or the model.
    """

    outcome: Outcome
    value: float | None
    metrics: Mapping[str, int | float]
    verdict: str = ""
    classes: Mapping[str, str] = field(default_factory=dict[str, str])
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unscorable:
    """A cell that can't be scored: a reason of the taxonomy at stage `score`. It lies in the harness (status `error`),
    or in an answer that leaves open whether it names the gold (`ambiguous`)."""

    reason: str
    status: Literal["error", "ambiguous"] = "error"


@dataclass(frozen=True)
class Answer:
    """What is held against the gold, as a rule set takes it out of the value that was read.

    With a `status` other than parsed (a reason of the taxonomy under it says why) there is no answer, and the cell is
    unmeasured. `text` is the JSON text that the parse event keeps; None keeps the value as it was read. `span` is where
    in that value, a text, the answer stands: [start, end) in characters.
    """

    value: JSON
    status: Status = "parsed"
    reason: str = ""
    text: str | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class ScoreRules:
    """The [score] table of a rule file as a suite reads it: what `score` takes (beside `primary` and `metrics`), the
    metrics, and which of them is a cell's outcome, by group."""

    rules: Mapping[str, Any]
    metrics: tuple[Metric, ...]
    primary: Mapping[str, str]


class Schema(Protocol):
    """The suite's own check of shape: (reason, value as the later stages take it); reason None when it fits."""

    def __call__(self, value: JSON, /) -> tuple[str | None, JSON]: ...


@dataclass(frozen=True)
class Stages:
    """One entry of the registry.

    messages(template, input): what is asked; raises ValueError, with one sentence, where the two don't go together,
    which is found out before anything is sent. check_prompt(template) and check_case(input, gold): None, or one
    sentence on why a person's file won't do, told before anything is sent. schema, confirm, score, group: as the
    shapes above say; score's rules hold `primary` (group to metric) and `metrics` (name to kind). `groups`: every name
    that `group` may return. `reasons`: the suite's own reasons for status wrong_shape (stage parse), and `rejections`
    its reasons for not confirming, with a sentence each. `confirm_rules(table)`: the [confirm] table of a rule file,
    checked and completed; raises ValueError with one sentence. `metrics`, `primary`: all that the suite can compute,
    and what a rule set uses that names none. `turns` names the turn logic, which is part of a candidate's identity.

    Optional: answer(value, input, rules) takes the answer out of what was read, without sight of the gold;
    score_rules(table) reads a [score] table that says more than metrics and primary, raising ValueError;
    check_gold(input, gold, rules) is one sentence on why a rule set can't score a case, told before anything is sent;
    check_rules(template, rules) is one sentence on why answers to that prompt can't be scored under a rule set;
    `uses` names further packages whose sources carry the stages out, for the digest of a rule set; `prompt` is the
    template of a suite that names none. With `fails_closed`, a cell that nobody could measure is blocked by that, and
    its score says so. With `one_answer`, an answer that stands in a reply twice is two, the same or not.
    """

    name: str
    package: str
    turns: str
    messages: Callable[[str, JSON], Chat]
    schema: Schema
    confirm: Callable[[JSON, JSON, Mapping[str, Any]], Confirmed]
    score: Callable[[JSON, Confirmed, JSON, Mapping[str, Any]], Scored | Unscorable]
    group: Callable[[JSON], frozenset[str]]
    groups: tuple[str, ...]
    check_prompt: Callable[[str], str | None]
    check_case: Callable[[JSON, JSON], str | None]
    confirm_rules: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    reasons: Mapping[str, str]
    rejections: Mapping[str, str]
    metrics: tuple[Metric, ...]
    primary: Mapping[str, str]
    answer: Callable[[JSON, JSON, Mapping[str, Any]], Answer] | None = None
    score_rules: Callable[[Mapping[str, Any]], ScoreRules] | None = None
    check_gold: Callable[[JSON, JSON, Mapping[str, Any]], str | None] | None = None
    check_rules: Callable[[str, Mapping[str, Any]], str | None] | None = None
    uses: tuple[str, ...] = ()
    prompt: str = ""
    fails_closed: bool = False
    one_answer: bool = False


def stage_names() -> tuple[str, ...]:
    """Every name that a suite.toml may give under `stages`."""
    return tuple(sorted(_PACKAGES))


def stages(name: str) -> Stages:
    """The entry called `name`. Raises `SuiteError` when there is none."""
    package = _PACKAGES.get(name)
    if package is None:
        raise SuiteError(f"stages: expected one of {', '.join(stage_names())}, got {name!a}")
    return cast("Stages", importlib.import_module(package).STAGES)


def fill(template: str, values: Mapping[str, str]) -> str:
    """`template` with every {{name}} replaced once; what was put in is not looked at again. Unknown names stay."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), template)


def places(template: str) -> frozenset[str]:
    """The names that stand in double braces in `template`."""
    return frozenset(_PLACE.findall(template))


def settle(
    metrics: Mapping[str, int | float],
    groups: frozenset[str],
    *,
    primary: Mapping[str, str],
    kinds: Mapping[str, Kind],
) -> tuple[Outcome, float | None]:
    """The outcome of a cell, out of the metric that `primary` names for its group.

    `primary` maps a group (or "all") to a metric, in the rule file's order; the first that the case is in decides. A
    rate of 1 is correct and of 0 incorrect; a mean is graded with its value.
    """
    for group, metric in primary.items():
        if group == EVERY_GROUP or group in groups:
            value = metrics[metric]
            if kinds[metric] == "mean":
                return "graded", float(value)
            return ("correct" if value == 1 else "incorrect"), None
    raise ValueError(f"primary names no metric for a case in {sorted(groups)}")
