"""Their files are read into plain records; what is broken in one is named by its place, in one sentence."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from harness import HarnessError
from harness.imports._foreign import ForeignFixture, ForeignRun
from harness.imports._memory_authority_auditor import read_artifact, read_fixture
from harness.suites.authority._case import check_case
from tests.harness.imports.artifacts import CASES, artifact, cell, fixture, good, reply, sample

HERE = Path("there/glasshouse_v0.json")


def read(value: Any) -> ForeignFixture:
    return read_fixture(json.dumps(value).encode(), HERE)


def runs(value: Any, cases: list[dict[str, Any]] | None = None) -> list[ForeignRun]:
    return read_artifact(json.dumps(value).encode(), Path("run.json"), read(fixture(cases)))[0]


def changed(value: Any, change: Any) -> Any:
    mine = copy.deepcopy(value)
    change(mine)
    return mine


def relation(kind: str, source: str, target: str) -> dict[str, str]:
    return {"type": kind, "source_item_id": source, "target_item_id": target}


def case(**more: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CASES[0]), **more}


def test_their_key_becomes_gold_that_this_suite_takes() -> None:
    found = read(fixture())
    assert [each.id for each in found.fixture.cases] == ["seedlings", "vents", "frost history", "orchids / 2"]
    assert found.fixture.name == "glasshouse_v0"
    assert [each.gold["expected"] for each in found.fixture.cases[:2]] == [  # type: ignore[index,call-overload]
        [{"type": "supersedes", "source": "M002", "target": "M001"}],
        [{"type": "narrows_scope", "source": "M002", "target": "M001"}],
    ]
    assert [each.gold["forbidden"] for each in found.fixture.cases[2:]] == [  # type: ignore[index,call-overload]
        ["contradicts", "narrows_scope", "supersedes", "transfers_authority"], ["supersedes"],
    ]  # fmt: skip
    assert all(check_case(each.input, each.gold) is None for each in found.fixture.cases)
    assert found.jsonl.count(b"\n") == 4


def test_several_relations_and_both_kinds_of_key_are_taken_as_they_are() -> None:
    text = "1. One rule holds.\n2) Another rule holds.\n+ The third replaces both.\n"
    relations = [
        {"type": kind, "source_item_id": "M003", "target_item_id": target}
        for kind, target in (("supersedes", "M001"), ("contradicts", "M002"))
    ]
    none = [
        {"forbidden_types": ["narrows_scope"]},
        {"forbidden_types": ["contradicts", "narrows_scope"], "reason": None},
    ]
    (found,) = read(
        fixture([{"id": "x", "text": text, "expected_relations": relations, "expected_no_relations": none}])
    ).fixture.cases
    gold: Any = found.gold
    assert [each["target"] for each in gold["expected"]] == ["M001", "M002"]
    assert gold["forbidden"] == ["contradicts", "narrows_scope"]


def test_a_case_may_leave_out_what_is_not_needed_and_hold_what_nobody_asked_for() -> None:
    bare = {"id": "ü 1", "text": "no item at all", "extra": {"deep": [1, 2.50]}, "expected_no_relations": None}
    (found,) = read({"cases": [bare]}).fixture.cases
    assert found.gold == {"expected": [], "forbidden": [], "reference": []}
    assert read({"cases": [bare]}).fixture.name == "glasshouse_v0", "the file's name, for want of a packet"
    odd = fixture([{**bare, "expected_no_relations": [{"forbidden_types": ["revokes"]}]}])
    assert read(odd).fixture.cases[0].gold["forbidden"] == ["revokes"]  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], "expected an object, got a list"),
        ({"engines": []}, "cases: expected a list, got nothing; is this the fixture"),
        (fixture([]), "at least one case"),
        (fixture([case(), case()]), r"cases\[1\]: the id 'seedlings' is that of cases\[0\] too"),
        (fixture([case(id=7)]), r"cases\[0\].id: expected a text, got a number"),
        (fixture([case(id="")]), r"cases\[0\]: id: expected 1 to 200 printable"),
        (fixture([case(id="a\nb")]), r"cases\[0\]: id: expected 1 to 200 printable"),
        (fixture([case(id="x" * 201)]), r"cases\[0\]: id: expected 1 to 200 printable"),
        (fixture([case(text=None)]), r"cases\[0\].text: expected a text, got null"),
        (fixture([case(text="- \ud83d\n- b")]), r"cases\[0\]: input: a string holds a lone surrogate"),
        (fixture([case(text="no items")]), r"source_item_id: expected an item of the case's text \(none\), got 'M002'"),
        (fixture([case(expected_relations={})]), r"expected_relations: expected a list, got an object"),
        (fixture([case(expected_relations=[5])]), r"expected_relations\[0\]: expected an object, got a number"),
        (fixture([case(expected_relations=[relation("revokes", "M002", "M001")])]),
         r"expected_relations\[0\].type: expected one of supersedes"),
        (fixture([case(expected_relations=[relation("supersedes", "M003", "M001")])]),
         r"source_item_id: expected an item of the case's text \(M001, M002\), got 'M003'"),
        (fixture([case(expected_relations=[{"type": "supersedes", "source_item_id": "M002"}])]),
         r"target_item_id: expected a text, got nothing"),
        (fixture([case(expected_no_relations=[{"forbidden_types": "supersedes"}])]), r"types: expected a list"),
        (fixture([case(expected_no_relations=[{"forbidden_types": [None]}])]), r"types: expected a list of texts"),
        (fixture([case(), "x"]), r"cases\[1\]: expected an object, got a text"),
    ],
)  # fmt: skip
def test_a_broken_fixture_is_refused_by_place(value: Any, says: str) -> None:
    with pytest.raises(HarnessError, match=says) as refused:
        read(value)
    assert "there/glasshouse_v0.json" in str(refused.value) and "\n" not in str(refused.value)


def test_each_engine_is_a_run_with_its_name_as_it_stands() -> None:
    found = runs(sample())
    assert [each.candidate for each in found] == ["paid one", "local_small"]
    assert [each.name for each in found] == ["20270101T000000Z/paid one", "20270101T000000Z/local_small"]
    assert found[0].claimed == {
        "run_id": "20270101T000000Z", "generated_at_utc": "2027-01-01T00:00:00+00:00",
        "fixture": "tests/glasshouse_v0.json", "engine": "paid one",
    }  # fmt: skip
    strange = "моделька \x1b[31m/ v2 @x\n'\""
    assert runs(artifact({strange: []}))[0].candidate == strange
    assert runs(artifact({strange: []}))[0].name == ""


def test_words_of_a_failure_count_only_where_nothing_was_captured() -> None:
    broken, other = runs(sample())
    assert broken.cells["seedlings"].failure is not None
    assert broken.cells["seedlings"].failure[0] == "billing"
    assert broken.cells["frost history"].failure is None
    assert (broken.cells["frost history"].well_formed, other.cells["vents"].well_formed) == (False, True)
    (run,) = runs(
        artifact({"e": [cell("seedlings", "half an ans", "http 500: boom"), cell("vents", " \n", "http 500: x")]})
    )
    assert run.cells["seedlings"].failure is None
    assert run.cells["vents"].failure == ("http_500", "http 500: x")


def test_an_empty_text_without_a_word_is_empty_and_a_missing_one_is_not_captured() -> None:
    missing = {"case_id": "orchids / 2"}
    (run,) = runs(artifact({"e": [
        cell("seedlings", ""), cell("vents", None), cell("frost history", None, "no json"), missing,
    ]}))  # fmt: skip
    assert run.cells["seedlings"].failure is None and run.cells["seedlings"].output == b""
    for name in ("vents", "frost history", "orchids / 2"):
        assert run.cells[name].failure == ("not_captured", "")
    assert run.cells["orchids / 2"].well_formed is None and run.cells["orchids / 2"].claimed == {}


def test_what_their_reader_said_is_kept_as_a_claim_in_words_that_a_body_can_hold() -> None:
    said = cell("seedlings", "x", "bad \x00 \ud83d" + "y" * 5_000, score={"caught": True, "negative_passed": None})
    claimed = runs(artifact({"e": [said]}))[0].cells["seedlings"].claimed
    assert claimed["malformed"] == "true" and claimed["score.caught"] == "true"
    assert "score.negative_passed" not in claimed
    assert claimed["malformed_reasons"].startswith('["bad \\u0000 \\ud83dyyy')
    assert len(claimed["malformed_reasons"]) < 2_100


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (fixture(), "engines: expected a list, got nothing; is this an artifact"),
        (artifact({}), "engines: expected at least one"),
        (artifact({"e": [cell("seedlings", "x"), cell("seedlings", "x")]}),
         r"engines\[0\].cases\[1\]: the case 'seedlings' is that of cases\[0\] too"),
        (artifact({"e": [cell("weeds", "x"), cell("vents", "x")]}),
         r"engines\[0\]: 1 of 2 cases are not in the fixture glasshouse_v0 \('weeds'\); give the fixture that run"),
        (artifact({"e": [cell(f"w{n}", "") for n in range(9)]}), r"9 of 9 cases .*'w4', …\)"),
        (artifact({"e": [cell("vents", 7)]}), r"cases\[0\].raw_output: expected a text or null, got a number"),
        (artifact({"e": [cell("vents", {"proposals": []})]}), r"raw_output: expected a text or null, got an object"),
        (artifact({"e": ["x"]}), r"engines\[0\].cases\[0\]: expected an object, got a text"),
        (artifact({"e": [{"raw_output": ""}]}), r"case_id: expected a text, got nothing"),
        (artifact({"": []}), r"engines\[0\].engine: expected 1 to 1000 characters"),
        (artifact({"a\x00": []}), r"engines\[0\].engine: expected 1 to 1000 characters without U\+0000"),
        (artifact({"a\ud83d": []}), r"half a surrogate pair"),
        (artifact({"a" * 1001: []}), r"expected 1 to 1000 characters"),
        (changed(artifact({"e": []}), lambda a: a["engines"].append(a["engines"][0])),
         r"engines\[1\]: the engine 'e' is that of engines\[0\] too"),
        (changed(artifact({"e": []}), lambda a: a["engines"][0].pop("cases")), r"engines\[0\]: cases: expected a list"),
        (changed(artifact({"e": []}), lambda a: a["engines"][0].pop("engine")), r"engine: expected a text, got no"),
    ],
)  # fmt: skip
def test_a_broken_artifact_is_refused_by_place(value: Any, says: str) -> None:
    with pytest.raises(HarnessError, match=says) as refused:
        runs(value)
    assert "run.json" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "expected one JSON value"),
        (b'{"engines": [', "expected one JSON value"),
        (b"{} {}", "Extra data"),
        (b"\xff\xfe{}", r"not UTF-8 \(byte 0\)"),
        (b'{"engines": [], "engines": []}', "'engines' stands twice"),
        (b"[" * 200_000, "nested too deeply|expected one JSON value"),
        (b"1" * 10_000, "expected an object, got a number"),
    ],
)
def test_what_is_no_json_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(HarnessError, match=says):
        read_artifact(data, Path("run.json"), read(fixture()))
    with pytest.raises(HarnessError, match=says):
        read_fixture(data, HERE)


def test_nan_a_byte_order_mark_and_long_numbers_in_what_is_not_needed_do_no_harm() -> None:
    text = json.dumps(artifact({"e": [cell("vents", reply(), score={"caught": "N"}, n="M")]}))
    odd = "\ufeff" + text.replace('"N"', "NaN").replace('"M"', "9" * 6_000)
    (run,), _ = read_artifact(odd.encode(), Path("run.json"), read(fixture()))
    assert run.cells["vents"].claimed["score.caught"] == '"NaN"'


@pytest.mark.parametrize("named", ["tests/glasshouse_v0.json", "C:\\x\\glasshouse_v0.json", "glasshouse_v0", None, 7])
def test_an_artifact_that_names_this_fixture_or_none_raises_no_question(named: Any) -> None:
    value = artifact({"e": [cell("vents", good(CASES[1]))]}, fixture=named)
    assert read_artifact(json.dumps(value).encode(), Path("run.json"), read(fixture()))[1] == []


def test_an_artifact_that_names_another_fixture_is_taken_with_a_warning() -> None:
    value = artifact({"e": [cell("vents", good(CASES[1]))]}, fixture="tests/glasshouse_\x1bv1.json")
    (note,) = read_artifact(json.dumps(value).encode(), Path("run.json"), read(fixture()))[1]
    assert note.startswith(
        "run.json says that its fixture is 'tests/glasshouse_\\x1bv1.json', and glasshouse_v0 was given"
    )
