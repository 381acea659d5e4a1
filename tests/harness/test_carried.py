"""Suites that the package carries: found by name where a person has none of that name, and said so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness._carried import carried_note, carried_root, known_suites, portable, suite_folder
from harness._errors import SuiteError
from harness._suite import load_suite

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which the test stands in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_checkout_carries_its_own_fixtures() -> None:
    assert carried_root() == ROOT / "fixtures"


def test_a_carried_suite_is_found_by_name_from_anywhere_and_its_fixtures_too(empty: Path) -> None:
    suite, fixtures = load_suite("authority")
    assert suite.folder == ROOT / "fixtures" / "authority"
    assert [each.name for each in load_suite("authority/v1")[1]] == ["v1"]
    assert len(fixtures) > 1
    assert "eval-ledger carries" in carried_note(suite.folder)
    assert "authority" in known_suites()


def test_a_persons_own_suite_of_the_same_name_goes_first_and_it_is_said(empty: Path) -> None:
    shutil.copytree(ROOT / "fixtures" / "authority", empty / "fixtures" / "authority")
    suite, _ = load_suite("authority")
    assert suite.folder == Path("fixtures/authority")
    assert "goes before the suite of that name that eval-ledger carries" in carried_note(suite.folder)
    assert known_suites().count("authority") == 1


def test_nothing_is_said_where_both_are_the_same_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    suite, _ = load_suite("authority")
    assert suite.folder == Path("fixtures/authority")
    assert carried_note(suite.folder) == ""


def test_a_carried_suite_is_remembered_by_its_name_and_another_one_by_its_folder(empty: Path) -> None:
    assert portable(load_suite("authority")[0].folder) == "authority"
    assert suite_folder("authority") == ROOT / "fixtures" / "authority"
    shutil.copytree(ROOT / "fixtures" / "authority", empty / "fixtures" / "authority")
    assert portable(load_suite("authority")[0].folder) == "fixtures/authority"
    assert suite_folder("authority") == Path("fixtures/authority")


def test_a_path_is_never_looked_for_among_the_carried_ones(empty: Path) -> None:
    with pytest.raises(SuiteError):
        load_suite("./authority")
    with pytest.raises(SuiteError):
        load_suite("")


def test_a_misspelled_suite_is_told_what_there_is(empty: Path) -> None:
    with pytest.raises(SuiteError, match=r"got 'autority'; fixtures has none, and eval-ledger carries authority, "):
        load_suite("autority")
