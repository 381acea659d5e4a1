"""Two targets held against each other by what one judge gave them; another judge is another measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness._compare import Compared, compare
from harness._fingerprint import fingerprints, freeze_of
from harness._gate import gate
from harness._gate_named import read_margin
from harness._grade import GradeJob, grade_job
from harness._job import Job
from harness._judged import judged_file, read_judge, without_run
from harness._replay_check import check_run
from harness._rules_diff import switches
from harness._run import SilentProgress
from harness._thaw import thaw_rules
from ledger import Ledger
from tests.harness.judged import Bench, judge
from tests.harness.models import Answer, model_server

WHOSE: dict[str, Any] = {
    "suite": "e", "rules": "r@1", "candidate": "openai/m", "digest": "d", "models": ["m-1"], "run": "x",
}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_same_judge_in_two_runs_of_its_own_is_one_measure() -> None:
    first, second = (judged_file(b"[read]\n", {**WHOSE, "run": run}) for run in ("x", "y"))
    assert first != second
    assert without_run(first) == without_run(second)
    assert without_run(first) != without_run(judged_file(b"[read]\n", {**WHOSE, "models": ["m-2"]}))
    assert without_run(b"[read]\n") is None


def test_two_judges_asked_at_once_join_as_two_rule_sets_that_differ_in_whose_they_are(bench: Bench) -> None:
    run = bench.run(limit=1)
    with model_server(judge()) as server:
        asking = Job(str(bench.folder / "essays"), ["openai/one", "openai/two"], [server.openai])
        done = grade_job(GradeJob(run, asking), bench.db, SilentProgress())
    assert [each.candidate for each in done.joined] == ["openai/one", "openai/two"]
    with bench.ledger() as ledger:
        first, second = (
            switches(thaw_rules(ledger, freeze_of(ledger, run, each.label))) for each in done.joined
        )  # fmt: skip
    assert {name for name in first if first[name] != second[name]} == {"judge.candidate", "judge.digest"}


def test_two_runs_that_one_judge_graded_are_comparable_under_it_and_under_two_judges_they_are_not(bench: Bench) -> None:
    def sunny(prompt: str) -> Answer:
        return Answer("It falls, children.")

    ours, theirs = bench.run(sunny, "small"), bench.run(sunny, "large")
    a, b, other = bench.grade(ours), bench.grade(theirs, judge(0, 0)), bench.grade(theirs, model="other")
    left, right, strange = (done.joined[0].label for done in (a, b, other))
    with bench.ledger() as ledger:
        same = [fingerprints(ledger, run, label, name).comparable
                for run, label, name in ((ours, left, "openai/small"), (theirs, right, "openai/large"))]  # fmt: skip
        assert same[0] == same[1]
        assert same[0] != fingerprints(ledger, theirs, strange, "openai/large").comparable
        (pair,) = compare(ledger, ours, theirs, rules=["essays.openai-inspector"]).pairs
        assert pair.shown
        assert {row["metric"] for row in pair.as_json()["metrics"]} >= {"score", "readable"}
        assert pair.study == (), "no text was graded by both sides"


def test_two_targets_of_one_run_that_one_judge_graded_are_no_two_judges_and_two_judges_of_one_target_are(
    bench: Bench,
) -> None:
    run = bench.run(lambda _: Answer("It falls, children."), "small", "large", limit=2)
    first = bench.grade(run).joined[0].label
    other = bench.grade(run, judge(0, 0), model="other").joined[0].label
    with bench.ledger() as ledger:
        (targets,) = compare(ledger, f"{run}@openai/small", f"{run}@openai/large", rules=[first]).pairs
        (judges,) = compare(ledger, f"{run}@openai/small", f"{run}@openai/small", rules=[first, other]).pairs
    assert targets.shown and targets.metrics and targets.study == ()
    assert [each.title for each in judges.study][::2] == ["Agreement of the two judges", "Where the two judges part"]
    assert judges.study[0].rows[0][1:3] == (0, 2)


def sunny(prompt: str) -> Answer:
    return Answer("It falls, children.")


def one(ledger: Ledger, *sides: str, rules: str) -> Compared:
    (pair,) = compare(ledger, *sides, rules=rules.split()).pairs
    return pair


def test_grades_given_blind_and_beside_the_gold_are_two_measures(bench: Bench) -> None:
    ours, theirs = bench.run(sunny, "small"), bench.run(sunny, "large")
    blind, shown = bench.grade(ours), bench.grade(theirs, reference=True)
    name = "essays.openai-inspector"
    with bench.ledger() as ledger:
        pair = one(ledger, ours, theirs, rules=name)
        assert not pair.shown
        assert [(each.component, each.before, each.after) for each in pair.comparability.moved] == [
            ("reference", "none", "gold")
        ]
        assert "both with --reference-gold or both without" in pair.comparability.mend[0]
        assert gate(ledger, ours, theirs, read_margin("90pp"), rules=[name]).exit_status == 4
        judges = one(ledger, blind.finished.run, shown.finished.run, rules="judge").comparability
        assert "cases" in {each.component for each in judges.moved}, "the judge's own runs asked other things"
    beside = bench.grade(ours, reference=True)
    with bench.ledger() as ledger:
        labels = [each.joined[0].label for each in (blind, beside)]
        within = one(ledger, ours, rules=" ".join(labels))
        assert within.warnings[-1].startswith("B's judge was shown each case's gold as a reference and A's graded")
        assert [check_run(ledger, ours, label).ok for label in labels] == [True, True]


def test_a_rule_set_from_before_says_nothing_of_a_reference_and_another_word_than_gold_is_refused() -> None:
    assert "reference" not in read_judge({**WHOSE})
    assert judged_file(b"", WHOSE) == judged_file(b"", {**WHOSE, "reference": ""})
    assert b'reference = "gold"\n' in judged_file(b"", {**WHOSE, "reference": "gold"})
    with pytest.raises(ValueError, match="reference: expected 'gold', or nothing, got 'oracle'"):
        read_judge({**WHOSE, "reference": "oracle"})
