"""Cells against stages: where each stopped, and which of them a question leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness._outcomes import REASONS
from harness.web._facts import Reading
from harness.web._matrix import STAGES, squares
from tests.harness.reported import hostile_ledger
from tests.harness.web.pages import Pages, cells_of, words

# The harness itself failed, at a place that the reason doesn't tell.
UNTOLD = {"internal", "sandbox", "withheld"}


def reading(outcome: str = "unmeasured", stage: str = "", reason: str = "") -> Reading:
    return Reading(outcome, "", stage, reason, "", "", None, {}, None)


@pytest.mark.parametrize(
    "known", [each for each in REASONS.values() if each.name], ids=lambda each: f"{each.stage}-{each.name}"
)
def test_every_reason_of_the_taxonomy_stops_at_one_stage_and_what_comes_after_is_not_reached(known: object) -> None:
    stage, name = getattr(known, "stage", ""), getattr(known, "name", "")
    kinds = [square.kind for square in squares(reading(stage=stage, reason=name))]
    if name in UNTOLD:
        assert kinds == ["unknown"] * len(STAGES)
        return
    at = kinds.index("stopped")
    assert kinds == ["passed"] * at + ["stopped"] + ["none"] * (len(STAGES) - at - 1)
    (stopped,) = [square for square in squares(reading(stage=stage, reason=name)) if square.kind == "stopped"]
    assert name in stopped.detail
    never = {"not_asked": 0, "no_recording": 0, "not_graded": 0}
    assert at == {"parse": 2, "score": 4, **never}.get(name if name in never else stage, 1)


@pytest.mark.parametrize("outcome", ["correct", "incorrect", "graded"])
def test_what_was_measured_passed_every_stage(outcome: str) -> None:
    assert {square.kind for square in squares(reading(outcome))} == {"passed"}


def test_a_stage_of_a_newer_release_is_not_guessed_at() -> None:
    assert {square.kind for square in squares(reading(stage="dream", reason="woke"))} == {"unknown"}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    db = tmp_path_factory.mktemp("many") / "many.db"
    return db, hostile_ledger(db, cells=250, reasons=4)


def test_a_hundred_cells_stand_on_a_page_and_the_others_on_the_next(many: tuple[Path, str]) -> None:
    db, run = many
    with Pages(db) as pages:
        found = [cells_of(pages.run(run, outcome="unmeasured", page=page)) for page in (1, 2, 3)]
        assert [len(each) for each in found] == [100, 100, 48]
        assert [each for some in found for each in some] == list(range(3, 251))
        first = pages.run(run)
        assert cells_of(first) == list(range(1, 101))
        assert {link.partition("#")[0][-6:] for link in first.links if "page=" in link} == {"page=2", "page=3"}
        assert "there is no page 9: the last is 3" in words(pages.run(run, page=9))
        for odd in ("0", "-1", "x", "1.5"):
            assert pages.run(run, page=odd).status == 404


def test_a_column_sorts_both_ways_and_says_so(many: tuple[Path, str]) -> None:
    db, run = many
    with Pages(db) as pages:
        assert cells_of(pages.run(run, sort="-cell"))[:3] == [250, 249, 248]
        up, down = pages.run(run, sort="outcome"), pages.run(run, sort="-outcome")
        assert cells_of(up)[:2] == [1, 2]
        assert cells_of(down)[0] == 250
        assert cells_of(pages.run(run, sort="-outcome", page=3))[-2:] == [2, 1]
        assert up.html.count('aria-sort="ascending"') == 1
        assert down.html.count('aria-sort="descending"') == 1
        cases = [cells_of(pages.run(run, sort="case", page=page)) for page in (1, 2, 3)]
        assert [each for some in cases for each in some] == sorted(range(1, 251), key=str)
        odd = words(pages.run(run, sort="colour"))
        assert "sort: expected one of" in odd


@pytest.mark.parametrize("question", ["candidate", "outcome", "stage", "reason", "metric"])
def test_a_filter_that_nothing_fits_is_an_empty_list_that_says_so(many: tuple[Path, str], question: str) -> None:
    db, run = many
    with Pages(db) as pages:
        page = pages.run(run, **{question: "<b>nobody"})
    assert page.status == 200
    assert "<b>nobody" not in page.html
    assert cells_of(page) == []
    assert f"no cell here has the {question} '<b>nobody'" in words(page)


def test_a_rule_set_that_the_run_lacks_is_said_to_be_lacking(many: tuple[Path, str]) -> None:
    db, run = many
    with Pages(db) as pages:
        page = pages.run(run, rules="other@0")
        assert (page.status, cells_of(page)) == (200, [])
        assert "was not scored under 'other@0'" in words(page)
        assert "hit says nothing without a metric" in words(pages.run(run, hit="1"))
        assert "expected 1, 0 or none" in words(pages.run(run, hit="2", metric="x"))
