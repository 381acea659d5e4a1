"""Finding the rule sets that a run is to be scored under, by what a person calls them.

    NAME          rules/NAME.toml in the folder of the run's suite; else built in; else frozen in this ledger under it;
                  SUITE/NAME too
    PATH.toml     that file
    NAME@DIGEST   the one with this label, frozen in this ledger

A name or a path means the file under the code that is here. A label means one frozen rule set and no other, so it is
refused where the code isn't the frozen one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._carried import FIXTURES, suite_folder
from harness._errors import HarnessError, RefusedError, RulesError
from harness._given import read_given
from harness._replies import read_plan
from harness._rules import RuleSet, builtin_names, builtin_rules, moved_sources, ruleset_from_frozen
from harness._suite import Suite, made_suite
from harness._thaw import registered_stages, thaw_rules
from harness.rubrics import PAIR, pair_suite
from ledger import Ledger, NotFound
from ledger.kinds import Freeze, Plan

__all__ = ["FrozenLabel", "find_rule_sets", "frozen_labels", "rules_from_file"]

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_MOST = 1 << 20
_MODULES_SHOWN = 6
_USED = (
    "SELECT DISTINCT tally.body ->> '$.rules' AS label FROM main.events AS tally"
    " JOIN main.events AS plan ON plan.run = tally.run AND plan.kind = 'plan'"
    " WHERE tally.kind = 'tally' AND plan.body ->> '$.suite' = ? ORDER BY tally.seq"
)


@dataclass(frozen=True, slots=True)
class FrozenLabel:
    """A rule set as its freeze names it; `whole` says that its file and sources can be read."""

    label: str
    name: str
    seq: int
    digest: str
    modules: frozenset[str]
    whole: bool


def frozen_labels(ledger: Ledger) -> list[FrozenLabel]:
    """Every rule set that was frozen in this ledger, in the order of the freezes."""
    withheld = {int(row["seq"]) for row in ledger.rows("SELECT DISTINCT seq FROM main.blobs WHERE data IS NULL")}
    found: list[FrozenLabel] = []
    for event in ledger.events(kind="freeze"):
        if event.body is None:  # in what a bundle shows of a ledger; a freeze is never redacted
            continue
        body = ledger.body(event)
        if isinstance(body, Freeze) and body.what == "rules":
            label, modules = f"{body.name}@{body.identity[:12]}", frozenset(body.sources)
            found.append(FrozenLabel(label, body.name, event.seq, body.digest, modules, event.seq not in withheld))
    return found


def find_rule_sets(ledger: Ledger, run: str, names: Sequence[str]) -> list[RuleSet]:
    """The rule sets that `names` name, for the suite of a run; each once. Raises RulesError and RefusedError."""
    _, plan = read_plan(ledger, run)
    frozen = frozen_labels(ledger)
    by_seq = {each.seq: each for each in frozen}
    mine = [by_seq[each.freeze].modules for each in plan.rules if each.freeze in by_seq]
    stage_name = next((name for name in map(registered_stages, mine) if name), "")
    if not stage_name:
        raise RulesError(
            f"run {run} stands on no rule set that scores, so nothing says how suite {plan.suite} is scored"
        )
    found: dict[str, RuleSet] = {}
    for name in names:
        rules = _find(ledger, plan, stage_name, frozen, name)
        found.setdefault(rules.label, rules)
    return list(found.values())


def _find(ledger: Ledger, plan: Plan, stage_name: str, frozen: Sequence[FrozenLabel], name: str) -> RuleSet:
    made = _made(plan)
    if name.endswith(".toml"):
        return rules_from_file(Path(name), stage_name, made)
    if "@" in name:
        return _labelled(ledger, [each for each in frozen if each.label == name], stage_name, name, frozen)
    name = name.removeprefix(f"{plan.suite}/")
    folder = None if made else _folder(plan)
    if _NAME.fullmatch(name):
        if made is not None and (file := made.rule_file(name)) is not None:
            return ruleset_from_frozen(name, file, stage_name)
        if folder is not None and (folder / "rules" / f"{name}.toml").is_file():
            return rules_from_file(folder / "rules" / f"{name}.toml", stage_name)
        if made is None and name in builtin_names():
            return builtin_rules(name, stage_name)
        found = _by_name(ledger, [each for each in frozen if each.name == name], stage_name, name)
        if found is not None:
            return found
    there = sorted(each.stem for each in (folder / "rules").glob("*.toml")) if folder is not None else []
    there = list(made.own_rules) if made else there
    built_in = () if made else builtin_names()
    here = {*there, *built_in}
    used = [str(row["label"]) for row in ledger.rows(_USED, (plan.suite,))]
    known = [*there, *built_in, *(label for label in used if label.rpartition("@")[0] not in here)]
    known = list(dict.fromkeys(known))
    raise RulesError(f"no rule set of suite {plan.suite} is called {name!a}; there are {ascii(', '.join(known))[1:-1]}")


def _of(frozen: Sequence[FrozenLabel], stage_name: str) -> list[FrozenLabel]:
    return [each for each in frozen if registered_stages(each.modules) == stage_name]


def _labelled(
    ledger: Ledger, fits: Sequence[FrozenLabel], stage_name: str, label: str, frozen: Sequence[FrozenLabel]
) -> RuleSet:
    if not fits:
        known = ", ".join(dict.fromkeys(each.label for each in _of(frozen, stage_name)))
        raise RulesError(f"no rule set was frozen as {label!a}; there are {ascii(known)[1:-1] or 'none'}")
    _refuse_judged(ledger, fits)
    if not _of(fits, stage_name):
        raise RulesError(f"{label!a} belongs to another suite than the run, which is scored by {stage_name}")
    rules = thaw_rules(ledger, next((each for each in fits if each.whole), fits[0]).seq)
    moved = moved_sources(rules)
    if moved:
        shown = ", ".join(moved[:_MODULES_SHOWN]) + (", …" if len(moved) > _MODULES_SHOWN else "")
        raise RefusedError(
            f"{label} was frozen with other code ({shown}), so nothing can be derived under it here;"
            f" --rules {rules.name} applies its file with the code that is here, as a rule set of its own"
        )
    return rules


def _by_name(ledger: Ledger, fits: Sequence[FrozenLabel], stage_name: str, name: str) -> RuleSet | None:
    """The one file that was frozen under a name, under the code that is here."""
    mine = _of(fits, stage_name)
    _refuse_judged(ledger, fits)
    if fits and not mine:
        raise RulesError(f"{name!a} was frozen for another suite than the run's, which is scored by {stage_name}")
    if len({each.digest for each in mine}) > 1:
        labels = ", ".join(dict.fromkeys(each.label for each in mine))
        raise RulesError(f"several rule sets were frozen as {name!a} ({labels}); give the label of one")
    for each in mine:
        try:
            return ruleset_from_frozen(name, ledger.blob(each.seq, "file"), stage_name)
        except NotFound as error:
            if each is mine[-1]:
                raise RefusedError(f"the rule set {each.label}: {error}") from None
    return None


def _refuse_judged(ledger: Ledger, fits: Sequence[FrozenLabel]) -> None:
    """Raises RefusedError for what a judge's grades stand under: that is derived of its scores, not of replies."""
    for each in fits:
        judge = thaw_rules(ledger, each.seq).judge if each.whole else None
        if judge is not None:
            raise RefusedError(
                f"{each.label} holds the grades of {judge['candidate']}, which no reading of the graded run gives:"
                f" `harness rescore {judge['run']} --rules NAME` reads the judge otherwise, `harness grade` asks anew"
            )


