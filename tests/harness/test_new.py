"""A suite is made of somebody's table whole and ready to run, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness._errors import UsageError
from harness._fit import check_fit
from harness._new import BadRows, NewSuite, Wanted, new_suite
from harness._new_cases import Columns
from harness._new_kits import KITS
from harness._rules import load_rules
from harness._suite import load_suite
from harness.engines import resolve_engine
from harness.suites.manifest import SCORERS

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
HARNESS = Path(sys.executable).parent / "harness"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(text: str, score: str = "exact", *, name: str = "t.csv", input: Any = ("question",), gold: Any = ("answer",),
         skip_bad: bool = False, empty_gold: bool = False, **columns: Any) -> NewSuite:  # fmt: skip
    Path(name).write_text(text, "utf-8", newline="")
    return new_suite(
        Wanted("facts", Path(name), Columns(input, gold, **columns), score, skip_bad=skip_bad, empty_gold=empty_gold)
    )


def cases(suite: str = "facts") -> list[dict[str, Any]]:
    lines = Path(f"fixtures/{suite}/v1/cases.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def asked(suite: str = "facts") -> list[list[Any]]:
    """What every case says to the model, as a run would ask it."""
    found, fixtures = load_suite(suite)
    candidate = resolve_engine("ollama/m", environ={}).with_prompt(found.prompt_file)
    check_fit(found, fixtures, [load_rules(found, name) for name in found.rule_names], [candidate])
    return [list(found.stage_functions.messages(found.prompt, each.input).messages) for each in fixtures[0].cases]


def test_options_of_a_scorer_are_set_on_the_command_line_and_the_golds_are_held_against_them() -> None:
    Path("zahlen.csv").write_text("frage;zahl\neins;16,6\nzwei;1.234,5 km\n", "utf-8")
    columns = Columns(("frage",), ("zahl",))
    settings = ("decimal=,", "thousands=.", "units=km")
    done = new_suite(Wanted("z", Path("zahlen.csv"), columns, "number", delimiter=";", settings=settings))
    rules = load_rules(load_suite("z")[0], "number")
    assert done.cases == 2
    assert (rules.score["decimal"], rules.score["thousands"], rules.score["units"]) == (",", ".", ("km",))


def test_golds_with_a_comma_that_is_declared_nowhere_are_told_the_options_and_not_to_be_left_out() -> None:
    Path("zahlen.csv").write_text("frage;zahl\neins;16,6\nzwei;1.234,5 km\ndrei;7\n", "utf-8")
    with pytest.raises(BadRows, match="--set decimal=,") as caught:
        new_suite(Wanted("z", Path("zahlen.csv"), Columns(("frage",), ("zahl",)), "number", delimiter=";"))
    assert "--skip-bad" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("decimals=3", "one of at, decimal"),
        ("tolerance=-1", "tolerance: expected a number from 0"),
        ("at", "OPTION=VALUE"),
    ],
)
def test_an_option_that_the_scorer_does_not_have_or_take_is_one_sentence(setting: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        new_suite(Wanted("z", score="number", settings=(setting,)))
    assert not Path("fixtures").exists()


def bad(text: str, score: str = "exact", **options: Any) -> dict[str, str]:
    there = {*Path().iterdir(), Path(options.get("name", "t.csv"))}
    with pytest.raises(BadRows) as caught:
        make(text, score, **options)
    assert set(Path().iterdir()) == there, "nothing half-written"
    return dict(caught.value.rows)


def test_a_csv_becomes_a_suite_that_says_what_the_table_says() -> None:
    done = make('question,answer,topic\nWhy?,1.50,law\n"a ""b""\nc",x,\n', meta=("topic",))
    assert (done.folder.as_posix(), done.cases) == ("fixtures/facts", 2)
    assert cases() == [
        {"id": "r0001", "input": {"question": "Why?"}, "gold": "1.50", "meta": {"topic": "law"}},
        {"id": "r0002", "input": {"question": 'a "b"\nc'}, "gold": "x"},
    ]
    (first,), _ = asked()
    assert first["content"].startswith("Why?\n\nAnswer in as few words")


def test_several_inputs_become_fields_that_the_prompt_names() -> None:
    make("context,The question,answer\nA text.,Why?,x\n", input=("The question", "context"))
    ((message,),) = asked()
    assert message["content"].startswith("The question:\nWhy?\n\nContext:\nA text.\n\n")


def test_the_files_beside_the_suite_are_made_once_and_never_touched_again() -> None:
    Path(".gitignore").write_text("*.pyc\nledger.db", "utf-8")
    Path("eval.toml").write_text("mine", "utf-8")
    done = make("question,answer\na,b\n")
    assert list(done.files) == ["prices.toml"] and Path("eval.toml").read_text("utf-8") == "mine"
    ignored = Path(".gitignore").read_text("utf-8").splitlines()
    assert ignored[:2] == ["*.pyc", "ledger.db"] and ignored.count("ledger.db") == 1
    assert set(done.ignored) == {"ledger.db-wal", "ledger.db-shm", "*.locks/", ".env", "runs/"} == set(ignored[-5:])
    again = new_suite(Wanted("more"))
    assert list(again.files) == [] and list(again.ignored) == []
    assert Path(".gitignore").read_text("utf-8").splitlines() == ignored


def test_what_is_there_already_is_never_overwritten() -> None:
    make("question,answer\na,b\n")
    before = {path: path.read_bytes() for path in Path("fixtures").rglob("*") if path.is_file()}
    with pytest.raises(
        UsageError,
        match=r"fixtures/facts is there already, and nothing is overwritten; .*fixtures/facts/v2/cases\.jsonl",
    ):
        make("question,answer\nc,d\n")
    assert {path: path.read_bytes() for path in Path("fixtures").rglob("*") if path.is_file()} == before


def test_rows_that_cant_be_cases_are_all_named_with_their_lines() -> None:
    rows = bad('question,answer,key\n,b,1\n"x\ny",,2\nc,d\nd,#N/A,4\ne,f,5\ng,h,5\n...,i,\nj,!!,6\n', id="key")
    assert rows == {
        "line 2": "the input (question) is empty",
        "line 3": "the gold (answer) is empty",
        "line 5": "expected 3 cells, got 2: too few",
        "line 6": 'the gold (answer) is "#N/A", an error of the spreadsheet',
        "line 8": "the id '5' stands on line 7 too",
        "line 9": "the id (key) is empty",
        "line 10": rows["line 10"],
    }
    assert "'!!' has no normal form under label/" in rows["line 10"]


def test_at_most_twenty_rows_are_named_and_all_are_counted() -> None:
    with pytest.raises(
        BadRows, match=r"30 of 31 rows can't be cases, the first 20 of them above; .*--skip-bad"
    ) as caught:
        make("question,answer\n" + "a,\n" * 30 + "a,b\n")
    assert len(caught.value.rows) == 20


def test_bad_rows_are_left_out_only_when_told_and_then_named() -> None:
    done = make("question,answer\na,b\nc,\ne,f\n", skip_bad=True)
    assert list(done.skipped) == [("line 3", "the gold (answer) is empty")]
    assert [case["id"] for case in cases()] == ["r0001", "r0003"], "an id stays with its row"
    shutil.rmtree("fixtures")
    with pytest.raises(UsageError, match="is it the right column"):
        make("question,answer\na,\n", skip_bad=True)


def test_cases_that_ask_the_same_are_kept_and_said() -> None:
    done = make("question,answer\na,b\nc,d\na,b\na,e\n")
    assert done.cases == 4
    assert list(done.notes) == [
        "2 of the cases ask what an earlier one asks, 1 of them with another gold, such as line 5 and line 2; all were"
        " kept."
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"input": ("Question",)}, "--input: there is no column 'Question'; the columns are question, answer"),
        ({"gold": ("gold",)}, "--gold: there is no column 'gold'"),
        ({"gold": ("question",)}, "every model would be shown the answer"),
        ({"input": ()}, "expected --input COLUMN, got none; the columns are question, answer"),
        ({"meta": ("x",)}, "--meta: there is no column 'x'"),
        ({"input": ("question", "question")}, "named twice"),
        ({"score": "nope"}, "--score: expected one of exact, includes, choice"),
        ({"empty_gold": True}, "--empty-gold: the scorer exact can't expect nothing"),
    ],
)  # fmt: skip
def test_columns_that_arent_there_are_a_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        make("question,answer\na,b\n", **options)
    assert words in str(caught.value)
    assert not Path("fixtures").exists()


@pytest.mark.parametrize("name", ["", "Facts", "a/b", "../x", "a b", "-x", "x" * 65])
def test_a_suites_name_is_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="expected a suite's name"):
        new_suite(Wanted(name))


@pytest.mark.parametrize("score", list(KITS))
def test_every_scorers_example_is_ready_to_run(score: str) -> None:
    done = new_suite(Wanted("example", score=score))
    assert 6 <= done.cases <= 8
    assert len(asked("example")) == done.cases


def test_there_is_an_example_for_every_scorer_of_the_release() -> None:
    assert set(KITS) == set(SCORERS)


def test_options_of_a_choice_come_from_columns_or_from_a_list() -> None:
    make("question,a,b,c,answer\nWhich?,red,blue,green,B\nAnd?,yes,no,,a\n", "choice", options=("a", "b", "c"))
    assert [case["input"]["options"] for case in cases()] == [["red", "blue", "green"], ["yes", "no"]]
    (first,), _ = asked()
    assert "A. red\nB. blue\nC. green\n" in first["content"]
    shutil.rmtree("fixtures")
    make('question,opts,answer\nWhich?,"[""red"", ""blue""]",blue\n', "choice", options=("opts",))
    assert 'gold = "text"' in Path("fixtures/facts/rules/choice.toml").read_text("utf-8")
    shutil.rmtree("fixtures")
    lines = (
        '{"question": "q", "choices": ["x", "y"], "answer": 1}\n{"question": "q", "choices": ["x", "y"], "answer": 0}\n'
    )
    make(lines, "choice", name="t.jsonl", options=("choices",))
    assert 'gold = "index"' in Path("fixtures/facts/rules/choice.toml").read_text("utf-8")


def test_an_option_that_is_missing_in_the_middle_or_a_gold_that_is_none_is_refused() -> None:
    rows = bad("question,a,b,c,answer\nq,x,,y,A\nq,x,y,z,D\nq,x,y,z,A\n", "choice", options=("a", "b", "c"))
    assert "'b' is empty" in rows["line 2"]
    assert "expected one of the letters A, B, C" in rows["line 3"]


def test_golds_can_be_lists_and_objects() -> None:
    make('question,answer\nq,"[""a"", ""b""]"\n', gold_json=True)
    assert cases()[0]["gold"] == ["a", "b"]
    shutil.rmtree("fixtures")
    make("question,answer\nq,a; b;\n", gold_split=";")
    assert cases()[0]["gold"] == ["a", "b"]
    shutil.rmtree("fixtures")
    make("question,city,year\nq,Oslo,1814\n", "json", gold=("city", "year"))
    assert cases()[0]["gold"] == {"city": "Oslo", "year": "1814"}
    shutil.rmtree("fixtures")
    make("question,answer\nq,a;b\nq2,\n", "f1", gold_split=";", empty_gold=True)
    assert [case["gold"] for case in cases()] == [["a", "b"], []]
    shutil.rmtree("fixtures")
    assert "expected JSON" in bad("question,answer\nq,Oslo\n", gold_json=True)["line 2"]


@pytest.mark.parametrize(
    ("golds", "lines"),
    [
        (["1,5", "2", "1,500"], ['decimal = ","']),
        (["1,234,567", "1,500", "2.5"], ['decimal = "."', 'thousands = ","']),
        (["1,250.5", "7"], ['decimal = "."', 'thousands = ","']),
        (["1.50", "-3"], ['decimal = "."']),
    ],
)  # fmt: skip
def test_a_comma_in_golds_is_what_they_leave_no_doubt_of(golds: list[str], lines: list[str]) -> None:
    make("question,answer\n" + "".join(f'q{place},"{gold}"\n' for place, gold in enumerate(golds)), "number")
    rules = Path("fixtures/facts/rules/number.toml").read_text("utf-8").splitlines()
    assert [line.split("  ")[0] for line in rules if line.startswith(("decimal", "thousands"))] == lines
    assert [case["gold"] for case in cases()] == golds


def test_a_comma_that_could_be_either_is_refused() -> None:
    assert "expected a number" in bad('question,answer\nq,"1,500"\nq,7\n', "number")["line 2"]


def test_numbers_of_json_lines_keep_their_text_in_the_cases() -> None:
    make('{"question": {"x": 1.50}, "answer": 2.0}\n', "number", name="t.jsonl")
    text = Path("fixtures/facts/v1/cases.jsonl").read_text("utf-8")
    assert '"input": {"question": {"x": 1.50}}, "gold": 2.0' in text
    ((message,),) = asked()
    assert message["content"].startswith('{"x": 1.50}')


def test_messages_and_tools_of_a_table_go_to_the_model_as_they_are() -> None:
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]
    row = {"chat": {"messages": turns, "tools": [{"name": "f"}]}, "answer": "x"}
    make(json.dumps(row) + "\n", name="t.jsonl", input=("chat",))
    assert asked() == [turns]
    shutil.rmtree("fixtures")
    make(json.dumps({"messages": turns, "question": "why", "answer": "x"}) + "\n", name="t.jsonl",
         input=("messages", "question"))  # fmt: skip
    assert asked() == [[*turns, {"role": "user", "content": "why"}]]
    shutil.rmtree("fixtures")
    assert "role: expected one of" in bad(
        json.dumps({"messages": [{"role": "bot", "content": "x"}], "answer": "x"}) + "\n", name="t.jsonl",
        input=("messages",),
    )["line 1"]  # fmt: skip


def test_pretty_printed_json_in_a_cell_stays_one_case_a_line() -> None:
    make('messages,answer\n"[\n {""role"": ""user"",\n  ""content"": ""hi""}\n]",x\n', input=("messages",))
    assert asked() == [[{"role": "user", "content": "hi"}]]


def test_images_are_taken_from_beside_the_table_and_from_nowhere_else(here: Path) -> None:
    Path("cat.png").write_bytes(PNG)
    make("question,picture,answer\nwhat?,cat.png,cat\n", image=("picture",))
    ((message,),) = asked()
    kinds = [(part["type"], part.get("media_type")) for part in message["content"]]
    assert kinds == [("image", "image/png"), ("text", None)]
    shutil.rmtree("fixtures")
    Path("note.txt").write_text("no image")
    (here.parent / "outside.png").write_bytes(PNG)
    rows = bad(
        "question,picture,answer\na,../outside.png,x\nb,gone.png,x\nc,note.txt,x\nd,,x\n"
        'e,"data:image/png;base64,x",x\n'
        "f,/etc/hostname,x\n",
        image=("picture",),
    )
    assert [word in rows[f"line {at}"] for at, word in
            ((2, "outside the folder"), (3, "isn't there"), (4, "is no PNG"), (5, "is empty"),
             (6, "base64 can't be read"), (7, "outside the folder"))] == [True] * 6, rows  # fmt: skip


def test_a_field_that_cant_stand_in_a_template_is_placed_all_the_same() -> None:
    make('"a {{ b }} ""c""",answer\nhello,x\n', input=('a {{ b }} "c"',))
    ((message,),) = asked()
    assert message["content"].startswith("hello\n")


