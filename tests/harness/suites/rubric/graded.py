"""Judgements scored as a run scores them: a judge's reply as bytes, a case, and rules, through the real stages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from harness._derive import Derived, Reply, derive
from harness._rules import RuleSet, ruleset_from_frozen
from harness._suite import Case
from harness.parse import Wire
from harness.suites import stages
from ledger.kinds import Parse

__all__ = [
    "DIGEST",
    "FLAT",
    "RUBRIC",
    "Graded",
    "case_of",
    "criterion",
    "derived",
    "detectors",
    "graded",
    "rule_file",
    "rules_of",
]

RUBRIC = stages("rubric")
DIGEST = "0123456789abcdef" * 4
READ = "fence = true\nprose = true\nreasoning = true\nbom = true\nunclosed_fence = true\n"


def criterion(name: str, weight: str = "1", least: int = 0, most: int = 1) -> str:
    return f'[[score.criteria]]\nid = "{name}"\nweight = {weight}\nmin = {least}\nmax = {most}\ndescription = "D."\n'


def detectors(*listed: tuple[str, str]) -> str:
    """Detectors by name and pattern, under every fold."""
    folds = '["invisible", "nfkc", "space", "case"]'
    return "".join(
        f"[[confirm.detectors]]\nname = {json.dumps(name)}\npatterns = [{json.dumps(pattern)}]\nfolds = {folds}\n"
        for name, pattern in listed
    )


def rule_file(criteria: str, policy: str, *, flags: tuple[str, ...] = (), reply: str = "", more: str = "") -> bytes:
    """A whole rule file: tables of criteria, the line of a policy, flags by id, the lines of [score.reply]."""
    flagged = "".join(f'[[score.flags]]\nid = "{name}"\ndescription = "F."\n' for name in flags)
    return (
        f'[read]\n{READ}[score]\nrubric = "{DIGEST}"\n[score.policy]\n{policy}\n'
        f"[score.reply]\n{reply}\n{criteria}{flagged}{more}"
    ).encode()


FLAT = rule_file("".join(criterion(name, most=5) for name in ("c1", "c2", "c3")), "all_at_least = 3")
"""Three criteria from 0 to 5, each at least 3, no flags: the rubric of the cases that others gave."""


@cache
def rules_of(file: bytes) -> RuleSet:
    return ruleset_from_frozen("made", file, "rubric")


def case_of(gold: Mapping[str, Any] | None = None, text: str = "A text.", **asked: str) -> Case:
    """A case that nothing is known of, but for what `gold` says."""
    known = {
        "arm": "graded", "fixture": "T", "base": "", "condition": "graded", "oracle": None, "verdict": None,
        "quality": None, "flags": [], "marker": None, "aim": "", **(gold or {}),
    }  # fmt: skip
    case = Case("c", json.dumps({"task": "A task.", "text": text, **asked}), json.dumps(known), "{}", 1)
    assert RUBRIC.check_case(case.input, case.gold) is None
    return case


def derived(file: bytes, reply: object, case: Case | None = None) -> Derived:
    """What follows from a judge's reply: a text as it is, anything else as its JSON."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    came = Reply(Wire(200, (), text.encode("utf-8", "surrogatepass")), None, "text", stream=False)
    rules, case = rules_of(file), case or case_of()
    assert RUBRIC.check_gold is not None
    assert RUBRIC.check_gold(case.input, case.gold, rules.score) is None
    return derive(came, ask="object", stages=RUBRIC, case=case, rules=rules)


@dataclass(frozen=True)
class Graded:
    """What a reply came to. `said` is the reason where there is no measurement, else empty."""

    outcome: str
    value: float | None
    verdict: str
    classes: dict[str, str]
    blocked_by: tuple[str, ...]
    metrics: dict[str, float]
    status: str
    said: str
    findings: list[Any]
    rejections: list[str]

    def layer(self, name: str) -> dict[str, Any]:
        """The one finding of a layer."""
        (found,) = [each for each in self.findings if each["layer"] == name]
        return found

    @property
    def detected(self) -> list[tuple[str, str]]:
        """What detectors fired, and in which text."""
        return [(each["detector"], each["in"]) for each in self.findings if each["layer"] == "detector"]


def graded(file: bytes, reply: object, case: Case | None = None) -> Graded:
    found = derived(file, reply, case)
    score, confirm = found.score, found.confirm
    assert cast("Parse", found.parse).status == score.status
    findings: list[Any] = list(confirm.findings) if confirm else []
    rejections: list[Any] = list(confirm.rejections) if confirm else []
    return Graded(
        score.outcome, score.value, score.verdict, dict(score.classes), tuple(score.blocked_by), dict(score.metrics),
        score.status, score.reason, findings, [each["reason"] for each in rejections],
    )  # fmt: skip
