"""A file of bad lines alone says the first three and why; one bad line is named; neither can harm a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.harness.typed import Typed, typed

HOSTILE = "\x1b[31m\u202e" + "x" * 5000


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def new(data: str, name: str, *more: str) -> Typed:
    Path(name).write_text(data, "utf-8", newline="")
    return typed("new", "s", name, "--input", "q", "--gold", "a", *more)


def answers(data: str, name: str = "answers.jsonl") -> Typed:
    if not Path("fixtures").exists():
        assert new('{"id": "r0001", "q": "x", "a": "y"}\n', "t.jsonl").status == 0
    Path(name).write_text(data, "utf-8", newline="")
    return typed("import", name, "--suite", "s")


def harmless(said: str) -> None:
    assert "\x1b" not in said and "\u202e" not in said
    assert max(map(len, said.splitlines())) < 700


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_json_lines_that_are_all_bad_say_the_first_three_and_why(end: str) -> None:
    done = new(end.join(["no", "[1]", HOSTILE, '{"q": 1,}', "", "five"]) + end, "t.jsonl")
    assert done.status == 2
    assert "none of its 5 lines is one: line 1: got 'no': Expecting value at character 0; line 2: got '[1]'" in done.err
    assert "line 3: got '\\x1b[31m\\u202exxx" in done.err and "and 2 more" in done.err
    harmless(done.err)


def test_one_bad_line_is_named_and_shown() -> None:
    done = new('{"q": "x", "a": "y"}\n' + HOSTILE + "\n", "t.jsonl")
    assert done.status == 2
    assert re.search(r"line 2: expected one JSON object, got '.{40,}'…: Expecting value", done.err)
    assert "1 of 2 rows can't be cases" in done.err
    harmless(done.err)
    assert "its one line is none: line 1: got 'no'" in new("no\n", "t.jsonl").err


def test_json_that_is_no_lines_says_what_it_is() -> None:
    rows = [{"q": "x", "a": "y"}, {"q": "z", "a": "w"}]
    assert "one JSON list: `jq -c '.[]' FILE`" in new(json.dumps(rows), "t.jsonl").err
    assert "one JSON list" in new(json.dumps(rows, indent=2), "t.jsonl").err
    assert "over several lines: `jq -c . FILE`" in new(json.dumps(rows[0], indent=2), "t.jsonl").err


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.tsv", "\t")])
def test_a_table_whose_every_row_is_bad_names_the_rows_and_why(name: str, mark: str) -> None:
    lines = ["q" + mark + "a", f"x{mark}", f"{mark}y", "x", f"x{mark}y{mark}{HOSTILE}", f"x{mark}#N/A"]
    done = new("\n".join(lines) + "\n", name)
    assert done.status == 2
    for said in (
        "line 2: the gold (a) is empty", "line 3: the input (q) is empty", "line 4: expected 2 cells, got 1",
        "line 5: expected 2 cells, got 3", "line 6: the gold (a) is", "5 of 5 rows can't be cases",
    ):  # fmt: skip
        assert said in done.err
    harmless(done.err)


def test_a_gold_or_an_id_that_is_long_and_hostile_is_cut_and_escaped() -> None:
    done = new(f"q,a\nx,{HOSTILE}\n", "t.csv", "--score", "number")
    assert done.status == 2
    harmless(done.err)
    done = new(f"i,q,a\n{HOSTILE},x,y\n", "t.csv", "--id", "i")
    assert done.status == 2
    harmless(done.err)
    twice = f'{{"q": 1, "{"k" * 3000}": 1, "{"k" * 3000}": 2}}'
    done = new(json.dumps({"q": "x", "a": "y", HOSTILE: 1}) + f"\n{twice}\n", "t.jsonl")
    assert done.status == 2
    harmless(done.err)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_answers_of_which_every_line_is_bad_name_the_lines_and_why(end: str) -> None:
    done = answers(end.join(["no", "[]", HOSTILE, '{"id": "zz", "output": "x"}', f'{{"{"k" * 3000}": 1}}']) + end)
    assert done.status == 2
    for said in (
        "line 1: expected one JSON object, got 'no': Expecting value",
        "line 2: expected one JSON object, got '[]'",
        "line 3: expected one JSON object, got '\\x1b[31m\\u202exxx",
        "line 4: no case of s/v1 has the id 'zz'",
        "line 5: unknown key 'kkk",
        "5 of 5 lines are no answers",
    ):
        assert said in done.err, done.err
    harmless(done.err)
    assert not Path("ledger.db").exists()


def test_one_bad_answer_is_named_and_a_list_of_answers_is_told_apart() -> None:
    good = '{"id": "r0001", "output": "y"}\n'
    assert "line 2: expected one JSON object, got 'no'" in answers(good + "no\n").err
    assert "It is one JSON list: `jq -c '.[]' FILE`" in answers(json.dumps([json.loads(good)], indent=1)).err


def test_answers_may_end_their_lines_as_old_files_do() -> None:
    done = answers('{"id": "r0001", "output": "y"}\r')
    assert done.status == 0, done.err
