"""Checkpoints and the proofs that travel with one: every bit counts, and what binds a size is the signature."""

from __future__ import annotations

import contextlib
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger._errors import BadNote, BadProof
from ledger.tree import (
    Checkpoint,
    Proof,
    SignedCheckpoint,
    SigningKey,
    Tree,
    leaf_hash,
    parse_checkpoint,
    parse_proof,
    to_base64,
)
from tests.ledger.tree.vectors import vectors

KEY = SigningKey("ledger.example/0123", sha256(b"a key for tests").digest())
LINES = [b'{"v":1,"seq":%d}' % seq for seq in range(1, 101)]
TREE = Tree(leaf_hash(each) for each in LINES)
SIZES = st.integers(1, len(LINES))


def checkpoint(size: int, *, origin: str = KEY.name, root: bytes | None = None) -> SignedCheckpoint:
    at = Checkpoint(origin, size, TREE.root(size) if root is None else root)
    return parse_checkpoint(bytes(KEY.sign(at.text)))


def proves(data: bytes, line: bytes, origin: str = KEY.name) -> bool:
    """What a careful reader does: read it, find the key that one trusts, see that it's the log one means, check."""
    try:
        proof = parse_proof(data)
        proof.check(line)
        return bool(proof.signed.note.signed_by([KEY.verifier])) and proof.signed.checkpoint.origin == origin
    except (BadProof, BadNote):
        return False


@given(SIZES)
def test_a_checkpoint_reads_back_as_what_was_signed(size: int) -> None:
    signed = checkpoint(size)
    assert signed.checkpoint == Checkpoint(KEY.name, size, TREE.root(size))
    assert signed.note.text == signed.checkpoint.text == f"{KEY.name}\n{size}\n{to_base64(TREE.root(size))}\n"
    assert parse_checkpoint(bytes(signed)) == signed
    assert signed.note.signed_by([KEY.verifier]) == (KEY.verifier,)


@given(SIZES, st.data())
def test_a_proof_reads_back_and_proves_its_line_and_no_other(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    extra = data.draw(st.none() | st.binary(max_size=100))
    proof = Proof(index, tuple(TREE.inclusion(index, size)), checkpoint(size), extra)
    assert parse_proof(bytes(proof)) == proof
    for at, line in enumerate(LINES[:size]):
        assert proves(bytes(proof), line) == (at == index)


def test_each_bit_of_a_proof_flipped_leaves_it_proving_nothing() -> None:
    whole = bytes(Proof(4, tuple(TREE.inclusion(4, 6)), checkpoint(6)))
    assert proves(whole, LINES[4])
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not proves(bytes(flipped), LINES[4]), bit


def test_each_line_of_a_proof_dropped_or_doubled_leaves_it_proving_nothing() -> None:
    lines = bytes(Proof(4, tuple(TREE.inclusion(4, 6)), checkpoint(6))).split(b"\n")
    for at in range(len(lines) - 1):
        assert not proves(b"\n".join([*lines[:at], *lines[at + 1 :]]), LINES[4]), lines[at]
        twice = b"\n".join([*lines[: at + 1], *lines[at:]])
        # A signature line may stand twice: both are checked.
        assert proves(twice, LINES[4]) == (at == len(lines) - 2), lines[at]


@given(SIZES, st.data())
def test_another_index_size_root_or_origin_fails_however_the_checkpoint_is_put_together(
    size: int, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, size - 1))
    hashes = tuple(TREE.inclusion(index, size))
    signed = checkpoint(size)
    assert proves(bytes(Proof(index, hashes, signed)), LINES[index])
    for other in range(size):
        assert proves(bytes(Proof(other, hashes, signed)), LINES[index]) == (other == index)
    at = signed.checkpoint
    for moved in (
        *(Checkpoint(at.origin, other, at.root) for other in (size - 1, size + 1, 128, 2**53 - 1) if other != size),
        Checkpoint(at.origin + "x", size, at.root),
        Checkpoint(at.origin, size, TREE.root(size - 1)),
    ):
        text = bytes(signed).replace(at.text.encode(), moved.text.encode())
        assert text != bytes(signed)
        whole = bytes(Proof(index, hashes, signed)).replace(bytes(signed), text)
        assert not proves(whole, LINES[index]), moved


@pytest.mark.parametrize("row", [row for row in vectors("checkpoints") if row["name"].startswith(("no ", "a line"))])
def test_a_checkpoint_has_three_lines_and_none_is_empty_whoever_signed_it(row: dict[str, Any]) -> None:
    with pytest.raises(BadNote, match=r"expected a (checkpoint of three lines|size in decimal)|the checkpoint of"):
        parse_checkpoint(row["note"])


def test_a_log_that_is_not_the_one_meant_proves_nothing_though_the_key_signed_it() -> None:
    whole = bytes(Proof(0, tuple(TREE.inclusion(0, 3)), checkpoint(3, origin="another.example/log")))
    assert proves(whole, LINES[0], "another.example/log")
    assert not proves(whole, LINES[0])


def test_a_proof_in_the_largest_tree_is_read_and_one_with_more_hashes_is_not() -> None:
    leaf = leaf_hash(LINES[0])
    siblings = [leaf_hash(b"%d" % at) for at in range(53)]
    root = leaf
    for each in siblings:
        root = sha256(b"\x01" + root + each).digest()
    proof = Proof(0, tuple(siblings), checkpoint(2**53 - 1, root=root))
    assert proves(bytes(proof), LINES[0])
    with pytest.raises(BadProof, match="at most 63 hashes in a proof, got 64"):
        parse_proof(bytes(Proof(0, tuple(siblings[:1] * 64), proof.signed)))


def test_a_proof_that_is_too_long_is_refused_unread_and_the_longest_event_line_fits() -> None:
    signed = checkpoint(1)
    assert parse_proof(bytes(Proof(0, (), signed, extra=b"x" * 65_535))).extra == b"x" * 65_535
    with pytest.raises(BadProof, match="at most 1048576 bytes"):
        parse_proof(bytes(Proof(0, (), signed, extra=b"x" * (1 << 20))))


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 400))
def test_whatever_the_bytes_a_proof_is_read_or_refused(junk: bytes, start: int, end: int) -> None:
    whole = bytes(Proof(4, tuple(TREE.inclusion(4, 6)), checkpoint(6), extra=b"more"))
    for data in (junk, whole[:start] + junk + whole[end:], b"c2sp.org/tlog-proof@v1\n" + junk):
        with contextlib.suppress(BadProof, BadNote):
            assert bytes(parse_proof(data)) == data


def test_a_refusal_is_one_line_of_printable_ascii_or_a_dash() -> None:
    refused: list[str] = []
    for row in [row for row in vectors("checkpoints") if not row["ok"]]:
        try:
            parse_checkpoint(row["note"])
        except BadNote as problem:
            refused.append(str(problem))
    for row in [row for row in vectors("proofs") if not row["ok"]]:
        try:
            parse_proof(row["proof"].encode()).check(row["data"])
        except (BadProof, BadNote) as problem:
            refused.append(str(problem))
    assert len(refused) > 60
    for said in refused:
        plain = said.replace("\u2014", "-")
        assert plain.isascii() and plain.isprintable() and 20 < len(plain) < 350, said
