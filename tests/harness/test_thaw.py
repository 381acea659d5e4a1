"""What a run stood on comes back out of its ledger, whatever became of the files."""

import shutil
from pathlib import Path

import pytest

from harness._errors import RefusedError
from harness._rules import load_rules
from harness._suite import load_suite
from harness._thaw import thaw_cases, thaw_rules
from ledger import Ledger
from ledger.kinds import Plan
from tests.harness.experiments import Experiment
from tests.harness.models import Answer, model_server
from tests.harness.test_run import perfect


def test_cases_rules_and_stages_come_back_when_the_folder_is_gone(tmp_path: Path) -> None:
    lab = Experiment(tmp_path)
    with model_server(lambda prompt: Answer(perfect(prompt))) as server:
        run = lab.run(server)["run"]
    suite, fixtures = load_suite(f"{lab.suite}/v0")
    rules = {name: load_rules(suite, name) for name in suite.rule_names}
    shutil.rmtree(lab.suite)
    with Ledger.open(lab.db, read_only=True) as ledger:
        plan = ledger.body(next(ledger.events(kind="plan", run=run)))
        assert isinstance(plan, Plan)
        assert list(thaw_cases(ledger, plan).items()) == [
            ((fixture.name, case.id), case) for fixture in fixtures for case in fixture.cases
        ]
        for each in plan.rules:
            thawed = thaw_rules(ledger, each.freeze)
            assert (thawed.label, thawed.stages) == (each.label, "authority")
            assert thawed.file == rules[each.name].file
            assert (thawed.read, thawed.confirm, thawed.score) == (
                rules[each.name].read, rules[each.name].confirm, rules[each.name].score)  # fmt: skip


def test_what_is_no_freeze_of_rules_is_refused(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger, pytest.raises(RefusedError):
        thaw_rules(ledger, 1)
