"""The two command lines, called in this process on one ledger."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from harness.cli import app
from ledger import Ledger, verify
from ledger.cli import run_app

__all__ = ["Commands"]


class Commands:
    """`said` is what the last command wrote on stderr."""

    def __init__(self, db: Path) -> None:
        self.db = db
        self.out = self.said = ""

    def call(self, *arguments: str) -> int:
        """Call `harness`; returns its exit status."""
        out, said = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(said):
            status = run_app(app, "harness", [*arguments, "--db", str(self.db)])
        self.out, self.said = out.getvalue(), said.getvalue()
        return status

    def json(self, *arguments: str) -> Any:
        """What `harness … --json` says; it must end well."""
        status = self.call(*arguments, "--json")
        assert status == 0, (arguments, status, self.said)
        return json.loads(self.out)

    def ledger(self) -> Ledger:
        return Ledger.open(self.db, read_only=True)

    def verdict(self) -> str:
        return verify(self.db).verdict

    def label(self, run: str, engine: str, rules: str) -> str:
        """The label under which a rule set was applied to a run."""
        rows = self.json("report", f"{run}/{engine}")["scoreboard"]
        (found,) = {row["rules"] for row in rows if row["rules"].startswith(f"{rules}@")}
        return found

    @staticmethod
    def figures(report: Any, rules: str, engine: str) -> dict[str, int]:
        """The figures of one rule set out of a report, under the names that the other project's summary has."""
        rows = {row["metric"]: row for row in report["scoreboard"] if row["rules"].startswith(f"{rules}@")}
        assert {row["candidate"] for row in rows.values()} == {engine}
        assert all(row["unmeasured"] == 0 for row in rows.values())
        positives, negatives = rows["exact"], rows["negative_pass"]
        return {
            "planned": positives["planned"] + negatives["planned"],
            "measured": positives["n"] + negatives["n"],
            "positives": positives["n"],
            "negatives": negatives["n"],
            **{name: rows[name]["k"] or 0 for name in
               ("exact", "direction", "negative_pass", "false_fire", "false_fire_without_confirmer")},
        }  # fmt: skip
