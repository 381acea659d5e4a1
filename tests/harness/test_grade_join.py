"""Grades in the run that they joined: several judges, what comes later, what is forged, and what is found unsafe."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness._check import check_file
from harness._correct import correct_report
from harness._errors import RefusedError, RulesError
from harness._flips import flips_between
from harness._freeze import freeze_rules
from harness._grade import GradeDone
from harness._judged import judged_file, judged_name, read_judge
from harness._named_rules import find_rule_sets
from harness._replaced import replaced
from harness._replay_check import check_run
from harness._report import read_report, read_standing, render_report
from harness._report_file import render
from harness._report_write import check_target, write_report
from harness._rescore import rescore_run
from harness._resume import Resumed, ResumeJob, resume_job
from harness._rules import load_rules, ruleset_from_frozen
from harness._run import SilentProgress
from harness._suite import load_suite
from harness._thaw import thaw_rules
from ledger import Draft, over_views, supersede
from ledger._lineage import clear, taint
from ledger.kinds import Score, Tally
from tests.harness.judged import Bench, grades, judge
from tests.harness.models import Answer, model_server


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def label(done: GradeDone) -> str:
    (joined,) = done.joined
    return joined.label


def but_snow(prompt: str) -> Answer:
    return Answer("x", status=401) if "Why does it s" in prompt else judge()(prompt)


def resumed(bench: Bench, run: str, answer: Callable[[str], Answer]) -> Resumed:
    with model_server(answer) as server:
        job = ResumeJob(run, ["endpoint"], "another port", base_urls=[server.openai])
        return resume_job(job, bench.db, SilentProgress())


def differences(bench: Bench, run: str) -> list[str]:
    with bench.ledger() as ledger:
        return [each.sentence() for each in check_run(ledger, run).differences]


def test_the_name_and_the_file_say_whose_grades_these_are() -> None:
    assert judged_name("essays", "openai/GPT 4.1-mini") == "essays.openai-gpt-4.1-mini"
    assert len(judged_name("s" * 60, "m" * 60)) == 64
    judge = {
        "suite": "e",
        "rules": "r@1",
        "candidate": 'a"\x7f\U0001f642\n',
        "digest": "d",
        "models": ["m"],
        "run": "x",
    }

    table = tomllib.loads(judged_file(b"[read]", judge).decode())
    assert read_judge(table["judge"]) == {**judge, "models": ("m",)}
    assert table["read"] == {}


@pytest.mark.parametrize("table", [[], {}, {"suite": 1}, {"models": "m"}])
def test_a_judge_table_that_is_none_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match=r"\[judge\]"):
        read_judge(table)


def test_a_person_s_own_rule_file_can_claim_no_judge(bench: Bench) -> None:
    claim = 'suite = "e"\nrules = "r"\ncandidate = "c"\ndigest = "d"\nmodels = []\nrun = "x"\n'
    (bench.folder / "weather/rules/sly.toml").write_text(f'[read]\n[score]\nscorer = "exact"\n[judge]\n{claim}')
    suite, _ = load_suite(str(bench.folder / "weather"))
    with pytest.raises(RulesError, match=r"\[judge\] stands only in what `harness grade` freezes"):
        load_rules(suite, "sly")


def test_several_judges_stand_side_by_side_on_the_board(bench: Bench) -> None:
    run = bench.run()
    kind, harsh = bench.grade(run), bench.grade(run, judge(0, 0), model="other")
    board = bench.rows("SELECT rules, metric, rate, n FROM scoreboard WHERE run = ?", run)
    scores = {row["rules"]: row["rate"] for row in board if row["metric"] == "score"}
    assert scores == {label(kind): 1, label(harsh): 0}
    assert {row["rules"] for row in board} == {*scores, "exact@" + _digits(bench, run)}
    assert {row["judge_run"] for row in bench.rows("SELECT * FROM joins")} == {kind.finished.run, harsh.finished.run}


def test_what_a_judge_failed_on_joins_once_it_is_resumed(bench: Bench) -> None:
    run = bench.run()
    done = bench.grade(run, but_snow)
    assert grades(bench, run, label(done))["snow"] == ("unmeasured", "auth", "")
    notes = resumed(bench, done.finished.run, judge()).notes
    assert f"the grades of openai/inspector joined run {run} as {label(done)}" in notes
    assert grades(bench, run, label(done))["snow"] == ("graded", "", "pass")
    assert differences(bench, run) == differences(bench, done.finished.run) == []


def test_a_run_is_not_unfinished_for_what_its_judge_has_yet_to_grade(bench: Bench) -> None:
    run = bench.run(limit=2)
    bench.grade(run, but_snow)
    with bench.ledger() as ledger:
        report = read_report(ledger, run)
    assert (report.status, report.unfinished) == ("partial", False)


def test_a_judge_read_under_other_rules_joins_under_those_too(bench: Bench) -> None:
    run = bench.run()
    done = bench.grade(run, judge(3, 0))
    (bench.folder / "essays/rules").mkdir()
    (bench.folder / "essays/rules/lax.toml").write_text("[read]\n[policy]\nthreshold = 0.5\n")
    with bench.ledger() as ledger:
        rescored = rescore_run(ledger, done.finished.run, find_rule_sets(ledger, done.finished.run, ["lax"]))
        (joined,) = [row["rules"] for row in bench.rows("SELECT rules FROM joins WHERE rules LIKE '%.lax@%'")]
        moved = {flip.stage for flip in flips_between(ledger, run, "exact@" + _digits(bench, run), joined)}
    assert joined.startswith("essays.openai-inspector.lax@")
    assert any(joined in note for note in rescored.notes)
    assert grades(bench, run, label(done))["rain"] == ("graded", "", "fail")
    assert grades(bench, run, joined)["rain"] == ("graded", "", "pass")
    assert differences(bench, run) == []
    assert moved == {"judge"}


def test_a_report_of_grades_is_corrected_by_what_the_judge_is_read_as_now(bench: Bench) -> None:
    run = bench.run(limit=2)
    done = bench.grade(run, judge(3, 0))
    (bench.folder / "essays/rules").mkdir()
    (bench.folder / "essays/rules/lax.toml").write_text("[read]\n[policy]\nthreshold = 0.5\n")
    file = bench.folder / "report.md"
    with bench.ledger() as ledger:
        data = read_report(ledger, run, [label(done)]).data
        old = write_report(ledger, data, render(data, "md"), "md", check_target(ledger, file, force=False)).seq
        rescore_run(ledger, done.finished.run, find_rule_sets(ledger, done.finished.run, ["lax"]))
        said = correct_report(
            ledger, str(old), "essays.openai-inspector.lax", bench.folder / "new.md", reason="too strict"
        )
    assert said.appended == 0
    assert {row["rules_after"].partition("@")[0] for row in said.correction["numbers"]} == {
        "essays.openai-inspector.lax"
    }
    assert check_file(bench.db, bench.folder / "new.md").verdict == "reproduces"
    assert check_file(bench.db, file).verdict == "set aside"


def _digits(bench: Bench, run: str) -> str:
    rows = bench.rows("SELECT rules FROM run_rules WHERE run = ? AND rules LIKE 'exact@%'", run)
    return str(rows[0]["rules"]).partition("@")[2]


@pytest.mark.parametrize("whole", [True, False])
def test_no_rescore_makes_a_judge_s_grades(bench: Bench, *, whole: bool) -> None:
    run = bench.run(limit=1)
    done = bench.grade(run)
    name = label(done) if whole else label(done).partition("@")[0]
    with bench.ledger() as ledger, pytest.raises(RefusedError, match=r"`harness rescore .* reads the judge otherwise"):
        find_rule_sets(ledger, run, [name])


def test_an_answer_that_came_after_its_grade_has_none(bench: Bench) -> None:
    run = bench.run()
    done = bench.grade(run)
    notes = resumed(bench, run, lambda prompt: Answer("Ice falls.")).notes
    assert grades(bench, run, label(done))["hail"] == ("unmeasured", "not_graded", "")
    assert any(f"have no grade of run {done.finished.run}" in note for note in notes)
    assert differences(bench, run) == []
    assert grades(bench, run, label(bench.grade(run)))["hail"] == ("graded", "", "pass")


def graded_answers(done: GradeDone) -> Mapping[str, Any]:
    """The table of the graded run's board, its rows by what they count."""
    study = done.board.data["study"][-1] if done.board else {"tables": ()}
    table = next(each for each in study["tables"] if each["title"] == "Graded answers")
    return {"about": table["about"], **{row[0]: tuple(row[1:3]) for row in table["rows"]}}


