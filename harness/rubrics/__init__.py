"""Suites of judging: how a manifest of criteria, texts and arms is made into cases, a prompt and whole rule files.

None of it is part of a rule set's digest: what is made is frozen, and the digests cover that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.suites._companion import Companion, Made, Record, StudyTable

__all__ = ["PAIRWISE", "RUBRIC"]


def _make(folder: Path, manifest: Mapping[str, Any]) -> Made:
    from harness.rubrics._make import make

    return make(folder, manifest)


def _remake(folder: Path, manifest: Mapping[str, Any], file: bytes) -> bytes:
    from harness.rubrics._make import remake

    return remake(folder, manifest, file)


def _pairs(records: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    from harness._pair_outcomes import pair_tables

    return pair_tables(records)


RUBRIC = Companion(make=_make, remake=_remake)
"""Of the stages `rubric`: a text is graded against criteria."""

PAIRWISE = Companion(study=_pairs)
"""Of the stages `pairwise`: which of two texts is the better one."""
