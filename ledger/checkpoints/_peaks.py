"""The peaks of a checkpoint: what `verify --since` goes on from without hashing what comes before.

ASCII: a first line that names the format, the size N of the checkpoint, then one base64 hash a line, the peaks of the
first N - 1 events. Whoever reads it hashes the line of event N from the ledger, adds it, and must arrive at the root
that was signed; so the last event of the checkpoint, whose hash the next event names, is proved as well.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error

from ledger._errors import BadProof
from ledger.tree import Peaks, from_base64, to_base64

__all__ = ["MAX_PEAKS", "peaks_text", "read_peaks"]

MAX_PEAKS = 8192
"""The most bytes that such a file can have: a first line, a size, and at most 53 hashes."""
_FORMAT = "eval-ledger/peaks@v1"
_SIZE = re.compile(r"[1-9][0-9]{0,15}")


def peaks_text(size: int, peaks: Peaks) -> bytes:
    """The file of a checkpoint of `size` events, from the peaks of the first `size` - 1."""
    if peaks.size != size - 1:
        raise BadProof(
            f"expected the peaks of {size - 1} events, for a checkpoint of {size}, got those of {peaks.size}"
        )
    return "".join(f"{line}\n" for line in (_FORMAT, size, *map(to_base64, peaks.hashes))).encode("ascii")


def read_peaks(data: bytes) -> tuple[int, Peaks]:
    """(N, the peaks of the first N - 1 events). Raises BadProof for what has another form.

    Nothing in it is to be believed before the root that it leads to is the one that was signed.
    """
    if len(data) > MAX_PEAKS:
        raise BadProof(f"expected a file of peaks of at most {MAX_PEAKS} bytes, got {len(data)}")
    try:
        lines = data.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise BadProof("expected a file of peaks in ASCII") from None
    if lines[0] != _FORMAT or len(lines) < 3 or lines[-1]:
        raise BadProof(f"expected a file of peaks that starts with the line {_FORMAT}, got {lines[0][:60]!a}")
    if not _SIZE.fullmatch(lines[1]) or int(lines[1]) > 2**53 - 1:
        raise BadProof(f"line 2 of the peaks: expected a size from 1, got {lines[1][:40]!a}")
    try:
        hashes = [from_base64(line) for line in lines[2:-1]]
    except (Base64Error, ValueError):
        raise BadProof("expected the peaks as base64 of 32 bytes each, one a line") from None
    return int(lines[1]), Peaks(int(lines[1]) - 1, hashes)