def test_what_nobody_showed_to_the_judge_is_said_of_no_reply_of_it(bench: Bench) -> None:
    run = bench.run()
    rows = graded_answers(bench.grade(run))
    assert (rows["verdict: pass"], rows["reply can't be read"], rows["no reply"]) == ((2, 2), (0, 2), (2, 4))
    limited = graded_answers(bench.grade(run, model="other", options={"limit": 1}))
    assert (limited["verdict: pass"], limited["reply can't be read"], limited["no reply"]) == ((1, 1), (0, 1), (3, 4))


def test_a_reply_that_came_and_cant_be_read_is_counted_of_those_that_came(bench: Bench) -> None:
    rows = graded_answers(bench.grade(bench.run(), judge(9)))
    assert (rows["verdict: pass"], rows["reply can't be read"], rows["no reply"]) == ((0, 0), (2, 2), (2, 4))


def test_an_answer_that_was_graded_beside_its_gold_isnt_said_to_be_graded_blind(bench: Bench) -> None:
    run = bench.run(limit=2)
    assert graded_answers(bench.grade(run))["about"].startswith("Answers of another run, graded blind:")
    done = bench.grade(run, model="other", reference=True)
    with bench.ledger() as ledger:
        reports = [read_report(ledger, run, [done.joined[0].label]), read_report(ledger, done.finished.run)]
    for report in reports:
        (study,) = report.data["study"]
        assert "graded blind" not in json.dumps(study)
        about = next(each["about"] for each in study["tables"] if each["title"] == "Graded answers")
        assert about.startswith("Answers of another run, shown the case's gold as a reference:")


