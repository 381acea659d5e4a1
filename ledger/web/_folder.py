"""A folder that appears whole or not at all, and that only replaces what the same command wrote before."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ledger._errors import LedgerError

__all__ = ["MARKER", "FolderRefused", "new_folder"]

MARKER = "written-by-ledger-serve.txt"
_SAID = "The pages of a ledger, written by `ledger serve --static`. This file lets that command replace the folder.\n"


class FolderRefused(LedgerError):
    """The folder holds something else, or can't be written."""


@contextmanager
def new_folder(target: Path, own: frozenset[str]) -> Generator[Path]:
    """A new folder beside `target`, to fill; it takes the place of `target` once the block ends well.

    `own` names what may lie in it: a folder that is there already must be empty, or hold nothing else and the marker.
    Raises FolderRefused, without having touched anything.
    """
    _check(target, own | {MARKER})
    mark = secrets.token_hex(4)
    made = target.with_name(f".{target.name}-{mark}")
    old = target.with_name(f".{target.name}-{mark}-old")
    try:
        made.mkdir()
        yield made
        (made / MARKER).write_text(_SAID, "utf-8")
        if target.exists():
            target.rename(old)
        try:
            made.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    except OSError as problem:
        raise FolderRefused(f"{target} can't be written: {problem.strerror or problem}") from None
    finally:
        for each in (made, old):
            with suppress(OSError):
                shutil.rmtree(each)


def _check(target: Path, own: frozenset[str]) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise FolderRefused(f"{target} is no folder; name one that is new or empty")
    if not target.name or not target.parent.is_dir():
        raise FolderRefused(f"there is no folder {target.parent} to make {target.name or 'it'} in")
    try:
        found = {each.name for each in target.iterdir()} if target.exists() else set[str]()
    except OSError as problem:
        raise FolderRefused(f"{target} can't be read: {problem.strerror}") from None
    if found and (MARKER not in found or not found <= own):
        other = sorted(found - own) or sorted(found)
        raise FolderRefused(
            f"{target} holds other files ({other[0]!a}), and would be replaced; name a folder that is new or empty"
        )
