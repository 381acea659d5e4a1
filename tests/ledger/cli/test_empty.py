"""Paths and keys that are empty, as a shell gives them where nothing was there."""

from __future__ import annotations

import pytest

from tests.ledger.cli.conftest import Command


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("FILE", ("verify", "")),
        ("--db", ("verify", "--db", "")),
        ("--checkpoint", ("verify", "--checkpoint", "")),
        ("--checkpoint", ("verify", "--checkpoint=", "--checkpoint", "a")),
        ("--since", ("verify", "--since", "")),
        ("--tsa-root", ("verify", "--tsa-root", "")),
        ("--db", ("log", "--db=")),
        ("--output", ("export", "-o", "")),
        ("--output", ("export", "--full", "--output", "")),
        ("--output", ("bundle", "2", "-o", "")),
        ("--report", ("bundle", "2", "-o", "a.zip", "--report", "")),
        ("DEST", ("snapshot", "")),
        ("--signing-key", ("checkpoint", "--signing-key", "")),
        ("--signing-key", ("key", "new", "--signing-key", "")),
        ("--checkpoint", ("anchor", "rfc3161", "--url", "http://127.0.0.1:1", "--checkpoint", "")),
    ],
)
def test_an_empty_path_is_said_to_be_empty_by_its_name(command: Command, name: str, typed: tuple[str, ...]) -> None:
    assert command("init").status == 0
    done = command(*typed)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("error: Invalid value for ") and f"{name}'" in done.err
    assert ": it is empty; expected a path (`ledger " in done.err


def test_a_setting_that_is_empty_is_none(command: Command) -> None:
    assert command("init").status == 0
    assert command("verify", environ={"LEDGER_DB": "", "LEDGER_VERIFY_CHECKPOINT": ""}).status == 0


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_key_is_said_to_be_empty(command: Command, empty: str) -> None:
    assert command("init").status == 0
    done = command("verify", "--key", empty)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: --key is empty; expected a verifier key, NAME+ID+BASE64, or a file")
