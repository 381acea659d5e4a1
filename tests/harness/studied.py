"""A companion that counts what it is given, for suites that have none of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.suites._companion import Column, Companion, Record, StudyTable

__all__ = ["COMPANION", "HOSTILE", "SEEN"]

HOSTILE = "<script>alert(1)</script> | `x` \u202e"
SEEN: list[tuple[Record, ...]] = []
"""The records of every study that was asked for, newest last."""


def _study(records: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    SEEN.append(tuple(records))
    right = sum(each.outcome == "correct" for each in records)
    columns = (Column("what"), Column("k", "count"), Column("share", "percent"), Column("value", "decimal"))
    table = StudyTable(
        "Rightness", f"Of {len(records)} cells.", columns,
        (("right", right, right / len(records), 0.5), (HOSTILE, len(rules["metrics"]), None, None)),
        ("It says nothing else.",), ("one in 2 wobbles",) if right else (),
    )  # fmt: skip
    return (table,)


def _contrast(a: Sequence[Record], b: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    columns = (Column("side"), Column("cells", "count"))
    return (StudyTable("Sides", "How many cells.", columns, (("A", len(a)), ("B", len(b)))),)


COMPANION = Companion(study=_study, contrast=_contrast)
