"""A run's own materials out of the ledger: cases, rule sets and stages as they were frozen, wherever the files are now.

A rescore and a replay check stand on these alone, so that what lies on disk today can't change what a run was.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType

from harness._errors import RefusedError
from harness._rules import RuleSet, ruleset_from_frozen
from harness._suite import Case, case_of_line
from harness.suites import stage_names, stages
from ledger import Ledger, NotFound
from ledger.kinds import Freeze, Plan

__all__ = ["frozen_sources", "registered_stages", "thaw_cases", "thaw_fixture", "thaw_prompts", "thaw_rules"]


def thaw_cases(ledger: Ledger, plan: Plan) -> Mapping[tuple[str, str], Case]:
    """Every case of a plan's fixtures, by fixture and case id, as the frozen files have them.

    A fixture that came from elsewhere has the blob `jsonl`, its cases in the form of a cases.jsonl. Raises RefusedError
    where a redaction withholds the file.
    """
    found: dict[tuple[str, str], Case] = {}
    for fixture in plan.fixtures:
        try:
            cases = thaw_fixture(ledger, fixture.freeze)
        except NotFound as error:
            raise RefusedError(f"the cases of {fixture.name}: {error}; without them nothing can be scored") from None
        found.update({(fixture.name, name): case for name, case in cases.items()})
    return MappingProxyType(found)


def thaw_fixture(ledger: Ledger, freeze: int) -> Mapping[str, Case]:
    """Every case of one frozen file, by its id. Raises NotFound where a redaction withholds it."""
    blobs = ledger.body(freeze).blobs
    data = ledger.blob(freeze, "jsonl" if "jsonl" in blobs else "file")
    lines = [
        case_of_line(line, number, f"event {freeze}, line {number}")
        for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()
    ]  # fmt: skip
    return {case.id: case for case in lines}


def thaw_prompts(ledger: Ledger, plan: Plan) -> tuple[str, ...]:
    """The templates that a plan's candidates were asked with, each once, as they were frozen; a candidate that has
    none, or whose file a redaction withholds, is passed over."""
    found: list[str] = []
    for freeze in dict.fromkeys(each.prompt_freeze for each in plan.candidates if each.prompt_freeze is not None):
        with suppress(NotFound, UnicodeDecodeError):
            found.append(ledger.blob(freeze, "file").decode("utf-8"))
    return tuple(found)


def frozen_sources(ledger: Ledger, freeze: int) -> Mapping[str, bytes]:
    """The sources that a rule set was frozen with, by module name. Raises RefusedError where they are withheld."""
    try:
        texts: dict[str, str] = json.loads(ledger.blob(freeze, "sources"))
        return {module: text.encode() for module, text in texts.items()}
    except NotFound as error:
        raise RefusedError(f"the rule set of event {freeze}: {error}") from None
    except (ValueError, AttributeError, RecursionError):
        raise RefusedError(f"the sources of event {freeze} can't be read; `ledger verify` says more") from None


def thaw_rules(ledger: Ledger, freeze: int | None) -> RuleSet:
    """The rule set of a freeze, under its own label and with its own sources; None is one that nobody can name.

    It is applied by the code here, which may be another: `moved_sources` says. Raises RefusedError.
    """
    if freeze is None:
        raise RefusedError("no freeze of this rule set is named in the ledger")
    sources = frozen_sources(ledger, freeze)
    body = ledger.body(freeze)
    if not isinstance(body, Freeze) or body.what != "rules":
        raise RefusedError(f"event {freeze}: expected the freeze of a rule set, got {body.kind}")
    try:
        file = ledger.blob(freeze, "file")
    except NotFound as error:
        raise RefusedError(f"the rule set {body.name}: {error}") from None
    return ruleset_from_frozen(body.name, file, registered_stages(sources), sources)


def registered_stages(modules: Collection[str]) -> str:
    """The registered stages whose package is among the modules of a rule set; empty for one that only reads."""
    return next((name for name in stage_names() if stages(name).package in modules), "")
