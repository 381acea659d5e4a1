"""The tree over a ledger's first events, made anew from the stored columns each time."""

from __future__ import annotations

from ledger._export import export_lines
from ledger._store import Ledger
from ledger.tree import Tree, leaf_hash

__all__ = ["tree_of"]


def tree_of(ledger: Ledger, size: int | None = None) -> Tree:
    """The tree over the first `size` events; over all by default. Raises BadLine for an event that has no line."""
    lines = export_lines(ledger)
    return Tree(leaf_hash(line) for line, _ in zip(lines, range(size if size is not None else 1 << 53), strict=False))
