"""What somebody who can write the files can do, and what verify says: without a checkpoint, and with one.

TABLE is what docs/SECURITY.md shows. Each attack is made on a copy of one ledger of 40 events, signed at 36.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from ledger import Draft, Ledger, Outside, Verdict, kinds, upgrade, verify
from ledger._compress import compress
from ledger._redact import redact
from ledger._redact_targets import find_targets
from ledger._verify_findings import Findings
from ledger._verify_held import hold
from ledger._verify_outside import gather
from ledger._verify_roots import Roots
from ledger.checkpoints._files import checkpoint_folder, note_path
from ledger.tree import VerifierKey
from tests.ledger.ledgers import drop_guards, example_draft, rehash, settle, whole_ledger
from tests.ledger.signed import append_notes, key_of, sign

SIZE = 36
TAMPERED, CONSISTENT, MATCHES = "TAMPERED", "CONSISTENT", "MATCHES CHECKPOINT"
FAILED = "exit 1"
"""No word against the ledger, which may be sound; but what was asked for couldn't be shown: the exit status is 1."""


@dataclass(frozen=True)
class Attack:
    """One row of the table. `without`: the ledger's file alone; `beside`: the checkpoint lies beside it and no key is
    given; `keyed`: the verifier key is given too, had from elsewhere."""

    name: str
    does: Callable[[Path], object]
    without: str
    beside: str
    keyed: str


def by_hand(path: Path, change: Callable[[sqlite3.Connection], object] | str) -> None:
    """Change the file with plain sqlite3, the guards dropped and put back."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("BEGIN")
        texts = drop_guards(connection)
        if isinstance(change, str):
            connection.execute(change)
        else:
            change(connection)
        for text in texts:
            connection.execute(text)
        connection.execute("COMMIT")
    settle(path)


def cut(path: Path, size: int) -> None:
    """Leave nothing of what came after the first `size` events."""

    def change(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM edges WHERE effect > ?", (size,))
        db.execute("DELETE FROM blobs WHERE seq > ?", (size,))
        db.execute("DELETE FROM events WHERE seq > ?", (size,))

    by_hand(path, change)


def rewrite(path: Path, start: int) -> None:
    """Change an event, and every hash from there to the end."""

    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET at = '2026-01-01T00:00:00.000000Z' WHERE seq = ?", (start,))
        rehash(db, start)

    by_hand(path, change)


def roll_back(path: Path) -> None:
    """An older copy of the file comes back, and another history goes on from there."""
    cut(path, SIZE - 4)
    append_notes(path, *(f"another history, {number}" for number in range(14)))


def swap_ledgers(path: Path) -> None:
    """Another ledger, sound in itself, takes the place of this one."""
    path.unlink()
    whole_ledger(path)


def note_of(path: Path) -> Path:
    return note_path(checkpoint_folder(path), SIZE)


def edit_checkpoint(path: Path) -> None:
    """Another root in the note, in base64 as it should be."""
    note = note_of(path)
    origin, size, root, *rest = note.read_text().split("\n")
    note.write_text("\n".join([origin, size, ("B" if root[0] == "A" else "A") + root[1:], *rest]))


def remove_checkpoint(path: Path) -> None:
    if checkpoint_folder(path).exists():
        note_of(path).unlink()


def strip_signature(path: Path) -> None:
    """A note needs a signature line to be one: the attacker's own takes the place of the one that was there."""
    note = note_of(path)
    note.write_bytes(note.read_bytes().partition(b"\n\n")[0] + b"\n\n")


def sign_with_another_key(path: Path) -> None:
    """The ledger rewritten whole, and its new root signed by whoever did it, in the ledger's name."""
    rewrite(path, 10)
    sign(path, SIZE, key=key_of(path, seed=66))


def swap_blobs(path: Path) -> None:
    by_hand(
        path,
        "UPDATE blobs SET data = (SELECT data FROM blobs WHERE id = 1), salt = (SELECT salt FROM blobs WHERE id = 1)"
        " WHERE id = 2",
    )


