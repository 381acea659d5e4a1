"""Suites as they lie on disk: what is found, what is refused, and what a person is told."""

import json
import os
import shutil
from pathlib import Path

import pytest
from blake3 import blake3

from harness._carried import list_suites
from harness._errors import SuiteError, UsageError
from harness._job import parse_settings
from harness._suite import load_suite, parse_cases
from harness.suites import stages

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TEXT = "# T\n\n- one\n- two\n"
GOLD = {"expected": [], "forbidden": ["supersedes"], "reference": []}


def line(name: str = "a", **changed: object) -> str:
    return json.dumps({"id": name, "input": {"text": TEXT}, "gold": GOLD, "meta": {}} | changed)


def suite_at(folder: Path, *, manifest: str = "", cases: str | bytes | None = None, name: str = "small") -> Path:
    """A small suite under `folder`; `manifest` lines come on top of, and win over, the usual ones."""
    made = folder / name
    (made / "prompts").mkdir(parents=True)
    (made / "one").mkdir()
    usual = {"name": f'"{name}"', "stages": '"authority"', "ask": '"object"', "prompt": '"propose"'}
    given = dict(row.split(" = ", 1) for row in manifest.splitlines() if row)
    rows = [f"{key} = {value}" for key, value in (usual | given).items() if value != "-"]
    (made / "suite.toml").write_text("\n".join(rows) + "\n")
    (made / "prompts" / "propose.txt").write_text("{{items}}")
    data = line() + "\n" if cases is None else cases
    (made / "one" / "cases.jsonl").write_bytes(data if isinstance(data, bytes) else data.encode())
    return made


def complaint(reference: str, root: Path) -> str:
    with pytest.raises(SuiteError) as caught:
        load_suite(reference, root)
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_name_alone_gives_every_fixture_and_a_name_with_a_fixture_that_one() -> None:
    suite, both = load_suite("authority", FIXTURES)
    assert [fixture.name for fixture in both] == ["v0", "v1"]
    assert suite.fixtures == ("v0", "v1")
    assert suite.rule_names == ("strict-cite", "fence-cite")
    assert dict(suite.parameters) == {"temperature": 0, "max_tokens": 1024}
    assert [fixture.name for fixture in load_suite("authority/v1", FIXTURES)[1]] == ["v1"]
    assert "authority" in list_suites(FIXTURES)
    assert list_suites(FIXTURES) == tuple(sorted(path.parent.name for path in FIXTURES.glob("*/suite.toml")))


def test_a_folder_stands_for_a_suite_wherever_it_lies(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "authority", tmp_path / "moved")
    for reference in (str(tmp_path / "moved"), str(tmp_path / "moved") + "/"):
        suite, found = load_suite(reference, tmp_path / "nothing")
        assert (suite.name, len(found)) == ("authority", 2)
    suite, found = load_suite(str(tmp_path / "moved" / "v0"), tmp_path / "nothing")
    assert [fixture.name for fixture in found] == ["v0"]


