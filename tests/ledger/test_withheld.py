"""What is withheld stays counted: views, previews and `show` cope with it, and say what nobody can reproduce."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, not_reproducible, upgrade, verify
from ledger._redact import redact
from ledger._redact_preview import Preview, preview
from ledger._redact_targets import cell_targets, find_targets
from ledger._resting import rests_on
from tests.ledger.ledgers import RUN
from tests.ledger.measured import LABEL, MODELS, SECRET, measured_ledger

X, Y = MODELS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return measured_ledger(tmp_path / "ledger.db")


def withhold(path: Path, *wanted: str, cell: int | None = None) -> Preview:
    with Ledger.open(path, read_only=True) as ledger:
        found = find_targets(ledger, wanted) if cell is None else cell_targets(ledger, RUN, cell)
        seen = preview(ledger, found)
    assert redact(path, found, category="personal", reason="a test")
    assert verify(path).verdict == "CONSISTENT"
    return seen


def view(path: Path, name: str) -> list[dict[str, Any]]:
    with Ledger.open(path, read_only=True) as ledger:
        return ledger.view(name)


def numbers(path: Path) -> list[dict[str, Any]]:
    """The scoreboard without its marks."""
    marks = ("reproducible", "tainted", "superseded")
    return [{name: each for name, each in row.items() if name not in marks} for row in view(path, "scoreboard")]


def withheld_numbers(path: Path) -> dict[tuple[str | None, str], int]:
    with Ledger.open(path, read_only=True) as ledger:
        return not_reproducible(ledger, RUN)


ALL = {(X, LABEL): 2, (Y, LABEL): 2}
CASES: dict[str, tuple[str, dict[tuple[str | None, str], int]]] = {
    "a response's body": ("11", {(X, LABEL): 1}),
    "a response's bytes": ("11:body", {(X, LABEL): 1}),
    "a request": ("10", {(X, LABEL): 1}),
    "what was sent": ("10:body", {(X, LABEL): 1}),
    "a parse": ("12", {(X, LABEL): 1}),
    "a cell": ("6", {(X, LABEL): 1}),
    "a cell of the second candidate": ("9", {(Y, LABEL): 1}),
    "a fixture's file": ("3:file", ALL),
    "a rule set's file": ("4:file", ALL),
    "a publication": ("28", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_no_redaction_takes_a_cell_out_of_any_number_and_each_says_what_it_costs(path: Path, case: str) -> None:
    wanted, expected = CASES[case]
    before = numbers(path)
    cells = [(row["cell"], row["candidate"], row["outcome"]) for row in view(path, "cells")]
    assert withheld_numbers(path) == {}
    withhold(path, wanted)
    assert numbers(path) == before
    assert [(row["cell"], row["candidate"], row["outcome"]) for row in view(path, "cells")] == cells
    assert withheld_numbers(path) == expected
    marks = {(row["candidate"], row["rules"]) for row in view(path, "scoreboard") if not row["reproducible"]}
    assert marks == set(expected)
    attempts = view(path, "attempts")
    assert [(row["cell"], row["response"] is not None) for row in attempts] == [(cell, True) for cell in (1, 2, 3, 4)]


def test_a_whole_cell_withheld_stays_counted_under_its_candidate(path: Path) -> None:
    before = numbers(path)
    for cell in (1, 2, 3, 4):
        withhold(path, cell=cell)
    assert numbers(path) == before
    assert withheld_numbers(path) == ALL
    assert {row["case"] for row in view(path, "cells")} == {None}
    assert view(path, "failures") == []


def test_a_cell_that_nobody_asked_stays_unmeasured_when_its_body_is_withheld(tmp_path: Path) -> None:
    path = measured_ledger(tmp_path / "ledger.db", answered=3)
    before = numbers(path)
    assert [row["n"] for row in before] == [2, 1]
    withhold(path, "9")
    assert numbers(path) == before
    (row,) = view(path, "failures")
    assert (row["candidate"], row["reason"], row["count"]) == (Y, "not_asked", 1)


def test_a_ledger_of_release_1_is_told_that_its_views_lose_a_withheld_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        for module in ("ledger._schema", "ledger._store"):
            patch.setattr(f"{module}.RELEASE", 1)
        path = measured_ledger(tmp_path / "ledger.db")
    with Ledger.open(path, read_only=True) as ledger:
        assert "`ledger upgrade`" in preview(ledger, find_targets(ledger, ["6"])).advice[0]
        assert preview(ledger, find_targets(ledger, ["11"])).advice == ()
    withhold(path, "11", "6")
    assert withheld_numbers(path) == {(X, LABEL): 1}
    assert [row["n"] for row in view(path, "scoreboard")] == [1, 2], "what the advice is about"
    upgrade(path)
    assert [row["n"] for row in view(path, "scoreboard")] == [2, 2]
    with Ledger.open(path, read_only=True) as ledger:
        assert preview(ledger, find_targets(ledger, ["7"])).advice == ()


# What a redaction comes to


def test_a_preview_names_numbers_reports_and_recipients_that_rest_on_it(path: Path) -> None:
    with Ledger.open(path, read_only=True) as ledger:
        head = ledger.head()
        seen = preview(ledger, find_targets(ledger, ["11"]))
        assert ledger.head() == head
    assert seen.numbers == (
        f"run {RUN} under {LABEL}: 1 score, tally 26",
        "report 27",
        "publication 28 to the team",
    )
    assert any("blob of the same event" in line for line in seen.readable)
    assert "event 12 (parse): derived from what is withheld" in seen.readable
    assert not any("score" in line for line in seen.readable), "a score holds no text"
    assert seen.unreachable[0].startswith("git history")
    assert json.loads(json.dumps(seen.as_json()))["not_reproducible"]["report"] == [27]


def test_a_preview_names_other_blobs_with_the_very_same_bytes(path: Path) -> None:
    from ledger import Draft
    from tests.ledger.ledgers import example_draft

    with Ledger.open(path) as ledger:
        asked = f"ask {SECRET}".encode()
        draft = example_draft("request", run=RUN, cell=5)
        (again,) = ledger.append(Draft(draft.body, run=RUN, cell=5, blobs={"body": asked}))
        one = preview(ledger, find_targets(ledger, ["10:body"]))
        both = preview(ledger, find_targets(ledger, ["10:body", f"{again.seq}:body"]))
    assert any(f"of event {again.seq}: the same bytes as" in line for line in one.readable)
    assert not any("the same bytes as" in line for line in both.readable)


def test_the_preview_before_is_what_the_views_say_afterwards(path: Path) -> None:
    seen = withhold(path, "11", "18:body")
    with Ledger.open(path, read_only=True) as ledger:
        after = {row["seq"] for row in ledger.view("resting_on_withheld")}
        assert after == {each.seq for each in seen.resting}
        assert {each.seq for each in rests_on(ledger, [11])} < after
    withheld = [(row["seq"], row["body"], row["blobs"], row["redact"]) for row in view(path, "withheld")]
    assert sorted(withheld) == [(11, 1, 0, 29), (18, 0, 1, 29)]


def test_a_ledger_in_a_repository_is_told_where_the_history_is(tmp_path: Path) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    path = measured_ledger(tmp_path / "repository" / "ledger.db")
    with Ledger.open(path, read_only=True) as ledger:
        seen = preview(ledger, find_targets(ledger, ["11"]))
    assert str(tmp_path / "repository") in seen.unreachable[0]
