"""The rule file of a new suite goes by all golds of a column, and by what they are: a number is never its spelling."""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._new_cases import Made
from harness._new_golds import Gold, comparison
from harness._new_kits import KITS
from harness._new_rules import Asked, fit_rules
from harness._rules import ruleset_from_frozen
from tests.harness.suites.manifest.asked import case_of, derived
from tests.harness.typed import typed


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lines(*golds: Any, **more: Any) -> None:
    Path("t.jsonl").write_text("".join(json.dumps({"q": "?", "a": gold, **more}) + "\n" for gold in golds), "utf-8")


def made(score: str, *arguments: str, file: str = "t.jsonl") -> dict[str, Any]:
    """The [score] table that `harness new` writes."""
    done = typed("new", "s", file, "--input", "q", "--gold", "a", "--score", score, *arguments)
    assert done.status == 0, done.err
    return tomllib.loads(Path(f"fixtures/s/rules/{score}.toml").read_text("utf-8"))["score"]


def comes_to(score: str, golds: list[Any], at: int, reply: Any) -> str:
    """What a reply to one of some cases comes to, under the rules that are made of all their golds."""
    rows = [Made(f"line {number}", "", "", {"q": "?"}, _read(gold)) for number, gold in enumerate(golds, start=1)]
    fitted = fit_rules(KITS[score], Asked(["q"], rows))
    held = derived(ruleset_from_frozen(score, fitted.rules.encode(), "manifest"), reply, case_of(golds[at])).score
    return held.reason if held.outcome == "unmeasured" else held.outcome


def _read(gold: Any) -> Any:
    return json.loads(json.dumps(gold), parse_float=Decimal)


COLUMNS: tuple[tuple[list[Any], int, Any, bool], ...] = (
    ([100.0, "n/a"], 0, 100, True),
    ([100.0, "n/a"], 0, "100", False),
    ([100.0, "n/a"], 1, "n/a", True),
    ([100, "100"], 0, 100.0, True),
    ([100, "100"], 0, "100", False),
    ([100, "100"], 1, "100", True),
    ([100, "100"], 1, 100, False),
    ([1.0, 1], 1, 1.0, True),
    ([1, 1.0, 1e2], 2, 100, True),
    ([True, "true"], 0, True, True),
    ([True, "true"], 0, "true", False),
    ([True, 1], 0, 1, False),
    ([True, 1], 1, True, False),
    ([None, "x"], 0, None, True),
    ([None, 1.0], 1, 1, True),
    ([[1.0, 2], 3], 0, [1, 2.0], True),
    ([{"deep": [100.0]}, {"deep": ["n/a"]}], 0, {"deep": [100]}, True),
    (["Oslo", "Rome"], 0, "OSLO.", True),
    ([1889, 1900], 0, "1889", True),
    ([-0.0, 0], 0, 0, True),
    ([12345678901234567890, "x"], 0, 12345678901234567891, False),
)


@pytest.mark.parametrize(("column", "at", "said", "right"), COLUMNS)
def test_a_field_of_mixed_golds_is_compared_by_type_and_value(
    column: list[Any], at: int, said: Any, right: bool
) -> None:
    golds = [{"value": gold} for gold in column]
    assert comes_to("json", golds, at, {"value": said}) == ("correct" if right else "incorrect")


def test_fields_that_differ_from_case_to_case_compare_a_number_by_its_value() -> None:
    golds: list[Any] = [{"city": "Oslo", "year": 1889.0}, {"city": "Rome"}]
    assert comes_to("json", golds, 0, {"city": "oslo", "year": 1889}) == "correct"
    assert comes_to("json", [{"a": None}, {"b": 2.0}], 1, {"b": 2}) == "correct"
    assert comes_to("json", [{"a": 1.50}, {"b": 2.0}], 0, {"a": 1.5}) == "correct"


def test_a_list_as_the_gold_is_asked_for_as_a_list_and_compared_whole() -> None:
    lines([1.0, 2], [3])
    assert made("json") == {"scorer": "json", "normalise": "json"}
    assert 'ask = "array"' in Path("fixtures/s/suite.toml").read_text("utf-8")


