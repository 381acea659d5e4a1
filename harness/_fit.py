"""Do a suite's prompts, cases and rule sets go together? Found out before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness._errors import SuiteError
from harness._rules import RuleSet
from harness._suite import Case
from harness.suites import Stages

__all__ = ["check_asks", "check_golds"]


def check_asks(stages: Stages, prompt: str, cases: Iterable[tuple[str, Case]], prompt_name: str = "") -> None:
    """Raises SuiteError for the first case that the prompt can't be filled in for, naming the case.

    `cases` come with where each stands, such as `fixtures/x/v0/cases.jsonl:3`.
    """
    for where, case in cases:
        try:
            stages.messages(prompt, case.input)
        except ValueError as error:
            of = f" (prompt {prompt_name})" if prompt_name else ""
            raise SuiteError(f"{where}: case {case.id!a}{of}: {error}") from None


def check_golds(stages: Stages, rules: Sequence[RuleSet], cases: Iterable[tuple[str, Case]]) -> None:
    """Raises SuiteError for the first case that a rule set can't score, naming both.

    A gold that a normaliser would empty, or that is no number where numbers are compared, would make every answer
    wrong, or every empty one right.
    """
    if stages.check_gold is None:
        return
    for where, case in cases:
        for each in rules:
            fault = stages.check_gold(case.input, case.gold, each.score)
            if fault is not None:
                raise SuiteError(f"{where}: case {case.id!a} can't be scored under {each.name}: {fault}")
