"""Values read off a rendered terminal are scored only where a rule set says so, and are shown apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.harness.models import Answer, model_server
from tests.harness.test_run import ROOT, figures, harness, perfect


def test_a_terminal_is_rendered_only_under_rules_that_say_so_and_the_report_shows_what_was_salvaged(
    tmp_path: Path,
) -> None:
    suite, db = tmp_path / "authority", tmp_path / "ledger.db"
    shutil.copytree(ROOT / "fixtures/authority", suite)
    strict = (suite / "rules/strict-cite.toml").read_text("utf-8")
    (suite / "rules/render-cite.toml").write_text(strict.replace("[read]\n", '[read]\nterminal = "render"\n'), "utf-8")

    def spoilt(prompt: str) -> Answer:
        # A terminal client corrects itself: two letters too many, back over them, erase, go on.
        return Answer(perfect(prompt).replace('"proposals"', '"propoxx\x1b[2D\x1b[Ksals"'))

    with model_server(spoilt) as server:
        done = harness(
            "run", f"{suite}/v0", "--engine", "ollama/m", "--base-url", server.url, "--rules", "strict-cite", "--rules",
            "render-cite", "--db", str(db),
        )  # fmt: skip
    report = harness("report", done["run"], "--db", str(db))
    assert figures(report, "exact", "strict-cite") == (0, 0, 4)
    assert {(row["reason"], row["count"]) for row in report["unmeasured"]} == {("terminal_control_bytes", 6)}
    assert figures(report, "exact", "render-cite") == (4, 4, 4)
    salvaged = [row for row in report["flags"] if row["flag"] == "salvaged"]
    assert [(row["rules"].split("@")[0], row["count"]) for row in salvaged] == [("render-cite", 6)]
    assert json.dumps(report)
