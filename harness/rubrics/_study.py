"""What a report says of a judge beside its figures: the arms apart, its own claims, and the security channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.judging import Rubric
from harness.rubrics._arms_told import calibration, epochs, live, repeatability
from harness.rubrics._attacks_told import injection, poisoning
from harness.rubrics._judge_told import blocked, channel, claims, detectors, totals
from harness.rubrics._seen import see
from harness.suites._companion import Record, StudyTable

__all__ = ["study"]


def study(records: Sequence[Record], rules: Mapping[str, Any]) -> tuple[StudyTable, ...]:
    """The tables of one judge's cells under one rule set; an arm without a cell has none."""
    rubric = Rubric.of_rules(rules)
    seen = [see(each, rubric) for each in records]
    return (
        *calibration(seen, rubric), *injection(seen), *poisoning(seen), *repeatability(seen, rubric), *live(seen),
        *epochs(seen, rubric), *claims(seen, rubric), *blocked(seen), *channel(seen, rubric), *detectors(seen, rubric),
        *totals(seen, rubric),
    )  # fmt: skip
