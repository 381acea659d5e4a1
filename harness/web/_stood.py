"""The plan of a run and what goes with it: its candidates, the reports of it, and what it may be held against."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from harness._prices import price_text
from ledger import Ledger, over_views

__all__ = ["comparisons", "newest_of_suite", "plan_candidates", "reports_of"]

Row = Mapping[str, Any]
_QUERIES = files("harness.web") / "queries"
_REPORTS = (_QUERIES / "reports.sql").read_text("utf-8")
_OTHERS = (_QUERIES / "others.sql").read_text("utf-8")
_MOST_OTHERS = 8
_MOST_PAIRS = 12


def plan_candidates(plan: Row) -> Sequence[Row]:
    """The plan's candidates; parameters and what the server told as text, the price in words."""
    return [
        {
            **each, "parameters": json.dumps(each["parameters"], ensure_ascii=False, sort_keys=True),
            "server": [f"{name} {value}" for name, value in sorted(each.get("server", {}).items())],
            "price": price_text(each.get("price", {})),
        }
        for each in plan["candidates"]
    ]  # fmt: skip


def reports_of(ledger: Ledger, run: str) -> Sequence[Row]:
    """The reports that were written of the run, oldest first, with whom they were published to."""
    return [
        {**row, "published_to": ["(withheld)" if each is None else each for each in json.loads(row["published_to"])]}
        for row in ledger.rows(over_views(_REPORTS), (run,))
    ]


def newest_of_suite(ledger: Ledger, run: str, suite: str) -> Sequence[Row]:
    """The newest other evaluations of the suite: run, name and when it opened."""
    return ledger.rows(_OTHERS, (run, suite, _MOST_OTHERS))


def comparisons(run: str, candidates: Sequence[str], rules: Sequence[str]) -> Sequence[tuple[str, str, Row]]:
    """What of this run may be held against each other: two names, and the question of the comparison."""
    sides = [f"{run}@{label}" for label in candidates] if len(candidates) > 1 else [run]
    pairs = [
        (one, other, {"a": sides[0], "b": sides[0], "rules": [one, other]})
        for at, one in enumerate(rules) for other in rules[at + 1 :]
    ]  # fmt: skip
    pairs += [
        (one, other, {"a": f"{run}@{one}", "b": f"{run}@{other}"})
        for at, one in enumerate(candidates) for other in candidates[at + 1 :]
    ]  # fmt: skip
    return pairs[:_MOST_PAIRS]
