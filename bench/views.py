"""What each view costs, for one run and whole, beside a bare count of the events: `python bench/views.py [EVENTS]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from _synthetic import make_ledger

from ledger import Ledger

ONE_RUN = (
    "runs", "run_rules", "run_metrics", "rule_standing", "scores", "attempts", "cells", "failures", "repeatability",
    "scoreboard", "usage",
)  # fmt: skip
WHOLE = ("runs", "scoreboard", "failures", "freezes", "usage")


def timed(ledger: Ledger, statement: str, *parameters: object) -> tuple[float, int]:
    best, count = float("inf"), 0
    for _ in range(3):
        start = time.perf_counter()
        count = len(ledger.rows(statement, parameters))
        best = min(best, time.perf_counter() - start)
    return best, count


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as folder, make_ledger(Path(folder) / "l.db", events) as ledger:
        seq, _ = ledger.head()
        run = ledger.rows("SELECT run FROM main.runs LIMIT 1")[0]["run"]
        scan, _ = timed(ledger, "SELECT count(*), sum(length(body)) FROM main.events NOT INDEXED")
        print(f"{seq} events; a bare scan of all bodies takes {1000 * scan:.0f} ms")
        for view in ONE_RUN:
            seconds, rows = timed(ledger, f"SELECT * FROM main.{view} WHERE run = ?", run)
            print(f"{view:12} one run   {1000 * seconds:9.1f} ms {rows:7} rows   {seconds / scan:6.2f} of a scan")
        for view in WHOLE:
            seconds, rows = timed(ledger, f"SELECT * FROM main.{view}")
            print(f"{view:12} whole     {1000 * seconds:9.1f} ms {rows:7} rows   {seconds / scan:6.2f} of a scan")


if __name__ == "__main__":
    main()
