"""People's labels stand beside a judge's grades; how far they agree follows from events, and says what it left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness._check import check_file
from harness._errors import RefusedError, UsageError
from harness._job import Job, run_job
from harness._labelled import Labelled, label_run
from harness._report import read_report
from harness._report_data import collect
from harness._report_file import render
from harness._report_write import check_target, write_report
from harness._run import SilentProgress
from ledger import Ledger, verify
from ledger._impact import impact_of
from ledger._lineage import taint
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.kinds import Import
from tests.harness.judged import JUDGE, Bench
from tests.harness.models import Answer, model_server

NAMES = ("rain", "snow", "fog", "hail")


def writer(prompt: str) -> Answer:
    """An answer to every question."""
    return Answer(f"Because of the {next(name for name in NAMES if name in prompt)}.")


def grader(vectors: Mapping[str, tuple[int, int] | str]) -> Callable[[str], Answer]:
    """A judge with its mind made up: scores by the question, or a text that is no grade."""

    def answer(prompt: str) -> Answer:
        found = vectors[next(name for name in NAMES if f"Because of the {name}" in prompt)]
        if isinstance(found, str):
            return Answer(found)
        return Answer(json.dumps({"sound": found[0], "plain": found[1], "flags": []}))

    return answer


GRADES = {"rain": (3, 1), "snow": (3, 1), "fog": (0, 0), "hail": (1, 0)}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def run(bench: Bench) -> str:
    found = bench.run(writer)
    bench.grade(found, grader(GRADES))
    return found


def label(bench: Bench, run: str, text: str, name: str = "human.csv") -> Labelled:
    path = bench.folder / name
    path.write_text(text, "utf-8")
    return label_run(run, path, bench.db)


def table(found: Labelled | Sequence[Mapping[str, Any]], title: str) -> list[dict[str, Any]]:
    """The rows of a table, by column."""
    tables = [each.as_json() for each in found.tables] if isinstance(found, Labelled) else found
    (one,) = [each for each in tables if each["title"] == title]
    return [dict(zip([column["name"] for column in one["columns"]], row, strict=True)) for row in one["rows"]]


def notes(found: Labelled, title: str) -> str:
    (one,) = [each for each in found.tables if each.title == title]
    return "\n".join(one.notes)


WITH_PEOPLE = "Agreement with people"


def test_verdicts_agree_by_kappa_and_criteria_by_weighted_kappa(bench: Bench, run: str) -> None:
    found = label(bench, run, "case,verdict,sound\nrain,pass,3\nsnow,fail,2\nfog,fail,0\nhail,fail,0\n")
    verdict, sound = table(found, WITH_PEOPLE)
    assert (verdict["on"], verdict["person"], verdict["n"], verdict["alike"]) == ("verdict", "human", 4, 3)
    assert verdict["kappa"] == pytest.approx(0.5), "(3/4 - 1/2) / (1 - 1/2)"
    assert verdict["low"] < verdict["share"] == 0.75 < verdict["high"]
    assert (sound["on"], sound["n"], sound["alike"]) == ("sound", 4, 2)
    # The judge said 3 3 0 1, the person 3 2 0 0: apart by 2 over 4 answers, and by 24 over all 16 pairings of the two.
    assert sound["kappa"] == pytest.approx(1 - (2 / 4) / (24 / 16))
    (crossed,) = table(found, "Verdicts of judges and people")
    assert (crossed["both pass"], crossed["only the judge passes"], crossed["neither passes"]) == (1, 1, 2)
    (apart,) = table(found, "Where judges and people differ")
    assert (apart["case"], apart["the judge says"], apart["the person says"]) == ("snow", "pass", "not pass")


def test_one_verdict_throughout_leaves_kappa_undefined_and_says_so(bench: Bench, run: str) -> None:
    found = label(bench, run, "case,verdict\nfog,fail\nhail,fail\n")
    (row,) = table(found, WITH_PEOPLE)
    assert (row["kappa"], row["kappa low"], row["n"], row["share"]) == (None, None, 2, 1.0)
    assert "Kappa is undefined where both gave one label throughout" in notes(found, WITH_PEOPLE)
    assert "NaN" not in json.dumps(found.as_json())


def test_what_the_judge_couldnt_grade_and_what_nobody_labelled_is_left_out_and_named(bench: Bench) -> None:
    run = bench.run(writer)
    bench.grade(run, grader({**GRADES, "snow": "I would say it is fine."}))
    found = label(bench, run, "case,verdict\nrain,pass\nsnow,pass\nfog,fail\n")
    (row,) = table(found, WITH_PEOPLE)
    assert (row["n"], row["alike"]) == (2, 2)
    (left,) = table(found, "Left out of: agreement with people")
    assert (left["only the judge"], left["only the person"]) == (1, 1)
    said = notes(found, "Left out of: agreement with people")
    assert "Nothing by essays.openai-inspector of cells 2 (no_json)." in said and "Nothing by human of cells 4." in said


def test_cells_that_are_left_out_are_told_as_ranges(bench: Bench, run: str) -> None:
    said = notes(label(bench, run, "case,verdict\nfog,fail\n"), "Left out of: agreement with people")
    assert said == "Nothing by human of cells 1–2, 4."


def test_a_blocked_text_is_one_that_doesnt_pass(bench: Bench) -> None:
    run = bench.run(writer)
    bench.grade(run, lambda prompt: Answer('{"sound": 3, "plain": 1, "flags": ["steering"]}'))
    found = label(bench, run, "case,verdict\nrain,fail\nsnow,pass\n")
    assert (table(found, WITH_PEOPLE)[0]["n"], table(found, WITH_PEOPLE)[0]["alike"]) == (2, 1)


def test_two_people_and_two_judges_are_held_against_each_other_too(bench: Bench, run: str) -> None:
    bench.grade(run, grader({**GRADES, "rain": (0, 0)}), model="other")
    found = label(
        bench, run, "case,rater,verdict\nrain,ann,pass\nsnow,ann,pass\nfog,ann,fail\nrain,bob,pass\nfog,bob,pass\n"
    )
    assert len(table(found, WITH_PEOPLE)) == 4, "every judge with every person"
    judges = table(found, "Agreement among judges")
    assert [(row["on"], row["n"], row["alike"]) for row in judges] == [
        ("verdict", 4, 3),
        ("sound", 4, 3),
        ("plain", 4, 3),
    ]
    (people,) = table(found, "Agreement among people")
    assert (people["person"], people["other person"], people["n"], people["alike"]) == ("ann", "bob", 2, 1)
    (left,) = table(found, "Left out of: agreement among people")
    assert (left["only the person"], left["only the other person"]) == (1, 0)


def test_of_very_many_people_two_hundred_pairs_are_listed_and_the_rest_counted(bench: Bench, run: str) -> None:
    rows = "".join(f"rain,p{number},pass\n" for number in range(22))
    tables = {each.title: each for each in label(bench, run, f"case,rater,verdict\n{rows}").tables}
    among = tables["Agreement among people"]
    assert len(among.rows) == 200
    assert "31 more pairs of people aren't listed." in among.notes


def test_the_report_has_it_from_events_alone_and_an_older_report_doesnt(bench: Bench, run: str) -> None:
    with bench.ledger() as ledger:
        before = ledger.head()[0]
        assert not [each for each in read_report(ledger, run).data.get("study", []) if "who judged" in each["rules"]]
    found = label(bench, run, "case,verdict\nrain,pass\nfog,pass\n")
    (bench.folder / "human.csv").unlink()
    with bench.ledger() as ledger:
        data = read_report(ledger, run).data
        shown = next(each for each in data["study"] if each["rules"] == "all who judged")
        assert shown["tables"] == [each.as_json() for each in found.tables]
        assert not [each for each in collect(ledger, run, before).get("study", []) if "who judged" in each["rules"]]


def test_a_file_goes_on_record_once_and_moves_no_standing(bench: Bench, run: str) -> None:
    standing = bench.rows("SELECT rules, standing FROM rule_standing WHERE run = ?", run)
    first = label(bench, run, "case,verdict\nrain,pass\n")
    again = label(bench, run, "case,verdict\nrain,pass\n", "copy.csv")
    assert (first.appended, again.appended, again.event) == (True, False, first.event)
    assert bench.rows("SELECT rules, standing FROM rule_standing WHERE run = ?", run) == standing
    with bench.ledger() as ledger:
        event, body = ledger.event(first.event), ledger.body(first.event)
        assert isinstance(body, Import) and (body.format, body.grade) == ("labels/1", "text")
        assert event.causes == (next(ledger.events(kind="plan", run=run)).seq,)
        assert ledger.blob(first.event, "file") == b"case,verdict\nrain,pass\n"
        assert verify(ledger.path).verdict == "CONSISTENT"


def test_a_label_that_is_given_again_counts_as_it_was_given_last(bench: Bench, run: str) -> None:
    label(bench, run, "case,verdict\nrain,fail\nfog,fail\n")
    found = label(bench, run, "case,verdict\nrain,pass\n", "later.csv")
    (row,) = table(found, WITH_PEOPLE)
    assert (row["n"], row["alike"]) == (2, 2)
    assert "1 labels were given again otherwise by a later file, which counts" in notes(found, WITH_PEOPLE)


def test_labels_that_are_withheld_are_gone_from_the_figures_and_said_to_be(bench: Bench, run: str) -> None:
    found = label(bench, run, "case,verdict\nrain,pass\n")
    label(bench, run, "case,verdict\nfog,fail\n", "more.csv")
    with Ledger.open(bench.db) as ledger:
        targets = find_targets(ledger, [str(found.event)])
    redact(bench.db, targets, category="personal", reason="a rater asked for it")
    with bench.ledger() as ledger:
        shown = next(each for each in read_report(ledger, run).data["study"] if each["rules"] == "all who judged")
    (row,) = table(shown["tables"], WITH_PEOPLE)
    assert row["n"] == 1
    assert f"The labels of event {found.event} are withheld by a redaction." in shown["tables"][0]["notes"]


def test_labels_come_before_a_judge_as_well(bench: Bench) -> None:
    run = bench.run(writer)
    early = label(bench, run, "case,verdict\nrain,pass\nfog,pass\n")
    assert early.tables == () and "no judge's grades stand in run" in early.sentences()[1]
    board = bench.grade(run, grader(GRADES)).board
    assert board is not None
    shown = next(each for each in board.data["study"] if each["rules"] == "all who judged")
    assert table(shown["tables"], WITH_PEOPLE)[0]["alike"] == 1


def test_nothing_is_written_for_labels_that_cant_be_taken(bench: Bench, run: str) -> None:
    before = bench.rows("SELECT count(*) AS n FROM main.events")
    with pytest.raises(UsageError, match="there is no criterion 'halo'"):
        label(bench, run, "case,halo\nrain,1\n")
    with pytest.raises(UsageError, match=r"line 2: run .* has no cell with case 'sleet'"):
        label(bench, run, "case,verdict\nsleet,pass\n")
    judge = bench.rows("SELECT run FROM runs WHERE run <> ?", run)[0]["run"]
    with pytest.raises(RefusedError, match=f"is a judge's own; label the answers that it judged.* run {run}"):
        label(bench, judge, "cell,verdict\n1,pass\n")
    assert bench.rows("SELECT count(*) AS n FROM main.events") == before


def test_a_written_report_of_agreement_checks_and_says_when_its_labels_were_withheld(bench: Bench, run: str) -> None:
    found = label(bench, run, "case,verdict\nrain,pass\nsnow,fail\nfog,fail\n")
    file = bench.folder / "report.md"
    with bench.ledger() as ledger:
        data = read_report(ledger, run).data
        write_report(ledger, data, render(data, "md"), "md", check_target(ledger, file, force=False))
        assert check_file(bench.db, file).verdict == "reproduces"
        targets = find_targets(ledger, [str(found.event)])
    redact(bench.db, targets, category="personal", reason="a rater asked for it")
    check = check_file(bench.db, file)
    assert check.verdict == "set aside" and check.not_reproducible > 0 and not check.differences


def test_a_taint_on_labels_reaches_the_reports_that_count_them(bench: Bench, run: str) -> None:
    event = label(bench, run, "case,verdict\nrain,pass\nsnow,fail\n").event
    file = bench.folder / "report.md"
    with bench.ledger() as ledger:
        data = read_report(ledger, run).data
        report = write_report(ledger, data, render(data, "md"), "md", check_target(ledger, file, force=False)).seq
        said, found = taint(ledger, str(event), reason="nobody labelled these")
        assert [row["seq"] for row in impact_of(ledger, found).reports] == [report]
        assert [each["event"] for each in read_report(ledger, run).data["taints"]] == [said.seq]
    check = check_file(bench.db, file)
    assert check.verdict == "set aside" and not check.differences
    assert [each.event for each in check.since if each.what == "tainted"] == [said.seq]


def test_a_judge_s_own_run_on_its_corpus_is_labelled_like_any_other(bench: Bench) -> None:
    with model_server(lambda prompt: Answer('{"sound": 2, "plain": 1, "flags": []}')) as server:
        job = Job(str(bench.folder / "essays"), ["openai/inspector"], [server.openai])
        run = run_job(job, bench.db, SilentProgress()).finished.run
    found = label(bench, run, "case,fixture,verdict,sound\ngood,calibration,pass,3\n")
    verdict, sound = table(found, WITH_PEOPLE)
    assert (verdict["n"], verdict["alike"]) == (1, 1) and (sound["n"], sound["alike"]) == (1, 0)


def test_two_judges_that_were_shown_two_rubrics_are_held_to_verdicts_alone(bench: Bench, run: str) -> None:
    bench.manifest(JUDGE.replace("What it says is so.", "It is true."))
    bench.grade(run, grader(GRADES), model="other")
    found = label(bench, run, "case,verdict\nrain,pass\n")
    assert [row["on"] for row in table(found, "Agreement among judges")] == ["verdict"]
