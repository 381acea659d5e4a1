"""What is said of a file that isn't there: that, and which one beside it may be meant."""

from __future__ import annotations

import difflib
from pathlib import Path

from ledger import printable

__all__ = ["no_file"]


def no_file(path: Path) -> str:
    """Why there is no regular file at `path`, in words, with the name beside it that comes closest."""
    shown = printable(str(path))
    if path.exists():
        return f"{shown}: expected a file, got a folder, a pipe or a device"
    if not path.parent.is_dir():
        return f"{shown}: there is no such file, and no folder {printable(str(path.parent))} either"
    near = difflib.get_close_matches(path.name, [each.name for each in path.parent.iterdir() if each.is_file()], n=1)
    return f"{shown}: there is no such file" + (f"; did you mean {printable(near[0])}?" if near else "")
