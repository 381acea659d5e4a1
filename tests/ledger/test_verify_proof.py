"""The proof of one event (tlog-proof), checked by `ledger verify`, and what it says of every other file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ledger import Ledger
from ledger._errors import BadBundle
from ledger._prefix import tree_of
from ledger._verify_proof import check_proof
from ledger.tree import Checkpoint, Proof, SigningKey, parse_checkpoint, parse_proof
from tests.ledger.cli.conftest import Command
from tests.ledger.signed import append_notes, checkpoint_of, key_of


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def db(path: Path) -> Path:
    """A ledger of seven events."""
    append_notes(path, *(f"note {number}" for number in range(5)))
    return path


def proof_of(db: Path, seq: int, at: Checkpoint | None = None, key: SigningKey | None = None) -> Proof:
    with Ledger.open(db, read_only=True) as ledger:
        line, tree = ledger.event(seq).line, tree_of(ledger)
    at = at or checkpoint_of(db)
    signed = parse_checkpoint(bytes((key or key_of(db)).sign(at.text)))
    return Proof(seq - 1, tuple(tree.inclusion(seq - 1, at.size)), signed, line)


def kept(db: Path, proof: Proof) -> Path:
    target = db.with_name("one.tlog-proof")
    target.write_bytes(bytes(proof))
    return target


@pytest.mark.parametrize("seq", [1, 4, 7])
def test_a_proof_says_which_event_it_is_of_and_that_its_body_is_not_in_it(command: Command, db: Path, seq: int) -> None:
    target, key = kept(db, proof_of(db, seq)), key_of(db).verifier
    done = command("verify", target, "--key", key)
    with Ledger.open(db, read_only=True) as ledger:
        event = ledger.event(seq)
    assert (done.status, done.err, done.out.splitlines()[0]) == (0, "", "PROVED.")
    assert f"Proved: event {seq} stood at its place in the ledger: {event.kind} at {event.at}." in done.out
    assert f"Its hash: {event.hash}" in done.out and "Not in it: the event's body, to which the line" in done.out
    assert f"the checkpoint of 7 events, root {found_root(db)}, signed by {key.label}." in done.out
    told = command("verify", target, "--key", key, "--json").json
    assert (told["verdict"], told["event"]["seq"], told["event"]["hash"]) == ("PROVED", seq, event.hash)
    assert told["event"]["body_hash"] == event.body_hash


def found_root(db: Path) -> str:
    return checkpoint_of(db).text.splitlines()[2]


def test_without_a_key_nothing_is_proved_and_the_status_is_1(command: Command, db: Path) -> None:
    done = command("verify", kept(db, proof_of(db, 4)))
    assert (done.status, done.out.splitlines()[0]) == (1, "NOT PROVED.")
    assert "whose signature is not checked: give --key" in done.out
    assert "Would be proved by a signature: event 4 stood" in done.out


def test_a_proof_without_its_line_proves_no_event(db: Path) -> None:
    found = check_proof(kept(db, replace(proof_of(db, 4), extra=None)), [key_of(db).verifier])
    assert (found.verdict, found.exit_status) == ("NOT PROVED", 1)
    assert any("has no event line" in each for each in found.lines)


def _another_line(db: Path) -> Proof:
    return replace(proof_of(db, 4), extra=proof_of(db, 5).extra)


def _another_place(db: Path) -> Proof:
    return replace(proof_of(db, 4), index=4)


def _another_root(db: Path) -> Proof:
    return proof_of(db, 4, replace(checkpoint_of(db), root=bytes(32)))


def _another_key(db: Path) -> Proof:
    return proof_of(db, 4, key=key_of(db, seed=8))


def _another_ledger(db: Path) -> Proof:
    at = replace(checkpoint_of(db), origin="eval-ledger/local/" + "0" * 32)
    return proof_of(db, 4, at)


def _no_event(db: Path) -> Proof:
    """A tree of one leaf that is no event's line, signed by the right key."""
    from ledger.tree import leaf_hash

    at = Checkpoint(checkpoint_of(db).origin, 1, leaf_hash(b"hello"))
    return Proof(0, (), parse_checkpoint(bytes(key_of(db).sign(at.text))), b"hello")


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        (_another_line, "the event's line doesn't lead to the checkpoint's root"),
        (_another_place, "expected the line of event 5 at index 4, got that of 4"),
        (_another_root, "the event's line doesn't lead to the checkpoint's root"),
        (_another_key, "is signed by none of"),
        (_another_ledger, "is signed by none of"),
        (_no_event, "what it proves is no event's line"),
    ],
)  # fmt: skip
def test_a_proof_that_does_not_hold_is_false(command: Command, db: Path, forged: object, said: str) -> None:
    target = kept(db, forged(db))  # type: ignore[operator]
    done = command("verify", target, "--key", key_of(db).verifier)
    assert (done.status, done.out.splitlines()[0]) == (1, "FALSE.")
    assert any(line.startswith("False: ") and said in line for line in done.out.splitlines()), done.out
    assert "Proved: " not in done.out


def test_every_changed_byte_is_noticed(db: Path) -> None:
    whole, keys = bytes(proof_of(db, 4)), [key_of(db).verifier]
    target = db.with_name("one.tlog-proof")
    assert parse_proof(whole).index == 3
    for at in range(0, len(whole), 7):
        target.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            assert check_proof(target, keys).exit_status == 1, at
        except BadBundle as problem:
            assert str(problem).startswith(f"{target} is no proof of an event that can be read: ")


@pytest.mark.parametrize("option", [["--seed", "s"], ["--deep"], ["--checkpoint", "a"], ["--require-checkpoint"]])
def test_what_is_for_ledgers_and_bundles_is_refused_for_a_proof(command: Command, db: Path, option: list[str]) -> None:
    done = command("verify", kept(db, proof_of(db, 4)), *option)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"{option[0]} isn't for the proof of one event" in done.err


@pytest.mark.parametrize(
    ("name", "begins", "said"),
    [
        ("a.checkpoint", "", "`ledger verify LEDGER --checkpoint a.checkpoint` holds a ledger against it"),
        ("a.txt", "b\n1\nYQ==\n\n\u2014 b YQ==\n", "`ledger verify LEDGER --checkpoint a.txt` holds a ledger"),
        ("a.vkey", "a/b+15a35178+AXQ3PMxKbpuwIRFfpHE6nB4Dr8WJQNtb0fyOo5mCpIxR\n", "a verifier key: --key takes it"),
        ("a.key", "PRIVATE+KEY+a/b+15a35178+AXQ3PMxKbpuwIRFfpHE6nB4Dr8WJ", "a signing key (not shown)"),
        ("a.tsr", "0\x03\x02\x01", "a timestamp: beside its checkpoint"),
        ("a.peaks", "eval-ledger/peaks@v1\n7\n", "a checkpoint's peaks: `ledger verify LEDGER --since` takes"),
        ("a b.jsonl", '{"export":"full","version":1,', "a full export: `ledger import 'a b.jsonl' --db NEW` makes"),
        ("a.jsonl", '{"v":1,"seq":1,"prev":"', "event lines alone (`ledger export`): `b3sum` checks their chain"),
        ("a.pem", "-----BEGIN CERTIFICATE-----\n", "a certificate: --tsa-root takes it"),
    ],
)  # fmt: skip
def test_a_file_of_another_sort_is_named_with_what_takes_it(
    command: Command, name: str, begins: str, said: str
) -> None:
    (command.folder / name).write_text(begins, encoding="utf-8")
    done = command("verify", name)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"error: {name} is no ledger; it is ") and said in done.err
    assert "AXQ3" not in done.err
