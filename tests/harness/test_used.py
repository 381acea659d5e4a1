"""What each request of a run used: looked for in that run alone, however many others the ledger holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness._used import used_requests
from ledger import Ledger, as_of, over_views
from tests.harness.reported import copied


@pytest.mark.parametrize("then", [False, True], ids=["now", "as of an event"])
def test_the_requests_of_one_run_are_read_by_that_run_and_not_by_their_kind(tmp_path: Path, then: bool) -> None:
    plans: list[str] = []
    with Ledger.open(copied(tmp_path), read_only=True) as ledger:
        (run,) = [row["run"] for row in ledger.rows("SELECT run FROM runs")]
        given = as_of(ledger.head()[0]) if then else None

        def rows(query: str, parameters: Sequence[Any]) -> list[dict[str, Any]]:
            asked = over_views(query, given)
            plans.extend(row[3] for row in ledger.sql(f"EXPLAIN QUERY PLAN {asked}", parameters))
            return ledger.rows(asked, parameters)

        found = used_requests(rows, run)
        expected = [event.seq for event in ledger.events(kind="request", run=run)]
    assert [each.request for each in found] == expected != []
    assert not [step for step in plans if "events_by_kind" in step or (step.startswith("SCAN ") and "events" in step)]
    assert any("events_by_run (run=? AND kind=?)" in step for step in plans)