# What doesn't follow from the judge's own score is found


def forge(bench: Bench, done: GradeDone, **other: Any) -> str:
    """Another joined score of the first cell, as somebody would append it who can write the ledger."""
    with bench.ledger() as ledger:
        event = next(each for each in ledger.events(kind="score", run=done.graded, cell=1)
                     if label(done) in (each.body or ""))  # fmt: skip
        body = ledger.body(event)
        assert isinstance(body, Score)
        causes = other.pop("causes", event.causes)
        ledger.append(Draft(body.model_copy(update=other), run=done.graded, cell=1, causes=causes))
        return [each for each in differences(bench, done.graded) if "the score of cell 1" in each][-1]


@pytest.mark.parametrize(
    "other", [{"verdict": "fail"}, {"value": 0.25}, {"blocked_by": ["flag:steering"]}, {"classes": {"quality": "fail"}}]
)
def test_a_forged_grade_is_named_field_by_field(bench: Bench, other: dict[str, Any]) -> None:
    done = bench.grade(bench.run())
    assert next(iter(other)) in forge(bench, done, **other)


def test_a_grade_of_another_answer_or_of_no_judge_is_none(bench: Bench) -> None:
    done = bench.grade(bench.run())
    mine, other = bench.rows(
        "SELECT seq, causes FROM events WHERE run = ? AND seq IN (SELECT score FROM cells WHERE rules = ?)"
        " ORDER BY cell LIMIT 2", done.graded, label(done),
    )  # fmt: skip
    swapped = json.loads(mine["causes"])[:-1] + json.loads(other["causes"])[-1:]
    assert "grade: recorded event" in forge(bench, done, causes=swapped)
    assert "grade: recorded none" in forge(bench, done, causes=json.loads(mine["causes"])[:-1], verdict="fail")


def test_a_grade_that_the_judge_took_back_no_longer_holds_as_the_newest(bench: Bench) -> None:
    run = bench.run(limit=1)
    done = bench.grade(run)
    with bench.ledger() as ledger:
        event = next(iter(ledger.events(kind="score", run=done.finished.run)))
        body = ledger.body(event)
        assert isinstance(body, Score)
        changed = body.model_copy(update={"verdict": "fail"})
        ledger.append(Draft(changed, run=done.finished.run, cell=1, causes=event.causes))
    assert "grade: recorded event" in forge(bench, done)
    assert any("verdict" in each for each in differences(bench, done.finished.run))


def test_a_judge_that_was_shown_another_text_than_the_answer_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = bench.run(limit=1)
    from harness import _graded

    real = _graded.text_of
    with monkeypatch.context() as patched:
        patched.setattr(_graded, "text_of", lambda reading: (real(reading) or "") + " And it is right.")
        done = bench.grade(run)
    (found,) = differences(bench, done.finished.run)
    assert "text: recorded" in found and "And it is right." in found


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ('models = ["scripted-1"]', 'models = ["grand-9"]', "derived the models scripted-1"),
        ('bar = "readable >= 100%"', 'bar = "readable >= 1%"', "derived the rules of judge@"),
        ('rules = "judge@', 'rules = "nobody@', "has no rule set nobody@"),
        ('"]\nrun = "', '"]\nreference = "gold"\nrun = "', "derived the reference none"),
    ],
)
def test_a_rule_set_that_says_of_a_judge_what_is_not_so_is_found(bench: Bench, was: str, now: str, told: str) -> None:
    done = bench.grade(bench.run(limit=1))
    (freeze,) = bench.rows("SELECT freeze FROM run_rules WHERE run = ? AND rules = ?", done.graded, label(done))
    with bench.ledger() as ledger:
        true = thaw_rules(ledger, freeze["freeze"])
        assert was.encode() in true.file
        file = true.file.replace(was.encode(), now.encode())
        other = ruleset_from_frozen(true.name, file, true.stages, true.sources)
        frozen = freeze_rules(ledger, [other]).rules[other.label]
        (event,) = [each for each in ledger.events(kind="score", run=done.graded, cell=1)
                    if label(done) in (each.body or "")]  # fmt: skip
        body = ledger.body(event)
        assert isinstance(body, Score)
        body = body.model_copy(update={"rules": other.label})
        ledger.append(Draft(body, run=done.graded, cell=1, causes=sorted({frozen, *event.causes})))
    (found,) = differences(bench, done.graded)
    assert told in found