def plant_wal(path: Path) -> None:
    """A write-ahead log beside the file, whose frames hold another history that fits."""
    evil = path.with_name("evil.db")
    shutil.copyfile(path, evil)
    connection = sqlite3.connect(evil, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
    connection.execute("BEGIN")
    texts = drop_guards(connection)
    connection.execute("UPDATE events SET at = '2026-01-01T00:00:00.000000Z' WHERE seq = 10")
    rehash(connection, 10)
    for text in texts:
        connection.execute(text)
    connection.execute("COMMIT")
    shutil.copyfile(evil.with_name("evil.db-wal"), path.with_name(path.name + "-wal"))
    connection.close()


def redact_without_event(path: Path) -> None:
    by_hand(path, "UPDATE events SET body = NULL, salt = NULL WHERE seq = 12")


def empty_a_blob(path: Path) -> None:
    by_hand(path, "UPDATE blobs SET data = NULL, salt = NULL WHERE id = 2")


def withhold_in_another_history(path: Path) -> None:
    """A body taken out, its event made to commit to nothing, and every hash after it made to fit."""

    def change(db: sqlite3.Connection) -> None:
        db.execute("UPDATE events SET body = NULL, salt = NULL, body_hash = ? WHERE seq = 12", ("0" * 64,))
        rehash(db, 12)

    by_hand(path, change)


ATTACKS = (
    Attack("nothing at all", lambda path: None, CONSISTENT, MATCHES, MATCHES),
    Attack("cut the tail off, after the checkpoint", lambda path: cut(path, SIZE + 2), CONSISTENT, MATCHES, MATCHES),
    Attack("cut the tail off, before the checkpoint", lambda path: cut(path, SIZE - 1), CONSISTENT, TAMPERED, TAMPERED),
    Attack("rewrite everything from an event on", lambda path: rewrite(path, 10), CONSISTENT, TAMPERED, TAMPERED),
    Attack("rewrite what came after the checkpoint", lambda path: rewrite(path, 38), CONSISTENT, MATCHES, MATCHES),
    Attack("roll the file back, and go on otherwise", roll_back, CONSISTENT, TAMPERED, TAMPERED),
    Attack("put another ledger in its place", swap_ledgers, CONSISTENT, TAMPERED, TAMPERED),
    Attack("edit the checkpoint", edit_checkpoint, CONSISTENT, TAMPERED, FAILED),
    Attack("remove the checkpoint", remove_checkpoint, CONSISTENT, CONSISTENT, FAILED),
    Attack("strip the checkpoint's signature", strip_signature, CONSISTENT, FAILED, FAILED),
    Attack("rewrite, and sign with another key", sign_with_another_key, CONSISTENT, MATCHES, FAILED),
    Attack("swap a blob", swap_blobs, TAMPERED, TAMPERED, TAMPERED),
    Attack("plant a -wal that rewrites", plant_wal, CONSISTENT, TAMPERED, TAMPERED),
    Attack("withhold a body without a redact event", redact_without_event, TAMPERED, TAMPERED, TAMPERED),
    Attack("empty a blob without a redact event", empty_a_blob, TAMPERED, TAMPERED, TAMPERED),
    Attack("withhold a body, and make every hash fit", withhold_in_another_history, TAMPERED, TAMPERED, TAMPERED),
)
TABLE = tuple((each.name, each.without, each.beside, each.keyed) for each in ATTACKS)
"""(attack, the file alone, with the checkpoint beside it, with the key as well), in words as verify says them."""


@dataclass(frozen=True)
class Signed:
    path: Path
    key: VerifierKey


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    path = whole_ledger(tmp_path_factory.mktemp("attacked") / "ledger.db")
    append_notes(path, *(f"note {number}" for number in range(8)))
    sign(path, SIZE, peaks=True)
    return Signed(path, key_of(path).verifier)


def copied(signed: Signed, folder: Path, *, checkpoints: bool = True) -> Path:
    path = folder / "ledger.db"
    shutil.copyfile(signed.path, path)
    if checkpoints:
        shutil.copytree(checkpoint_folder(signed.path), checkpoint_folder(path))
    return path


def said(verdict: Verdict) -> str:
    return verdict.verdict if verdict.ok or verdict.verdict == TAMPERED else FAILED


@pytest.mark.parametrize("attack", ATTACKS, ids=[each.name for each in ATTACKS])
def test_each_attack_is_said_what_the_table_says(attack: Attack, signed: Signed, tmp_path: Path) -> None:
    path = copied(signed, tmp_path)
    attack.does(path)
    alone = verify(path, Outside(beside=False))
    beside = verify(path)
    keyed = verify(path, Outside(keys=(signed.key,), require_checkpoint=True))
    assert (said(alone), said(beside), said(keyed)) == (attack.without, attack.beside, attack.keyed), (beside, keyed)
    assert keyed.ok == (attack.keyed == MATCHES)
    if attack.without == CONSISTENT and attack.beside == TAMPERED:
        # What only a checkpoint shows is not the fault of an event that could be named.
        assert beside.first_bad_seq is None and beside.problems


def test_the_table_has_no_attack_twice_and_every_kind_of_verdict() -> None:
    assert len({each[0] for each in TABLE}) == len(TABLE) == len(ATTACKS)
    assert {word for row in TABLE for word in row[1:]} == {TAMPERED, CONSISTENT, MATCHES, FAILED}


@pytest.mark.parametrize("with_key", [True, False], ids=["with the key", "without"])
def test_no_byte_of_a_checkpoint_can_be_changed_unnoticed_but_for_a_signature_that_nobody_checks(
    signed: Signed, tmp_path: Path, with_key: bool
) -> None:
    path = copied(signed, tmp_path)
    outside = Outside(keys=(signed.key,) if with_key else ())
    note, roots = note_of(path), Roots([SIZE])
    with Ledger.open(path, read_only=True) as ledger:
        for event in ledger.events(limit=SIZE):
            roots.take(event.seq, event.line)
    whole = note.read_bytes()
    text = whole.index(b"\n\n")
    for at in range(len(whole)):
        for flip in (0x01, 0x80):
            note.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
            findings = Findings()
            held = hold(
                gather(path, outside), origin=signed.key.name, events=40, roots=roots, anchors=(), since=0,
                why_not_since="", findings=findings,
            )  # fmt: skip
            (seen,) = held.checkpoints
            if with_key or at <= text:
                assert (held.failures or findings.count) and held.word == CONSISTENT, (at, flip, held)
                assert not seen.counts and seen.problem
            else:
                assert seen.problem or (not seen.signed_by and seen.unknown), (at, flip, held)


def test_a_folder_of_another_ledger_s_checkpoints_is_named_by_both_ids(signed: Signed, tmp_path: Path) -> None:
    path = copied(signed, tmp_path)
    swap_ledgers(path)
    (problem,) = verify(path).problems
    assert problem.expected == signed.key.name and problem.got == key_of(path).name


def test_a_checkpoint_of_another_ledger_that_was_named_says_nothing_and_is_a_failure(
    signed: Signed, tmp_path: Path
) -> None:
    path = tmp_path / "other.db"
    whole_ledger(path)
    verdict = verify(path, Outside(checkpoints=(note_of(signed.path),)))
    assert verdict.verdict == CONSISTENT and not verdict.ok
    assert "it speaks of another ledger" in verdict.failures[0]


@pytest.mark.parametrize("key", [True, False], ids=["with the key", "without"])
def test_what_honest_people_do_after_a_checkpoint_never_fails(signed: Signed, tmp_path: Path, key: bool) -> None:
    path = copied(signed, tmp_path)
    outside = Outside(keys=(signed.key,) if key else (), require_checkpoint=True)
    with Ledger.open(path) as ledger:
        ledger.append(Draft(kinds.Note(text="honest")), example_draft("request", run="q" * 16, cell=7))
    assert said(verify(path, outside)) == MATCHES
    with Ledger.open(path, read_only=True) as ledger:
        found = find_targets(ledger, ["6", "7:body"])
    assert redact(path, found, category="secret", reason="a key leaked") is not None
    assert said(verify(path, outside)) == MATCHES
    upgrade(path)
    compress(path)
    verdict = verify(path, outside)
    assert said(verdict) == MATCHES and verdict.withheld == 5
