"""The Merkle tree over event lines: roots, inclusion and consistency (RFC 6962 section 2.1; the checks, RFC 9162).

SHA-256; a leaf is SHA-256(0x00, line), a node SHA-256(0x01, left, right). Leaf index = seq - 1. Everything is worked
out from the leaves that are given; nothing is cached, so nothing that is cached can lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from ledger._errors import BadProof

__all__ = [
    "EMPTY_ROOT",
    "Peaks",
    "Tree",
    "check_consistency",
    "check_inclusion",
    "leaf_hash",
    "root_from_inclusion",
    "root_of",
]

EMPTY_ROOT = sha256(b"").digest()
"""The root of the tree that has no leaf."""
_SIZE = 32
_MOST = (1 << 63) - 1
_LEAF, _NODE = b"\x00", b"\x01"


def leaf_hash(line: bytes) -> bytes:
    """The hash of a leaf: of an event line's bytes, without a newline."""
    return sha256(_LEAF + line).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left + right).digest()


class Peaks:
    """A tree that grows at its right edge, by the roots of its full subtrees from left to right (a compact range).

    It holds at most 53 hashes however many leaves were added, and gives the root at any moment.
    """

    __slots__ = ("_hashes", "size")

    def __init__(self, size: int = 0, hashes: Sequence[bytes] = ()) -> None:
        """The peaks of a tree of `size` leaves. Raises BadProof unless there are as many as such a tree has."""
        if size < 0 or len(hashes) != size.bit_count() or any(len(each) != _SIZE for each in hashes):
            raise BadProof(
                f"expected {max(size, 0).bit_count()} hashes of 32 bytes for the peaks of {size} leaves,"
                f" got {len(hashes)}"
            )
        self.size = size
        self._hashes = list(hashes)

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """The roots of the full subtrees, the largest first."""
        return tuple(self._hashes)

    def add(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        self.size += 1
        below = self.size
        while not below & 1:
            leaf = sha256(_NODE + self._hashes.pop() + leaf).digest()
            below >>= 1
        self._hashes.append(leaf)

    def add_all(self, leaves: Sequence[bytes]) -> None:
        """Add leaf hashes in their order, level by level: as `add` of each would, in less time."""
        at, end = 0, len(leaves)
        while at < end:
            # The largest full subtree that can begin here, and that the leaves fill.
            span = 1 << (end - at).bit_length() - 1
            if self.size:
                span = min(span, self.size & -self.size)
            level = leaves[at : at + span]
            while len(level) > 1:
                level = [
                    sha256(_NODE + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=True)
                ]
            self._grow(level[0], span)
            at += span

    def _grow(self, root: bytes, span: int) -> None:
        self.size += span
        below = self.size // span
        while not below & 1:
            root = _node(self._hashes.pop(), root)
            below >>= 1
        self._hashes.append(root)

    def root(self) -> bytes:
        """The root of the leaves added so far."""
        if not self._hashes:
            return EMPTY_ROOT
        root = self._hashes[-1]
        for left in reversed(self._hashes[:-1]):
            root = _node(left, root)
        return root


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root of leaf hashes."""
    peaks = Peaks()
    for leaf in leaves:
        peaks.add(leaf)
    return peaks.root()


class Tree:
    """The leaf hashes of a whole tree, and what can be proved of its prefixes. 64 bytes a leaf, nodes included."""

    def __init__(self, leaves: Iterable[bytes]) -> None:
        """Take leaf hashes in. Raises BadProof for one that isn't 32 bytes."""
        level = bytearray()
        for leaf in leaves:
            if len(leaf) != _SIZE:
                raise BadProof(f"leaf {len(level) // _SIZE}: expected a hash of 32 bytes, got {len(leaf)} bytes")
            level += leaf
        self.size = len(level) // _SIZE
        # Level by level, the full subtrees only: those never change when leaves are added.
        self._levels = [bytes(level)]
        while len(level) >= 2 * _SIZE:
            below, level = self._levels[-1], bytearray()
            for at in range(0, len(below) - 2 * _SIZE + 1, 2 * _SIZE):
                level += sha256(_NODE + below[at : at + 2 * _SIZE]).digest()
            self._levels.append(bytes(level))

    def root(self, size: int | None = None) -> bytes:
        """The root of the first `size` leaves; of all by default. Raises BadProof beyond the tree."""
        size = self._within(self.size if size is None else size)
        return self._range(0, size) if size else EMPTY_ROOT

    def inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """The inclusion proof of leaf `index` (from 0) in the first `size` leaves, the leaf's sibling first.

        Raises BadProof where there is no such leaf.
        """
        size = self._within(self.size if size is None else size)
        if not 0 <= index < size:
            raise BadProof(f"expected the index of one of {size} leaves, got {index}")
        proof: list[bytes] = []
        start, end = 0, size
        while end - start > 1:
            split = start + _split(end - start)
            if index < split:
                proof.append(self._range(split, end))
                end = split
            else:
                proof.append(self._range(start, split))
                start = split
        return proof[::-1]

    def consistency(self, first: int, second: int | None = None) -> list[bytes]:
        """The proof that the first `second` leaves extend the first `first`. Raises BadProof beyond the tree."""
        second = self._within(self.size if second is None else second)
        if not 0 <= first <= second:
            raise BadProof(f"expected a first size from 0 to {second}, got {first}")
        if first in (0, second):
            return []
        proof: list[bytes] = []
        start, end, whole = 0, second, True
        while first != end:
            split = start + _split(end - start)
            if first <= split:
                proof.append(self._range(split, end))
                end = split
            else:
                proof.append(self._range(start, split))
                start, whole = split, False
        if not whole:
            proof.append(self._range(start, end))
        return proof[::-1]

    def _within(self, size: int) -> int:
        if not 0 <= size <= self.size:
            raise BadProof(f"expected a size from 0 to {self.size}, got {size}")
        return size

    def _range(self, start: int, end: int) -> bytes:
        """The root of leaves from `start` to `end`; `start` is a multiple of the power of two that spans them."""
        count = end - start
        level = count.bit_length() - 1
        if count == 1 << level:
            at = (start >> level) * _SIZE
            return self._levels[level][at : at + _SIZE]
        split = start + _split(count)
        return _node(self._range(start, split), self._range(split, end))


def _split(count: int) -> int:
    """The largest power of two smaller than `count`."""
    return 1 << (count - 1).bit_length() - 1


def root_from_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """The root that an inclusion proof leads to (RFC 9162 section 2.1.3.2). Raises BadProof for one of another form."""
    if not 0 <= index < size <= _MOST:
        raise BadProof(f"expected the index of one of {_short(size)} leaves, got {_short(index)}")
    most = (size - 1).bit_length()
    if len(proof) > most:
        raise BadProof(f"leaf {index} of {size}: expected a proof of {most} hashes at most, got {len(proof)}")
    _hashes(leaf, *proof)
    at, last, root = index, size - 1, leaf
    for number, sibling in enumerate(proof, start=1):
        if last == 0:
            raise BadProof(f"leaf {index} of {size}: expected a proof of {number - 1} hashes, got {len(proof)}")
        if at & 1 or at == last:
            root = _node(sibling, root)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            root = _node(root, sibling)
        at, last = at >> 1, last >> 1
    if last:
        raise BadProof(f"leaf {index} of {size}: expected a proof of more than {len(proof)} hashes")
    return root


def check_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raise BadProof unless leaf hash `leaf` is number `index` (from 0) of the tree of `size` leaves with this root.

    Size and root must come from one signed checkpoint: a proof alone also fits some other sizes (leaf 0 of 5 to 8).
    """
    found = root_from_inclusion(leaf, index, size, proof)
    if found != root:
        raise BadProof(f"leaf {index} of {size}: expected the root {root.hex()}, got {found.hex()}")


def check_consistency(first: int, second: int, proof: Sequence[bytes], first_root: bytes, second_root: bytes) -> None:
    """Raise BadProof unless the tree of `second` leaves extends the one of `first` (RFC 9162 section 2.1.4.2).

    Each size and its root must come from one signed checkpoint, or from the leaves themselves.
    """
    if not 0 <= first <= second <= _MOST:
        raise BadProof(f"expected a first size from 0 to {_short(second)}, got {_short(first)}")
    most = second.bit_length() + 1
    if len(proof) > most:
        raise BadProof(f"from {first} to {second} leaves: expected {most} hashes at most, got {len(proof)}")
    _hashes(first_root, second_root, *proof)
    if first in (0, second):
        if proof:
            raise BadProof(f"from {first} to {second} leaves: expected no hashes, got {len(proof)}")
        # Two empty trees are the same size and both have the root of nothing; any tree extends an empty one.
        _same(second, EMPTY_ROOT if second == 0 else second_root, second_root)
        _same(first, EMPTY_ROOT if first == 0 else second_root, first_root)
        return
    path = list(proof) if first & (first - 1) else [first_root, *proof]
    if not path:
        raise BadProof(f"from {first} to {second} leaves: expected a proof, got none")
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for number, sibling in enumerate(path[1:], start=1):
        if last == 0:
            fits = number - (len(path) - len(proof))
            raise BadProof(f"from {first} to {second} leaves: expected a proof of {fits} hashes, got {len(proof)}")
        if at & 1 or at == last:
            old, new = _node(sibling, old), _node(sibling, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = _node(new, sibling)
        at, last = at >> 1, last >> 1
    if last:
        raise BadProof(f"from {first} to {second} leaves: expected more than {len(proof)} hashes")
    _same(first, first_root, old)
    _same(second, second_root, new)


def _same(size: int, expected: bytes, found: bytes) -> None:
    if found != expected:
        raise BadProof(f"{size} leaves: expected the root {expected.hex()}, got {found.hex()}")


def _hashes(*hashes: bytes) -> None:
    for each in hashes:
        if len(each) != _SIZE:
            raise BadProof(f"expected hashes of 32 bytes, got {len(each)} bytes")


def _short(number: int) -> str:
    """A number for a sentence: Python writes none of thousands of digits, and nobody would read one."""
    return str(number) if abs(number) <= _MOST else f"a number of {number.bit_length()} bits"
