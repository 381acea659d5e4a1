"""Commands that a sentence names reach the ledger that it speaks of, typed as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.ledger.cli.conftest import Command
from tests.ledger.signed import append_notes, key_of, sign

DB = "an other.db"


@pytest.fixture
def environ(command: Command) -> dict[str, str]:
    """A ledger called otherwise than the default, and a place for keys that is none of ours."""
    (command.folder / "away").mkdir()
    assert command("init", "--db", DB).status == 0
    return {"XDG_CONFIG_HOME": str(command.folder / "away")}


def named(text: str) -> list[str]:
    return [each for each in re.findall(r"`ledger ([^`]+)`", text) if not each.startswith(("export", "import"))]


def test_a_key_and_a_checkpoint_are_made_by_the_commands_that_sentences_name(
    command: Command, environ: dict[str, str]
) -> None:
    (make_key,) = named(command("key", "show", "--db", DB, environ=environ).err)
    assert make_key == f"key new --db '{DB}'"
    assert command(*shlex.split(make_key), environ=environ).status == 0
    for typed in (("anchor", "rfc3161", "--url", "http://127.0.0.1:1"), ("bundle", "2", "-o", "a.zip")):
        (checkpoint,) = named(command(*typed, "--db", DB, environ=environ).err)
        assert checkpoint == f"checkpoint --db '{DB}'"
    assert command(*shlex.split(checkpoint), environ=environ).status == 0
    assert (command.folder / f"{DB}.checkpoints").is_dir()


@pytest.mark.parametrize("how", [("--db", DB), (DB,), (DB, "--db", "none.db")])
def test_what_verify_advises_is_about_the_file_that_it_verified(
    command: Command, environ: dict[str, str], how: tuple[str, ...]
) -> None:
    db = Path(command.folder / DB)
    append_notes(db, "one", "two")
    sign(db, 3, key=key_of(db))
    done = command("verify", *how)
    assert done.out.startswith("MATCHES CHECKPOINT")
    assert named(done.out) == [f"checkpoint --db '{DB}'"]
    assert named(command("verify", *how, "--key", "").err) == [f"key show --db '{DB}'"]


def test_the_default_ledger_needs_no_naming(command: Command) -> None:
    assert command("init").status == 0
    assert "`ledger checkpoint` makes one" in command("bundle", "2", "-o", "a.zip").err
    assert "`ledger checkpoint` makes one" in command("bundle", "2", "-o", "a.zip", "--db", "./ledger.db").err
