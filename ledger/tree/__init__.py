"""The tree over event lines and what is signed about it, in other people's formats: pure functions of bytes.

    from ledger.tree import Peaks, leaf_hash, parse_checkpoint

RFC 6962 trees, signed notes, checkpoints and proofs as c2sp.org has them; nothing here opens a ledger or a file.
"""

from __future__ import annotations

from ledger.tree._checkpoint import Checkpoint, Proof, SignedCheckpoint, parse_checkpoint, parse_proof
from ledger.tree._merkle import (
    EMPTY_ROOT,
    Peaks,
    Tree,
    check_consistency,
    check_inclusion,
    leaf_hash,
    root_from_inclusion,
    root_of,
)
from ledger.tree._note import MAX_NOTE, Note, Signature, SigningKey, VerifierKey, from_base64, parse_note, to_base64

__all__ = [
    "EMPTY_ROOT",
    "MAX_NOTE",
    "Checkpoint",
    "Note",
    "Peaks",
    "Proof",
    "Signature",
    "SignedCheckpoint",
    "SigningKey",
    "Tree",
    "VerifierKey",
    "check_consistency",
    "check_inclusion",
    "from_base64",
    "leaf_hash",
    "parse_checkpoint",
    "parse_note",
    "parse_proof",
    "root_from_inclusion",
    "root_of",
    "to_base64",
]
