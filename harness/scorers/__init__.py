"""Scorers: pure functions that hold what was found against what was expected. Each has a version of its own.

Four rules hold for all of them. A normal form that is empty matches nothing, not even another empty one. What is
undefined is None, never 0. Nothing is compared by substring. And nothing that decides a meaning is folded away: a
decimal point, a minus, a letter's accent.
"""

from __future__ import annotations

from harness.scorers._choices import (
    CHOICES_VERSION,
    ChoiceRead,
    Named,
    OptionText,
    clashing,
    find_choice,
    read_choice,
)
from harness.scorers._decisive import formulas, marks_fit
from harness.scorers._json_values import JSON_VERSION, same_json
from harness.scorers._normal import NORMALISERS, Normaliser, choice, label, matches, normaliser, number, text
from harness.scorers._numbers import NUMBERS_VERSION, NumberFormat, NumberRead, find_numbers, near, read_number
from harness.scorers._patterns import PATTERNS_VERSION, check_pattern, pattern_spans
from harness.scorers._quotes import QUOTE_VERSION, Quote, Tier, find_quote, too_short
from harness.scorers._region import unfence, without_space
from harness.scorers._sets import SETS_VERSION, SetComparison, SetOutcome, compare_sets
from harness.scorers._trivial import TRIVIAL_VERSION, weight, whole_of
from harness.scorers._words import WORDS_VERSION, Mention, Word, find_phrases, has_words, words

__all__ = [
    "CHOICES_VERSION",
    "JSON_VERSION",
    "NORMALISERS",
    "NUMBERS_VERSION",
    "PATTERNS_VERSION",
    "QUOTE_VERSION",
    "SETS_VERSION",
    "TRIVIAL_VERSION",
    "WORDS_VERSION",
    "ChoiceRead",
    "Mention",
    "Named",
    "Normaliser",
    "NumberFormat",
    "NumberRead",
    "OptionText",
    "Quote",
    "SetComparison",
    "SetOutcome",
    "Tier",
    "Word",
    "check_pattern",
    "choice",
    "clashing",
    "compare_sets",
    "find_choice",
    "find_numbers",
    "find_phrases",
    "find_quote",
    "formulas",
    "has_words",
    "label",
    "marks_fit",
    "matches",
    "near",
    "normaliser",
    "number",
    "pattern_spans",
    "read_choice",
    "read_number",
    "same_json",
    "text",
    "too_short",
    "unfence",
    "weight",
    "whole_of",
    "without_space",
    "words",
]
