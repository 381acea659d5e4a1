"""The folder `<ledger>.checkpoints/`: one signed note a size, and beside it its peaks and its timestamp tokens.

    000000001539.checkpoint              the signed note, as c2sp.org/tlog-checkpoint has it
    000000001539.peaks                   what `verify --since` starts from (ledger.checkpoints._peaks)
    000000001539.NAME.tsr                an RFC 3161 response over the note's bytes, from the authority called NAME

Nothing in it is trusted for lying there: notes are checked against the ledger and the keys one was given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ledger._errors import BadNote
from ledger._files import read_small
from ledger.tree import MAX_NOTE, SignedCheckpoint, parse_checkpoint

__all__ = ["StoredCheckpoint", "checkpoint_folder", "note_path", "peaks_path", "read_checkpoint", "stored_checkpoints",
           "timestamp_paths"]  # fmt: skip

_NOTE = re.compile(r"[0-9]{12,16}\.checkpoint")


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint's file, read. `signed` is None where it can't be read, and `problem` then says why."""

    path: Path
    signed: SignedCheckpoint | None
    problem: str = ""


def checkpoint_folder(ledger: Path) -> Path:
    """Where a ledger's checkpoints are: beside the file itself, by whichever link it was named."""
    real = ledger.resolve()
    return real.with_name(real.name + ".checkpoints")


def note_path(folder: Path, size: int) -> Path:
    """The file of the checkpoint of `size` events."""
    return folder / f"{size:012d}.checkpoint"


def peaks_path(note: Path) -> Path:
    """The file of the peaks that belong to a checkpoint's file."""
    return note.with_suffix(".peaks")


def timestamp_paths(note: Path) -> tuple[Path, ...]:
    """The timestamp tokens that lie beside a checkpoint's file, by name."""
    return tuple(sorted(each for each in note.parent.glob(f"{note.stem}.*.tsr") if each.is_file()))


def read_checkpoint(path: Path) -> StoredCheckpoint:
    """Read one file; what is wrong with it is in `problem`."""
    try:
        return StoredCheckpoint(path, parse_checkpoint(read_small(path, MAX_NOTE)))
    except OSError as problem:
        return StoredCheckpoint(path, None, f"it can't be read: {problem.strerror or problem}")
    except BadNote as problem:
        return StoredCheckpoint(path, None, str(problem))


def stored_checkpoints(ledger: Path) -> tuple[StoredCheckpoint, ...]:
    """Every checkpoint in the folder of a ledger, the smallest first; none where there is no folder."""
    folder = checkpoint_folder(ledger)
    if not folder.is_dir():
        return ()
    return tuple(read_checkpoint(each) for each in sorted(folder.iterdir()) if _NOTE.fullmatch(each.name))