def test_a_failure_to_write_leaves_nothing_behind(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(UsageError, match="can't be written: No space left on device"):
        new_suite(Wanted("facts"))
    assert list(here.iterdir()) == []


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("HARNESS_", "LEDGER_"))}
    return subprocess.run([HARNESS, *arguments], capture_output=True, text=True, env=environ, timeout=60)


def test_at_the_command_line_it_says_what_it_made_and_what_comes_next() -> None:
    Path("t.csv").write_text("question,answer\na,b\nc,\n", "utf-8")
    done = command("new", "facts", "t.csv", "--input", "question", "--gold", "answer")
    assert done.returncode == 2
    assert "  line 3: the gold (answer) is empty\n" in done.stderr
    assert "1 of 2 rows can't be cases (see above); mend them, or leave them out with --skip-bad" in done.stderr
    done = command("new", "facts", "t.csv", "--input", "question", "--gold", "answer", "--skip-bad")
    assert done.returncode == 0, done.stderr
    assert "fixtures/facts: 1 case; its README.md says what to change." in done.stdout
    assert "left out, 1 row that can't be a case:\n  line 3: the gold (answer) is empty\n" in done.stdout
    assert "`harness run facts --limit 5" in done.stdout
    assert command("suites").returncode == 0
    done = command("new", "other", "--input", "question")
    assert done.returncode == 2 and "columns were named, and no table that has them" in done.stderr
    done = command("new", "example", "--score", "choice", "--json")
    assert json.loads(done.stdout)["cases"] == 7
