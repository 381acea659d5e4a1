"""Checkpoints (c2sp.org/tlog-checkpoint) and proofs that travel with one (c2sp.org/tlog-proof)."""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from collections.abc import Sequence
from dataclasses import dataclass

from ledger._errors import BadNote, BadProof
from ledger.tree._merkle import EMPTY_ROOT, check_inclusion, leaf_hash
from ledger.tree._note import Note, from_base64, parse_note, to_base64

__all__ = ["Checkpoint", "Proof", "SignedCheckpoint", "parse_checkpoint", "parse_proof"]

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,15}")
_PROOF = "c2sp.org/tlog-proof@v1"
_MAX_HASHES = 63
_MAX_PROOF = 1 << 20


def _hash(text: str, what: str, error: type[BadNote] | type[BadProof]) -> bytes:
    try:
        data = from_base64(text)
    except (Base64Error, ValueError):
        data = b""
    if len(data) != 32:
        raise error(f"{what}: expected base64 of 32 bytes, got {text[:60]!a}")
    return data


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree at one size: `origin` names the log (for a ledger `ORIGIN/ID`), `root` is 32 bytes."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The note text that is signed."""
        return f"{self.origin}\n{self.size}\n{to_base64(self.root)}\n"

    def __str__(self) -> str:
        return f"{self.origin} at {self.size}: {to_base64(self.root)}"


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint and the note that it stands in, whose signatures are still to be checked."""

    checkpoint: Checkpoint
    note: Note

    def __bytes__(self) -> bytes:
        return bytes(self.note)


def parse_checkpoint(data: bytes) -> SignedCheckpoint:
    """Read a checkpoint. Raises BadNote, for extension lines too: a ledger signs none, and nobody could check them."""
    note = parse_note(data)
    lines = note.text.split("\n")
    if len(lines) != 4 or not all(lines[:3]):
        raise BadNote(f"expected a checkpoint of three lines (origin, size, root), got {len(lines) - 1}")
    origin, size, root = lines[:3]
    if not _DECIMAL.fullmatch(size) or int(size) > 2**53 - 1:
        raise BadNote(f"the checkpoint of {origin[:140]!a}: expected a size in decimal, got {size[:40]!a}")
    found = Checkpoint(origin, int(size), _hash(root, "the root of the checkpoint", BadNote))
    if found.size == 0 and found.root != EMPTY_ROOT:
        raise BadNote(f"the checkpoint of {origin[:140]!a}: expected the root of no leaves, got {root}")
    return SignedCheckpoint(found, note)


@dataclass(frozen=True, slots=True)
class Proof:
    """That one leaf is in the tree of a checkpoint: `index` from 0, the leaf's sibling first."""

    index: int
    hashes: tuple[bytes, ...]
    signed: SignedCheckpoint
    extra: bytes | None = None

    def __bytes__(self) -> bytes:
        lines = [_PROOF]
        if self.extra is not None:
            lines.append(f"extra {to_base64(self.extra)}")
        lines += [f"index {self.index}", *map(to_base64, self.hashes), "", ""]
        return "\n".join(lines).encode() + bytes(self.signed)

    def check(self, line: bytes) -> None:
        """Raise BadProof unless the event line is the leaf that is proved. Says nothing about who signed."""
        at = self.signed.checkpoint
        check_inclusion(leaf_hash(line), self.index, at.size, self.hashes, at.root)


def parse_proof(data: bytes) -> Proof:
    """Read a tlog-proof. Raises BadProof, or BadNote for the checkpoint in it."""
    if len(data) > _MAX_PROOF:
        raise BadProof(f"expected a proof of at most {_MAX_PROOF} bytes, got {len(data)}")
    head, blank, note = data.partition(b"\n\n")
    try:
        lines: Sequence[str] = head.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise BadProof("expected a proof in ASCII up to its first empty line") from None
    if not blank or lines[0] != _PROOF:
        raise BadProof(f"expected a proof that starts with {_PROOF} and ends with a checkpoint, got {lines[0][:60]!a}")
    rest = list(lines[1:])
    extra = None
    if rest and rest[0].startswith("extra "):
        try:
            extra = from_base64(rest.pop(0).removeprefix("extra "))
        except (Base64Error, ValueError):
            raise BadProof("the line extra of the proof: expected base64") from None
    said = rest.pop(0) if rest else ""
    number = said.removeprefix("index ")
    if said == number or not _DECIMAL.fullmatch(number):
        raise BadProof(f"expected the line 'index N' of a proof, got {said[:60]!a}")
    if len(rest) > _MAX_HASHES:
        raise BadProof(f"expected at most {_MAX_HASHES} hashes in a proof, got {len(rest)}")
    hashes = tuple(_hash(each, "a hash of the proof", BadProof) for each in rest)
    return Proof(int(number), hashes, parse_checkpoint(note), extra)
