"""Peaks in a ledger's folder of checkpoints that have no note: a crash broke the signing off, or the note is lost.

Nobody signed them, so they convict nobody. But peaks are written once the events that they speak of are durable: a
ledger with fewer events, or with others, isn't the one that they were written for, or it was rolled back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ledger._errors import BadProof
from ledger._files import read_small
from ledger.checkpoints._files import checkpoint_folder
from ledger.checkpoints._peaks import MAX_PEAKS, read_peaks

__all__ = ["Unfinished", "unfinished_checkpoints"]

_PEAKS = re.compile(r"[0-9]{12,16}\.peaks")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A checkpoint that was begun when the ledger had `size` events; `before` is the root of all of them but the last.

    `file` is its name with its folder's, as people are told; `note` is where its note would be.
    """

    file: str
    note: Path
    size: int
    before: bytes


def unfinished_checkpoints(ledger: Path) -> tuple[tuple[Unfinished, ...], tuple[str, ...]]:
    """(those in a ledger's folder, the smallest first; a sentence for each that can't be read). Never fails."""
    folder = checkpoint_folder(ledger)
    try:
        names = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    except OSError:  # whoever looks for the notes says so
        names = []
    signed = {name.removesuffix(".checkpoint") for name in names if name.endswith(".checkpoint")}
    found: list[Unfinished] = []
    unread: list[str] = []
    for name in names:
        if not _PEAKS.fullmatch(name) or name.removesuffix(".peaks") in signed:
            continue
        file = f"{folder.name}/{name}"
        try:
            found.append(_read(folder / name, file))
        except (OSError, BadProof) as problem:
            why = (problem.strerror or str(problem)) if isinstance(problem, OSError) else str(problem)
            unread.append(f"the unfinished checkpoint {file} says nothing: {why}")
    return tuple(found), tuple(unread)


def _read(path: Path, file: str) -> Unfinished:
    size, peaks = read_peaks(read_small(path, MAX_PEAKS))
    if size != int(path.stem):
        raise BadProof(f"its name says {int(path.stem)} events, and it {size}; files of the folder were exchanged")
    return Unfinished(file, path.with_suffix(".checkpoint"), size, peaks.root())
