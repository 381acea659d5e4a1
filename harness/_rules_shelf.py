"""The rule sets there are: on disk, built in, and frozen in a ledger; and where each was put to use."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness._carried import known_suites, list_suites
from harness._errors import HarnessError, RulesError
from harness._find_rules import find_rules
from harness._rules import RuleSet, builtin_names, builtin_rules, load_rules
from harness._rules_diff import switches
from harness._suite import load_suite
from harness._thaw import thaw_rules
from harness.suites import stages
from ledger import Ledger, over_views

__all__ = [
    "FrozenRules", "Shelved", "about", "confirms", "find_any_rules", "frozen_rules", "list_rules", "open_if_there",
    "reads", "scores", "use_of",
]  # fmt: skip

_FROZEN = (
    "SELECT seq, body ->> '$.name' AS name, body ->> '$.identity' AS identity FROM main.events"
    " WHERE kind = 'freeze' AND body ->> '$.what' = 'rules' ORDER BY seq"
)
_USED = over_views(
    "SELECT run_rules.run AS run, runs.name AS name, rule_standing.standing AS standing,"
    " rule_standing.because AS because FROM run_rules JOIN runs ON runs.run = run_rules.run"
    " JOIN rule_standing ON rule_standing.run = run_rules.run AND rule_standing.rules = run_rules.rules"
    " WHERE run_rules.rules = ? ORDER BY runs.seq"
)


@dataclass(frozen=True)
class FrozenRules:
    """A rule set that stands frozen in a ledger, by the seq of its freeze."""

    seq: int
    name: str
    identity: str

    @property
    def label(self) -> str:
        """As `RuleSet.label`."""
        return f"{self.name}@{self.identity[:12]}"


@dataclass(frozen=True)
class Shelved:
    """A rule set in a list. `rules` is None where its file can't be read as one, and `fault` says why. `suite` is empty
    for one that is built in. `frozen` is the seq of its freeze, `others` the freezes of other rule sets of its name.
    """

    name: str
    suite: str
    rules: RuleSet | None
    fault: str
    frozen: int | None
    others: tuple[FrozenRules, ...]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        found: dict[str, Any] = {"name": self.name, "suite": self.suite, "fault": self.fault}
        if self.rules is not None:
            said = switches(self.rules)
            found |= {
                "label": self.rules.label, "digest": self.rules.digest, "about": about(self.rules),
                "reads": reads(self.rules), "confirms": confirms(self.rules),
                "scores": scores(self.rules), "primary": dict(self.rules.primary),
                "policy": said["unmeasured.policy"], "bars": [bar.text for bar in self.rules.bars],
            }  # fmt: skip
        found["frozen"] = self.frozen
        found["frozen_others"] = [{"label": each.label, "seq": each.seq} for each in self.others]
        return found


def about(rules: RuleSet) -> str:
    """The line for people at the head of a rule file."""
    said = tomllib.loads(rules.file.decode("utf-8")).get("about", "")
    return said if isinstance(said, str) else ""


def reads(rules: RuleSet) -> list[str]:
    """The leniencies of reading that a rule set grants; none of them is strict."""
    found = {name.removeprefix("read."): value for name, value in switches(rules).items() if name.startswith("read.")}
    return [
        name if value is True else f"{name}={value}" for name, value in found.items() if value not in (False, "refuse")
    ]


def confirms(rules: RuleSet) -> list[str]:
    """The clauses in which a rule set's confirming is not its suite's own."""
    if not rules.stages:
        return []
    usual = stages(rules.stages).confirm_rules({})
    moved = {name: value for name, value in rules.confirm.items() if value != usual.get(name)}
    said = switches(rules)
    return [
        name if value is True else f"{name}={said.get(f'confirm.{name}', _count(value))}"
        for name, value in moved.items()
    ]


def _count(value: Any) -> int:
    """How many parts a list has whose parts are switches of their own."""
    return len(value) if isinstance(value, Sequence) else 0  # pyright: ignore[reportUnknownArgumentType]


def scores(rules: RuleSet) -> list[str]:
    """The scorer that a rule set names, and its options that aren't as they are unless named; none for a suite with a
    scorer of its own."""
    entry = stages(rules.stages) if rules.stages else None
    if entry is None or entry.score_rules is None or "scorer" not in rules.score:
        return []
    said = switches(rules)
    # What a scorer has by itself can't be asked for where it needs an option, so it is told by what was written.
    written: Mapping[str, Any] = tomllib.loads(rules.file.decode("utf-8")).get("score", {})
    options = [name.removeprefix("score.") for name in said if name.startswith("score.")]
    return [str(rules.score["scorer"])] + [
        f"{name}={said[f'score.{name}']}"
        for name in options
        if name.partition(".")[0] in written and name.partition(".")[0] not in ("scorer", "primary", "metrics")
    ]


def frozen_rules(ledger: Ledger) -> tuple[FrozenRules, ...]:
    """Every rule set that stands frozen, in the order of the chain."""
    rows = ledger.rows(_FROZEN)
    return tuple(FrozenRules(int(row["seq"]), str(row["name"]), str(row["identity"])) for row in rows)


def find_any_rules(name: str, ledger: Ledger | None) -> RuleSet:
    """The rule set that `name` names: as `find_rules` does; or a frozen one by its label, by enough of its digest after
    NAME@, or by its name where that names no other.

    What lies on disk goes before what is frozen under the same plain name. Raises RulesError.
    """
    try:
        return find_rules(name)
    except HarnessError as error:
        fault = error
    standing = frozen_rules(ledger) if ledger is not None else ()
    called, at, digits = name.partition("@")
    fits = [each for each in standing if each.name == called and each.identity.startswith(digits)]
    fits = list({each.identity: each for each in reversed(fits)}.values())[::-1]
    if len(fits) == 1 and (digits or not at):
        assert ledger is not None
        return thaw_rules(ledger, fits[0].seq)
    if at and not fits and (now := _by_label(name)) is not None:
        return now
    if fits:
        raise RulesError(f"{name!a} fits {' and '.join(each.label for each in fits)}; give the digits after the @ too")
    there = ", ".join(dict.fromkeys(each.label for each in standing))
    raise RulesError(
        f"{fault}; frozen in the ledger: {there or 'none'}" if ledger is not None else str(fault)
    ) from None


def _by_label(label: str) -> RuleSet | None:
    """The rule set that lies on disk under this label, or under its beginning."""
    called, _, digits = label.partition("@")
    try:
        found = find_rules(called)
    except HarnessError:
        return None
    return found if digits and found.digest.startswith(digits) else None


def list_rules(ledger: Ledger | None, suite: str = "") -> tuple[Shelved, ...]:
    """The rule sets of every suite here, or of one; without one, also what is built in. Raises SuiteError."""
    standing = frozen_rules(ledger) if ledger is not None else ()
    found: list[Shelved] = []
    for each in [suite] if suite else list_suites() or known_suites():
        loaded, _ = load_suite(each)
        for name in loaded.own_rules:
            if any((other.name, other.suite) == (name, loaded.name) for other in found):
                continue  # a variant has the rules of the suite that it extends
            try:
                rules, fault = load_rules(loaded, name), ""
            except RulesError as error:
                rules, fault = None, str(error)
            found.append(_shelved(name, loaded.name, rules, fault, standing))
    own = {each.name for each in found}
    found += [
        _shelved(name, "", builtin_rules(name), "", standing)
        for name in builtin_names()
        if not suite and name not in own
    ]
    return tuple(found)


def _shelved(name: str, suite: str, rules: RuleSet | None, fault: str, standing: Sequence[FrozenRules]) -> Shelved:
    named = [each for each in standing if each.name == name]
    same = [each.seq for each in named if rules is not None and each.identity == rules.digest]
    others = tuple(each for each in named if rules is None or each.identity != rules.digest)
    return Shelved(name, suite, rules, fault, same[0] if same else None, others)


def use_of(ledger: Ledger, label: str) -> list[Mapping[str, Any]]:
    """The runs that a rule set was applied to: run, name, standing (confirmatory or post hoc), and because of what."""
    return list(ledger.rows(_USED, (label,)))


def open_if_there(db: Path) -> Ledger | None:
    """The ledger at `db` to read, or None where there is no such file. Raises NotALedger for another file."""
    return Ledger.open(db, read_only=True) if db.exists() else None
