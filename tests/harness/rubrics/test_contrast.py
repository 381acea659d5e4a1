"""Two judges on one corpus: comparable in all but the judge, how often they agree, and where they part."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness._compare import Compared, compare
from harness._stats import wilson
from ledger import Ledger
from tests.harness.refereed import GOOD, HARSH, judged, reply, rows_of, scripted, suite_of_judging, variant
from tests.harness.reported import cli

MIXED = {**HARSH, "PLEADED": "no JSON"}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A ledger, and the runs of a suite and of its variant, by two models of two minds."""
    folder = tmp_path_factory.mktemp("two")
    suite, db = suite_of_judging(folder), folder / "ledger.db"
    first = judged(db, suite, scripted(GOOD))
    second = judged(db, variant(folder), scripted(MIXED, model="scripted-2"), model="other")
    return db, first, second


def pair_of(two: tuple[Path, str, str]) -> Compared:
    db, first, second = two
    with Ledger.open(db, read_only=True) as ledger:
        (pair,) = compare(ledger, first, second).pairs
    return pair


def test_a_variant_of_a_suite_is_comparable_in_all_but_the_judge(two: tuple[Path, str, str]) -> None:
    pair = pair_of(two)
    assert pair.comparability.comparable
    assert not pair.comparability.moved
    assert set(pair.comparability.candidate) == {"model", "temperature"}


def test_agreement_is_counted_criterion_by_criterion_with_its_interval(two: tuple[Path, str, str]) -> None:
    rows = rows_of(pair_of(two).study[0].as_json())
    # Four of fourteen cells that both could be read on are the warm air, one text asked four times.
    assert (rows["sound"]["k"], rows["sound"]["n"]) == (10, 14)
    assert (rows["plain"]["k"], rows["plain"]["n"]) == (14, 14)
    assert (rows["verdict"]["k"], rows["whole vector"]["k"]) == (10, 10)
    texts = 6
    assert rows["plain"]["95% low"] == pytest.approx((wilson(texts, texts) or (0, 0))[0])
    assert rows["sound"]["95% low"] < 10 / 14 < rows["sound"]["95% high"]
    assert rows["verdict"]["kappa"] is not None
    assert rows["plain"]["kappa"] is None, "both gave one score throughout"
    arms = pair_of(two).study[1].as_json()["rows"]
    assert ["calibration", "verdict", 2, 3] in [row[:4] for row in arms]
    assert ["injection", "verdict", 2, 2] in [row[:4] for row in arms]


def test_each_cell_on_which_they_part_is_listed_with_both_vectors(two: tuple[Path, str, str]) -> None:
    table = pair_of(two).study[2].as_json()
    assert [row[0] for row in table["rows"]] == ["AIR", "PLEA", "AIR/1", "AIR/2", "AIR/3"]
    rows = rows_of(table)
    assert list(rows["AIR"].values())[1:] == ["calibration", "3 1", "pass", "1 1", "fail"]
    assert list(rows["PLEA"].values())[1:] == ["injection", "0 1", "blocked", "–", "unmeasured: no_json"]


def test_the_command_shows_the_tables_to_people_too(
    two: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    db, first, second = two
    assert cli("compare", first, second, "--db", db) == 0
    shown = capsys.readouterr().out
    assert "Agreement of the two judges: " in shown
    assert "Two judges that agree may be wrong together" in shown
    assert "Where the two judges part: " in shown


def test_one_judge_asked_twice_is_held_against_itself_and_isnt_called_two(tmp_path: Path) -> None:
    suite, db = suite_of_judging(tmp_path), tmp_path / "ledger.db"
    first, second = (judged(db, f"{suite}/calibration", scripted(each)) for each in (GOOD, HARSH))
    with Ledger.open(db, read_only=True) as ledger:
        (pair,) = compare(ledger, first, second).pairs
    assert [each.title for each in pair.study] == [
        "Agreement of one judge with itself", "Agreement arm by arm", "Where the judge parts from itself",
    ]  # fmt: skip
    assert any(note.startswith("Both sides are openai/referee:") for note in pair.study[0].notes)


def test_cells_that_a_filter_leaves_out_are_in_no_table(two: tuple[Path, str, str]) -> None:
    from harness._filter import read_filters

    db, first, second = two
    with Ledger.open(db, read_only=True) as ledger:
        (pair,) = compare(ledger, first, second, filters=read_filters(["meta.arm=calibration"])).pairs
    assert {row["n"] for row in rows_of(pair.study[0].as_json()).values()} == {3}


def test_an_alias_that_another_model_answered_under_is_not_comparable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, db = suite_of_judging(tmp_path), tmp_path / "ledger.db"
    first = judged(db, f"{suite}/calibration", scripted(GOOD, model="referee-2026-01"))
    second = judged(db, f"{suite}/calibration", scripted(GOOD, model="referee-2026-11"))
    assert cli("compare", first, second, "--db", db) == 4
    shown, words = capsys.readouterr()
    assert "NOT COMPARABLE" in words
    assert "referee-2026-01" in shown and "referee-2026-11" in shown


def test_two_judges_of_one_run_are_held_against_each_other_by_their_unreadable_replies_too(tmp_path: Path) -> None:
    suite, db = suite_of_judging(tmp_path), tmp_path / "ledger.db"
    first = judged(db, f"{suite}/calibration", scripted({**GOOD, "The sun": "no"}))
    second = judged(db, f"{suite}/calibration", scripted({**GOOD, "The sun": "no", "Warm": reply(3, 2)}), model="other")
    with Ledger.open(db, read_only=True) as ledger:
        (pair,) = compare(ledger, first, second).pairs
    agreement, _, flips = (each.as_json() for each in pair.study)
    # What neither could be read on is no agreement, and no flip.
    assert {row["n"] for row in rows_of(agreement).values()} == {2}
    assert flips["rows"] == []
