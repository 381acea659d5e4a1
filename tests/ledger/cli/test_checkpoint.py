"""`ledger checkpoint`, `key` and `anchor` on the command line: their words, their settings, their exit status."""

from __future__ import annotations

import re

import pytest

from ledger import Draft, Ledger
from ledger.kinds import Note
from tests.ledger.cli.conftest import Command


@pytest.fixture
def ready(command: Command) -> dict[str, str]:
    """A ledger and its key; the environment that names it."""
    (command.folder / "elsewhere").mkdir()
    environ = {"LEDGER_DB": "ledger.db", "LEDGER_SIGNING_KEY": "elsewhere/a.key"}
    assert command("init", environ=environ).status == 0
    assert command("key", "new", "--signing-key", "elsewhere/a.key", environ=environ).status == 0
    return environ


@pytest.mark.parametrize("group", ["key", "anchor"])
def test_a_group_without_a_command_shows_what_there_is(command: Command, group: str) -> None:
    shown = command(group)
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: ledger {group} [OPTIONS] COMMAND")
    assert command(group, "bogus").status == 2


@pytest.mark.parametrize("name", ["key new", "key show", "anchor rfc3161", "checkpoint"])
def test_every_flag_has_an_environment_variable(command: Command, name: str) -> None:
    shown = command(*name.split(), "--help").out
    options = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", shown, re.MULTILINE)
    assert " ".join(shown.split()).count("[env var:") == len(options) - 1, "all but --help"


def test_a_checkpoint_is_told_with_its_file_and_the_command_that_checks_it(
    command: Command, ready: dict[str, str]
) -> None:
    first = command("checkpoint", environ=ready)
    assert (first.status, first.err) == (0, "")
    assert re.search(r"Signed 2 events by eval-ledger/local/\w+\+[0-9a-f]{8}: .*000000000002\.checkpoint", first.out)
    told = re.search(r"ledger (verify) LEDGER (--checkpoint \S+ --key \S+)$", first.out, re.MULTILINE)
    assert told is not None
    (command.folder / "ledger.db.checkpoints" / "000000000002.checkpoint").rename(
        command.folder / "000000000002.checkpoint"
    )
    elsewhere = command(told[1], "ledger.db", *told[2].split(), environ=ready)
    assert elsewhere.out.startswith("MATCHES CHECKPOINT")
    (command.folder / "000000000002.checkpoint").rename(
        command.folder / "ledger.db.checkpoints" / "000000000002.checkpoint"
    )
    again = command("checkpoint", "--json", environ=ready)
    assert (again.status, again.json["fresh"], again.json["anchor"], again.json["size"]) == (0, False, None, 2)
    assert again.err.startswith("Nothing new since the checkpoint of 2 events: ")


def test_a_lost_checkpoint_is_refused_with_4_and_its_two_ways_out_are_commands_that_work(
    command: Command, ready: dict[str, str]
) -> None:
    done = command("checkpoint", "--json", environ=ready)
    note = (command.folder / done.json["file"]).read_bytes()
    (command.folder / done.json["file"]).unlink()
    with Ledger.open(command.folder / "ledger.db") as ledger:
        ledger.append(Draft(Note(text="more")))
    refused = command("checkpoint", environ=ready)
    assert (refused.status, refused.out, refused.err.count("\n")) == (4, "", 1)
    back = re.search(r"`ledger (show 3 --blob note --db ledger.db) > (\S+)`", refused.err)
    assert back is not None
    assert command(*back[1].split(), environ=ready).out.encode() == note
    lost = command("checkpoint", "--without", 2, environ=ready)
    assert lost.status == 0
    assert "Without the checkpoint of 2 events, whose file is lost; a note of the ledger says so." in lost.out


def test_a_crash_that_is_made_good_is_said(
    command: Command, ready: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ledger import AppendFailed

    def fails(*_: object) -> None:
        raise AppendFailed("ledger.db: no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", fails)
        failed = command("checkpoint", environ=ready)
    assert (failed.status, "The checkpoint is signed and stays in" in failed.err) == (3, True)
    assert command("checkpoint", environ=ready).out.startswith("Recorded the checkpoint of 2 events, as event 3: ")
