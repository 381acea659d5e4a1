"""Export: the event lines as they were hashed, one a text line; a reader of it learns nothing of the bodies.

Anyone checks it without this package: the BLAKE3 of each line (without its newline) is the next line's `prev`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ledger._errors import BadLine, LedgerExists
from ledger._event import make_line, matches_line
from ledger._files import sync_file
from ledger._place import refuse_place, unmade
from ledger._store import Ledger

__all__ = ["export_file", "export_lines", "write_export"]

_PAGE = 10_000
_LINES = (
    "SELECT v, seq, prev, at, kind, run, cell, causes, body_hash FROM main.events WHERE seq > ? AND seq <= ?"
    " ORDER BY seq LIMIT ?"
)
_START = b'{"v":1,"seq":1,"prev":"'


def export_lines(ledger: Ledger, *, after: int = 0) -> Iterator[bytes]:
    """Event lines in order of seq, without newlines, in constant memory.

    The head is read first, so events that are appended meanwhile are left out. Raises BadLine where the columns of an
    event don't form a line: an export never carries what no reader could check.
    """
    head, _ = ledger.head()
    while after < head:
        # Without bodies, which most of a ledger is: the lines of a million events are read in seconds.
        page = ledger.sql(_LINES, (after, head, _PAGE)).fetchall()
        if not page:
            return
        for v, seq, prev, at, kind, run, cell, causes, body in page:
            try:
                line = make_line(
                    v=v, seq=seq, prev=prev, at=at, kind=kind, run=run, cell=cell, causes=causes, body=body
                )
            except UnicodeEncodeError:
                line = b""
            if not matches_line(line):
                raise BadLine(f"event {seq}: its columns form no event line; `ledger verify` says what is wrong")
            yield line
        after = page[-1][1]


def export_file(ledger: Ledger, target: str | os.PathLike[str]) -> int:
    """Write the export to a file, which appears under its name whole or not at all. Returns the number of lines.

    An export that stands there is replaced, and nothing else is: a slip of the hand must not cost a ledger. Raises
    LedgerExists, BadLine, NotALedger (there is no such folder, or one that can't be written), OSError.
    """
    return write_export(target, (line + b"\n" for line in export_lines(ledger)), _START, "export")


def write_export(target: str | os.PathLike[str], lines: Iterable[bytes], start: bytes, what: str) -> int:
    """Write lines to a file, whole or not at all, over nothing but what begins with `start`. Returns how many."""
    path = Path(target)
    refuse_place(path)
    if os.path.lexists(path) and not _begins_with(path, start):
        raise LedgerExists(f"{path} exists already and is no {what}; name another file")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-")
    except OSError as problem:
        raise unmade(path, problem) from None
    count = 0
    try:
        with os.fdopen(handle, "wb") as file:
            for line in lines:
                file.write(line)
                count += 1
            file.flush()
            if hasattr(os, "fchmod"):
                # Where permissions are bits (not on Windows), what is made for others to read can be read by them.
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            sync_file(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return count


def _begins_with(path: Path, start: bytes) -> bool:
    """Whether an earlier export, or nothing yet, stands there."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(start)) in (b"", start)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
