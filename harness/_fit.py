"""Do a suite's prompts, cases and rule sets go together? Found out before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness._candidate import Candidate, Protocol
from harness._errors import EngineError, SuiteError
from harness._filter import Condition, keep
from harness._rules import RuleSet
from harness._suite import Case, Fixture, Suite
from harness.engines import cannot_ask
from harness.suites import Stages
from ledger import printable

__all__ = ["check_asks", "check_fit", "check_golds", "located"]


def located(
    suite: Suite, fixtures: Iterable[Fixture], conditions: Sequence[Condition] = (), limit: int | None = None
) -> list[tuple[str, Case]]:
    """Every case that is asked, with where it stands, such as `fixtures/x/v0/cases.jsonl:3`; of a suite that is made,
    its manifest and the arm.

    Raises UsageError for conditions that no case meets.
    """
    every = [(fixture.name, case) for fixture in fixtures for case in fixture.cases]
    # A suite of judging may be there to grade runs alone, without an arm of its own.
    kept = keep(every, conditions)[:limit] if every else []
    if suite.made:
        manifest = printable(str(suite.folder / "suite.toml"))
        return [(f"{manifest}: arms.{name}", case) for name, case in kept]
    return [(f"{printable(str(suite.folder / name / 'cases.jsonl'))}:{case.line}", case) for name, case in kept]


def check_fit(
    suite: Suite, fixtures: Iterable[Fixture], rules: Sequence[RuleSet], candidates: Sequence[Candidate],
    conditions: Sequence[Condition] = (), limit: int | None = None,
) -> None:  # fmt: skip
    """All of it for one run: every case under every rule set, and under the prompt and the protocol of every candidate.

    `conditions` and `limit` leave cases out, as in a plan. Raises SuiteError where a prompt or a rule set doesn't fit a
    case (or each other), EngineError where a protocol has no way to ask it; both name the case. Nothing was sent or
    written by then.
    """
    stages, cases = suite.stage_functions, located(suite, fixtures, conditions, limit)
    if not cases:
        manifest = printable(str(suite.folder / "suite.toml"))
        raise SuiteError(
            f"{manifest}: arms: the suite has no arm that could be run; name fixtures in one, or grade a run with it:"
            f" `harness grade RUN --judge {suite.name}`"
        )
    check_golds(stages, rules, cases)
    for prompt, name in {each.prompt: each.prompt_name or suite.prompt_name for each in candidates}.items():
        check_asks(stages, prompt, cases, name)
        _check_rules(stages, prompt, rules, name)
        mine: dict[Protocol, str] = {each.protocol: each.label for each in candidates if each.prompt == prompt}
        for where, case in cases:
            chat = stages.messages(prompt, case.input)
            for protocol, label in mine.items():
                fault = cannot_ask(protocol, chat)
                if fault is not None:
                    raise EngineError(f"{where}: case {case.id!r} can't be asked of {label}: {fault}")


def check_asks(stages: Stages, prompt: str, cases: Iterable[tuple[str, Case]], prompt_name: str = "") -> None:
    """Raises SuiteError for the first case that the prompt can't be filled in for, naming the case.

    `cases` come with where each stands, such as `fixtures/x/v0/cases.jsonl:3`.
    """
    for where, case in cases:
        try:
            stages.messages(prompt, case.input)
        except ValueError as error:
            of = f" (prompt {prompt_name})" if prompt_name else ""
            raise SuiteError(f"{where}: case {case.id!r}{of}: {error}") from None


def _check_rules(stages: Stages, prompt: str, rules: Sequence[RuleSet], prompt_name: str) -> None:
    """Raises SuiteError for rules that speak of something else than what the prompt asks."""
    for each in rules if stages.check_rules is not None else ():
        fault = stages.check_rules(prompt, each.score) if stages.check_rules is not None else None
        if fault is not None:
            raise SuiteError(f"prompt {prompt_name}: its answers can't be scored under {each.name}: {fault}")


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
                raise SuiteError(f"{where}: case {case.id!r} can't be scored under {each.name}: {fault}")