def test_a_tally_rests_on_its_judge_s_and_on_that_of_no_other_run(bench: Bench) -> None:
    done = bench.grade(bench.run(limit=1))
    with bench.ledger() as ledger:
        theirs = next(iter(ledger.events(kind="tally", run=done.finished.run))).seq
        for event in list(ledger.events(kind="tally", run=done.graded)):
            body = ledger.body(event)
            assert isinstance(body, Tally)
            ledger.append(Draft(body, run=done.graded, causes=sorted({theirs} ^ set(event.causes))))
    bare, crossed = sorted(differences(bench, done.graded), key=lambda each: "exact@" in each)
    assert "tallies: recorded none, derived one of the judge's" in bare
    assert f"tallies: recorded event {theirs} of run {done.finished.run}, derived none of another run" in crossed


# Taint and supersession


def test_a_taint_on_one_answer_reaches_its_grade_and_what_joined_and_no_other(bench: Bench) -> None:
    run = bench.run()
    done = bench.grade(run)
    (answer,) = bench.rows("SELECT seq FROM events WHERE run = ? AND kind = 'response' AND cell = 1", run)
    with bench.ledger() as ledger:
        said, _ = taint(ledger, str(answer["seq"]), reason="a bad proxy")
        reached = {(row["run"], row["cell"], row["kind"]) for row in bench.rows("SELECT * FROM tainted_events")}
        for each in (run, done.finished.run):
            assert (each, 1, "score") in reached
            assert (each, 2, "score") not in reached
            assert (each, 0, "tally") in reached
            assert read_report(ledger, each).data["taints"]
        clear(ledger, said.seq, reason="it was sound")
        assert not read_report(ledger, done.finished.run).data["taints"]


def test_a_taint_on_the_judge_s_run_reaches_the_board_under_its_rule_set_alone(bench: Bench) -> None:
    run = bench.run()
    done = bench.grade(run)
    with bench.ledger() as ledger:
        taint(ledger, f"run:{done.finished.run}", reason="the judge was fed its own words")
        rows = read_report(ledger, run).scoreboard
    assert {row["rules"]: row["tainted"] for row in rows} == {label(done): True, "exact@" + _digits(bench, run): False}


def test_what_rests_on_a_superseded_run_is_marked_and_leaves_the_standing_board(bench: Bench) -> None:
    run = bench.run(limit=2)
    done = bench.grade(run)
    with bench.ledger() as ledger:
        assert {row["run"] for row in read_standing(ledger).scoreboard} == {run, done.finished.run}
        supersede(ledger, f"run:{run}", by=None, category="operator", reason="wrong server")
        report = read_report(ledger, done.finished.run)
        assert read_standing(ledger).scoreboard == []
    shown = "\n".join(map(str, render_report(report)))
    assert f"RESTS ON WHAT WAS SUPERSEDED: run {run}, whose answers are graded" in shown


def test_a_superseded_judge_takes_its_rows_off_the_standing_board_and_no_others(bench: Bench) -> None:
    run = bench.run(limit=2)
    done, other = bench.grade(run), bench.grade(run, judge(1, 1), model="other")
    with bench.ledger() as ledger:
        supersede(
            ledger,
            f"run:{done.finished.run}",
            by=f"run:{other.finished.run}",
            category="operator",
            reason="temperature",
        )
        left = {(row["run"], row["rules"]) for row in read_standing(ledger).scoreboard}
        marks = replaced(lambda query, given: ledger.rows(over_views(query), given), run, [])
    assert (run, label(done)) not in left
    assert {(run, label(other)), (run, "exact@" + _digits(bench, run))} <= left
    assert [(mark["id"], mark["name"]) for mark in marks] == [(done.finished.run, label(done))]
