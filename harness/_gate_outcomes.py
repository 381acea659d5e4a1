"""How a gate can end, and which of several ends is the worst."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

__all__ = ["Outcome", "worst_of"]

Outcome = Literal["pass", "fail", "inconclusive", "not comparable"]

_WORST_FIRST: tuple[Outcome, ...] = ("not comparable", "fail", "inconclusive", "pass")


def worst_of(found: Collection[str]) -> Outcome:
    """The outcomes of several results in one word, their worst; of none, that it can't be told."""
    for each in _WORST_FIRST:
        if each in found:
            return each
    return "inconclusive"
