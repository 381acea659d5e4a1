"""A rule set that a rescore applied doesn't lag behind when the run is resumed."""

from pathlib import Path

from ledger import Ledger
from tests.harness.experiments import NO_ANSWER, Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect


def test_a_resume_scores_what_came_under_the_rule_sets_of_earlier_rescores_too(tmp_path: Path) -> None:
    lab, broken = Experiment(tmp_path), [True]

    def answer(prompt: str) -> Answer:
        return NO_ANSWER if broken[0] else Answer(perfect(prompt))

    with model_server(answer) as server:
        run = lab.run(server, "--rules", "strict-cite", expect=3)["run"]
        lab.harness("rescore", run, "--rules", "fence-span")
        broken[0] = False
        done = lab.resume("--base-url", server.url)
    assert any("fence-span" in note for note in done["notes"])
    with Ledger.open(lab.db, read_only=True) as ledger:
        board = ledger.rows("SELECT rules, n, planned FROM main.scoreboard WHERE run = ?", (run,))
        failures = ledger.rows("SELECT * FROM main.failures WHERE run = ?", (run,))
    assert {row["rules"].partition("@")[0] for row in board} == {"strict-cite", "fence-span"}
    assert all(row["n"] == row["planned"] for row in board)
    assert failures == []
