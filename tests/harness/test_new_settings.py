"""What was typed behind `--set NAME=` is what the rule file has, to the last blank; else it is refused."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness._errors import UsageError
from harness._new_kits import KITS
from harness._new_settings import read_settings, with_settings
from tests.harness.typed import typed

TYPED = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)


def in_file(score: str, *settings: str) -> dict[str, Any]:
    """The options that settings come to in a rule file."""
    return tomllib.loads(with_settings("[score]\n", read_settings(KITS[score], settings)), parse_float=Decimal)["score"]


@given(TYPED.filter(str.strip))
@example(" Answer: ")
@example('"(.*)"')
@example("'x'")
@example("a=b")
@example("\u00a0x\u202f")
@example("x # y")
@example("1.50")
@example("true")
@example("[0-9]")
@example("\ttab\n")
def test_a_text_is_taken_as_it_stands(value: str) -> None:
    assert in_file("exact", f"marker={value}") == {"marker": value}
    assert in_file("quote", f"source={value}") == {"source": value}


@pytest.mark.parametrize(
    ("score", "setting", "value"),
    [
        ("number", "thousands= ", " "), ("number", "thousands=", ""), ("number", "thousands='", "'"),
        ("number", 'thousands=" "', " "), ("number", "decimal=,", ","), ("number", "tolerance=0.50", Decimal("0.50")),
        ("number", "tolerance=1e-3", Decimal("0.001")), ("number", "units=km", ["km"]),
        ("number", "units= km", [" km"]), ("number", 'units=["km", " m"]', ["km", " m"]), ("number", "units=%", ["%"]),
        ("number", "units=[km]", ["[km]"]), ("number", "units=a,b", ["a,b"]), ("number", 'units="km"', ['"km"']),
        ("exact", "fence=false", False), ("exact", "normalise=label", "label"), ("f1", "nothing=none ", ["none "]),
        ("regex", "pattern=^ (x)=$", "^ (x)=$"), ("choice", "letters=ABCDE", "ABCDE"),
        ("json", 'fields={ a = "label" }', {"a": "label"}), ("json", 'schema={"type":"object"}', '{"type":"object"}'),
        ("json", 'schema={ type = "object" }', {"type": "object"}), ("quote", "share=1", 1),
        ("quote", "accept=exact", ["exact"]),
    ],
)  # fmt: skip
def test_a_value_is_what_its_option_takes(score: str, setting: str, value: Any) -> None:
    assert in_file(score, setting) == {setting.partition("=")[0]: value}


@pytest.mark.parametrize(
    ("score", "setting", "says"),
    [
        ("number", "thousands=  ", "thousands: expected one of"),
        ("number", "decimal= ,", "decimal: expected one of"),
        ("number", "decimal=, ", "decimal: expected one of"),
        ("number", "decimal=\u00a0", "decimal: expected one of"),
        ("number", "tolerance=0.5 # half", "tolerance: expected a number"),
        ("number", "tolerance=1,", "expected a number"),
        ("number", "tolerance=1\nunits=['kg']", "expected a number"),
        ("number", "tolerance=nan", "expected a number"),
        ("number", "tolerance=", "expected a number"),
        ("exact", "at=whole ", "at: expected one of"),
        ("exact", "at=Whole", "at: expected one of"),
        ("exact", "fence=yes", "expected true or false"),
        ("exact", "marker=", "expected a text"),
        ("exact", "marker=  ", "expected a text"),
        ("number", "units=", "list of texts"),
        ("exact", "marker=\udcff", "UTF-8"),
        ("exact", " marker=x", "no blank goes between marker and the ="),
        ("exact", "marker =x", "no blank goes between"),
        ("exact", "marker", "OPTION=VALUE"),
        ("exact", "=x", "OPTION=VALUE"),
        ("choice", "letters=A B", "expected letters"),
    ],
)
def test_what_an_option_does_not_take_is_refused_and_never_trimmed(score: str, setting: str, says: str) -> None:
    with pytest.raises(UsageError, match="--set") as caught:
        read_settings(KITS[score], [setting])
    assert says in str(caught.value)


def test_an_option_that_is_set_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="set twice"):
        read_settings(KITS["number"], ["units=km", "units=mi"])


def test_quotation_marks_that_were_typed_are_said_to_be_part_of_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = typed("new", "s", "--set", "at=after", "--set", 'marker="Answer:"')
    assert done.status == 0
    assert "--set marker: the quotation marks are part of the text, '\"Answer:\"', as nothing is taken off." in done.out


def test_an_option_takes_the_place_of_the_line_that_is_there_and_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("new", "s", "--score", "f1", "--set", "fence=false").status == 0
    rules = tomllib.loads(Path("fixtures/s/rules/f1.toml").read_text("utf-8"))
    assert (rules["read"]["fence"], rules["score"]["fence"]) == (True, False)
    assert typed("new", "j", "--score", "json", "--set", "normalise=text").status == 0
    score = tomllib.loads(Path("fixtures/j/rules/json.toml").read_text("utf-8"))["score"]
    assert score == {"scorer": "json", "normalise": "text"}, "fields would go before it"


def test_items_that_are_split_are_asked_for_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text('q,a\nx,"Rome, Oslo"\n', "utf-8")
    done = typed("new", "s", "t.csv", "--input", "q", "--gold", "a", "--score", "f1", "--set", "split=commas")
    assert done.status == 0, done.err
    assert 'ask = "text"' in Path("fixtures/s/suite.toml").read_text("utf-8")
    assert "with commas between them" in Path("fixtures/s/prompts/question.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("lines", "has"),
    [
        ("at=after\nmarker=The answer is", {"at": "after", "marker": "The answer is"}),
        ("at=after\nmarker= Answer: ", {"at": "after", "marker": " Answer: "}),
        ("\nat=first_line\n", {"at": "first_line"}),
    ],
)
def test_settings_of_the_environment_are_one_a_line_with_their_blanks(
    lines: str, has: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_NEW_SET", lines)
    Path("t.csv").write_text("q,a\nx,y\n", "utf-8")
    assert typed("new", "s", "t.csv", "--input", "q", "--gold", "a").status == 0
    made = tomllib.loads(Path("fixtures/s/rules/exact.toml").read_text("utf-8"))["score"]
    assert has.items() <= made.items()
    # What is typed goes before what the environment says.
    assert typed("new", "t", "t.csv", "--input", "q", "--gold", "a", "--set", "at=last_line").status == 0
    assert 'at = "last_line"' in Path("fixtures/t/rules/exact.toml").read_text("utf-8")