def test_a_list_beside_an_object_is_refused_with_both_rows() -> None:
    lines({"x": 1}, [1])
    done = typed("new", "s", "t.jsonl", "--input", "q", "--gold", "a", "--score", "json")
    assert done.status == 2 and "a list on line 2 and an object on line 1" in done.err


@pytest.mark.parametrize("score", ["exact", "regex"])
@pytest.mark.parametrize(
    ("golds", "form"),
    [
        ([100.0, 7], "value/1"), ([100.0, "n/a"], "value/1"), (["100.0", "n/a"], "label/2"),
        (["x", [1.0, "one"]], "value/1"),
        ([True, "x"], "label/2"),
    ],
)  # fmt: skip
def test_texts_and_numbers_of_json_are_told_by_their_type(score: str, golds: list[Any], form: str) -> None:
    lines(*golds)
    assert made(score)["normalise"] == form


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["100.0", "7"], "value/1"), (["100.0", "n/a"], "value/1"), (["n/a", "100.0"], "value/1"),
        (["Oslo", "Rome"], "label/2"),
        (["007", "12"], "label/2"), (["-1.5e3", "+2"], "value/1"), (["1,5", "x"], "label/2"),
    ],
)  # fmt: skip
def test_cells_of_a_csv_are_numbers_where_they_are_written_so(cells: list[str], form: str) -> None:
    Path("t.csv").write_text("q,a\n" + "".join(f'?,"{cell}"\n' for cell in cells), "utf-8")
    assert made("exact", file="t.csv")["normalise"] == form


def test_each_column_of_a_csv_is_told_for_itself() -> None:
    Path("t.csv").write_text("q,city,n,zip,mixed\n?,Oslo,1.0,0150,5.0\n?,Rome,2,10115,none\n", "utf-8")
    columns = [word for name in ("city", "n", "zip", "mixed") for word in ("--gold", name)]
    assert typed("new", "s", "t.csv", "--input", "q", "--score", "json", *columns).status == 0
    fields = tomllib.loads(Path("fixtures/s/rules/json.toml").read_text("utf-8"))["score"]["fields"]
    assert fields == {"city": "label/2", "n": "value/1", "zip": "label/2", "mixed": "value/1"}


def test_items_of_lists_are_compared_by_value_where_some_are_numbers() -> None:
    assert comes_to("f1", [[1.0, "x"], ["y"]], 0, [1, "X"]) == "graded"
    lines([1.0, "x"], ["y"])
    assert made("f1")["normalise"] == "value/1"


@given(st.lists(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.booleans()),
                min_size=1, max_size=6))  # fmt: skip
def test_the_order_of_the_rows_decides_nothing(values: list[Any]) -> None:
    golds = [Gold(f"line {at}", _read(value)) for at, value in enumerate(values, start=1)]
    form = comparison(golds, typed=True, option="").form
    assert form == comparison(golds[::-1], typed=True, option="").form
    assert (form == "value/1") == any(type(value) in (int, float) for value in values)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6), st.data())
def test_a_number_is_right_in_any_spelling_and_another_never(gold: Decimal, data: st.DataObject) -> None:
    value = float(gold)
    spelled = data.draw(st.sampled_from([str(gold), f"{gold:f}0", f"{gold:e}", f" {gold}", f"**{gold}**"]))
    assert comes_to("exact", [value, "n/a"], 0, spelled) == "correct"
    assert comes_to("exact", [value, "n/a"], 0, str(gold + 1)) == "incorrect"


# Choices


def options(*golds: Any, there: Any = ("red", "blue", "green")) -> None:
    lines(*golds, o=[*there] if type(there) is tuple else there)


def test_how_a_gold_names_an_option_is_told_from_all_of_them() -> None:
    options("B", "a")
    assert made("choice", "--options", "o")["gold"] == "letter"


