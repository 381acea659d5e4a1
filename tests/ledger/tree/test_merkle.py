"""The tree: other people's roots and proofs, a naive implementation's, and everything that must not pass."""

from __future__ import annotations

import re
import tracemalloc
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import LedgerError
from ledger._errors import BadProof
from ledger.tree import (
    EMPTY_ROOT,
    Peaks,
    Tree,
    check_consistency,
    check_inclusion,
    leaf_hash,
    root_from_inclusion,
    root_of,
)
from tests.ledger.tree.naive import CT_LEAVES, CT_ROOTS, Naive, mutated

LINES = [b"line %d" % at for at in range(300)]
NAIVE = Naive(LINES)
LEAVES = [leaf_hash(each) for each in LINES]
TREE = Tree(LEAVES)
SIZES = st.integers(1, 300)


def included(leaf: bytes, index: int, size: int, proof: list[bytes], root: bytes) -> bool:
    try:
        check_inclusion(leaf, index, size, proof, root)
    except BadProof:
        return False
    return True


def extends(first: int, second: int, proof: list[bytes], first_root: bytes, second_root: bytes) -> bool:
    try:
        check_consistency(first, second, proof, first_root, second_root)
    except BadProof:
        return False
    return True


def test_the_eight_leaves_of_certificate_transparency_have_the_roots_that_everybody_knows() -> None:
    naive, leaves = Naive(CT_LEAVES), [leaf_hash(each) for each in CT_LEAVES]
    for size, root in enumerate(CT_ROOTS, start=1):
        assert naive.root(size) == root
        assert Tree(leaves).root(size) == root
        assert Tree(leaves[:size]).root() == root
        assert root_of(leaves[:size]) == root


@given(sizes=st.lists(st.integers(0, 100), max_size=5))
def test_many_leaves_added_at_once_are_the_tree_of_them_one_by_one(sizes: list[int]) -> None:
    peaks, end = Peaks(), 0
    for size in sizes:
        start, end = end, min(end + size, len(LEAVES))
        peaks.add_all(LEAVES[start:end])
        one_by_one = Peaks()
        for leaf in LEAVES[:end]:
            one_by_one.add(leaf)
        assert (peaks.size, peaks.hashes) == (end, one_by_one.hashes)
        assert peaks.root() == NAIVE.root(end)


def test_the_empty_tree_has_the_hash_of_nothing() -> None:
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert [each.hex() for each in (EMPTY_ROOT, root_of([]), Tree([]).root(), Peaks().root(), TREE.root(0))] == [
        nothing
    ] * 5


def test_the_published_proofs_of_those_leaves_are_ours() -> None:
    tree = Tree(leaf_hash(each) for each in CT_LEAVES)
    first, second, third = (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    )
    fifth, pair, half = (
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    )
    sixth = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"

    def shown(proof: list[bytes]) -> list[str]:
        return [each.hex() for each in proof]

    assert shown(tree.inclusion(0)) == [first, second, third]
    assert shown(tree.inclusion(5)) == [fifth, pair, half]
    assert shown(tree.consistency(1, 8)) == [first, second, third]
    assert shown(tree.consistency(6, 8)) == [sixth, pair, half]
    assert shown(tree.consistency(2, 5)) == [second, fifth]


def test_the_seven_leaves_of_the_rfc_have_its_proofs() -> None:
    # RFC 6962 section 2.1.3: a to n are the nodes of the figure, hash0 to hash2 the tree as it grew.
    def node(left: bytes, right: bytes) -> bytes:
        return sha256(b"\x01" + left + right).digest()

    a, b, c, d, e, f, j = leaves = [sha256(b"\x00d%d" % at).digest() for at in range(7)]
    g, h, i = node(a, b), node(c, d), node(e, f)
    k, l_ = node(g, h), node(i, j)
    tree = Tree(leaf_hash(b"d%d" % at) for at in range(7))
    assert (tree.root(3), tree.root(4), tree.root(6), tree.root(7)) == (node(g, c), k, node(k, i), node(k, l_))
    assert [tree.inclusion(at) for at in (0, 3, 4, 6)] == [[b, h, l_], [c, g, l_], [f, j, k], [i, k]]
    assert [tree.consistency(at, 7) for at in (3, 4, 6)] == [[c, d, g, l_], [l_], [i, j, k]]
    assert leaves == [leaf_hash(b"d%d" % at) for at in range(7)]


def test_every_root_proof_and_extension_up_to_300_leaves_is_the_naive_ones_and_checks() -> None:
    roots = [NAIVE.root(size) for size in range(301)]
    peaks = Peaks()
    for n in range(1, 301):
        peaks.add(LEAVES[n - 1])
        assert roots[n] == TREE.root(n) == peaks.root()
        for m in range(n):
            proof = TREE.inclusion(m, n)
            assert proof == NAIVE.path(m, n)
            check_inclusion(LEAVES[m], m, n, proof, roots[n])
        for m in range(1, n + 1):
            proof = TREE.consistency(m, n)
            assert proof == NAIVE.proof(m, n)
            check_consistency(m, n, proof, roots[m], roots[n])
        assert TREE.consistency(0, n) == []
        check_consistency(0, n, [], EMPTY_ROOT, roots[n])


