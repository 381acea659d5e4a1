"""A run's primary figures, for the first page of a ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from harness._answer_marks import mark_words
from harness._clusters import clustered_intervals
from harness._contradicted import held_words
from harness._errors import HarnessError
from harness._report_data import lead
from ledger import Ledger, over_views, printable
from ledger.web import Headline, View, cli

__all__ = ["headlines"]

_PLAN = "SELECT body ->> '$.epochs', body ->> '$.purpose' FROM main.events WHERE run = ? AND kind = 'plan'"
# In the order of the whole scoreboard, which is the order of the report's.
_BOARD = (
    "SELECT candidate, rules, metric, kind, is_primary, k, n, rate, low, high, held, held_why, marks"
    " FROM scoreboard WHERE run = ?"
)


def headlines(view: View, run: str) -> Sequence[Headline]:
    """The primary metrics' figures under every rule set, by candidate; nothing for a probe, which has none.

    Raises HarnessError where somebody changed what they rest on so that nothing can be worked out.
    """
    source = cli("harness", "report", run)
    found: list[Headline] = []
    try:
        rows = _rows(run, view.ledger)
    except (TypeError, ValueError, LookupError, ArithmeticError, sqlite3.Error) as problem:
        raise HarnessError(
            f"the figures can't be worked out of what stands in the file ({problem}); `ledger verify` says more"
        ) from None
    for at, row in rows:
        place = f"/scoreboard/{at}"
        found.append(
            Headline(
                row["candidate"], row["rules"], row["metric"], source.at(f"{place}/k", row["k"]),
                source.at(f"{place}/n", row["n"]), source.at(f"{place}/rate", row["rate"], "percent"),
                source.at(f"{place}/interval_low", row["interval_low"], "percent"),
                source.at(f"{place}/interval_high", row["interval_high"], "percent"),
                "; ".join(filter(None, (held_words(row), printable(mark_words(row))))),
            )
        )  # fmt: skip
    return found


def _rows(run: str, ledger: Ledger) -> Sequence[tuple[int, dict[str, Any]]]:
    found = ledger.sql(_PLAN, (run,)).fetchone()
    if found is None or found[1] == "probe":
        return []
    epochs = int(found[0])
    board = ledger.rows(over_views(_BOARD), (run,))
    shown = [(at, row) for at, row in enumerate(board) if row["is_primary"]]
    intervals = clustered_intervals(
        lambda query, given=(): ledger.rows(over_views(query), given), run, [row for _, row in shown], epochs=epochs
    )  # fmt: skip
    for _, row in shown:
        lead(row, intervals, clustered=epochs > 1)
    return shown
