"""The vectors of tests/vectors, and who is asked about them: our tree, the bundle's verify.py, whoever takes part."""

from __future__ import annotations

import importlib.util
import json
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import ledger.bundle
from ledger._errors import BadKey, BadNote, BadProof
from ledger.tree import (
    VerifierKey,
    check_consistency,
    check_inclusion,
    leaf_hash,
    parse_checkpoint,
    parse_note,
    parse_proof,
)

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    """The rows of one file. Bytes are hex in it; here they are bytes."""
    rows: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text("ascii"))
    for row in rows:
        for key in ("data", "root", "first_root", "second_root"):
            if key in row:
                row[key] = bytes.fromhex(row[key])
        if isinstance(row.get("proof"), list):
            row["proof"] = [bytes.fromhex(each) for each in row["proof"]]
        if "note" in row or "note_hex" in row:
            row["note"] = bytes.fromhex(row.pop("note_hex")) if "note_hex" in row else row["note"].encode()
    return rows


class Verifier(Protocol):
    """What a vector asks. A refusal of any kind is False, or None for a note; nothing else may be raised."""

    def key(self, text: str) -> bool: ...

    def note(self, note: bytes, keys: list[str]) -> list[str] | None:
        """Whose signatures are right, as NAME+ID; None for a note that is refused."""
        ...

    def inclusion(self, data: bytes, index: int, size: int, proof: list[bytes], root: bytes) -> bool: ...

    def checkpoint(self, note: bytes, key: str) -> tuple[str, int, bytes] | None:
        """Origin, size and root of a checkpoint that the key signed."""
        ...


class Ours:
    """ledger.tree."""

    def key(self, text: str) -> bool:
        try:
            return str(VerifierKey.parse(text)) == text
        except BadKey:
            return False

    def note(self, note: bytes, keys: list[str]) -> list[str] | None:
        try:
            return [each.label for each in parse_note(note).signed_by([VerifierKey.parse(key) for key in keys])]
        except BadNote:
            return None

    def inclusion(self, data: bytes, index: int, size: int, proof: list[bytes], root: bytes) -> bool:
        try:
            check_inclusion(leaf_hash(data), index, size, proof, root)
        except BadProof:
            return False
        return True

    def consistency(self, first: int, second: int, proof: list[bytes], first_root: bytes, second_root: bytes) -> bool:
        try:
            check_consistency(first, second, proof, first_root, second_root)
        except BadProof:
            return False
        return True

    def checkpoint(self, note: bytes, key: str) -> tuple[str, int, bytes] | None:
        try:
            found = parse_checkpoint(note)
            signed = found.note.signed_by([VerifierKey.parse(key)])
        except BadNote:
            return None
        at = found.checkpoint
        return (at.origin, at.size, at.root) if signed and signed[0].name == at.origin else None

    def proof(self, proof: str, data: bytes, key: str) -> bool:
        try:
            found = parse_proof(proof.encode())
            found.check(data)
            return bool(found.signed.note.signed_by([VerifierKey.parse(key)]))
        except (BadProof, BadNote):
            return False


class Standalone:
    """ledger/bundle/verify.py, by its path, as somebody has it who has nothing else of ours."""

    def __init__(self) -> None:
        path = Path(ledger.bundle.__file__).with_name("verify.py")
        spec = importlib.util.spec_from_file_location("standalone_verify", path)
        assert spec and spec.loader
        self.it: ModuleType = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.it)

    def key(self, text: str) -> bool:
        try:
            self.it.read_key(text)
        except ValueError:
            return False
        return True

    def note(self, note: bytes, keys: list[str]) -> list[str] | None:
        try:
            _, signers = self.it.check_note(note, keys)
        except ValueError:
            return None
        return signers

    def inclusion(self, data: bytes, index: int, size: int, proof: list[bytes], root: bytes) -> bool:
        try:
            return self.it.inclusion_root(sha256(b"\x00" + data).digest(), index, size, proof) == root
        except ValueError:
            return False

    def checkpoint(self, note: bytes, key: str) -> tuple[str, int, bytes] | None:
        try:
            origin, size, root, _ = self.it.check_checkpoint(note, [key])
        except ValueError:
            return None
        return origin, size, root
