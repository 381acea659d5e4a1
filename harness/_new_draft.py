"""A suite that isn't written yet: what a person asked for, held against a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness._errors import UsageError
from harness._json import JSON
from harness._new_cases import Columns, Made, make_cases
from harness._new_files import prompt_file
from harness._new_fitted import Fitted
from harness._new_kits import Kit, find_kit
from harness._new_rows import Table
from harness._new_rules import Asked, fit_rules
from harness._new_settings import read_settings
from harness._rules import ruleset_from_frozen
from harness.suites.manifest import STAGES
from harness.suites.manifest._input import MESSAGES

__all__ = ["Draft", "Wanted", "case_check", "draft"]


@dataclass(frozen=True)
class Wanted:
    """What a person asked for. `data` None makes the scorer's worked example."""

    name: str
    data: Path | None = None
    columns: Columns = field(default_factory=lambda: Columns((), ()))
    score: str = "exact"
    delimiter: str = ""
    encoding: str = ""
    empty_gold: bool = False
    skip_bad: bool = False
    settings: Sequence[str] = ()


@dataclass(frozen=True)
class Draft:
    """The rules and the prompt that were made of a table's golds, and what a case is checked with."""

    kit: Kit
    columns: Columns
    fitted: Fitted
    prompt: str
    check: Callable[[JSON, JSON], str | None]

    def cases(self, table: Table, folder: Path, *, stop: bool = False) -> tuple[list[Made], list[tuple[str, str]]]:
        """The rows that make cases, and where and why the others don't; with `stop`, up to the first of those."""
        return make_cases(table, self.columns, folder, self.check, stop=stop)


def draft(wanted: Wanted, table: Table, folder: Path) -> Draft:
    """The rules and the prompt for a table. Raises UsageError for what can't be told or isn't there."""
    kit = find_kit(wanted.score)
    given = read_settings(kit, wanted.settings)
    columns = wanted.columns
    if wanted.empty_gold:
        if kit.nothing is None:
            raise UsageError(
                f"--empty-gold: the scorer {kit.name} can't expect nothing; --score f1 and --score quote can"
            )
        columns = replace(columns, empty_gold=kit.nothing)
    # The rules are made of the golds, and the golds are then held against the rules.
    first, _ = make_cases(table, columns, folder, _anything)
    typed = columns.gold_json or (table.typed and not columns.gold_split)
    asked = Asked(columns.input, first, options=bool(columns.options), typed=typed, given=given)
    fitted = fit_rules(kit, asked)
    fields, optional = _fields(first, columns)
    listing = fitted.listing if columns.options else ""
    prompt = prompt_file(fields, optional, listing=listing, tail=fitted.tail)
    return Draft(kit, columns, fitted, prompt, case_check(prompt, fitted, kit))


def _anything(_: JSON, __: JSON) -> None:
    return None


def _fields(made: Sequence[Made], columns: Columns) -> tuple[Sequence[str], Sequence[str]]:
    """The fields that a prompt names, and which of them some cases lack: the columns, but where one column holds whole
    inputs, what any of those has."""
    whole = [each for each in made if _is_whole(each, columns)]
    if not whole:
        return columns.input, ()
    other = next((each for each in made if not _is_whole(each, columns)), None)
    if other is not None:
        raise UsageError(
            f"the input ({columns.input[0]}) holds messages on {whole[0].where} and none on {other.where}; make all of"
            " them one of the two, since one prompt asks them"
        )
    inputs = [each.input for each in whole if isinstance(each.input, Mapping)]
    there = list(dict.fromkeys(name for each in inputs for name in each))
    return there, [name for name in there if not all(name in each for each in inputs)]


def _is_whole(each: Made, columns: Columns) -> bool:
    found = each.input
    return (
        isinstance(found, Mapping) and len(columns.input) == 1 and columns.input[0] not in found and MESSAGES in found
    )


def case_check(prompt: str, fitted: Fitted, kit: Kit) -> Callable[[JSON, JSON], str | None]:
    """What prompt and scorer say to a case (input, gold): None, or one sentence. Raises UsageError for a prompt or
    rules that can't be read at all."""
    rules = ruleset_from_frozen(kit.name, fitted.rules.encode("utf-8"), STAGES.name, {})
    if prompt and (fault := STAGES.check_prompt(prompt)):
        raise UsageError(f"these columns can't be named in a prompt ({fault}); rename them")

    def check(asked: JSON, gold: JSON) -> str | None:
        fault = STAGES.check_case(asked, gold)
        if fault is None and STAGES.check_gold is not None:
            fault = STAGES.check_gold(asked, gold, rules.score)
        if fault is None:
            try:
                STAGES.messages(prompt or STAGES.prompt, asked)
            except ValueError as error:
                fault = str(error)
        return fault

    return check
