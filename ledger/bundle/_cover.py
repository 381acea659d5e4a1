"""Which checkpoint a bundle stands on: the newest signed one that is this ledger's and covers what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ledger._errors import BadNote, Refused
from ledger._prefix import tree_of
from ledger._store import Ledger
from ledger.checkpoints._files import StoredCheckpoint, stored_checkpoints, timestamp_paths
from ledger.tree import Checkpoint, Tree, VerifierKey

__all__ = ["Cover", "newest_cover"]

_MAKE = "`ledger checkpoint` makes one"


@dataclass(frozen=True)
class Cover:
    """A checkpoint's file, what it says, and the tree that it is of."""

    path: Path
    note: bytes
    checkpoint: Checkpoint
    tree: Tree

    @property
    def size(self) -> int:
        """How many events it covers."""
        return self.checkpoint.size

    def timestamps(self) -> list[tuple[str, bytes]]:
        """The tokens over the note, each with the name of its authority, sorted."""
        start = self.path.stem + "."
        found = [(each.name.removeprefix(start), each.read_bytes()) for each in timestamp_paths(self.path)]
        return sorted(found)


def newest_cover(ledger: Ledger, keys: Sequence[VerifierKey] = ()) -> Cover:
    """The newest checkpoint in the ledger's folder that is signed (by one of `keys`, where any are given) and whose
    root is the ledger's at that size. Raises Refused where there is none."""
    tree = tree_of(ledger)
    origin = f"{ledger.genesis.origin}/{ledger.genesis.id}"
    stored = stored_checkpoints(ledger.path)
    if not stored:
        raise Refused(f"{ledger.path} has no checkpoint, which evidence is proved against; {_MAKE}")
    passed: list[str] = []
    for each in reversed(stored):
        problem = _why_not(each, origin, tree, keys)
        if not problem and each.signed is not None:
            return Cover(each.path, bytes(each.signed), each.signed.checkpoint, tree)
        passed.append(f"{each.path.name}: {problem}")
    raise Refused(f"no checkpoint of {ledger.path} will do ({'; '.join(passed[:3])}); {_MAKE}")


def _why_not(stored: StoredCheckpoint, origin: str, tree: Tree, keys: Sequence[VerifierKey]) -> str:
    if stored.signed is None:
        return stored.problem
    at = stored.signed.checkpoint
    if at.origin != origin:
        return f"it is of another ledger, {at.origin}"
    if at.size > tree.size or tree.root(at.size) != at.root:
        return "its root isn't this ledger's"
    if not stored.signed.note.signatures:
        return "nobody signed it"
    try:
        if keys and not stored.signed.note.signed_by(keys):
            return f"none of the given keys signed it ({', '.join(key.label for key in keys)})"
    except BadNote as problem:
        return str(problem)
    return ""
