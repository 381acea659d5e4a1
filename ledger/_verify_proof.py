"""Checking the proof of one event (c2sp.org/tlog-proof), as `ledger bundle SEQ -o x.tlog-proof` writes it.

The event's line is the proof's `extra`: it is hashed as the leaf and led up to the root of the checkpoint in the proof,
which must be signed by a key that was had from elsewhere. The event's body isn't in it; the line commits to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ledger._canonical import JSON
from ledger._errors import BadBundle, BadLine, BadNote, BadProof
from ledger._event import Line, hash_of, parse_line
from ledger._files import read_small
from ledger._said import counted
from ledger._screen import printable
from ledger.tree import Proof, VerifierKey, parse_proof, to_base64

__all__ = ["ProofVerdict", "check_proof"]

_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class ProofVerdict:
    """What a proof comes to. `problems` are false; `signed_by` are the given keys that signed its checkpoint.

    `line` is the event's line and `hash` its BLAKE3; None where the proof has none, or one that is no event's.
    """

    path: str
    origin: str
    size: int
    root: str
    seq: int
    line: Line | None
    hash: str = ""
    signed_by: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def verdict(self) -> Literal["FALSE", "NOT PROVED", "PROVED"]:
        """NOT PROVED: nothing is false, and no key was given to check the signature, or the line isn't in the proof."""
        if self.problems:
            return "FALSE"
        return "PROVED" if self.signed_by and self.line is not None else "NOT PROVED"

    @property
    def exit_status(self) -> int:
        """0 PROVED, 1 else: as for bundles."""
        return 0 if self.verdict == "PROVED" else 1

    @property
    def lines(self) -> tuple[str, ...]:
        """For people: the verdict, what it rests on, which event, what it can't tell."""
        signed = f"signed by {', '.join(self.signed_by)}" if self.signed_by else (
            "whose signature is not checked: give --key, taken from elsewhere than the proof"
        )  # fmt: skip
        if self.problems and not self.signed_by:
            signed = "whose signature counts for nothing here"
        size = counted(self.size, "event")
        said = [
            f"{self.verdict}.",
            f"A proof of one event of {self.origin}.",
            f"It rests on the checkpoint of {size}, root {self.root}, {signed}.",
            *(f"False: {each}" for each in self.problems),
        ]
        if self.line is None and not self.problems:
            said.append(
                "Not proved: the proof has no event line (`extra`), so nothing shows which event it is of; `ledger"
                f" bundle {self.seq} -o x.tlog-proof` writes one that has"
            )
        if self.line is not None and not self.problems:
            word = "Proved" if self.signed_by else "Would be proved by a signature"
            said.append(f"{word}: event {self.seq} stood at its place in the ledger: {_of(self.line)}.")
            said.append(f"  Its hash: {self.hash}")
            said.append(
                f"Not in it: the event's body, to which the line commits by {self.line.body_hash}; `ledger bundle"
                f" {self.seq} -o evidence.zip` shows it."
            )
        said.append("It can't tell what the ledger says after the checkpoint.")
        return tuple(printable(each) for each in said)

    def as_json(self) -> dict[str, JSON]:
        """The documented JSON form."""
        line = self.line
        return {
            "proof": self.path, "verdict": self.verdict, "origin": self.origin, "size": self.size, "root": self.root,
            "signed_by": list(self.signed_by), "problems": list(self.problems),
            "event": None if line is None else {
                "seq": line.seq, "hash": self.hash, "prev": line.prev, "at": line.at, "kind": line.kind,
                "run": line.run, "cell": line.cell, "causes": list(line.causes), "body_hash": line.body_hash,
            },
        }  # fmt: skip


def _of(line: Line) -> str:
    where = f", run {line.run}" if line.run else ""
    where += f", cell {line.cell}" if line.cell else ""
    return f"{line.kind} at {line.at}{where}"


def check_proof(path: Path, keys: Sequence[VerifierKey] = ()) -> ProofVerdict:
    """Check a proof's file. Only `keys`, which come from elsewhere, are trusted. Raises BadBundle for what is none."""
    try:
        proof = parse_proof(read_small(path, _MOST))
    except OSError as problem:
        raise BadBundle(f"{path} can't be read: {problem.strerror or problem}") from None
    except (BadProof, BadNote) as problem:
        raise BadBundle(f"{path} is no proof of an event that can be read: {problem}") from None
    problems: list[str] = []
    signed = _signers(proof, keys, problems)
    line = _line(proof, problems)
    at = proof.signed.checkpoint
    return ProofVerdict(
        str(path), at.origin, at.size, to_base64(at.root), proof.index + 1, line,
        hash_of(proof.extra) if line is not None and proof.extra is not None else "", signed, tuple(problems),
    )  # fmt: skip


def _signers(proof: Proof, keys: Sequence[VerifierKey], problems: list[str]) -> tuple[str, ...]:
    """The given keys of the ledger's own name that signed."""
    at = proof.signed.checkpoint
    try:
        signed = tuple(key.label for key in proof.signed.note.signed_by(keys) if key.name == at.origin)
    except BadNote as problem:
        problems.append(str(problem))
        return ()
    if keys and not signed:
        given = ", ".join(key.label for key in keys)
        problems.append(f"the checkpoint of {at.origin} at {at.size} is signed by none of {given}")
    return signed


def _line(proof: Proof, problems: list[str]) -> Line | None:
    if proof.extra is None:
        return None
    try:
        proof.check(proof.extra)
    except BadProof as problem:
        problems.append(f"the event's line doesn't lead to the checkpoint's root: {problem}")
    try:
        line = parse_line(proof.extra)
    except BadLine as problem:
        problems.append(f"what it proves is no event's line: {problem}")
        return None
    if line.seq != proof.index + 1:
        problems.append(f"expected the line of event {proof.index + 1} at index {proof.index}, got that of {line.seq}")
    return line
