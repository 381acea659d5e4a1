"""Checkpoints for tests, signed with `ledger.tree` alone: what `ledger checkpoint` makes, and what a forger would."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from ledger import Draft, Ledger, Outside, Verdict, kinds, verify
from ledger._prefix import tree_of
from ledger.checkpoints._files import checkpoint_folder, note_path, peaks_path
from ledger.checkpoints._peaks import peaks_text
from ledger.tree import Checkpoint, Peaks, SigningKey, leaf_hash, to_base64
from tests.ledger.ledgers import settle


def origin_of(path: Path) -> str:
    """`ORIGIN/ID`, the name of a ledger's key and the first line of its checkpoints."""
    with closing(sqlite3.connect(path)) as connection:
        body = json.loads(connection.execute("SELECT body FROM events WHERE seq = 1").fetchone()[0])
    return f"{body['origin']}/{body['id']}"


def key_of(path: Path, seed: int = 7) -> SigningKey:
    """A signing key in the ledger's name; another `seed`, another key."""
    return SigningKey(origin_of(path), bytes([seed]) * 32)


def checkpoint_of(path: Path, size: int | None = None) -> Checkpoint:
    """What is true of the ledger's first `size` events; of all by default."""
    with Ledger.open(path, read_only=True) as ledger:
        tree = tree_of(ledger)
        return Checkpoint(origin_of(path), tree.size if size is None else size, tree.root(size))


def sign(path: Path, size: int | None = None, *, key: SigningKey | None = None, peaks: bool = False) -> Path:
    """Sign the first `size` events and put the note into the folder beside the ledger; gives the note's file."""
    at = checkpoint_of(path, size)
    folder = checkpoint_folder(path)
    folder.mkdir(exist_ok=True)
    note = note_path(folder, at.size)
    note.write_bytes(bytes((key or key_of(path)).sign(at.text)))
    if peaks:
        tree = Peaks()
        with Ledger.open(path, read_only=True) as ledger:
            for event in ledger.events(limit=at.size - 1):
                tree.add(leaf_hash(event.line))
        peaks_path(note).write_bytes(peaks_text(at.size, tree))
    return note


def anchor(path: Path, at: Checkpoint, key: SigningKey) -> None:
    """Append the event by which a ledger knows that it had a checkpoint."""
    body = kinds.Anchor(what="checkpoint", size=at.size, root=to_base64(at.root), key=str(key.verifier))
    with Ledger.open(path) as ledger:
        ledger.append(Draft(body))


def append_notes(path: Path, *texts: str) -> None:
    """Append honestly, and leave all of it in the one file."""
    with Ledger.open(path) as ledger:
        ledger.append(*(Draft(kinds.Note(text=text)) for text in texts))
    settle(path)


def with_key(path: Path, **more: object) -> Verdict:
    """The verdict of somebody who has the ledger's own verifier key."""
    return verify(path, Outside(keys=(key_of(path).verifier,), **more))  # type: ignore[arg-type]
