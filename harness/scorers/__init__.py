"""Scorers: pure functions that hold what was found against what was expected. Each has a version of its own.

Four rules hold for all of them. A normal form that is empty matches nothing, not even another empty one. What is
undefined is None, never 0. Nothing is compared by substring. And nothing that decides a meaning is folded away: a
decimal point, a minus, a letter's accent.
"""

from __future__ import annotations

from harness.scorers._normal import NORMALISERS, Normaliser, choice, label, matches, normaliser, number
from harness.scorers._quotes import QUOTE_VERSION, Quote, Tier, find_quote
from harness.scorers._region import unfence, without_space
from harness.scorers._sets import SETS_VERSION, SetComparison, SetOutcome, compare_sets

__all__ = [
    "NORMALISERS",
    "QUOTE_VERSION",
    "SETS_VERSION",
    "Normaliser",
    "Quote",
    "SetComparison",
    "SetOutcome",
    "Tier",
    "choice",
    "compare_sets",
    "find_quote",
    "label",
    "matches",
    "normaliser",
    "number",
    "unfence",
    "without_space",
]
