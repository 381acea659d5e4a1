"""The roots of a ledger's first events, at the sizes that somebody names, worked out along verify's one scan."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from ledger.tree import EMPTY_ROOT, Peaks

__all__ = ["Roots"]


class Roots:
    """Takes event lines in order and keeps the root of each size that is wanted. Holds no lines and no leaves.

    `start` is the tree to go on from (`ledger verify --since`); it is an empty one by default.
    """

    def __init__(self, sizes: Iterable[int] = (), start: Peaks | None = None) -> None:
        self._wanted = set(sizes)
        self._peaks = Peaks() if start is None else start
        self._roots = {0: EMPTY_ROOT}
        self.last = max(self._wanted, default=0)
        """Lines beyond this seq needn't be given: no root is wanted there."""
        if self._peaks.size in self._wanted:
            self._roots[self._peaks.size] = self._peaks.root()

    def take(self, seq: int, line: bytes) -> None:
        """The line of event `seq`. After an event that has no line, none is taken: there is no tree any more."""
        peaks = self._peaks
        if seq != peaks.size + 1:
            return
        peaks.add(sha256(b"\x00" + line).digest())
        if seq in self._wanted:
            self._roots[seq] = peaks.root()

    def root(self, size: int) -> bytes | None:
        """The root of the first `size` events; None where it isn't known."""
        return self._roots.get(size)
