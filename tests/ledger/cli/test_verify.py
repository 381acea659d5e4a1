"""`ledger verify`: what it prints, what it ends with, and that every option reaches what it names."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from ledger.checkpoints._files import checkpoint_folder, note_path
from ledger.tree import SigningKey
from tests.ledger.cli.conftest import Command
from tests.ledger.ledgers import tamper
from tests.ledger.signed import anchor, append_notes, checkpoint_of, key_of, sign


@pytest.fixture
def db(command: Command) -> Path:
    """A ledger of twelve events, made where the command runs."""
    assert command("init").status == 0
    path = command.folder / "ledger.db"
    append_notes(path, *(f"note {number}" for number in range(10)))
    return path


def test_without_anything_outside_it_says_what_it_cannot_tell_and_never_a_bare_ok(command: Command, db: Path) -> None:
    done = command("verify")
    assert done.status == 0
    first, *rest = done.out.splitlines()
    assert first.startswith("CONSISTENT: 12 events, ")
    assert any("Nothing outside this file was consulted." in line for line in rest)
    assert any(line.startswith("To notice either later, keep the head somewhere else: ") for line in rest)


def test_a_checkpoint_without_a_key_is_said_to_be_unchecked(command: Command, db: Path) -> None:
    sign(db, 7)
    done = command("verify")
    assert done.status == 0 and done.out.startswith("MATCHES CHECKPOINT: 12 events, ")
    assert "the ledger extends it; signature not checked, as no key was given" in done.out
    assert "whoever can write this file may have written that one too" in done.out
    assert "whether events after the first 7 were cut off or written anew" in done.out
    assert "`ledger checkpoint` signs what came after the first 7 events." in done.out
    assert "Nothing outside this file was consulted" not in done.out


@pytest.mark.parametrize("how", ["text", "file", "environment"])
def test_a_key_is_taken_from_the_line_a_file_or_the_environment(command: Command, db: Path, how: str) -> None:
    note, key = sign(db), key_of(db).verifier
    (command.folder / "key").write_text(f"{key}\n")
    given = {"text": ("--key", str(key)), "file": ("--key", "key"), "environment": ()}[how]
    done = command("verify", db, *given, environ={"LEDGER_VERIFY_KEY": str(key)} if how == "environment" else None)
    assert done.status == 0 and f"signed by {key.label}." in done.out, done
    assert "may have written that one too" not in done.out
    note.unlink()
    assert command("verify", *given, environ={"LEDGER_VERIFY_KEY": "key"}).status == 1


def test_what_was_asked_for_and_cannot_be_had_is_exit_1_with_what_to_do(command: Command, db: Path) -> None:
    done = command("verify", "--require-checkpoint", "--checkpoint", "nowhere.checkpoint")
    assert done.status == 1 and done.out.startswith("CONSISTENT: ")
    assert "Failed: the checkpoint nowhere.checkpoint says nothing: it can't be read: No such file" in done.out
    assert "Failed: a checkpoint is required" in done.out
    assert "No checkpoint to go by: name one with --checkpoint" in done.out
    assert "Nothing that was found outside this file vouches for it." in done.out


def test_a_rewritten_ledger_is_tampered_with_what_to_do_and_the_json_says_the_same(command: Command, db: Path) -> None:
    sign(db, 11)
    copy = command.folder / "copy.db"
    tamper(db, copy, "DELETE FROM events WHERE seq > 9")
    checkpoint_folder(db).rename(checkpoint_folder(copy))
    done = command("verify", "copy.db", "--key", str(key_of(db).verifier), "--json")
    assert done.status == 1 and done.err.startswith("TAMPERED: 9 events, ")
    assert (
        "No single event is known to be at fault." in done.err and "A ledger that parts from a checkpoint" in done.err
    )
    found = done.json
    assert (found["verdict"], found["since"], found["checkpoints"][0]["holds"]) == ("TAMPERED", 0, False)
    assert found["problems"][0]["expected"] == "at least 11"


ADVICE = {
    "UPDATE events SET cell = 2 WHERE seq = 5": "Events, bodies or blobs that aren't what was hashed: ",
    "UPDATE events SET body = NULL, salt = NULL WHERE seq = 5": "Withheld without a redact event, ",
    "INSERT INTO edges VALUES (3, 4)": "Edges are derived from causes: ",
    "CREATE VIEW mine AS SELECT 1": "Tables, guards, views or indexes that aren't the release's: ",
    "DROP INDEX events_by_run": "Tables, guards, views or indexes that aren't the release's: ",
    "DELETE FROM events WHERE seq = 5": "Events, bodies or blobs that aren't what was hashed: ",
}


@pytest.mark.parametrize("change", ADVICE)
def test_each_thing_found_is_followed_by_what_to_do_about_it_and_by_nothing_else(
    command: Command, db: Path, change: str
) -> None:
    tamper(db, command.folder / "copy.db", change)
    done = command("verify", "copy.db")
    assert done.status == 1
    lines = done.out.splitlines()
    (start,) = [number for number, line in enumerate(lines) if line.startswith("What to do: leave the file as it is")]
    (told,) = lines[start + 1 :]
    assert told.startswith(ADVICE[change])


def test_since_says_what_it_did_not_check(command: Command, db: Path) -> None:
    note = sign(db, 7, peaks=True)
    done = command("verify", "--since", note, "--key", str(key_of(db).verifier))
    assert done.status == 0
    assert done.out.startswith("MATCHES CHECKPOINT: 12 events, of which the first 7 were not read again, ")
    assert "Not checked: the first 7 events, their bodies, blobs and edges" in done.out
    assert json.loads(command("verify", "--since", note, "--key", str(key_of(db).verifier), "--json").out)["since"] == 7
    refused = command("verify", "--since", note)
    assert refused.status == 1 and "so everything was checked: a signed prefix can be trusted only with" in refused.out


def test_checkpoints_that_are_missing_are_asked_after(command: Command, db: Path) -> None:
    anchor(db, checkpoint_of(db, 7), key_of(db))
    done = command("verify")
    assert done.status == 0 and "Note: expected checkpoints not found: sizes 7" in done.out
    assert "copy the ledger's folder NAME.checkpoints along" in done.out


@pytest.mark.parametrize("key", ["nonsense", "nowhere", "a+b+c"])
def test_a_key_that_is_none_is_wrong_usage(command: Command, db: Path, key: str) -> None:
    done = command("verify", "--key", key)
    assert (done.status, done.out) == (2, "") and done.err.startswith("error: expected a verifier key")


def test_a_signing_key_is_not_quoted(command: Command, db: Path) -> None:
    secret = SigningKey("example/x", bytes(range(32))).secret_text()
    done = command("verify", "--key", secret)
    assert done.status == 2 and secret[-30:] not in done.err


def test_options_of_ledgers_are_refused_for_a_bundle_and_the_other_way(command: Command, db: Path) -> None:
    with zipfile.ZipFile(command.folder / "evidence.zip", "w") as bundle:
        bundle.writestr("README.md", "nothing")
    for option in (["--since", "x"], ["--require-checkpoint"]):
        done = command("verify", "evidence.zip", *option)
        assert done.status == 2 and f"{option[0]} is for ledgers" in done.err
    assert command("verify", "--seed", "s").status == 2


def test_a_file_s_name_cannot_command_a_terminal(command: Command, db: Path) -> None:
    note = sign(db, 7)
    note.rename(note.with_name("000000000008.checkpoint"))
    odd = note_path(note.parent, 8).rename(command.folder / "odd\x1b[2J\nname")
    done = command("verify", "--checkpoint", odd)
    assert "\x1b" not in done.out and done.status == 0