def test_no_mutation_of_an_inclusion_proof_passes_for_any_leaf_of_any_tree_up_to_12() -> None:
    for n in range(1, 13):
        for m in range(n):
            for proof in mutated(NAIVE.path(m, n), every_bit=n < 8):
                assert not included(LEAVES[m], m, n, proof, NAIVE.root(n)), (m, n, proof)


def test_no_mutation_of_a_consistency_proof_passes_for_any_two_trees_up_to_12() -> None:
    for n in range(1, 13):
        for m in range(1, n + 1):
            for proof in mutated(NAIVE.proof(m, n), every_bit=n < 8):
                assert not extends(m, n, proof, NAIVE.root(m), NAIVE.root(n)), (m, n, proof)


@given(SIZES, st.data())
def test_a_mutated_inclusion_proof_fails(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    proof, root = TREE.inclusion(index, size), TREE.root(size)
    assert included(LEAVES[index], index, size, proof, root)
    for bad in mutated(proof, every_bit=False):
        assert not included(LEAVES[index], index, size, bad, root)
    for bit in range(256):
        flip = (1 << bit).to_bytes(32, "big")
        assert not included(LEAVES[index], index, size, proof, xor(root, flip))
        assert not included(xor(LEAVES[index], flip), index, size, proof, root)


@given(SIZES, st.data())
def test_a_mutated_consistency_proof_or_root_fails(second: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, second))
    proof, old, new = TREE.consistency(first, second), TREE.root(first), TREE.root(second)
    assert extends(first, second, proof, old, new)
    for bad in mutated(proof, every_bit=False):
        assert not extends(first, second, bad, old, new)
    for bit in range(256):
        flip = (1 << bit).to_bytes(32, "big")
        assert not extends(first, second, proof, xor(old, flip), new)
        assert not extends(first, second, proof, old, xor(new, flip))


