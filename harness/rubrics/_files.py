"""Texts that a manifest names by file: only plain files inside the suite's folder, in UTF-8, of a size to be read."""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from harness._errors import SuiteError
from harness.rubrics._table import got
from ledger import printable

__all__ = ["decoded", "file_inside", "read_inside", "shown"]

_MOST = 1 << 20
_BOM = b"\xef\xbb\xbf"


def shown(path: Path) -> str:
    """A path as messages have it."""
    return printable(str(path))


def file_inside(folder: Path, given: Any, where: str) -> Path:
    """The path of a file that a manifest names, relative to its folder. `where` begins the message.

    Raises SuiteError for a path that leaves the folder, by `..`, as an absolute path or over a link, and for what is no
    plain file.
    """
    if not isinstance(given, str) or not given or "\0" in given:
        raise SuiteError(f"{where}: expected the path of a file in the suite's folder, got {got(given)}")
    posix, windows = PurePosixPath(given), PureWindowsPath(given)
    if posix.is_absolute() or windows.is_absolute() or windows.drive or ".." in posix.parts or ".." in windows.parts:
        raise SuiteError(f"{where}: expected a path inside the suite's folder, got {got(given)}")
    path = folder / given
    try:
        if not path.resolve(strict=True).is_relative_to(folder.resolve(strict=True)):
            raise SuiteError(
                f"{where}: {got(given)} leads out of the suite's folder over a link; put the file itself in"
            )
        mode = path.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "a link leads round in a circle"
        raise SuiteError(f"{where}: {shown(path)} can't be read: {said}") from None
    if not stat.S_ISREG(mode):
        # A pipe or a device could be waited for for ever.
        raise SuiteError(f"{where}: expected a file, got {got(given)}, which is a folder, a pipe or a device")
    return path


def read_inside(folder: Path, given: Any, where: str) -> str:
    """The text of a file that a manifest names. Raises SuiteError as `file_inside` does, and for what is no text."""
    return decoded(file_inside(folder, given, where), where)


def decoded(path: Path, where: str) -> str:
    """A file's text, character by character as it is there. Raises SuiteError."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise SuiteError(f"{where}: {shown(path)} can't be read: {error.strerror}") from None
    if len(data) > _MOST:
        raise SuiteError(f"{where}: {shown(path)}: expected at most {_MOST} bytes")
    if data.startswith(_BOM):
        raise SuiteError(f"{where}: {shown(path)}: starts with a byte order mark; save it as UTF-8 without one")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SuiteError(f"{where}: {shown(path)}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    if "\0" in text:
        raise SuiteError(f"{where}: {shown(path)}: holds the character U+0000 (at {text.index(chr(0))}); take it out")
    return text
