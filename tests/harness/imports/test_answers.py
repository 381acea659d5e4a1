"""Answers that somebody has already become runs of their suite, line by line, or are refused with their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import read_report
from harness._errors import UsageError
from harness._freeze import freeze_suite
from harness._new import Wanted, new_suite
from harness._rules import load_rules
from harness._suite import load_suite
from harness.imports import AnswersJob, BadAnswers, import_answers
from ledger import Ledger, verify
from ledger.kinds import Cell, Import, Score
from tests.harness.imports.commands import Commands

RIGHT = {"capital-1": "Oslo.", "capital-2": "ottawa", "element-1": "Na", "element-2": "Gold", "planet-1": "Mercury",
         "language-1": "Portuguese", "country-1": "The Netherlands"}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("LEDGER_DB", "LEDGER_JSON"):
        monkeypatch.delenv(name, raising=False)
    new_suite(Wanted("facts"))
    return tmp_path


def put(*answers: object, name: str = "answers.jsonl") -> Path:
    path = Path(name)
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in answers), "utf-8")
    return path


def outcomes(run: str) -> dict[str, tuple[str, str, str]]:
    with Ledger.open(Path("ledger.db"), read_only=True) as ledger:
        names = {event.cell: ledger.body(event) for event in ledger.events(kind="cell", run=run)}
        found: dict[str, tuple[str, str, str]] = {}
        for event in ledger.events(kind="score", run=run):
            score, cell = ledger.body(event), names[event.cell]
            assert isinstance(score, Score) and isinstance(cell, Cell)
            found[cell.case] = (score.outcome, score.status, score.reason)
        return found


def refused(*answers: object) -> list[tuple[str, str]]:
    with pytest.raises(BadAnswers) as caught:
        import_answers(AnswersJob("facts", [put(*answers)]), Path("ledger.db"))
    assert not Path("ledger.db").exists()
    return list(caught.value.rows)


def test_each_model_is_a_run_scored_like_any(here: Path) -> None:
    lines = [{"id": case, "output": text, "model": "large"} for case, text in RIGHT.items()]
    lines += [{"id": case, "output": "no idea", "model": "small"} for case in RIGHT]
    done = import_answers(AnswersJob("facts", [put(*lines)]), Path("ledger.db"))
    assert [(run.engine, run.cells, run.missing, run.grade) for run in done.runs] == [
        ("large", 7, 0, "text"), ("small", 7, 0, "text"),
    ]  # fmt: skip
    with Ledger.open(Path("ledger.db"), read_only=True) as ledger:
        rows = [read_report(ledger, run.run).as_json()["scoreboard"][0] for run in done.runs]
    assert [(row["candidate"], row["k"], row["n"], row["planned"]) for row in rows] == [
        ("large", 7, 7, 7), ("small", 0, 7, 7),
    ]  # fmt: skip
    assert verify(Path("ledger.db")).verdict == "CONSISTENT"


def test_without_a_model_the_files_name_stands_for_it() -> None:
    done = import_answers(
        AnswersJob("facts/v1", [put({"id": "capital-1", "output": "x"}, name="mine.jsonl")]), Path("d")
    )
    assert [run.engine for run in done.runs] == ["mine"]


def test_what_was_not_captured_is_no_answer_and_what_is_missing_was_not_asked() -> None:
    answers = [
        {"id": "capital-1", "output": None}, {"id": "capital-2"}, {"id": "element-1", "output": ""},
        {"id": "element-2", "output": " \n"}, {"id": "planet-1", "output": "Mercury\n"},
        '{"id": "language-1", "output": "\\ud800"}',
    ]  # fmt: skip
    (run,) = import_answers(AnswersJob("facts", [put(*answers)]), Path("ledger.db")).runs
    found = outcomes(run.run)
    assert found.pop("planet-1") == ("correct", "parsed", "")
    assert {outcome for outcome, _, _ in found.values()} == {"unmeasured"}
    assert {case: (status, reason) for case, (_, status, reason) in found.items() if case != "language-1"} == {
        "capital-1": ("error", "not_captured"), "capital-2": ("error", "not_captured"),
        "element-1": ("empty", "no_bytes"), "element-2": ("empty", "only_space"),
        "country-1": ("not_asked", "not_asked"),
    }  # fmt: skip
    assert run.missing == 1


def test_the_same_file_again_appends_nothing_whatever_it_is_called(here: Path) -> None:
    path = put({"id": "capital-1", "output": "Oslo", "model": "m"})
    first = import_answers(AnswersJob("facts", [path]), Path("ledger.db"))
    again = import_answers(AnswersJob("facts/v1", [path.rename("other.jsonl")]), Path("ledger.db"))
    assert [run.run for run in again.runs] == [run.run for run in first.runs]
    assert again.events == 0 and not again.runs[0].appended


def test_the_same_file_for_another_suite_is_another_import(here: Path) -> None:
    new_suite(Wanted("copies"))
    path = put({"id": "capital-1", "output": "Oslo", "model": "m"})
    first = import_answers(AnswersJob("facts", [path]), Path("ledger.db"))
    other = import_answers(AnswersJob("copies", [path]), Path("ledger.db"))
    assert other.runs[0].appended and other.runs[0].run != first.runs[0].run


def test_the_fixture_that_was_frozen_already_is_the_one_it_stands_on() -> None:
    suite, fixtures = load_suite("facts")
    ledger, _ = Ledger.open_or_create(Path("ledger.db"))
    with ledger:
        frozen = freeze_suite(ledger, suite, fixtures, [load_rules(suite, "exact")])
        (run,) = import_answers(AnswersJob("facts", [put({"id": "capital-1", "output": "x"})]), Path("ledger.db")).runs
        assert len(list(ledger.events(kind="freeze"))) == frozen.new
        (plan,) = ledger.events(kind="plan", run=run.run)
        assert set(plan.causes) == {*frozen.fixtures.values(), *frozen.rules.values()}


def test_what_was_captured_is_kept_byte_for_byte_and_raw_beside_it() -> None:
    path = put('{"id": "capital-1", "output": "Osl\\u00f3", "raw": {"b": 1.50, "a": [null]}}')
    (run,) = import_answers(AnswersJob("facts", [path]), Path("ledger.db")).runs
    with Ledger.open(Path("ledger.db"), read_only=True) as ledger:
        whole, one = ledger.events(kind="import", run=run.run)
        assert ledger.blob(whole, "file") == path.read_bytes()
        assert ledger.blob(one, "output") == "Osló".encode()
        body = ledger.body(one)
    assert isinstance(body, Import)
    assert (body.grade, body.claimed) == ("text", {"raw": '{"b": 1.50, "a": [null]}'})


def test_every_line_that_wont_do_is_named_at_once() -> None:
    rows = refused(
        {"id": "capital-1", "output": "x"}, "", "nonsense", {"id": "nobody", "output": "x"},
        {"id": "capital-1", "output": "y"}, {"id": "capital-2", "text": "x"}, {"id": "capital-2", "output": {"a": 1}},
        {"output": "x"}, {"id": "capital-2", "output": "x", "model": ""},
        {"id": "capital-2", "output": "x", "model": 3},
        '{"id": "capital-2", "id": "capital-2"}', "[1]",
    )  # fmt: skip
    assert [where for where, _ in rows] == [f"line {line}" for line in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12)]
    said = " ".join(why for _, why in rows)
    for words in (
        "no case of facts/v1 has the id 'nobody'", "'capital-1' is answered on line 1 too", "unknown key 'text'",
        "output: expected the text that the model wrote, got an object", "id: expected the id of a case",
    ):  # fmt: skip
        assert words in said


def test_what_is_no_answer_file_at_all_is_one_sentence(here: Path) -> None:
    Path("latin.jsonl").write_bytes(b'{"id": "capital-1", "output": "x"}\n{"id": "\xe9"}\n')
    with pytest.raises(UsageError, match=r"latin\.jsonl:2: not UTF-8"):
        import_answers(AnswersJob("facts", [Path("latin.jsonl")]), Path("ledger.db"))
    with pytest.raises(UsageError, match="expected one answer a line, got none"):
        import_answers(AnswersJob("facts", [put("", " ")]), Path("ledger.db"))
    Path("fixtures/facts/v2").mkdir()
    Path("fixtures/facts/v2/cases.jsonl").write_bytes(Path("fixtures/facts/v1/cases.jsonl").read_bytes())
    with pytest.raises(UsageError, match=r"has 2: say --suite facts/v1, --suite facts/v2"):
        import_answers(AnswersJob("facts", [put({"id": "capital-1", "output": "x"})]), Path("ledger.db"))
    assert not Path("ledger.db").exists()


def test_at_the_command_line_the_arguments_are_the_files(here: Path) -> None:
    commands = Commands(Path("ledger.db"))
    put({"id": "capital-1", "output": "Oslo"}, name="one.jsonl")
    put({"id": "capital-1", "output": "Bergen"}, name="two.jsonl")
    assert commands.call("import", "one.jsonl", "two.jsonl", "--suite", "facts") == 0
    assert "one, 7 cells, 6 of them not in the artifact; grade text." in commands.out
    assert [run["engine"] for run in commands.json("import", "one.jsonl", "two.jsonl", "--suite", "facts")["runs"]] == [
        "one", "two",
    ]  # fmt: skip
    put({"id": "capital-9", "output": "x\x1b[2J"}, name="bad.jsonl")
    assert commands.call("import", "bad.jsonl", "--suite", "facts") == 2
    assert "line 1: no case of facts/v1 has the id 'capital-9'" in commands.said
    assert "\x1b" not in commands.said
    assert commands.call("import", "--suite", "facts") == 2
    assert "expected files of answers" in commands.said


def test_imported_answers_are_compared_and_rescored_like_any_others(here: Path) -> None:
    lines = [{"id": case, "output": text, "model": "large"} for case, text in RIGHT.items()]
    lines += [{"id": case, "output": f"It is {text}", "model": "small"} for case, text in RIGHT.items()]
    commands = Commands(Path("ledger.db"))
    put(*lines)
    large, small = (run["run"] for run in commands.json("import", "answers.jsonl", "--suite", "facts")["runs"])
    assert commands.call("compare", large, small) == 0, commands.said
    Path("fixtures/facts/rules/loose.toml").write_text('[read]\n[score]\nscorer = "includes"\n')
    assert commands.call("rescore", small, "--rules", "loose") == 0, commands.said
    rows = {row["rules"].split("@")[0]: (row["k"], row["n"]) for row in commands.json("report", small)["scoreboard"]
            if row["metric"] == "correct"}  # fmt: skip
    assert rows == {"exact": (0, 7), "loose": (7, 7)}