def rules_from_file(path: Path, stage_name: str, suite: Suite | None = None) -> RuleSet:
    """The rule set of a file anywhere, for the suites of these stages; `suite` makes it whole where it makes its own.
    Raises RulesError.
    """
    shown = ascii(str(path))[1:-1]
    if not _NAME.fullmatch(path.stem):
        raise RulesError(
            f"{shown}: expected a file name in lower-case letters, digits, _ . and -, which names the rules"
        )
    if path.exists() and not path.is_file():
        raise RulesError(f"{shown}: expected a file")  # a pipe or a device could be waited for for ever
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise RulesError(f"{shown}: can't be read: {error.strerror}") from None
    if len(data) > _MOST:
        raise RulesError(f"{shown}: expected a rule file of at most {_MOST} bytes")
    try:
        return ruleset_from_frozen(path.stem, suite.whole_rules(data) if suite else data, stage_name)
    except HarnessError as error:
        raise RulesError(f"{shown}: {error}") from None


def _folder(plan: Plan) -> Path | None:
    """The folder of a plan's suite: where it lay when the run was asked for, else under fixtures/."""
    return next((place for place in _places(plan) if _name_in(place / "suite.toml") == plan.suite), None)


def _made(plan: Plan) -> Suite | None:
    """A plan's suite where it is made of its manifest, or a variant of it; None for a suite of files, and for one that
    isn't there to be read any more."""
    for place in _places(plan):
        try:
            suite = made_suite(place)
        except HarnessError:
            continue
        if suite is not None and suite.name == plan.suite:
            return pair_suite(suite) if plan.arms == [PAIR] and plan.grades else suite
    return None


def _places(plan: Plan) -> list[Path]:
    try:
        given = read_given(plan.given)
    except (ValueError, KeyError, TypeError, AttributeError):  # an imported run keeps something else there
        given = None
    places = [suite_folder(given.suite)] if given and given.suite else []
    if _NAME.fullmatch(plan.suite):
        places.append(FIXTURES / plan.suite)
    return places


def _name_in(manifest: Path) -> Any:
    try:
        table: Mapping[str, Any] = tomllib.loads(manifest.read_text("utf-8")) if manifest.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return None
    return table.get("name")
