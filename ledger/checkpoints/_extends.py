"""What a new checkpoint must extend: every checkpoint in the folder, and every one that an anchor event names.

One pass over the event lines gives the root at each size that is named, the peaks to go on from, and the chain's last
hash. Nothing is taken from a file beside the ledger but what it claims.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ledger._errors import BadLine, BadNote, Refused
from ledger._event import Event, hash_of
from ledger._export import export_lines
from ledger._store import Ledger
from ledger.checkpoints._files import note_path, stored_checkpoints
from ledger.kinds import Anchor
from ledger.tree import EMPTY_ROOT, Checkpoint, Peaks, SignedCheckpoint, VerifierKey, from_base64, leaf_hash, to_base64

__all__ = [
    "Anchored",
    "Held",
    "Roots",
    "anchors_of",
    "held_checkpoints",
    "origin_of",
    "refuse_unless_extends",
    "roots_at",
]


@dataclass(frozen=True, slots=True)
class Anchored:
    """An anchor event, read. `root` is None where it isn't base64 of 32 bytes."""

    event: Event
    what: Literal["checkpoint", "rfc3161"]
    size: int
    root: bytes | None
    said: str


@dataclass(frozen=True, slots=True)
class Held:
    """A checkpoint of the folder, of which all was checked but who signed it."""

    path: Path
    signed: SignedCheckpoint

    @property
    def checkpoint(self) -> Checkpoint:
        """What it says of the tree."""
        return self.signed.checkpoint

    def is_by(self, key: VerifierKey) -> bool:
        """Whether this key signed it. Raises Refused where a line says so and it isn't true."""
        try:
            return bool(self.signed.note.signed_by([key]))
        except BadNote as problem:
            raise Refused(f"{self.path}: {problem}; nothing was signed") from None


@dataclass(frozen=True, slots=True)
class Roots:
    """The tree over the first `size` events: roots at the sizes asked for, its own among them, and the peaks of all
    events but the last."""

    size: int
    at: dict[int, bytes]
    before: Peaks

    @property
    def root(self) -> bytes:
        """The root of all of it."""
        return self.at[self.size]


def origin_of(ledger: Ledger) -> str:
    """The origin line of a ledger's checkpoints, which is the name of its keys too."""
    return f"{ledger.genesis.origin}/{ledger.genesis.id}"


def anchors_of(ledger: Ledger) -> Iterator[Anchored]:
    """Every anchor event, in order. Raises BadBody for one that can't be read."""
    for event in ledger.events(kind="anchor"):
        body = ledger.body(event)
        assert isinstance(body, Anchor), "the kind says so"
        try:
            root = from_base64(body.root)
        except (Base64Error, ValueError):
            root = b""
        yield Anchored(event, body.what, body.size, root if len(root) == len(EMPTY_ROOT) else None, body.root)


def roots_at(ledger: Ledger, sizes: Collection[int], size: int, head: str) -> Roots:
    """The roots of the first `size` events, the last of which has the hash `head`, at the sizes asked for.

    Raises Refused unless the lines are one chain that ends there: they are what is to be signed.
    """
    peaks, before, at = Peaks(), Peaks(), {0: EMPTY_ROOT}
    prev = ""
    try:
        for number, line in zip(range(1, size + 1), export_lines(ledger), strict=False):
            if prev and f'"prev":"{prev}"'.encode() not in line[:128]:
                raise Refused(f"event {number} doesn't follow the one before it; `ledger verify` says more")
            prev = hash_of(line)
            if number == size:
                before = Peaks(peaks.size, peaks.hashes)
            peaks.add(leaf_hash(line))
            if number == size or number in sizes:
                at[number] = peaks.root()
    except BadLine as problem:
        raise Refused(f"{problem}; nothing was signed") from None
    if (peaks.size, prev) != (size, head):
        raise Refused(
            f"expected event {size} to be {head}, got {prev}: the ledger changed meanwhile; nothing was signed"
        )
    return Roots(size, at, before)


def held_checkpoints(ledger: Ledger) -> list[Held]:
    """The checkpoints of the folder, the smallest first, each of this ledger and under the name of its size.

    Raises Refused for one that can't be read or isn't of this ledger, saying what to do.
    """
    found: list[Held] = []
    for each in stored_checkpoints(ledger.path):
        if each.signed is None:
            raise Refused(f"{each.path}: {each.problem}; put it back as it was, or move it away. Nothing was signed")
        at = each.signed.checkpoint
        if at.origin != origin_of(ledger):
            raise Refused(
                f"{each.path}: expected a checkpoint of {origin_of(ledger)}, got one of {at.origin}: another ledger's."
                " Nothing was signed"
            )
        if each.path.name != note_path(each.path.parent, at.size).name:
            raise Refused(
                f"{each.path}: expected the checkpoint of {int(each.path.stem)} events, got one of {at.size};"
                f" put it back under its name, {note_path(each.path.parent, at.size).name}. Nothing was signed"
            )
        found.append(Held(each.path, each.signed))
    return found


def refuse_unless_extends(name: str, size: int, root: bytes, roots: Roots) -> None:
    """Raise Refused unless the tree of `roots` extends the tree of `size` events with this root."""
    if size > roots.size:
        raise Refused(
            f"{name} is of {size} events, and the ledger has {roots.size}: its end was cut off, or it was rolled back,"
            " and what would be signed doesn't extend it. Put the whole ledger back; nothing was signed"
        )
    if roots.at[size] != root:
        raise Refused(
            f"{name}: expected {to_base64(root)} as the root of the first {size} events, got"
            f" {to_base64(roots.at[size])}: the ledger isn't the one that was signed. Nothing was signed"
        )
