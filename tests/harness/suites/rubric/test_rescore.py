"""A judge's answers under other rules: another policy is a rescore; another wording of the rubric has to be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness._candidate import Candidate
from harness._errors import RefusedError, SuiteError
from harness._fit import check_fit
from harness._freeze import freeze_suite
from harness._plan import plan_run
from harness._rescore import check_scorable, rescore_run
from harness._rules import RuleSet, load_rules
from harness._suite import Fixture, Suite, load_suite
from harness.cli import app
from ledger import Ledger, new_run_id, verify
from ledger.cli import run_app
from ledger.kinds import Plan
from tests.harness.answered import Answered, answer, close
from tests.harness.test_withheld import redact

MANIFEST = """
name = "letters"
about = "Letters."
stages = "rubric"
[[criteria]]
id = "clear"
name = "Clear"
description = "1 = one reading; 0 = several."
[[criteria]]
id = "short"
name = "Short"
description = "1 = one page; 0 = more."
[policy]
threshold = 0.5
[tasks.t]
text = "Write a letter."
[[fixtures]]
id = "L1"
task = "t"
label = "clear, and long"
text = "Dear all, it is thus. And so on."
oracle = { clear = 1, short = 0 }
[arms.calibration]
fixtures = ["L1"]
"""
REPLY = json.dumps({"clear": 1, "short": 0, "total": 2, "verdict": "pass"})


def suite_in(folder: Path, manifest: str = MANIFEST) -> tuple[Suite, tuple[Fixture, ...]]:
    (folder / "rules").mkdir(parents=True, exist_ok=True)
    (folder / "suite.toml").write_text(manifest, "utf-8")
    fenced = "[read]\nfence = true\n"
    (folder / "rules" / "first.toml").write_text(fenced, "utf-8")
    (folder / "rules" / "strict.toml").write_text(f"{fenced}[policy]\nall_at_least = 1\n", "utf-8")
    return load_suite(str(folder))


def answered(ledger: Ledger, suite: Suite, fixtures: tuple[Fixture, ...], rules: RuleSet) -> str:
    """A run of one judge, whose every reply is REPLY."""
    candidate = Candidate("openai/m", "openai", "m", {"temperature": 0}).with_prompt(suite.prompt_file)
    frozen, run = freeze_suite(ledger, suite, fixtures, [rules]), new_run_id()
    planned = plan_run(
        ledger, run, suite=suite, fixtures=fixtures, rules=[rules], candidates=[candidate], frozen=frozen, epochs=1,
        limit=None, via="live",
    )  # fmt: skip
    made = Answered(run, suite, [rules], frozen, planned, {rules.label: {}})
    for each in planned.measurements:
        answer(ledger, made, each.cell, REPLY)
    close(ledger, made)
    return run


def test_another_policy_is_a_rescore_and_another_wording_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    suite, fixtures = suite_in(tmp_path / "letters")
    run = answered(ledger, suite, fixtures, load_rules(suite, "first"))
    done = rescore_run(ledger, run, [load_rules(suite, "strict")])
    (moved,) = [each for each in done.figures if each.metric == "score"]
    assert moved.before == moved.after, "the score stands; the policy alone is another"
    verdicts = [json.loads(each.body or "")["verdict"] for each in ledger.events(kind="score", run=run)]
    assert verdicts == ["pass", "fail"]

    reworded, _ = suite_in(tmp_path / "letters", MANIFEST.replace("1 = one page", "1 = half a page"))
    other, head = load_rules(reworded, "first"), ledger.head()
    for refused in (lambda: rescore_run(ledger, run, [other]), lambda: check_scorable(ledger, run, [other])):
        with pytest.raises(RefusedError) as caught:
            refused()
        said = str(caught.value)
        assert said.startswith(f"run {run} can't be scored under {other.label}: the judge is shown another rubric (")
        assert said.endswith("; ask anew with `harness run`")
    assert ledger.head() == head, "nothing was written"
    assert verify(ledger.path).verdict == "CONSISTENT"


def test_the_command_ends_in_4_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "fixtures" / "letters"
    suite, fixtures = suite_in(folder)
    with Ledger.create(tmp_path / "ledger.db") as made:
        run = answered(made, suite, fixtures, load_rules(suite, "first"))
    suite_in(folder, MANIFEST.replace("[[criteria]]", '[[flags]]\nid = "f"\ndescription = "F."\n[[criteria]]', 1))
    capsys.readouterr()
    assert run_app(app, "harness", ["rescore", run, "--rules", "letters/first", "--db", "ledger.db"]) == 4
    assert "the judge is shown another rubric" in " ".join(capsys.readouterr().err.split())


def test_where_the_prompt_is_withheld_nobody_can_say(tmp_path: Path) -> None:
    suite, fixtures = suite_in(tmp_path / "letters")
    with Ledger.create(tmp_path / "ledger.db") as made:
        run = answered(made, suite, fixtures, load_rules(suite, "first"))
        plan = made.body(next(made.events(kind="plan", run=run)))
        assert isinstance(plan, Plan)
        (freeze,) = {each.prompt_freeze for each in plan.candidates}
    redact(tmp_path / "ledger.db", f"{freeze}:file")
    reworded, _ = suite_in(tmp_path / "letters", MANIFEST.replace("1 = one page", "1 = half a page"))
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        assert rescore_run(ledger, run, [load_rules(reworded, "first")]).appended > 0


def test_a_run_whose_prompt_is_of_another_rubric_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    suite, fixtures = suite_in(tmp_path / "letters")
    rules = [load_rules(suite, "first")]
    judge = Candidate("openai/m", "openai", "m", {}).with_prompt(suite.prompt_file)
    check_fit(suite, fixtures, rules, [judge])
    for prompt in (b"Grade: {{ text }}", b"{# rubric " + b"0" * 64 + suite.prompt_file[74:]):
        with pytest.raises(SuiteError, match="its answers can't be scored under first: the judge is shown a"):
            check_fit(suite, fixtures, rules, [judge.with_prompt(prompt)])
