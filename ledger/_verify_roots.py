"""The roots of a ledger's first events, at the sizes that somebody names, worked out along verify's one scan.

Leaves are folded block by block. A part of a ledger that begins where a block does can be folded by itself, by another
process, and its blocks put in their place among the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from ledger._errors import BadProof
from ledger.tree import EMPTY_ROOT, Peaks

__all__ = ["BLOCK", "Blocks", "Roots", "join_blocks"]

BLOCK = 1024
"""Leaves that are folded at once; a power of two."""


class Roots:
    """Takes event lines in order and keeps the root of each size that is wanted. Holds no more than a block of leaves.

    `start` is the tree to go on from (`ledger verify --since`); it is an empty one by default. `known` are roots that
    were worked out already.
    """

    def __init__(
        self, sizes: Iterable[int] = (), start: Peaks | None = None, known: Mapping[int, bytes] | None = None
    ) -> None:
        self._wanted = set(sizes)
        self._peaks = Peaks() if start is None else start
        self._roots = {0: EMPTY_ROOT, **(known or {})}
        self._leaves: list[bytes] = []
        self._next = self._peaks.size + 1
        self.last = max(self._wanted, default=0)
        """Lines beyond this seq needn't be given: no root is wanted there."""
        if self._peaks.size in self._wanted:
            self._roots[self._peaks.size] = self._peaks.root()

    def take(self, seq: int, line: bytes) -> None:
        """The line of event `seq`. After an event that has no line, none is taken: there is no tree any more."""
        if seq != self._next:
            return
        self._next = seq + 1
        leaves = self._leaves
        leaves.append(sha256(b"\x00" + line).digest())
        if len(leaves) == BLOCK or seq in self._wanted:
            self._peaks.add_all(leaves)
            leaves.clear()
            if seq in self._wanted:
                self._roots[seq] = self._peaks.root()

    def root(self, size: int) -> bytes | None:
        """The root of the first `size` events; None where it isn't known."""
        return self._roots.get(size)


class Blocks(Roots):
    """Of the events after `before`, which ends a block: the root of each whole block, and for each size that is wanted
    the peaks of the leaves after the last whole block of it (`tails`). `block` is a power of two."""

    def __init__(self, sizes: Iterable[int], before: int, block: int = BLOCK) -> None:
        super().__init__(sizes)
        self._next = before + 1
        self._block = block
        self.blocks: list[bytes] = []
        self.tails: dict[int, Sequence[bytes]] = {}

    def take(self, seq: int, line: bytes) -> None:
        """The line of event `seq`."""
        if seq != self._next:
            return
        self._next = seq + 1
        leaves = self._leaves
        leaves.append(sha256(b"\x00" + line).digest())
        whole, wanted = len(leaves) == self._block, seq in self._wanted
        if whole or wanted:
            peaks = Peaks()
            peaks.add_all(leaves)
            if whole:
                self.blocks.extend(peaks.hashes)
                leaves.clear()
            if wanted:
                self.tails[seq] = () if whole else peaks.hashes


def join_blocks(blocks: Iterable[bytes], tails: Mapping[int, Sequence[bytes]], block: int = BLOCK) -> dict[int, bytes]:
    """The root of each size in `tails`, of blocks from the first event on. Raises BadProof where they don't fit."""
    roots: dict[int, bytes] = {}
    sizes = sorted(tails)
    above, each = Peaks(), iter(blocks)
    for size in sizes:
        while above.size < size // block:
            leaf = next(each, None)
            if leaf is None:
                raise BadProof(f"expected the roots of {size // block} blocks of leaves, got {above.size}")
            above.add(leaf)
        # What is a leaf above is the root of a full subtree below: the peaks of both are those of the whole tree.
        roots[size] = Peaks(size, (*above.hashes, *tails[size])).root()
    return roots
