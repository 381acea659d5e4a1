"""Ours and theirs: aics-tlog, an implementation of the same specifications that shares no code with us.

It takes our keys, checkpoints and inclusion proofs, and we take its. It has no tlog-proof, so a few lines here take
ours apart for it. Where it isn't installed these tests are passed over; `make interop` installs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger import Draft, Ledger, kinds
from ledger._errors import BadNote
from ledger._export import export_lines
from ledger._prefix import tree_of
from ledger.checkpoints import make_checkpoint
from ledger.tree import (
    Proof,
    SigningKey,
    Tree,
    VerifierKey,
    check_consistency,
    leaf_hash,
    parse_checkpoint,
    parse_note,
    parse_proof,
)
from tests.ledger.tree.vectors import vectors

aics = pytest.importorskip("aics_tlog", reason="aics-tlog isn't installed: `make interop` installs it")

SEED = sha256(b"a key for tests").digest()
THEIRS = "log.example/theirs"


@dataclass(frozen=True)
class Made:
    """A real ledger with a checkpoint: its event lines up to there, the signed note's bytes, and whose key it was."""

    lines: list[bytes]
    note: bytes
    key: SigningKey
    tree: Tree


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    path = tmp_path_factory.mktemp("interop") / "ledger.db"
    with Ledger.create(path) as ledger:
        ledger.append(*(Draft(kinds.Note(text=f"note {at}")) for at in range(35)))
        genesis = ledger.body(ledger.event(1))
        key = SigningKey(f"{genesis.origin}/{genesis.id}", SEED)  # type: ignore[union-attr]
    found = make_checkpoint(path, key)
    with Ledger.open(path) as ledger:
        lines = list(export_lines(ledger))[: found.checkpoint.size]
        yield Made(lines, Path(found.path).read_bytes(), key, tree_of(ledger, found.checkpoint.size))


def take_apart(proof: bytes) -> tuple[int, list[bytes], bytes]:
    """Index, hashes and note of a tlog-proof, by the specification and with their base64."""
    head, _, note = proof.partition(b"\n\n")
    first, *lines = head.decode().split("\n")
    assert first == "c2sp.org/tlog-proof@v1"
    if lines[0].startswith("extra "):
        lines.pop(0)
    word, index = lines.pop(0).split(" ")
    assert word == "index"
    return int(index), [aics.note.b64_decode(each) for each in lines], note


def test_they_accept_the_checkpoint_of_a_ledger(made: Made) -> None:
    key = aics.parse_vkey(str(made.key.verifier))
    seen = aics.verify_checkpoint(aics.parse_note(made.note), key, expected_origin=made.key.name)
    assert (seen.ok, seen.log_ok, seen.error) == (True, True, None)
    assert (seen.origin, seen.size) == (made.key.name, len(made.lines))
    assert seen.root == aics.MerkleTree(made.lines).root()
    assert aics.parse_note(made.note).to_bytes() == made.note
    assert aics.format_vkey(key) == str(made.key.verifier)


def test_they_accept_the_proof_of_every_event_and_no_other_event_with_it(made: Made) -> None:
    signed, key = parse_checkpoint(made.note), aics.parse_vkey(str(made.key.verifier))
    for at, line in enumerate(made.lines):
        index, hashes, note = take_apart(bytes(Proof(at, tuple(made.tree.inclusion(at)), signed, extra=line)))
        seen = aics.verify_checkpoint(aics.parse_note(note), key)
        assert seen.ok
        assert aics.verify_leaf_inclusion(line, index, seen.size, hashes, seen.root)
        assert not aics.verify_leaf_inclusion(line + b"\n", index, seen.size, hashes, seen.root)
        assert not aics.verify_leaf_inclusion(made.lines[at - 1], index, seen.size, hashes, seen.root)


def test_they_accept_an_event_of_ours_in_a_bundle_of_theirs(made: Made) -> None:
    hashes, key = tuple(made.tree.inclusion(6)), aics.parse_vkey(str(made.key.verifier))
    bundle = aics.bundle.Bundle(made.lines[6], 6, hashes, made.note.decode(), None, None)
    seen = aics.bundle.verify_bundle(bundle, key, expected_origin=made.key.name)
    assert (seen.ok, seen.error) == (True, None)
    other = aics.bundle.Bundle(made.lines[7], 6, hashes, made.note.decode(), None, None)
    assert not aics.bundle.verify_bundle(other, key).ok


def test_they_accept_that_a_ledger_grew(made: Made) -> None:
    tree, size = made.tree, len(made.lines)
    for first in range(1, size + 1):
        proof = tree.consistency(first)
        assert aics.verify_consistency(first, size, tree.root(first), tree.root(), proof)
        assert not aics.verify_consistency(first, size, tree.root(first - 1), tree.root(), proof)


def test_a_checkpoint_of_ours_that_their_witness_cosigned_is_accepted_by_both(made: Made) -> None:
    at, witness = parse_checkpoint(made.note).checkpoint, Ed25519PrivateKey.from_private_bytes(bytes(32))
    _, line = aics.sign_cosignature(witness, "witness.example/w1", 1_767_000_000, at.origin, at.size, at.root)
    note = aics.parse_note(made.note)
    both = aics.Note(text=note.text, signatures=(line, *note.signatures))
    witness_key = aics.cosignature_vkey("witness.example/w1", witness.public_key())
    key = aics.parse_vkey(str(made.key.verifier))
    seen = aics.verify_checkpoint(both, key, [witness_key], quorum=1)
    assert (seen.ok, seen.witnesses) == (True, ["witness.example/w1"])
    ours = parse_checkpoint(both.to_bytes())
    assert ours.checkpoint == at
    assert [each.name for each in ours.note.signatures] == ["witness.example/w1", made.key.name]
    assert ours.note.signed_by([made.key.verifier]) == (made.key.verifier,)


