"""Deep checks come from other packages, by entry point; `ledger` knows none of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ledger import DeepCheck, Ledger, LedgerError, NotFound
from ledger import _deep as deep
from ledger.cli import app, run_app


def offers(*points: tuple[str, str]) -> list[EntryPoint]:
    return [EntryPoint(name, value, deep.GROUP) for name, value in points]


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, read_only=True) as opened:
        yield opened


def gives(ledger: Ledger) -> DeepCheck:
    return DeepCheck(ledger.head()[0] > 2, f"event {ledger.head()[0]} is the last", ("\x1b[31mred",))


def test_each_installed_check_is_asked_in_order_of_its_name(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    here = f"{__name__}:gives"
    monkeypatch.setattr(deep, "entry_points", lambda group: offers(("b", here), ("a", here)) if group else [])
    found = deep.run_deep(ledger)
    assert list(found) == ["a", "b"]
    assert found["a"].as_json("a") == {
        "name": "a", "ok": False, "whole": True, "sentence": "event 2 is the last", "lines": ["\x1b[31mred"],
    }  # fmt: skip


def test_without_one_or_with_one_that_is_broken_it_says_so(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "entry_points", lambda group: [])
    with pytest.raises(NotFound, match="no package that can check deeper is installed"):
        deep.run_deep(ledger)
    monkeypatch.setattr(deep, "entry_points", lambda group: offers(("x", "no.such.module:f")))
    with pytest.raises(LedgerError, match="can't be loaded: No module named 'no'"):
        deep.run_deep(ledger)


def test_the_command_says_what_was_found_and_ends_accordingly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l.db"
    Ledger.create(path).close()
    monkeypatch.setattr(deep, "entry_points", lambda group: offers(("a", f"{__name__}:gives")))
    assert run_app(app, "ledger", ["verify", "--deep", "--db", str(path)]) == 1
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "CONSISTENT, and event 2 is the last."
    assert "\x1b" not in said
    monkeypatch.setattr(deep, "entry_points", lambda group: [])
    assert run_app(app, "ledger", ["verify", "--deep", "--db", str(path)]) == 2
    assert run_app(app, "ledger", ["verify", "--db", str(path)]) == 0
