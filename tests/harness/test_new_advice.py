"""Advice in a refusal of `harness new` is taken out of the refusal, typed, and works."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.typed import typed


@dataclass(frozen=True)
class Refused:
    """A table, how `harness new` was called on it, what the refusal says, and how many options it advises."""

    name: str
    data: str | bytes
    arguments: str
    says: str
    advises: int = 1
    file: str = "t.csv"


def rows(*lines: dict[str, object]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def listed(count: int, gold: object = "thing 2") -> str:
    return rows({"q": "Which?", "o": [f"thing {at}" for at in range(count)], "a": gold})


ASK = "--input q --gold a"
REFUSED = (
    Refused("27 options", listed(27), f"{ASK} --options o --score choice", "at most 26", file="t.jsonl"),
    Refused("400 options", listed(400), f"{ASK} --options o --score choice", "at most 26", file="t.jsonl"),
    Refused("an option that is another's letter", rows({"q": "?", "o": ["B", "x"], "a": "B"}),
            f"{ASK} --options o --score choice", "is the letter of option B", file="t.jsonl"),
    Refused("a gold that is an index and a text", rows({"q": "?", "o": [2, 0, 1], "a": 0}),
            f"{ASK} --options o --score choice", "line 1 names one option by its text and another", 2, "t.jsonl"),
    Refused("golds that are an index, never 0", rows({"q": "?", "o": ["x", "y", "z"], "a": 1}),
            f"{ASK} --options o --score choice", "expected the", file="t.jsonl"),
    Refused("a blank between thousands", "q;a\nx;1 000\ny;2\n", f"{ASK} --delimiter ; --score number", "1 000"),
    Refused("a comma that could be either", 'q,a\nx,"1,500"\ny,7\n', f"{ASK} --score number", "1,500", 2),
    Refused("decimal comma and a unit", "q;a\nx;16,6\ny;1.234,5 km\nz;7\n",
            f"{ASK} --delimiter ; --score number", "16,6"),
    Refused("apostrophes", "q,a\nx,1'000\ny,2\n", f"{ASK} --score number", "1'000"),
    Refused("a unit", "q,a\nx,3 kg\ny,4kg\n", f"{ASK} --score number", "3 kg"),
    Refused("a unit with a power", "q,a\nx,3 m^2\ny,4 m^2\n", f"{ASK} --score number", "'3 m^2'"),
    Refused("fractions", "q,a\nx,3\ny,1/2\n", f"{ASK} --score number", "'1/2'"),
    Refused("options by Roman numbers", rows({"q": "?", "o": {"i": "x", "ii": "y"}, "a": "ii"}),
            f"{ASK} --options o --score choice", "expected a letter or a number for each option", file="t.jsonl"),
    Refused("a code and a number of JSON", rows({"q": "?", "a": "007"}, {"q": "!", "a": 8}), ASK,
            "whose zeros may count", 2, "t.jsonl"),
    Refused("no number at all", "q,a\nx,3\ny,n/a\n", f"{ASK} --score number", "'n/a'"),
    Refused("an empty gold", "q,a\nx,3\ny,\n", ASK, "the gold (a) is empty"),
    Refused("an empty gold of f1", "q,a\nx,b;c\ny,\n", f"{ASK} --score f1 --gold-split ;", "the gold (a) is empty"),
    Refused("an empty gold of f1, texts", "q,a\nx,b;c\ny,\n", f"{ASK} --score f1", "is empty"),
    Refused("an empty gold of quote", "text,a\nIt was closed.,was closed\nIt was open.,\n",
            "--input text --gold a --score quote", "is empty"),
    Refused("--empty-gold of exact", "q,a\nx,\n", f"{ASK} --empty-gold", "can't expect nothing", 2),
    Refused("a text that isn't a list", "q,a\nx,Oslo\n", f"{ASK} --score f1", "expected a list"),
    Refused("texts with a bar between", "q,a\nx,Oslo|Rome\ny,Bonn\n", f"{ASK} --score f1", "expected a list"),
    Refused("a list that is text", 'q,a\nx,"[""Oslo""]"\n', f"{ASK} --score f1", "expected a list"),
    Refused("an object that is text", 'q,a\nx,"{""city"": ""Oslo""}"\n', f"{ASK} --score json",
            "as JSON and not as a text"),
    Refused("an object as the gold of exact", rows({"q": "x", "a": {"b": 1}}), ASK, "expected a text", file="t.jsonl"),
    Refused("a text as the gold of json", rows({"q": "x", "a": "Oslo"}), f"{ASK} --score json", "expected an object",
            file="t.jsonl"),
    Refused("golds of marks alone", "q,a\nx,...\ny,!?\n", ASK, "has no normal form"),
    Refused("a semicolon", "q;a\nx;y\n", ASK, "the header has one column, 'q;a'"),
    Refused("a tab", "q\ta\nx\ty\n", ASK, "the header has one column"),
    Refused("a bar", "q|a\nx|y\n", ASK, "the header has one column"),
    Refused("a comma in a TSV", "q,a\nx,y\n", ASK, "the header has one column", file="t.tsv"),
    Refused("another delimiter than was said", "q;a\nx;y\n", f"{ASK} --delimiter tab", "the header has one column"),
    *(Refused(f"{code} in {file}", text.encode(code), ASK, "not UTF-8" if code == "cp1252" else "UTF-", file=file)
      for code in ("cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
      for text, file in (("q,a\nCafé?,crème\n", "t.csv"), (rows({"q": "Café?", "a": "crème"}), "t.jsonl"))),
    Refused("shift_jis with bytes that Windows-1252 lacks", "q,a\n京都\u2252,が\n".encode("cp932"), ASK, "not UTF-8"),
    Refused("one id twice", "id,q,a\n1,x,y\n1,z,w\n", f"{ASK} --id id", "stands on line 2 too"),
    Refused("an id that is missing", "id,q,a\n1,x,y\n,z,w\n", f"{ASK} --id id", "the id (id) is empty"),
    Refused("a row with too many cells", "q,a\nx,y\nz,w,v\n", ASK, "expected 2 cells, got 3"),
    Refused("a quote that isn't in the first field", "text,a,b\nno,It was closed.,was closed\n",
            "--input text --input a --gold b --score quote --set source=text", "doesn't stand", 0),
    Refused("a gold that needs its case", "q,a\nx,y\nz,...\n", ASK, "has no normal form"),
    Refused("numbers and codes", "q,a\nx,1.50\ny,007\n", ASK, "line 2 has the number '1.50' and line 3 '007'", 2),
    Refused("numbers and codes of a field", "q,a,b\nx,1.50,n\ny,007,m\n", "--input q --gold a --gold b --score json",
            "line 2 has the number '1.50' and line 3 '007'", 2),
    Refused("a gold of includes without a word", rows({"q": "x", "a": "北京"}, {"q": "y", "a": "..."}),
            f"{ASK} --score includes", "has no words", file="t.jsonl"),
    Refused("a script without blanks", rows({"q": "?", "a": "ราคา"}), f"{ASK} --score includes", "", file="t.jsonl"),
)  # fmt: skip


def advised(text: str) -> list[list[str]]:
    """The options that a refusal names, as they are typed: in back quotes, or after say, try or with."""
    bare = re.findall(r"(?:say|try|with) (--[a-z-]+(?: (?!and\b|for\b)(?:'[^']*'|[\w.-]+))?)", text)
    named = re.findall(r"`(--[^`]+)`", text) + bare
    named += re.findall(r"--score \w+(?= and)|(?<=and )--score \w+", text)
    return [shlex.split(each) for each in named]


def without(arguments: Sequence[str], advice: Sequence[str]) -> list[str]:
    """A command line without the options that the advice takes the place of; `--set` goes on beside what was set."""
    kept: list[str] = []
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word in advice and word in ("--delimiter", "--encoding", "--score", "--gold-split"):
            skip = True
        else:
            kept.append(word)
    return kept


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_a_refusal_advises_then_works(case: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(case.file).write_bytes(case.data if isinstance(case.data, bytes) else case.data.encode("utf-8"))
    arguments = shlex.split(case.arguments.replace(" ;", " ';'"))
    status, _, refusal = typed("new", "s", case.file, *arguments)
    if case.says:
        assert status == 2 and case.says in refusal, refusal
    elif status == 0:
        return  # what is read today isn't refused
    assert not Path("fixtures").exists()
    options = advised(refusal)
    assert case.says == "" or len(options) == case.advises, refusal
    for option in options:
        done = typed("new", "s", case.file, *without(arguments, option), *option)
        assert done.status == 0, (option, refusal, done.err)
        shutil.rmtree("fixtures")


def test_a_suite_that_is_there_takes_changed_cases_where_the_refusal_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("q,a\nx,y\n")
    assert typed("new", "s", "t.csv", "--input", "q", "--gold", "a").status == 0
    status, _, refusal = typed("new", "s", "t.csv", "--input", "q", "--gold", "a")
    (place,) = re.findall(r"into (\S+)", refusal)
    assert status == 2
    Path(place).parent.mkdir()
    shutil.copy("fixtures/s/v1/cases.jsonl", place)
    assert "v2" in typed("suites").out


def test_a_json_list_becomes_lines_by_the_command_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    import subprocess

    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(json.dumps([{"q": "x", "a": "y"}, {"q": "z", "a": "w"}], indent=1))
    status, _, refusal = typed("new", "s", "t.jsonl", "--input", "q", "--gold", "a")
    assert status == 2
    (command,) = re.findall(r"`(jq [^`]+)`", refusal)
    made = subprocess.run(shlex.split(command.replace("FILE", "t.jsonl")), capture_output=True, check=True).stdout
    Path("lines.jsonl").write_bytes(made)
    assert typed("new", "s", "lines.jsonl", "--input", "q", "--gold", "a").status == 0


@pytest.mark.parametrize(
    ("score", "setting", "beside"),
    [
        ("number", "decimal=;", ""), ("number", "thousands=x", ""), ("number", "grouping=no", "thousands=,"),
        ("number", "unit=no", "units=kg"), ("choice", "by=no", ""), ("quote", "passage=no", ""), ("f1", "split=no", ""),
        ("exact", "normalise=no", ""), ("regex", "which=no", ""),
    ],
)  # fmt: skip
def test_every_value_that_a_refusal_of_set_lists_is_taken(
    score: str, setting: str, beside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, refusal = typed("new", "s", "--score", score, "--set", setting)
    assert status == 2
    named = re.search(r"(?:one of|out of) (.*), got", refusal)
    assert named is not None, refusal
    more = ["--set", beside] if beside else []
    values = re.findall(r"'([^']*)'|\"([^\"]*)\"|([\w/]+)", named[1])
    assert len(values) > 1
    for value in map("".join, values):
        shutil.rmtree("fixtures", ignore_errors=True)
        done = typed("new", "s", "--score", score, "--set", f"{setting.partition('=')[0]}={value}", *more)
        # The value is taken; that the example's golds, or another option, don't go with it is another matter.
        assert done.status == 0 or "the worked example of" in done.err or "are both" in done.err, (value, done.err)
