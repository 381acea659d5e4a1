"""One run, several scorers: what was recorded once is scored by each, and every flip names the switch behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness._candidate import Candidate
from harness._errors import SuiteError
from harness._flips import flips_between
from harness._freeze import freeze_suite
from harness._plan import plan_run
from harness._rescore import check_scorable, rescore_run
from harness._rules import RuleSet
from harness._rules_diff import diff_rules, switches
from harness._suite import load_suite
from harness._thaw import thaw_rules
from ledger import Ledger, new_run_id, verify
from tests.harness.answered import Answered, answer, close
from tests.harness.suites.manifest.asked import rules_of

EXACT = 'scorer = "exact"'
NUMBERS = [("a", 5), ("b", 6), ("c", 7)]
CASES = [("a", "5"), ("b", "Paris"), ("c", ["7", "seven"])]
REPLIES = ["5.0", "So:\n**Answer:** Paris", "7"]


def manifest_run(
    ledger: Ledger, folder: Path, rules: RuleSet, replies: Sequence[object] = REPLIES, cases: object = CASES,
    asked: str = "?",
) -> Answered:  # fmt: skip
    (folder / "qa" / "v0").mkdir(parents=True)
    (folder / "qa" / "suite.toml").write_text('name = "qa"\nstages = "manifest"\nask = "text"\n')
    lines = [json.dumps({"id": name, "input": asked, "gold": gold}) for name, gold in cases]  # type: ignore[attr-defined]
    (folder / "qa" / "v0" / "cases.jsonl").write_text("\n".join(lines) + "\n")
    suite, fixtures = load_suite("qa", folder)
    candidate = Candidate("openai/m", "openai", "m", {}).with_prompt(suite.prompt_file)
    frozen = freeze_suite(ledger, suite, fixtures, [rules])
    run = new_run_id()
    planned = plan_run(
        ledger, run, suite=suite, fixtures=fixtures, rules=[rules], candidates=[candidate], frozen=frozen, epochs=1,
        limit=None, via="live",
    )  # fmt: skip
    made = Answered(run, suite, [rules], frozen, planned, {rules.label: {}})
    for cell, reply in enumerate(replies, start=1):
        answer(ledger, made, cell, reply)
    close(ledger, made)
    return made


def flips(
    ledger: Ledger, folder: Path, old: str, new: str, replies: Sequence[object] = REPLIES, *, cases: object = CASES,
    read: str = "", asked: str = "?",
) -> dict[tuple[int, str], str]:  # fmt: skip
    """The stage that every flip is put down to, by cell and metric: of a dry run, of a rescore, and of the ledger."""
    before, after = rules_of(old, name="old"), rules_of(new, read, name="new")
    made = manifest_run(ledger, folder, before, replies, cases, asked)
    dry = rescore_run(ledger, made.run, [after], dry_run=True)
    done = rescore_run(ledger, made.run, [after])
    assert dry.flips == done.flips
    assert list(done.flips) == flips_between(ledger, made.run, before.label, after.label)
    assert verify(ledger.path).verdict == "CONSISTENT"
    return {(flip.cell, flip.metric): flip.stage for flip in done.flips}


def test_another_normaliser_is_a_switch_of_scoring(ledger: Ledger, tmp_path: Path) -> None:
    found = flips(ledger, tmp_path, EXACT, EXACT + '\nnormalise = "text"', ["5", "paris.", "Seven"])
    assert found == {(2, "correct"): "score: normalise", (3, "correct"): "score: normalise"}


def test_another_place_of_the_answer_is_a_switch_of_parsing(ledger: Ledger, tmp_path: Path) -> None:
    after = EXACT + '\nat = "after"\nmarker = "Answer:"'
    found = flips(ledger, tmp_path, EXACT, after)
    assert found[2, "correct"] == "parse: score.at + score.marker"


def test_another_scorer_is_one_switch_whatever_its_options(ledger: Ledger, tmp_path: Path) -> None:
    found = flips(ledger, tmp_path, EXACT, 'scorer = "includes"')
    assert found == {(2, "correct"): "score: scorer"}


def test_a_leniency_of_reading_and_a_normaliser_are_put_down_to_each_in_their_order(
    ledger: Ledger, tmp_path: Path
) -> None:
    after = EXACT + '\nnormalise = "number"'
    found = flips(
        ledger, tmp_path, EXACT, after, ["<think>5</think>5.0", "6", "8"], cases=NUMBERS, read="reasoning = true"
    )
    assert found[1, "correct"] == "parse: reasoning, then score: normalise"


def test_a_scorer_with_other_metrics_moves_outcomes(ledger: Ledger, tmp_path: Path) -> None:
    found = flips(ledger, tmp_path, EXACT, 'scorer = "f1"\nsplit = "commas"', ["5", "Paris, Rome", "Rome"])
    assert found == dict.fromkeys([(1, "outcome"), (2, "outcome"), (3, "outcome")], "score: scorer")


def test_a_tolerance_alone_is_named(ledger: Ledger, tmp_path: Path) -> None:
    new = 'scorer = "number"\ntolerance = 0.5\nunits = ["kg"]'
    found = flips(ledger, tmp_path, 'scorer = "number"', new, ["5.2", "6 kg", "9"], cases=NUMBERS)
    assert found == {(1, "correct"): "score: tolerance", (2, "correct"): "parse: score.units"}


def test_labels_make_a_tie_of_a_hit(ledger: Ledger, tmp_path: Path) -> None:
    new = 'scorer = "includes"\nlabels = ["yes", "no"]'
    cases = [("a", "yes"), ("b", "no"), ("c", "no")]
    found = flips(ledger, tmp_path, 'scorer = "includes"', new, ["yes or no", "no", "yes"], cases=cases)
    assert found == {(1, "correct"): "parse: score.labels"}


def test_a_tier_that_is_not_accepted_any_more_is_a_switch_of_confirming(ledger: Ledger, tmp_path: Path) -> None:
    quote = 'scorer = "quote"\nsource = "input"'
    cases = [("a", None), ("b", None), ("c", None)]
    found = flips(
        ledger, tmp_path, quote, quote + '\naccept = ["exact"]', ["?", "a b", "?"], cases=cases, asked="a  b?"
    )
    assert found == {(2, "verbatim"): "confirm: score.accept"}


def test_rules_that_cannot_score_a_frozen_case_are_refused_before_anything_is_written(
    ledger: Ledger, tmp_path: Path
) -> None:
    made = manifest_run(ledger, tmp_path, rules_of(EXACT))
    number = rules_of('scorer = "number"', name="number")
    last = ledger.head()
    for attempt in (
        lambda: rescore_run(ledger, made.run, [number]),
        lambda: check_scorable(ledger, made.run, [number]),
    ):
        with pytest.raises(
            SuiteError, match=r"fixture v0, line 2: case 'b' can't be scored under number: gold: "
        ) as caught:
            attempt()
        assert caught.value.exit_status == 2
    assert ledger.head() == last


def test_a_frozen_rule_set_of_a_manifest_suite_comes_back_as_it_was(ledger: Ledger, tmp_path: Path) -> None:
    rules = rules_of('scorer = "number"\ntolerance = 0.5', name="near")
    made = manifest_run(ledger, tmp_path, rules, ["5", "6", "7"], NUMBERS)
    again = thaw_rules(ledger, made.frozen.rules[rules.label])
    assert (again.label, again.stages, dict(again.score)) == (rules.label, "manifest", dict(rules.score))


def test_every_option_in_force_is_a_switch_of_its_own() -> None:
    a = rules_of('scorer = "json"\nfields = { city = "label", year = "number" }')
    b = rules_of('scorer = "json"\nfields = { city = "text", year = "number" }', name="b")
    assert switches(a)["score.fields.city"] == "label/2"
    assert [each.switch for each in diff_rules(a, b).switches] == ["score.fields.city"]
    found = switches(rules_of('scorer = "number"\nunits = ["kg"]\ntolerance = 0.50'))
    assert (found["score.scorer"], found["score.units"], found["score.tolerance"]) == ("number/2", ["kg"], "0.5")
    assert found["score.thousands"] == ""
