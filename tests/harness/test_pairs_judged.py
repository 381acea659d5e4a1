"""A text wins a pair only where the judge chose it in both orders; what flips with the position is nobody's win."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness._json import JSON
from harness._pair_outcomes import JudgedPair, pair_outcomes, pair_tables
from harness._stats import wilson
from harness.suites._companion import Record, StudyTable

# What became of a pair


def cell(pair: str, order: int, said: str, *, epoch: int = 0, gold: bool = True, case: str = "") -> Record:
    """One cell as its events have it; `said` is a winner, or why there is none."""
    read = said in ("first", "second", "tie")
    sides = {"first": "ab"[order], "second": "ba"[order]}
    known: JSON = {"condition": "pair", "pair": pair, "order": order, **sides, "case": case, "a": "r@x", "b": "s@y"}
    return Record(
        cell=1, case=f"{pair}/{order}", fixture="pair", candidate="judge", arm="pair", epoch=epoch, twin=0, input="",
        outcome="graded" if read else "unmeasured", status="parsed" if read else "wrong_shape",
        reason="" if read else said, value=0.5 if read else None, verdict=said if read else "", metrics={}, classes={},
        blocked_by=(), findings=(), rejections=(), gold=known if gold else None,
    )  # fmt: skip


def pair(one: str, other: str, name: str = "p", **more: Any) -> list[Record]:
    return [cell(name, 0, one, **more), cell(name, 1, other, **more)]


@pytest.mark.parametrize(
    ("a_first", "b_first", "outcome", "position"),
    [
        ("first", "second", "a", ""),
        ("second", "first", "b", ""),
        ("tie", "tie", "tie", ""),
        ("first", "first", "inconsistent", "first"),
        ("second", "second", "inconsistent", "second"),
        ("first", "tie", "inconsistent", ""),
        ("tie", "first", "inconsistent", ""),
        ("second", "tie", "inconsistent", ""),
        ("bad_winner", "second", "unmeasured", ""),
        ("first", "no_json", "unmeasured", ""),
        ("stop_length", "stop_length", "unmeasured", ""),
    ],
)
def test_an_outcome_is_what_both_orders_say_together(a_first: str, b_first: str, outcome: str, position: str) -> None:
    (found,) = pair_outcomes(pair(a_first, b_first))
    assert (found.outcome, found.position, found.said) == (outcome, position, (a_first, b_first))


def test_half_a_pair_is_unmeasured_and_so_is_one_whose_case_is_withheld() -> None:
    (half,) = pair_outcomes([cell("p", 1, "first")])
    assert half == JudgedPair("p", "", 0, "unmeasured", ("not planned", "first"), (False, True))
    (withheld,) = pair_outcomes([cell("p", 1, "first", gold=False)])
    assert (withheld.outcome, withheld.said) == ("unmeasured", ("withheld", "withheld"))


def test_a_pair_that_was_asked_twice_counts_twice_and_its_askings_arent_mixed() -> None:
    found = pair_outcomes([*pair("first", "second", epoch=0), *pair("second", "first", epoch=1)])
    assert [(each.epoch, each.outcome) for each in found] == [(0, "a"), (1, "b")]


def rows(table: StudyTable) -> Mapping[str, tuple[Any, ...]]:
    return {str(row[0]): row[1:] for row in table.rows}


def test_shares_are_of_the_measured_pairs_and_the_unmeasured_of_the_planned_ones() -> None:
    records = [
        *pair("first", "second", "1"), *pair("first", "second", "2"), *pair("second", "first", "3"),
        *pair("tie", "tie", "4"), *pair("first", "first", "5"), *pair("first", "bad_winner", "6"),
    ]  # fmt: skip
    outcomes, position, undecided = pair_tables(records)
    assert "A is r@x, B is s@y" in outcomes.about
    found = rows(outcomes)
    assert {name: row[:2] for name, row in found.items()} == {
        "A wins": (2, 5), "B wins": (1, 5), "tie": (1, 5), "inconsistent": (1, 5), "unmeasured": (1, 6),
    }  # fmt: skip
    for name, k, n in (("A wins", 2, 5), ("unmeasured", 1, 6)):
        assert found[name][2:] == (k / n, *(wilson(k, n) or ()))
    assert rows(position)["the first, in both orders"][:2] == (1, 5)
    assert rows(position)["the first, of all replies"][:2] == (6, 11)
    assert undecided.rows == (
        ("5", "", "inconsistent", "first", "first"), ("6", "", "unmeasured", "first", "bad_winner"),
    )  # fmt: skip


def test_pairs_of_one_case_are_said_not_to_be_independent() -> None:
    apart = pair_tables([*pair("tie", "tie", "1", case="x"), *pair("tie", "tie", "2", case="y")])
    together = pair_tables([*pair("tie", "tie", "1", case="x"), *pair("tie", "tie", "2", case="x")])
    said = "The 2 pairs are of 1 cases; pairs of one case aren't independent"
    assert not any(note.startswith(said) for note in apart[0].notes)
    assert any(note.startswith(said) for note in together[0].notes)


def test_where_nothing_could_be_read_there_is_no_share_and_no_table_of_nothing() -> None:
    outcomes, position, _ = pair_tables(pair("no_json", "no_json"))
    assert rows(outcomes)["A wins"] == (0, 0, None, None, None) and rows(outcomes)["unmeasured"][:3] == (1, 1, 1.0)
    assert rows(position)["the first, of all replies"] == (0, 0, None, None, None)
    assert pair_tables([]) == ()
