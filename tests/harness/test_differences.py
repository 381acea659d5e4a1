"""Where two texts or two sets of data differ: each place named once, with what stands there and what should."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness._differences import compare_data, compare_text, count_numbers, line_endings

# Empty lines at the very end are what an editor adds or takes: `line_endings` speaks of those.
LINES = st.lists(st.sampled_from(["{", "}", "a 1", "b 22", "c", ""]), min_size=1, max_size=12).map(
    lambda ls: [*ls, "."]
)


@given(LINES, LINES)
def test_texts_that_differ_have_differences_and_equal_ones_none(one: list[str], other: list[str]) -> None:
    text, should = "\n".join(one) + "\n", "\n".join(other) + "\n"
    assert bool(compare_text(text, should)) == (text != should)


@given(LINES.filter(lambda lines: len(lines) > 2), st.data())
def test_one_changed_line_is_named_by_its_number(lines: list[str], draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(lines) - 1))
    changed = [*lines[:at], "changed 7", *lines[at + 1 :]]
    (found,) = compare_text("\n".join(changed) + "\n", "\n".join(lines) + "\n")
    assert found.where == f"line {at + 1}"
    assert found.says == "changed 7" or "changed 7".startswith(found.says or "")


def test_only_the_words_that_differ_are_shown() -> None:
    (found,) = compare_text("| `a` | 1/5 of 5 |\n", "| `a` | 1/4 of 5 |\n")
    assert (found.says, found.should) == ("1/5", "1/4")
    (found,) = compare_text("x 12.75% y\n", "x 12.5% y\n")
    assert (found.says, found.should) == ("12.75%", "12.5%")


def test_a_long_text_with_few_changes_is_compared_in_no_time() -> None:
    lines = [line for number in range(30_000) for line in (" {", f'  "n": {number}', " },")]
    changed = [line.replace("17", "18") if number % 29_000 == 1 else line for number, line in enumerate(lines)]
    changed[5], changed[-4] = '  "n": 99', '  "n": 98'
    begun = time.perf_counter()
    found = compare_text("\n".join(changed), "\n".join(lines))
    assert {each.where for each in found} >= {"line 6", f"line {len(lines) - 3}"}
    shifted = compare_text("\n".join(["new", *changed[:-1], "end"]), "\n".join(lines))
    assert shifted[0].where == "line 1"
    assert time.perf_counter() - begun < 20


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\nb\n", 0),
        ("a\r\nb\r\n", 1),
        ("\ufeffa\nb\n", 1),
        ("a\nb", 1),
        ("a\nb\n\n", 1),
        ("\ufeffa\r\nb", 3),
        ("a\rb\r", 1),
    ],
)
def test_what_an_editor_changes_is_taken_back_and_told(text: str, said: int) -> None:
    found, changes = line_endings(text)
    assert found == "a\nb\n"
    assert len(changes) == said


def places(says: Any, should: Any, **how: bool) -> list[str]:
    return [each.where for each in compare_data(says, should, **{"whole": True, "close": False, **how})]


def test_rows_are_named_by_what_they_are_called() -> None:
    rows = [{"rules": "r@1", "candidate": "c", "metric": name, "k": 1, "n": 2} for name in ("exact", "direction")]
    other = [dict(rows[0]), {**rows[1], "k": 2}]
    assert places({"board": other}, {"board": rows}) == ["board[r@1, c, direction].k"]
    assert places({"board": rows[:1]}, {"board": rows}) == ["board[r@1, c, direction]"]
    assert places({"board": [*rows, {"metric": "more", "k": 3}]}, {"board": rows}) == ["board[more]"]
    assert places({"board": rows[::-1]}, {"board": rows}) != []


def test_what_is_no_number_is_not_taken_for_one() -> None:
    assert places({"a": True}, {"a": 1}) == places({"a": "1"}, {"a": 1}) == places({"a": None}, {"a": 0}) == ["a"]
    assert places({"a": 1}, {"a": 1.0}) == [], "JSON knows one kind of number"
    assert count_numbers({"a": True, "b": 1, "c": [1.5, None, "2", {"version": 9, "n": 0}]}) == 3


def test_last_digits_are_forgiven_only_where_the_bytes_are_known() -> None:
    one, other = {"rate": 0.1 + 0.2}, {"rate": 0.3}
    assert places(one, other) == ["rate"]
    assert places(one, other, close=True) == []
    assert places({"rate": 0.3001}, other, close=True) == ["rate"]
    assert places({"k": 3}, {"k": 4}, close=True) == ["k"]


def test_keys_that_an_older_release_did_not_write_are_no_difference_for_it() -> None:
    assert places({"a": 1}, {"a": 1, "b": 2}) == ["b"]
    assert places({"a": 1}, {"a": 1, "b": 2}, whole=False) == []
    assert places({"a": 2}, {"a": 1, "b": 2}, whole=False) == ["a"]
