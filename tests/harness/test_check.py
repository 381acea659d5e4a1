"""`harness check`: whatever is changed in a report is found and named, and so is what became of it since."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness._check import Check, check_file, check_report
from harness._errors import UsageError
from harness._prediction import freeze_prediction
from harness._report_data import collect
from harness._report_file import FORMATS, data_in, render
from ledger import Draft, Ledger, find_run
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger.kinds import Clear, Supersede, Taint, Target
from tests.harness.reported import cli, copied, run_again, written

DIGIT = re.compile(rb"[0-9]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger and a report of its run in each format; nobody changes them."""
    made = tmp_path_factory.mktemp("reports")
    db = copied(made)
    for form in FORMATS:
        written(db, made / f"report.{form}")
    return made


@pytest.fixture(scope="module")
def whole(folder: Path) -> Iterator[Ledger]:
    with Ledger.open(folder / "ledger.db", read_only=True) as ledger:
        yield ledger


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """Copies that may be changed."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def changed_at(data: bytes, at: int) -> bytes:
    return data[:at] + (b"7" if data[at : at + 1] != b"7" else b"3") + data[at + 1 :]


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_reproduces_and_says_how_many_numbers(
    folder: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli("check", folder / f"report.{form}", "--db", folder / "ledger.db", "--json") == 0
    out, words = capsys.readouterr()
    found = json.loads(out)
    assert (found["verdict"], found["ok"], found["byte_for_byte"]) == ("reproduces", True, True)
    assert found["numbers"] == found["reproduced"] > 100
    assert f"{found['numbers']} of {found['numbers']} numbers reproduce" in words


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_one_digit_changed_anywhere_is_found_and_named(
    folder: Path, whole: Ledger, form: str, draw: st.DataObject
) -> None:
    data = (folder / f"report.{form}").read_bytes()
    at = draw.draw(st.sampled_from([match.start() for match in DIGIT.finditer(data)]))
    altered = changed_at(data, at)
    found = check_report(whole, altered, "x")
    assert found.exit_status == 1
    line = data[:at].count(b"\n") + 1
    theirs, ours = altered.split(b"\n")[line - 1].decode(), data.split(b"\n")[line - 1].decode()
    named = [each for each in found.differences if each.where == f"line {line}"]
    assert len(named) == 1
    assert named[0].says and named[0].should
    assert named[0].says.rstrip("…") in theirs and named[0].should.rstrip("…") in ours
    assert named[0].says != named[0].should


@pytest.mark.parametrize("form", FORMATS)
def test_a_figure_changed_in_text_and_data_alike_is_named_with_what_the_ledger_gives(
    folder: Path, whole: Ledger, form: str
) -> None:
    file = (folder / f"report.{form}").read_bytes()
    data = data_in(file.decode(), form)  # pyright: ignore[reportArgumentType]
    row = next(row for row in data["scoreboard"] if row["k"])
    row["k"] += 1
    found = check_report(whole, render(data, form), "x")
    (figure,) = [each for each in found.differences if each.where.startswith("scoreboard[")]
    assert figure.where.endswith(f"{row['rules']}, {row['candidate']}, {row['metric']}].k")
    assert (figure.says, figure.should, figure.number) == (str(row["k"]), str(row["k"] - 1), True)
    assert found.reproduced == found.numbers - 1
    assert any(each.where.startswith("line ") for each in found.differences)


@pytest.mark.parametrize("form", FORMATS)
def test_a_row_left_out_of_text_and_data_alike_is_named(folder: Path, whole: Ledger, form: str) -> None:
    data = data_in((folder / f"report.{form}").read_text("utf-8"), form)  # pyright: ignore[reportArgumentType]
    gone = data["scoreboard"].pop(1)
    data["bars"] = []
    found = check_report(whole, render(data, form), "x")
    missing = [each for each in found.differences if each.says is None]
    assert any(gone["metric"] in each.where and each.where.startswith("scoreboard[") for each in missing)
    assert any(each.where.startswith("bars[") for each in missing)
    assert found.exit_status == 1


@pytest.mark.parametrize("form", FORMATS)
def test_a_line_put_in_or_taken_out_is_found_and_named(folder: Path, whole: Ledger, form: str) -> None:
    lines = (folder / f"report.{form}").read_text("utf-8").split("\n")
    # A line that stands once (of two alike, nobody can tell which was taken out), short enough to be shown whole.
    fits = (at for at in range(len(lines) // 3, len(lines)) if lines.count(lines[at]) == 1 and len(lines[at]) < 60)
    middle = next(fits)
    added = check_report(whole, "\n".join([*lines[:middle], " ", *lines[middle:]]).encode(), "x")
    assert [(each.where, each.should) for each in added.differences] == [(f"line {middle + 1}", None)]
    taken = check_report(whole, "\n".join([*lines[:middle], *lines[middle + 1 :]]).encode(), "x")
    assert any(each.where == f"after line {middle}" and each.should == lines[middle] for each in taken.differences)
    assert added.exit_status == taken.exit_status == 1


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.95])
def test_a_file_that_was_cut_off_says_so(folder: Path, whole: Ledger, form: str, share: float) -> None:
    data = (folder / f"report.{form}").read_bytes()
    found = check_report(whole, data[: int(len(data) * share)], "x")
    assert found.exit_status == 1
    assert "cut off" in str(found.differences[0])
    assert len(found.differences) == 1
    assert "No number could be recomputed" in found.sentences()[-1]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("change", ["crlf", "bom", "both", "newline", "utf-16"])
def test_what_an_editor_does_to_line_endings_is_no_change_of_a_number_and_is_said(
    folder: Path, whole: Ledger, form: str, change: str
) -> None:
    text = (folder / f"report.{form}").read_text("utf-8")
    text = text.replace("\n", "\r\n") if change in ("crlf", "both") else text
    text = "\ufeff" + text if change in ("bom", "both") else text
    text = text + "\n\n" if change == "newline" else text
    found = check_report(whole, text.encode("utf-16" if change == "utf-16" else "utf-8"), "x")
    assert (found.verdict, found.exact) == ("reproduces", False)
    assert found.reproduced == found.numbers
    assert any("not byte for byte the report" in note for note in found.notes)
    altered = re.sub(r"1/4", "2/4", text, count=1) if form != "json" else text.replace('"k": 1', '"k": 2', 1)
    assert check_report(whole, altered.encode(), "x").verdict == "differs"


@pytest.mark.parametrize("content", [b"", b"hello 42\n", b"{}", b'{"a": 1}', b"\x00\xff\x01", b"<!doctype html><p>1"])
def test_a_file_that_is_no_report_is_wrong_usage(own: Path, content: bytes) -> None:
    file = own / "other.txt"
    file.write_bytes(content)
    assert cli("check", file, "--db", own / "ledger.db") == 2
    assert cli("check", own, "--db", own / "ledger.db") == 2
    assert cli("check", own / "nothing", "--db", own / "ledger.db") == 2


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_of_another_ledger_is_named_as_that(folder: Path, tmp_path: Path, form: str) -> None:
    with Ledger.create(tmp_path / "other.db", origin="somebody/else") as other:
        found = check_report(other, (folder / f"report.{form}").read_bytes(), "x")
    assert found.exit_status == 1
    assert {each.where for each in found.differences} == {"receipt.origin", "receipt.ledger", "receipt.head"}
    assert "of another ledger" in found.sentences()[-3 if found.notes else -2]


@pytest.mark.parametrize("name", ["origin", "ledger", "size", "head", "run"])
def test_a_receipt_that_was_changed_in_text_and_data_alike_is_named(folder: Path, whole: Ledger, name: str) -> None:
    data = data_in((folder / "report.md").read_text("utf-8"), "md")
    was = data["receipt"][name]
    data["receipt"][name] = was - 1 if name == "size" else ("1" if was[0] == "0" else "0") + was[1:]
    found = check_report(whole, render(data, "md"), "x")
    assert found.exit_status == 1
    assert f"receipt.{name}" in {each.where for each in found.differences}


def test_a_ledger_that_was_tampered_with_gives_no_answer_at_all(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(own / "ledger.db")) as connection, connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
        sqls = [row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
        for name in names:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(
            "UPDATE events SET body = replace(body, '\"exact\":1', '\"exact\":0') WHERE seq ="
            " (SELECT max(seq) FROM events WHERE kind = 'score' AND body LIKE '%\"exact\":1%')"
        )
        for sql in sqls:
            connection.execute(sql)
    assert cli("check", own / "report.md", "--db", own / "ledger.db", "--json") == 1
    out, words = capsys.readouterr()
    assert json.loads(out)["verdict"] == "tampered"
    assert "TAMPERED" in words and "event" in words
    assert "numbers reproduce" not in words


def since(db: Path, file: Path) -> Check:
    return check_file(db, file)


def test_a_run_superseded_afterwards_sets_its_report_aside_and_taking_that_back_does_too(own: Path) -> None:
    db, file = own / "ledger.db", own / "report.html"
    with Ledger.open(db) as ledger:
        run = find_run(ledger, "latest")
        body = Supersede(target=Target(what="run", id=run), by=None, category="parser", reason="read wrongly")
        (gone,) = ledger.append(Draft(body))
    found = since(db, file)
    assert (found.verdict, found.exit_status, found.reproduced) == ("set aside", 1, found.numbers)
    assert any(f"event {gone.seq}" in line and "read wrongly" in line for line in found.sentences())
    with Ledger.open(db) as ledger:
        back = Supersede(target=Target(what="supersession", id=str(gone.seq)), by=None, category="other", reason="no")
        ledger.append(Draft(back))
    assert since(db, file).verdict == "reproduces"


@pytest.mark.parametrize("what", ["fixture", "rules", "prompt"])
def test_a_frozen_file_superseded_afterwards_sets_the_report_aside_until_that_is_taken_back(
    own: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    db, file = own / "ledger.db", own / "report.md"
    with Ledger.open(db) as ledger:
        (freeze,) = ledger.rows(
            "SELECT min(seq) AS seq FROM main.events WHERE kind = 'freeze' AND body ->> '$.what' = ?", (what,)
        )
        target = Target(what="freeze", id=str(freeze["seq"]))
        (gone,) = ledger.append(Draft(Supersede(target=target, by=None, category="fixture", reason="it was wrong")))
    found = since(db, file)
    assert (found.verdict, found.exit_status, found.reproduced) == ("set aside", 1, found.numbers)
    assert any(f"event {gone.seq}" in line and "it was wrong" in line for line in found.sentences())
    later = written(db, own / "later.md").path
    assert "RESTS ON WHAT WAS SUPERSEDED" in later.read_text("utf-8")
    capsys.readouterr()
    assert cli("report", "latest", "--db", db) == 0
    assert "RESTS ON WHAT WAS SUPERSEDED" in capsys.readouterr().out
    assert cli("publish", later, "--to", "Ada", "--db", db) == 0
    assert f"rests on what event {gone.seq} supersedes" in capsys.readouterr().err
    told = since(db, later)
    assert (told.verdict, [each for each in told.since if each.bad]) == ("reproduces", [])
    assert any(f"event {gone.seq} supersedes" in note for note in told.notes)
    with Ledger.open(db) as ledger:
        back = Supersede(target=Target(what="supersession", id=str(gone.seq)), by=None, category="other", reason="no")
        ledger.append(Draft(back))
    assert since(db, file).verdict == "reproduces"


def test_a_rule_set_that_a_report_does_not_show_may_be_superseded(own: Path) -> None:
    db = own / "ledger.db"
    file = written(db, own / "fenced.md", rules=("fence-cite",)).path
    with Ledger.open(db) as ledger:
        (freeze,) = ledger.rows(
            "SELECT seq FROM main.events WHERE kind = 'freeze' AND body ->> '$.name' = 'strict-cite'"
        )
        target = Target(what="freeze", id=str(freeze["seq"]))
        ledger.append(Draft(Supersede(target=target, by=None, category="parser", reason="too strict")))
    assert since(db, file).verdict == "reproduces"
    assert since(db, own / "report.md").verdict == "set aside"


def test_a_run_whose_answers_were_taken_over_is_part_of_what_a_report_rests_on(own: Path) -> None:
    db = own / "ledger.db"
    with Ledger.open(db, read_only=True) as ledger:
        first = find_run(ledger, "latest")
    again = run_again(db, own / "authority", reuse=True)
    file = written(db, own / "again.md", again).path
    assert "REUSED" in file.read_text("utf-8")
    with Ledger.open(db) as ledger:
        target = Target(what="run", id=first)
        ledger.append(Draft(Supersede(target=target, by=None, category="provider", reason="another model answered")))
    found = since(db, file)
    assert (found.verdict, found.exit_status) == ("set aside", 1)
    assert any(first in each.says and "another model answered" in each.says for each in found.since if each.bad)


def test_a_taint_that_reaches_the_numbers_sets_them_aside_until_it_is_cleared(own: Path) -> None:
    db, file = own / "ledger.db", own / "report.md"
    only = written(db, own / "fence.json", rules=("fence-cite",)).path
    with Ledger.open(db) as ledger:
        (label,) = [
            row["rules"] for row in ledger.rows("SELECT DISTINCT rules FROM run_rules WHERE rules LIKE 'strict%'")
        ]
        (said,) = ledger.append(Draft(Taint(target=Target(what="rules", id=label), reason="folds too much")))
    found = since(db, file)
    assert (found.verdict, found.exit_status) == ("set aside", 1)
    assert any("folds too much" in line for line in found.sentences())
    assert since(db, only).verdict == "reproduces", "what rests on the other rule set isn't reached"
    late = written(db, own / "late.md").path
    told = since(db, late)
    assert told.verdict == "reproduces", "it says so itself, and nothing came since"
    assert "TAINTED" in late.read_text("utf-8")
    with Ledger.open(db) as ledger:
        ledger.append(Draft(Clear(taint=said.seq, reason="it doesn't")))
    assert since(db, file).verdict == "reproduces"
    assert any("was cleared" in line for line in since(db, late).sentences())


def test_evidence_withheld_since_makes_numbers_not_reproducible(own: Path) -> None:
    from ledger.cli import app, run_app

    db, file = own / "ledger.db", own / "report.json"
    arguments = ["redact", "--run", "latest", "--cell", "1", "--db", str(db), "--reason", "x", "--category", "personal"]
    assert run_app(app, "ledger", arguments) == 0
    found = since(db, file)
    assert found.exit_status == 1
    assert found.not_reproducible > 0
    assert found.reproduced + found.not_reproducible == found.numbers
    assert not found.differences, "what was withheld is no change of the file"
    assert any("not reproducible" in line for line in found.sentences())
    late = written(db, own / "late.html").path
    assert since(db, late).verdict == "reproduces"
    assert "NOT REPRODUCIBLE" in late.read_text("utf-8")


def test_a_report_stays_true_of_its_moment_when_the_run_is_scored_again_and_the_ledger_grows(own: Path) -> None:
    db = own / "ledger.db"
    first = (own / "report.md").read_bytes()
    run_again(db, own / "authority")
    with Ledger.open(db) as ledger:
        run = data_in(first.decode(), "md")["run"]["id"]
        (score,) = ledger.rows(
            "SELECT seq, run, cell, body FROM main.events WHERE kind = 'score' AND run = ?"
            " AND body ->> '$.outcome' = 'correct' ORDER BY seq DESC LIMIT 1",
            (run,),
        )
        body = ledger.body(int(score["seq"]))
        worse = body.model_copy(update={"outcome": "incorrect", "metrics": dict.fromkeys(body.metrics, 0.0)})  # pyright: ignore
        ledger.append(
            Draft(worse, run=run, cell=int(score["cell"]), causes=list(ledger.event(int(score["seq"])).causes))
        )
    second = written(db, own / "second.md", run=run)
    for file in (own / "report.md", second.path):
        assert since(db, file).verdict == "reproduces", file
    boards = [data_in(file.read_text("utf-8"), "md")["scoreboard"] for file in (own / "report.md", second.path)]
    assert boards[0] != boards[1]
    assert any("scores came under" in line for line in since(db, own / "report.md").sentences())


def test_a_report_taken_while_the_run_goes_on_says_so_and_reproduces_afterwards(own: Path) -> None:
    db = own / "ledger.db"
    with Ledger.open(db) as ledger:
        run = find_run(ledger, "latest")
        (middle,) = ledger.rows(
            "SELECT seq FROM main.events WHERE run = ? AND kind = 'response' LIMIT 1 OFFSET 4", (run,)
        )
        data = collect(ledger, run, int(middle["seq"]))
        file = render(data, "md")
        found = check_report(ledger, file, "x")
    assert b"OPEN: the run had no end yet" in file
    assert data["receipt"]["tallies"] == []
    assert (found.verdict, found.reproduced) == ("reproduces", found.numbers)
    assert any("printed, and not written" in note for note in found.notes)
    assert any("the run went on" in each.says for each in found.since)


def laid_out(data: dict[str, Any], how: str) -> str:
    if how == "minified":
        return json.dumps(data, separators=(",", ":"))
    if how == "one kind of number":
        return re.sub(r"\b([01])\.0\b", r"\1", json.dumps(data, indent=2)) + "\n"
    return json.dumps(data, indent=4, sort_keys=how == "sorted", ensure_ascii=False) + "\n"


@pytest.mark.parametrize("how", ["minified", "indented", "sorted", "one kind of number"])
def test_json_that_another_program_laid_out_anew_still_says_what_it_says(folder: Path, whole: Ledger, how: str) -> None:
    data = data_in((folder / "report.json").read_text("utf-8"), "json")
    found = check_report(whole, laid_out(data, how).encode(), "x")
    assert (found.verdict, found.exact, found.reproduced) == ("reproduces", False, found.numbers), found.sentences()
    assert any("its JSON was laid out anew" in note for note in found.notes)
    assert not any("no report event records it" in note for note in found.notes)
    data["scoreboard"][0]["k"] += 1
    altered = check_report(whole, laid_out(data, how).encode(), "x")
    assert altered.exit_status == 1
    assert any(each.where.endswith("].k") for each in altered.differences)


@pytest.mark.parametrize("form", FORMATS)
def test_a_key_that_stands_twice_is_found_since_readers_differ_in_which_they_take(
    folder: Path, whole: Ledger, form: str
) -> None:
    text = (folder / f"report.{form}").read_text("utf-8")
    twice = text.replace('"k": ', '"k": 999,\n   "k": ', 1)
    assert twice != text
    found = check_report(whole, twice.encode(), "x")
    assert found.exit_status == 1
    assert any("twice" in sentence for sentence in found.sentences())


@pytest.mark.parametrize("put", ["[" * 70 + "]" * 70, "[" * 900 + "]" * 900, "1e999", "9" * 5000, '"\\ud800"', "NaN"])
def test_values_that_no_report_has_are_differences_and_never_a_crash(folder: Path, whole: Ledger, put: str) -> None:
    for form in FORMATS:
        text = (folder / f"report.{form}").read_text("utf-8")
        assert '"taints": []' in text
        found = check_report(whole, text.replace('"taints": []', f'"taints": {put}').encode(), "x")
        assert (found.exit_status, bool(found.differences)) == (1, True)
        json.dumps(found.as_json())


def withhold(db: Path, *references: str) -> None:
    with Ledger.open(db) as ledger:
        targets = find_targets(ledger, references)
    redact(db, targets, category="personal", reason="a name was in it")


@pytest.mark.parametrize("form", FORMATS)
def test_a_prediction_withheld_since_sets_its_report_aside_and_makes_it_no_forgery(own: Path, form: str) -> None:
    db = own / "ledger.db"
    (own / "p.toml").write_text('suite = "authority"\nexpect = [ { bar = "exact >= 1/4" } ]\n', "utf-8")
    with Ledger.open(db) as ledger:
        seq, _ = freeze_prediction(ledger, own / "p.toml")
    file = written(db, own / f"predicted.{form}").path
    withhold(db, f"{seq}:file")
    found = since(db, file)
    assert (found.verdict, found.exit_status, found.differences) == ("set aside", 1, [])
    assert any("withheld since" in each.says for each in found.since if each.bad)
    assert any("no longer derivable" in note and "predictions" in note for note in found.notes)
    text = file.read_text("utf-8")
    file.write_bytes(text.replace("\n", "\r\n").encode())
    assert (since(db, file).verdict, since(db, file).exact) == ("set aside", False)
    file.write_text(text.replace('"status": "met"', '"status": "not met"', 1), "utf-8")
    altered = since(db, file)
    assert altered.verdict == "differs"
    assert len(altered.differences) <= 3, "only what was altered is named, not all that is gone"


def test_data_that_are_nonsense_are_differences_and_never_a_crash(folder: Path, whole: Ledger) -> None:
    data = data_in((folder / "report.json").read_text("utf-8"), "json")
    for name in list(data):
        for nonsense in (None, [], {}, "x", 1e308, [[[]]], {"a": {"b": []}}):
            altered = {**data, name: nonsense}
            if altered == data:
                continue
            try:
                found = check_report(whole, render(altered, "json"), "x")
            except UsageError:
                assert name == "report"
                continue
            assert found.exit_status == 1, (name, nonsense)
            assert found.differences
            found.sentences()
            json.dumps(found.as_json())
