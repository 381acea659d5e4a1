"""Suites of judging: how a manifest of criteria, texts and arms is made into cases, a prompt and whole rule files.

None of it is part of a rule set's digest: what is made is frozen, and the digests cover that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.rubrics._names import PAIR
from harness.suites._companion import Companion, Made, Record, StudyTable

if TYPE_CHECKING:
    from harness._suite import Suite

__all__ = ["PAIR", "PAIRWISE", "RUBRIC", "pair_suite"]


def _make(folder: Path, manifest: Mapping[str, Any]) -> Made:
    from harness.rubrics._make import make

    return make(folder, manifest)


def _remake(folder: Path, manifest: Mapping[str, Any], file: bytes) -> bytes:
    from harness.rubrics._make import remake

    return remake(folder, manifest, file)


def pair_suite(suite: Suite, cases: bytes = b"") -> Suite:
    """The suite of choosing that belongs to a suite of grading; `cases` is its fixture. Raises SuiteError."""
    from harness.rubrics._pair import pair_suite

    return pair_suite(suite, cases)


def _remake_pair(folder: Path, manifest: Mapping[str, Any], file: bytes) -> bytes:
    from harness.rubrics._pair import remake_pair

    return remake_pair(folder, manifest, file)


def _pairs(records: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    from harness._pair_outcomes import pair_tables

    return pair_tables(records)


def _pairs_apart(a: Sequence[Record], b: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    from harness._pair_contrast import pair_contrast

    return pair_contrast(a, b)


def _prompt(folder: Path, manifest: Mapping[str, Any], name: str) -> bytes:
    from harness.rubrics._make import prompt

    return prompt(folder, manifest, name)


def _study(records: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    from harness.rubrics._study import study

    return study(records, rules)


def _contrast(a: Sequence[Record], b: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    from harness.rubrics._contrast import contrast

    return contrast(a, b, rules)


RUBRIC = Companion(make=_make, remake=_remake, prompt=_prompt, study=_study, contrast=_contrast)
"""Of the stages `rubric`: a text is graded against criteria."""

PAIRWISE = Companion(remake=_remake_pair, study=_pairs, contrast=_pairs_apart)
"""Of the stages `pairwise`: which of two texts is the better one."""