def test_we_accept_their_keys_and_checkpoints_cosigned_or_not() -> None:
    log, witness = Ed25519PrivateKey.from_private_bytes(SEED), Ed25519PrivateKey.from_private_bytes(bytes(32))
    tree = aics.MerkleTree([b"entry %d" % at for at in range(10)])
    key = VerifierKey.parse(aics.format_vkey(aics.vkey_from_ed25519(THEIRS, log.public_key())))
    note = aics.sign_checkpoint(aics.Checkpoint(THEIRS, 10, tree.root()), log, THEIRS)
    _, line = aics.sign_cosignature(witness, "witness.example/w1", 1_767_000_000, THEIRS, 10, tree.root())
    for signatures in (note.signatures, (line, *note.signatures), (*note.signatures, line, line)):
        data = aics.Note(text=note.text, signatures=signatures).to_bytes()
        ours = parse_checkpoint(data)
        assert bytes(ours) == data
        assert (ours.checkpoint.origin, ours.checkpoint.size, ours.checkpoint.root) == (THEIRS, 10, tree.root())
        assert ours.note.signed_by([key]) == (key,)
    # The witness alone isn't the log: its line is nobody's that we know.
    alone = parse_checkpoint(aics.Note(text=note.text, signatures=(line,)).to_bytes())
    assert alone.note.signed_by([key]) == ()


def test_we_accept_their_proofs_in_a_tlog_proof() -> None:
    log = Ed25519PrivateKey.from_private_bytes(SEED)
    entries = [b"entry %d" % at for at in range(67)]
    tree = aics.MerkleTree(entries)
    note = aics.sign_checkpoint(aics.Checkpoint(THEIRS, 67, tree.root()), log, THEIRS).to_bytes()
    for at, entry in enumerate(entries):
        hashes = "".join(f"{aics.note.b64_encode(each)}\n" for each in tree.inclusion_proof(at))
        proof = parse_proof(f"c2sp.org/tlog-proof@v1\nindex {at}\n{hashes}\n".encode() + note)
        proof.check(entry)
        assert proof.signed.note.signed_by([VerifierKey.parse(str(SigningKey(THEIRS, SEED).verifier))])


def test_both_make_the_same_roots_and_proofs_of_the_same_leaves() -> None:
    entries = [b"entry %d" % at for at in range(70)]
    theirs, ours = aics.MerkleTree(entries), Tree(leaf_hash(each) for each in entries)
    for size in range(1, 71):
        assert theirs.root(size) == ours.root(size)
        assert all(theirs.inclusion_proof(at, size) == ours.inclusion(at, size) for at in range(size))
        for first in range(1, size + 1):
            proof = theirs.consistency_proof(first, size)
            assert proof == ours.consistency(first, size)
            check_consistency(first, size, proof, theirs.root(first), theirs.root(size))


def test_a_signature_of_ours_is_theirs_to_the_byte() -> None:
    text, key = "log.example/theirs\n1\nAAAA\n", SigningKey(THEIRS, SEED)
    theirs = aics.sign_note(text, Ed25519PrivateKey.from_private_bytes(SEED), THEIRS)
    assert aics.Note(text=text, signatures=(theirs,)).to_bytes() == bytes(key.sign(text))


def test_they_see_the_vectors_as_we_do_but_for_one_rule_that_they_forgive() -> None:
    def ok(check: object) -> bool:
        try:
            return bool(check())  # type: ignore[operator]
        except ValueError:
            return False

    odd: list[str] = []
    for name, check in {
        "inclusion": lambda row: aics.verify_leaf_inclusion(
            *(row[key] for key in ("data", "index", "size", "proof", "root"))
        ),
        "consistency": lambda row: aics.verify_consistency(
            *(row[key] for key in ("first", "second", "first_root", "second_root", "proof"))
        ),
        "keys": lambda row: aics.parse_vkey(row["key"]),
        "notes": lambda row: aics.verify_note(aics.parse_note(row["note"]), [aics.parse_vkey(k) for k in row["keys"]]),
        "checkpoints": lambda row: aics.verify_checkpoint(aics.parse_note(row["note"]), aics.parse_vkey(row["key"])).ok,
    }.items():
        for row in [row for row in vectors(name) if "ours" not in row]:
            said = row["ok"] if "ok" in row else bool(row["signed_by"])
            odd += [f"{name}: {row['name']}"] if ok(lambda c=check, r=row: c(r)) != said else []
    # A note must end in a newline (c2sp.org/signed-note, Format).
    assert odd == ["notes: no newline at the end"]


def test_a_checkpoint_of_theirs_with_an_extension_line_is_refused_and_says_why() -> None:
    log = Ed25519PrivateKey.from_private_bytes(SEED)
    note = aics.sign_checkpoint(aics.Checkpoint(THEIRS, 1, bytes(32), ("more",)), log, THEIRS).to_bytes()
    with pytest.raises(BadNote, match=r"three lines \(origin, size, root\), got 4"):
        parse_checkpoint(note)
    assert parse_note(note).signed_by([SigningKey(THEIRS, SEED).verifier])
