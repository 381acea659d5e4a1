"""Sentences that name numbers and commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger._said import aimed, counted


def test_one_is_one_and_any_other_number_many() -> None:
    assert [counted(number, "event") for number in (0, 1, 2)] == ["0 events", "1 event", "2 events"]
    assert [counted(number, "body", "bodies") for number in (1, 3)] == ["1 body", "3 bodies"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("`ledger key new` makes one", "`ledger key new --db 'my own.db'` makes one"),
        ("`ledger runs`; `ledger log --all`", "`ledger runs --db 'my own.db'`; `ledger log --all --db 'my own.db'`"),
        ("`ledger show 3 --blob note --db a > b`", None),
        ("`ledger verify LEDGER --checkpoint a`", None),
        ("`ledger verify evidence.zip`", None),
        ("`ledger show 3 --blob note > b`", None),
        ("`ledger export --full` writes what can be imported", None),
        ("`ledger import` makes another", None),
        ("`ledger verifying`, `harness run`, ledger runs", None),
    ],
)  # fmt: skip
def test_a_command_reaches_the_ledger_that_is_spoken_of(said: str, meant: str | None) -> None:
    assert aimed(said, Path("my own.db")) == (said if meant is None else meant)


def test_the_ledger_that_a_command_takes_by_itself_needs_no_naming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (None, "ledger.db", "./ledger.db", tmp_path / "ledger.db"):
        assert aimed("`ledger runs` lists them", path) == "`ledger runs` lists them"
    assert "--db " in aimed("`ledger runs` lists them", tmp_path / "a" / "ledger.db")