@pytest.mark.parametrize(
    ("golds", "there", "form"),
    [
        (["red", "green"], ("red", "blue", "green"), "text"), ([1, 0, 2], ("x", "y", "z"), "index"),
        (["1", "0"], ("x", "y"), "index"), (["10", "2"], {str(at): f"t{at}" for at in range(1, 37)}, "letter"),
        ([10, 2], {str(at): f"t{at}" for at in range(1, 37)}, "letter"), (["B", ["A", "B"]], ("x", "y"), "letter"),
        (["t5"], {str(at): f"t{at}" for at in range(1, 37)}, "text"), (["A"], {"A": "x", "B": "y"}, "letter"),
    ],
)  # fmt: skip
def test_a_gold_is_a_letter_a_text_or_an_index(golds: list[Any], there: Any, form: str) -> None:
    options(*golds, there=there)
    assert made("choice", "--options", "o")["gold"] == form


def test_golds_that_name_options_in_two_ways_are_refused_with_both_rows() -> None:
    options("B", "green")
    done = typed("new", "s", "t.jsonl", "--input", "q", "--gold", "a", "--options", "o", "--score", "choice")
    assert done.status == 2
    assert "the gold of line 1 ('B') names an option by its letter, that of line 2 ('green') by its text" in done.err


def test_options_as_a_list_and_as_an_object_in_one_table_are_refused_with_both_rows() -> None:
    Path("t.jsonl").write_text(
        '{"q": "?", "o": ["x", "y"], "a": "A"}\n{"q": "?", "o": {"A": "x", "B": "y"}, "a": "A"}\n', "utf-8"
    )
    done = typed("new", "s", "t.jsonl", "--input", "q", "--gold", "a", "--options", "o", "--score", "choice")
    assert done.status == 2 and "an object on line 2 and a list on line 1" in done.err


@pytest.mark.parametrize("count", [2, 26, 27, 36, 120])
@pytest.mark.parametrize("kind", ["list", "object", "by text"])
def test_as_many_options_as_there_are_stand_in_the_prompt(count: int, kind: str) -> None:
    if kind == "list" and count > 26:
        pytest.skip("letters end at 26; the refusal says what goes")
    texts = tuple(f"thing {at}" for at in range(1, count + 1))
    there = {str(at): text for at, text in enumerate(texts, start=1)} if kind == "object" else texts
    options({"list": "B", "object": "2", "by text": "thing 2"}[kind], there=there)
    made("choice", "--options", "o", *(["--set", "by=text"] if kind == "by text" else []))
    from harness._suite import load_suite

    suite, (fixture,) = load_suite("s")
    (message,) = suite.stage_functions.messages(suite.prompt, fixture.cases[0].input).messages
    mark = {"list": "B. ", "object": "2. ", "by text": "- "}[kind]
    assert f"{mark}thing 2\n" in message["content"] and message["content"].count(" thing ") == count


# Whole inputs


def test_a_field_that_only_later_inputs_have_is_asked_too() -> None:
    turns = [{"role": "user", "content": "hi"}]
    Path("t.jsonl").write_text(
        json.dumps({"q": {"messages": turns}, "a": "x"}) + "\n"
        + json.dumps({"q": {"messages": turns, "hint": "think"}, "a": "x"}) + "\n", "utf-8",
    )  # fmt: skip
    done = typed("new", "s", "t.jsonl", "--input", "q", "--gold", "a")
    prompt = Path("fixtures/s/prompts/question.txt")
    assert done.status == 2 or "hint" in prompt.read_text("utf-8")


def test_messages_on_one_row_and_a_text_on_another_are_refused_with_both_rows() -> None:
    Path("t.jsonl").write_text(
        json.dumps({"q": {"messages": [{"role": "user", "content": "hi"}]}, "a": "x"}) + "\n"
        + json.dumps({"q": "hi", "a": "x"}) + "\n", "utf-8",
    )  # fmt: skip
    done = typed("new", "s", "t.jsonl", "--input", "q", "--gold", "a")
    assert done.status == 2 and "holds messages on line 1 and none on line 2" in done.err
