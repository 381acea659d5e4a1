"""What is planned is what is asked: cells, identities, denominators; and two candidates of one name are refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from harness._candidate import Candidate
from harness._errors import UsageError
from harness._freeze import freeze_suite
from harness._plan import PlannedRun, code_digests, plan_run
from harness._rules import load_rules
from harness._suite import load_suite
from ledger import Ledger, Refused, new_run_id
from ledger.kinds import Cell, Plan

ROOT = Path(__file__).resolve().parents[2]
SUITE, FIXTURES = load_suite("authority", ROOT / "fixtures")
RULES = [load_rules(SUITE, name) for name in SUITE.rule_names]
ONE = Candidate("ollama/m", "ollama", "m", {"temperature": 0}).with_prompt(SUITE.prompt_file)


def plan(
    ledger: Ledger, *candidates: Candidate, run: str = "", epochs: int = 1, limit: int | None = None
) -> PlannedRun:
    frozen = freeze_suite(ledger, SUITE, FIXTURES, RULES)
    return plan_run(
        ledger, run or new_run_id(), suite=SUITE, fixtures=FIXTURES, rules=RULES, candidates=candidates, frozen=frozen,
        epochs=epochs, limit=limit, via="live",
    )  # fmt: skip


def test_every_case_epoch_and_candidate_is_one_cell_with_an_identity_of_its_own(ledger: Ledger) -> None:
    two = replace(ONE, label="ollama/n", model="n")
    planned = plan(ledger, ONE, two, epochs=3)
    assert len(planned.measurements) == 24 * 3 * 2
    assert [each.cell for each in planned.measurements] == list(range(1, 145))
    assert len({each.identity for each in planned.measurements}) == 144
    bodies = [ledger.body(event) for event in ledger.events(kind="cell", run=planned.run)]
    assert [body.identity for body in bodies if isinstance(body, Cell)] == [m.identity for m in planned.measurements]


def test_the_plan_counts_for_each_metric_the_cells_that_it_applies_to(ledger: Ledger) -> None:
    planned = plan(ledger, ONE, epochs=2)
    body = ledger.body(planned.plan)
    assert isinstance(body, Plan)
    counted = Counter({metric.name: metric.planned for metric in body.rules[0].metrics})
    negatives = ("negative_pass", "false_fire", "false_fire_without_confirmer")
    assert counted == {"exact": 32, "direction": 32, **dict.fromkeys(negatives, 16)}


@pytest.mark.parametrize(
    ("change", "value"),
    [("model", "other"), ("parameters", {"temperature": 0.0}), ("parameters", {"temperature": 0, "seed": 1}),
     ("stream", True), ("prompt", "another {{title}} {{items}}"), ("protocol", "openai")],
)  # fmt: skip
def test_whatever_decides_the_request_changes_every_identity(change: str, value: object, ledger: Ledger) -> None:
    before = {each.identity for each in plan(ledger, ONE).measurements}
    after = {each.identity for each in plan(ledger, replace(ONE, **{change: value})).measurements}
    assert not before & after


def test_the_address_and_the_label_change_no_identity(ledger: Ledger) -> None:
    moved = replace(ONE, base_url="http://127.0.0.1:1", label="ollama/renamed")
    before, after = plan(ledger, ONE), plan(ledger, moved)
    assert [each.identity for each in before.measurements] == [each.identity for each in after.measurements]


def test_two_candidates_of_one_name_are_refused_before_anything_is_planned(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="given twice"):
        plan(ledger, ONE, ONE)
    assert list(ledger.events(kind="plan")) == []


def test_a_run_has_one_plan(ledger: Ledger) -> None:
    planned = plan(ledger, ONE, limit=1)
    with pytest.raises(Refused, match="has its plan already"):
        plan(ledger, ONE, limit=1, run=planned.run)


def test_a_limit_that_leaves_nothing_out_is_no_limit(ledger: Ledger) -> None:
    assert plan(ledger, ONE, limit=3).partial
    assert not plan(ledger, ONE, limit=24).partial


def test_code_digests_cover_both_packages() -> None:
    assert set(code_digests()) == {"ledger", "harness"}
