"""Answers scored as a run scores them: bytes of a reply, a case, and a rule file, through the real stages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, cast

from harness._derive import Derived, Reply, derive
from harness._rules import RuleSet, ruleset_from_frozen
from harness._suite import Ask, Case
from harness.parse import Wire
from harness.suites import stages
from ledger.kinds import Confirm, Parse

__all__ = ["MANIFEST", "Came", "case_of", "comes_to", "derived", "rules_of", "score_table"]

MANIFEST = stages("manifest")


@dataclass(frozen=True)
class Came:
    """What an answer came to. `status` and `reason` are empty where it was measured."""

    outcome: str
    value: float | None
    metrics: dict[str, float]
    verdict: str
    status: str
    reason: str
    taken: Any
    confirm: Confirm | None

    def __str__(self) -> str:
        if self.outcome == "unmeasured":
            return f"{self.status}: {self.reason}"
        return f"{self.outcome}{'' if self.value is None else f' {self.value:g}'}, {self.verdict}"


@cache
def rules_of(score: str, read: str = "", more: str = "", name: str = "made") -> RuleSet:
    """A rule set of the lines of its [score] table."""
    return ruleset_from_frozen(name, f"[read]\n{read}\n[score]\n{score}\n{more}".encode(), "manifest")


def score_table(score: str) -> dict[str, Any]:
    """What the stages are handed as rules."""
    return dict(rules_of(score).score)


def case_of(gold: Any, case_input: Any = "?") -> Case:
    return Case("c", _json(case_input), _json(gold), "{}", 1)


def _json(value: Any) -> str:
    return json.dumps(value, default=_number)


def _number(value: Decimal) -> float:
    assert Decimal(str(float(value))) == value, "a number that a float would change"
    return float(value)


def derived(rules: RuleSet, answer: Any, case: Case) -> Derived:
    """An answer, a text or a JSON value, as a reply of a program; what is not a text was asked for as JSON."""
    ask = "text" if isinstance(answer, str) else "array" if isinstance(answer, list) else "object"
    text = answer if isinstance(answer, str) else _json(answer)
    reply = Reply(Wire(200, (), text.encode("utf-8", "surrogatepass")), None, "text", stream=False)
    return derive(reply, ask=cast("Ask", ask), stages=MANIFEST, case=case, rules=rules)


def comes_to(score: str, answer: Any, gold: Any, case_input: Any = "?", *, read: str = "") -> Came:
    """What an answer comes to under the lines of a [score] table. The gold has to be one that the scorer takes."""
    rules, case = rules_of(score, read), case_of(gold, case_input)
    assert MANIFEST.check_gold is not None
    assert MANIFEST.check_gold(case.input, case.gold, rules.score) is None
    found = derived(rules, answer, case)
    held, parse = found.score, cast("Parse", found.parse)
    taken = None if parse.value is None else json.loads(parse.value)
    return Came(
        held.outcome, held.value, dict(held.metrics), held.verdict,
        "" if held.outcome != "unmeasured" else held.status, held.reason, taken, found.confirm,
    )  # fmt: skip
