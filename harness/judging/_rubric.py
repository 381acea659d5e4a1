"""A rubric: criteria on scales of whole numbers, flags, a policy, and what a judge may say beside the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from harness.judging._policy import Policy

__all__ = ["LATEST", "Criterion", "Flag", "ReplyRules", "Rubric", "TotalKind", "WholeKind"]

TotalKind = Literal["sum", "weighted", "none"]
WholeKind = Literal["number", "digits"]
LATEST = 2
"""The version of what follows from a judge's reply that new rule files say. Raised when a reply could count otherwise:
a rule file without one is of version 1, and means what it meant (docs/JUDGES.md, "Versions of judging").
"""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion, scored in whole numbers from `least` to `most`. `weight` is `weight_text`, exactly."""

    id: str
    name: str
    weight: Fraction
    weight_text: str
    least: int
    most: int
    description: str

    def __str__(self) -> str:
        return f"{self.id} {self.least}..{self.most}, weight {self.weight_text} ({self.name}): {self.description}"


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that a judge raises; raised, it blocks."""

    id: str
    description: str

    def __str__(self) -> str:
        return f"{self.id}: {self.description}"


@dataclass(frozen=True, slots=True)
class ReplyRules:
    """What a judge may say beside scores and flags. `total` is what its total is held against; `passes` and `fails`
    are the words of its verdict, folded by case and outer white space; `comments` the keys that claim nothing. `whole`
    says how a whole score may be written: any number that is one (8.0 too), or digits alone."""

    total: TotalKind
    passes: tuple[str, ...]
    fails: tuple[str, ...]
    comments: tuple[str, ...]
    whole: WholeKind = "digits"

    def __str__(self) -> str:
        return (
            f"total {self.total}; pass: {', '.join(self.passes)}; fail: {', '.join(self.fails)}; "
            f"comments: {', '.join(self.comments) or 'none'}" + ("; whole: number" if self.whole == "number" else "")
        )


@dataclass(frozen=True, slots=True)
class Rubric:
    """What judgements are measured by. `digest` stands for all that a judge is shown of it, as worded there; `version`
    is that of what follows from a reply."""

    digest: str
    criteria: tuple[Criterion, ...]
    flags: tuple[Flag, ...]
    policy: Policy
    reply: ReplyRules
    version: int = 1

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the criteria, in order."""
        return tuple(each.id for each in self.criteria)

    @property
    def flag_ids(self) -> tuple[str, ...]:
        """The ids of the flags, in order."""
        return tuple(each.id for each in self.flags)

    def as_rules(self) -> dict[str, Any]:
        """Its parts by the names of a rule file's [score] table, from which `of_rules` makes it again."""
        return {
            "rubric": self.digest, "criteria": self.criteria, "flags": self.flags, "policy": self.policy,
            "reply": self.reply, "version": self.version,
        }  # fmt: skip

    @classmethod
    def of_rules(cls, rules: Mapping[str, Any]) -> Rubric:
        """A rubric out of the rules that stages are handed."""
        return cls(
            rules["rubric"], rules["criteria"], rules["flags"], rules["policy"], rules["reply"], rules["version"]
        )