@given(SIZES, st.data())
def test_a_proof_is_of_one_index_alone(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    proof, root = TREE.inclusion(index, size), TREE.root(size)
    for other in (*range(size), -1, size, size + 1, 2**53 - 1, 2**53, 2**64):
        assert included(LEAVES[index], other, size, proof, root) == (other == index)


@given(SIZES, st.integers(0, 700), st.data())
def test_a_proof_under_another_size_fails_but_where_the_walk_is_the_same(
    size: int, other: int, data: st.DataObject
) -> None:
    # A bare proof binds a leaf to a root. What binds the size is the signature over root and size (test_checkpoint).
    index = data.draw(st.integers(0, size - 1))
    passes = included(LEAVES[index], index, other, TREE.inclusion(index, size), TREE.root(size))
    assert passes == (index < other and NAIVE.turns(index, other) == NAIVE.turns(index, size))


def test_a_consistency_proof_is_of_one_first_size_alone_and_the_second_is_bound_as_an_inclusion_proofs_is() -> None:
    for second in range(1, 33):
        for first in range(1, second + 1):
            proof, old, new = TREE.consistency(first, second), TREE.root(first), TREE.root(second)
            for other in range(40):
                assert extends(other, second, proof, old, new) == (other == first)
                same = first <= other and NAIVE.turns(first - 1, other) == NAIVE.turns(first - 1, second)
                assert extends(first, other, proof, old, new) == same


@given(SIZES, SIZES)
def test_a_tree_of_other_leaves_is_no_extension(a: int, b: int) -> None:
    first, second = sorted((a, b))
    forked = Tree([*LEAVES[: first - 1], leaf_hash(b"another"), *LEAVES[first:]])
    assert not extends(first, second, forked.consistency(first, second), TREE.root(first), forked.root(second))
    assert not extends(first, second, TREE.consistency(first, second), TREE.root(first), forked.root(second))


def test_an_empty_tree_is_a_prefix_of_every_tree_and_of_nothing_that_isnt_one() -> None:
    root = TREE.root(5)
    assert extends(0, 5, [], EMPTY_ROOT, root)
    assert extends(0, 0, [], EMPTY_ROOT, EMPTY_ROOT)
    assert not extends(0, 0, [], EMPTY_ROOT, root)
    assert not extends(0, 0, [], root, root)
    assert not extends(0, 5, [], root, root)
    assert not extends(0, 5, [root], EMPTY_ROOT, root)
    assert not extends(5, 0, [], root, EMPTY_ROOT)


def test_a_node_is_never_taken_for_a_leaf() -> None:
    # The second preimage that the prefixes 0 and 1 are there for: the tree's two halves, given as one leaf.
    halves = TREE.root(1) + leaf_hash(LINES[1])
    assert leaf_hash(halves) != TREE.root(2)
    assert not included(leaf_hash(halves), 0, 1, [], TREE.root(2))


@pytest.mark.parametrize("size", [0, -1, 2**53, 2**63, 2**64, 10**5000], ids=lambda size: f"{size.bit_length()}bits")
def test_sizes_that_no_tree_has_get_a_sentence_and_no_work(size: int) -> None:
    root = bytes(32)
    for index in (0, -1, size, size - 1):
        with pytest.raises(BadProof, match="expected"):
            root_from_inclusion(root, index, size, [root] * 70)
    for first in (1, size - 1, size + 1):
        with pytest.raises(BadProof, match="expected"):
            check_consistency(first, size, [root] * 70, root, root)


def test_a_proof_far_too_long_is_refused_before_it_is_hashed() -> None:
    long = [bytes(32)] * 1_000_000
    for check in (
        lambda: check_inclusion(bytes(32), 0, 2**53 - 1, long, bytes(32)),
        lambda: check_consistency(1, 2**53 - 1, long, bytes(32), bytes(32)),
    ):
        tracemalloc.start()
        with pytest.raises(BadProof, match="hashes at most, got 1000000"):
            check()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100_000


def test_a_proof_in_a_tree_of_2_to_the_53_leaves_is_53_hashes_and_checks() -> None:
    leaf, siblings = leaf_hash(b"the last of very many"), [leaf_hash(b"%d" % at) for at in range(53)]
    root = leaf
    for each in siblings:
        root = sha256(b"\x01" + each + root).digest()
    check_inclusion(leaf, 2**53 - 1, 2**53, siblings, root)
    assert not included(leaf, 2**53 - 2, 2**53, siblings, root)
    assert not included(leaf, 2**53 - 1, 2**53, siblings[:-1], root)


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_what_isnt_32_bytes_is_no_hash_though_a_root_be_made_of_it(length: int) -> None:
    odd, other = bytes(length), LEAVES[1]
    odd_first, odd_second = sha256(b"\x01" + odd + other).digest(), sha256(b"\x01" + other + odd).digest()
    for call in (
        lambda: Tree([odd]),
        lambda: Tree([bytes(32), odd, bytes(64 - length)]),
        lambda: Peaks(1, [odd]),
        lambda: check_inclusion(odd, 0, 2, [other], odd_first),
        lambda: check_inclusion(other, 0, 2, [odd], odd_second),
        lambda: check_inclusion(odd, 0, 1, [], odd),
        lambda: check_consistency(1, 2, [odd], other, odd_second),
        lambda: check_consistency(1, 2, [other], odd, odd_first),
        lambda: check_consistency(2, 2, [], odd, odd),
        lambda: check_consistency(0, 2, [], EMPTY_ROOT, odd),
    ):
        with pytest.raises(BadProof, match="32 bytes"):
            call()


def test_what_a_tree_hasnt_cant_be_proved() -> None:
    for call, words in (
        (lambda: TREE.root(301), "expected a size from 0 to 300, got 301"),
        (lambda: TREE.root(-1), "expected a size from 0 to 300, got -1"),
        (lambda: TREE.inclusion(7, 7), "expected the index of one of 7 leaves, got 7"),
        (lambda: TREE.inclusion(0, 0), "expected the index of one of 0 leaves, got 0"),
        (lambda: TREE.inclusion(-1), "expected the index of one of 300 leaves, got -1"),
        (lambda: TREE.consistency(8, 7), "expected a first size from 0 to 7, got 8"),
        (lambda: TREE.consistency(1, 301), "expected a size from 0 to 300, got 301"),
    ):
        with pytest.raises(BadProof, match=re.escape(words)):
            call()


@given(st.integers(0, 300), st.integers(0, 300))
def test_peaks_written_down_and_taken_up_again_grow_into_the_same_tree(a: int, b: int) -> None:
    first, second = sorted((a, b))
    peaks = Peaks()
    for leaf in LEAVES[:first]:
        peaks.add(leaf)
    assert peaks.root() == TREE.root(first)
    again = Peaks(first, peaks.hashes)
    for leaf in LEAVES[first:second]:
        again.add(leaf)
    assert (again.size, again.root()) == (second, TREE.root(second))
    assert (peaks.size, peaks.root()) == (first, TREE.root(first))


@pytest.mark.parametrize(("size", "count"), [(0, 1), (1, 0), (3, 1), (4, 2), (-1, 0), (7, 2)])
def test_peaks_are_as_many_as_the_size_has(size: int, count: int) -> None:
    with pytest.raises(BadProof, match=r"expected \d hashes of 32 bytes"):
        Peaks(size, [bytes(32)] * count)


def test_a_bad_proof_ends_a_command_with_1() -> None:
    assert issubclass(BadProof, LedgerError) and BadProof.exit_status == 1


def xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
