"""What a replay check came to: one run, rule set by rule set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness._moved_code import MovedModule
from harness._replay_compare import Difference

__all__ = ["Checked", "RulesChecked"]


@dataclass(frozen=True)
class RulesChecked:
    """One rule set of one run. `reproduced` and `differences` make up `total`; `withheld` can't be checked, and
    `internal` are scores of a fault of the harness that this code doesn't have.

    `fault` says why the code here can't apply the rule set at all, or is empty.
    """

    label: str
    freeze: int
    moved: tuple[MovedModule, ...]
    reproduced: int
    withheld: int
    internal: int
    differences: tuple[Difference, ...]
    fault: str = ""

    @property
    def total(self) -> int:
        """How many recorded events could be checked."""
        return self.reproduced + len(self.differences)

    @property
    def ok(self) -> bool:
        """Whether everything that could be checked is reproduced."""
        return not self.differences and not self.fault

    def sentence(self) -> str:
        """The verdict, in one sentence."""
        apart = f"; {self.withheld} can't be checked, for what they rest on is withheld" if self.withheld else ""
        if self.internal:
            apart += f"; {self.internal} ended in a fault of the harness, and say nothing"
        if self.fault:
            return f"{self.label}: the code here can't apply it: {self.fault}"
        if not self.moved:
            return f"{self.label}: reproduced {self.reproduced} of {self.total}{apart}"
        by_stage: dict[str, list[str]] = {}
        for module in self.moved:
            by_stage.setdefault(" and ".join(module.stages), []).append(module.name)
        where = "; ".join(f"{stage}: {', '.join(names)}" for stage, names in by_stage.items())
        if self.ok:
            verdict = f"{self.reproduced} of {self.total} derivations identical: comparable"
        else:
            verdict = f"{len(self.differences)} of {self.total} derivations differ: NOT COMPARABLE"
        return f"{self.label}: code moved ({where}); {verdict}{apart}"

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "rules": self.label, "freeze": self.freeze, "ok": self.ok, "total": self.total,
            "reproduced": self.reproduced, "withheld": self.withheld, "internal": self.internal, "fault": self.fault,
            "moved": [each.as_json() for each in self.moved],
            "differences": [each.as_json() for each in self.differences],
        }  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """One run, rule set by rule set. `strays` have no place in it (harness._replay_strays); `skipped` says why it
    wasn't checked at all (a probe), or is empty."""

    run: str
    rules: tuple[RulesChecked, ...]
    skipped: str = ""
    strays: tuple[Difference, ...] = ()

    @property
    def reproduced(self) -> int:
        """How many recorded events were derived again, identical."""
        return sum(each.reproduced for each in self.rules)

    @property
    def total(self) -> int:
        """How many recorded events could be checked."""
        return sum(each.total for each in self.rules) + len(self.strays)

    @property
    def withheld(self) -> int:
        """How many can't be checked."""
        return sum(each.withheld for each in self.rules)

    @property
    def ok(self) -> bool:
        """Whether everything that could be checked is reproduced."""
        return all(each.ok for each in self.rules) and not self.strays

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Every recorded event that is derived otherwise here, or not at all, in order of cell."""
        found = [each for some in self.rules for each in some.differences]
        return tuple(sorted([*found, *self.strays], key=lambda each: each.place))

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form."""
        return {
            "run": self.run, "ok": self.ok, "total": self.total, "reproduced": self.reproduced,
            "withheld": self.withheld, "skipped": self.skipped, "rules": [each.as_json() for each in self.rules],
            "strays": [each.as_json() for each in self.strays],
        }  # fmt: skip