def test_a_relative_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite_at(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert load_suite("./small", Path("elsewhere"))[0].name == "small"
    assert load_suite("small/one", Path("elsewhere"))[1][0].name == "one"


def test_a_case_keeps_its_texts_as_they_stand_in_the_file(tmp_path: Path) -> None:
    odd = '{ "gold":{"expected":[ ],"forbidden":[],"reference":1.0},"id":"\\u0061", "input": {"text" : "- x\\u00e9"} }'
    suite_at(tmp_path, cases=f"\n{odd}\r\n")
    _, (fixture,) = load_suite("small", tmp_path)
    (case,) = fixture.cases
    assert case.id == "a"
    assert case.line == 2
    assert case.input_text == '{"text" : "- x\\u00e9"}'
    assert case.gold_text == '{"expected":[ ],"forbidden":[],"reference":1.0}'
    assert case.meta_text == "{}"
    assert case.input == {"text": "- x\u00e9"}
    assert fixture.digest == blake3(fixture.file).hexdigest()


def test_one_id_on_two_lines_is_refused_naming_both(tmp_path: Path) -> None:
    suite_at(tmp_path, cases="\n".join([line("q"), line("r"), "", line("q")]))
    said = complaint("small", tmp_path)
    assert "cases.jsonl:4" in said
    assert "line 1" in said
    assert "'q'" in said


def test_one_content_under_two_ids_is_allowed(tmp_path: Path) -> None:
    suite_at(tmp_path, cases=line("q") + "\n" + line("r"))
    _, (fixture,) = load_suite("small", tmp_path)
    assert fixture.cases[0].input_text == fixture.cases[1].input_text


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ("", "got none"),
        (" \n\n", "got none"),
        ("nonsense", "cases.jsonl:1: expected one JSON object"),
        (line() + "\n[1]", "cases.jsonl:2: expected one JSON object"),
        (line() + "\n" + line("b")[:-1], "cases.jsonl:2: expected one JSON object"),
        (line()[:-1] + ',"id":"b"}', "'id' stands twice"),
        (line(input={"text": TEXT})[:-1].replace('"text"', '"text":"","text"') + "}", "'text' stands twice"),
        (line(extra=1), "unknown key 'extra'"),
        ('{"id":"a","gold":{}}', "missing key 'input'"),
        ('{"input":{"text":"- x"},"gold":{}}', "missing key 'id'"),
        ('{"id":"a","input":{"text":"- x"}}', "missing key 'gold'"),
        (line(1), "id: expected"),  # type: ignore[arg-type]
        (line(""), "id: expected"),
        (line("a\x1b[2J"), "id: expected"),
        (line("a\u2028b"), "id: expected"),
        (line("x" * 201), "id: expected"),
        (line(input={"text": "- \ud800"}), "input: a string holds a lone surrogate"),
        (line(gold={"reference": "\udfff"}), "gold: a string holds a lone surrogate"),
        (b"\xef\xbb\xbf" + line().encode(), "byte order mark"),
        (b'{"id":"\xff"}', "not UTF-8"),
        (line(input={"text": "no items"}), "at least one bulleted"),
        (line(input="text"), "input: expected"),
        (line(input={"text": TEXT, "more": 1}), "input: expected"),
        (line(input={"text": "- \x00"}), "U+0000"),
        (line(gold=[]), "gold: expected"),
        (line(gold=GOLD | {"expcted": []}), "unknown key 'expcted'"),
        (line(gold={"forbidden": []}), "gold.expected"),
        (line(gold={"expected": []}), "gold.forbidden"),
        (line(gold=GOLD | {"forbidden": ["erases"]}), "'erases'"),
        (line(gold=GOLD | {"expected": [{"type": "supersedes", "source": "M002"}]}), "gold.expected[0]"),
        (line(gold=GOLD | {"expected": [{"type": "x", "source": "M002", "target": "M001"}]}), "gold.expected[0].type"),
        (
            line(gold=GOLD | {"expected": [{"type": "supersedes", "source": "M003", "target": "M001"}]}),
            "expected an item of this case (M001, M002), got 'M003'",
        ),
        (line(gold=GOLD | {"expected": [{"type": [], "source": {}, "target": 1}]}), "gold.expected[0].type"),
    ],
)
def test_a_bad_line_is_named_with_what_is_wrong(tmp_path: Path, cases: str | bytes, says: str) -> None:
    suite_at(tmp_path, cases=cases)
    assert says in complaint("small", tmp_path)


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("name = -", "name: expected text, got nothing"),
        ('name = "Small"', "lower-case"),
        ('name = "other"', "give both the same name"),
        ("ask = 3", "ask: expected text, got 3"),
        ('ask = "xml"', "ask: expected one of object"),
        ('stages = "poetry"', "stages: expected one of authority"),
        ("stages = -\ncriteria = 1", "stages: expected one of authority, manifest, pairwise, rubric, written, got no"),
        ('prompt = "../../secret"', "prompt: expected the name"),
        ('prompt = "other"', "other.txt: can't be read"),
        ('promt = "propose"', "unknown key 'promt'"),
        ('rules = ["nowhere"]', "'nowhere' is not in rules/"),
        ('rules = "default"', "rules: expected a list"),
        ('rules = ["default", "default"]', "stands twice"),
        ("parameters = 3", "parameters: expected a table"),
        ("parameters = { since = 2026-01-01 }", "parameters.since"),
        ("parameters = { temperature = nan }", "parameters.temperature"),
        ("ask = =", "expected TOML"),
    ],
)
def test_a_bad_manifest_is_named_with_what_is_wrong(tmp_path: Path, manifest: str, says: str) -> None:
    suite_at(tmp_path, manifest=manifest)
    assert says in complaint("small", tmp_path)


def test_a_manifest_that_was_saved_with_a_byte_order_mark_is_told_so(tmp_path: Path) -> None:
    path = suite_at(tmp_path) / "suite.toml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert "suite.toml: starts with a byte order mark; save it as UTF-8 without one" in complaint("small", tmp_path)


@pytest.mark.parametrize(("prompt", "says"), [("no place", "{{items}}"), ("{{items}} {{secret}}", "{{secret}}")])
def test_a_prompt_that_would_ask_nothing_is_refused(tmp_path: Path, prompt: str, says: str) -> None:
    (suite_at(tmp_path) / "prompts" / "propose.txt").write_text(prompt)
    assert says in complaint("small", tmp_path)


@pytest.mark.parametrize(
    "reference", ["", "/", "nowhere", "small/two", "small/prompts", "../small", "a\x00b", "small/one/x"]
)
def test_what_is_not_there_is_told_with_what_is(tmp_path: Path, reference: str) -> None:
    suite_at(tmp_path)
    said = complaint(reference, tmp_path)
    assert "small" in said or "one" in said


def test_a_suite_without_fixtures_says_where_cases_go(tmp_path: Path) -> None:
    shutil.rmtree(suite_at(tmp_path) / "one")
    assert "cases.jsonl" in complaint("small", tmp_path)


def test_a_suite_without_rules_uses_the_default(tmp_path: Path) -> None:
    suite_at(tmp_path)
    assert load_suite("small", tmp_path)[0].rule_names == ("default",)


def test_nothing_untrusted_reaches_a_message_unescaped(tmp_path: Path) -> None:
    said = complaint("\x1b[31mred", tmp_path)
    assert "\x1b" not in said
    with pytest.raises(SuiteError) as caught:
        parse_cases(line(**{"\x1b[2J": 1}).encode(), tmp_path / "\x1bx", stages("authority"))
    assert "\x1b" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["one/cases.jsonl", "prompts/propose.txt"])
def test_a_pipe_in_a_files_place_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    path = suite_at(tmp_path) / name
    path.unlink()
    os.mkfifo(path)
    assert "expected a file, got a pipe" in complaint("small", tmp_path)


def test_a_number_too_long_to_be_read_is_named_as_any_fault_of_the_manifest(tmp_path: Path) -> None:
    suite_at(tmp_path, manifest="about = " + "9" * 5_000)
    assert "expected TOML" in complaint("small", tmp_path)


def test_a_setting_nested_too_deeply_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="'a' is nested too deeply"):
        parse_settings(["a=" + "[" * 100_000])
