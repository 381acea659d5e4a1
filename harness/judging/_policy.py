"""What scores must come to for a text to pass: a share of the weights, or every criterion at least so much. Exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

__all__ = ["AllAtLeast", "Policy", "Threshold"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """The weighted share of the scores is at least `share`, 0 < share <= 1. `text` is as it was written."""

    share: Fraction
    text: str

    def __str__(self) -> str:
        return f"threshold {self.text}"


@dataclass(frozen=True)
class AllAtLeast:
    """Each criterion that is named scores at least its number."""

    least: Mapping[str, int]

    def __str__(self) -> str:
        return "all at least: " + ", ".join(f"{name} {number}" for name, number in self.least.items())


Policy: TypeAlias = Threshold | AllAtLeast
