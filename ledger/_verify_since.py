"""`verify --since`: a signed prefix is taken as it is, and only what follows is hashed again.

What stands for the prefix are its Merkle peaks, a file beside the checkpoint. It needs no trust: the line of the
checkpoint's last event, read from the ledger, is added to the peaks, and the root must be the one that was signed. That
line names the hash of the event before it, and its own hash is what the next event must name.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from blake3 import blake3

from ledger._errors import BadProof
from ledger._files import read_small
from ledger._verify_events import LINE
from ledger._verify_findings import Findings
from ledger._verify_outside import Outside, signers, why_unreadable
from ledger._verify_redactions import Redactions
from ledger.checkpoints._files import peaks_path, read_checkpoint
from ledger.checkpoints._peaks import MAX_PEAKS, read_peaks
from ledger.tree import Checkpoint, Peaks, leaf_hash

__all__ = ["Since", "Start", "check_redacted_before", "first_blob_after", "read_since", "start_after"]

_ROW = "SELECT v, prev, at, kind, run, cell, causes, body_hash, hash FROM main.events WHERE seq = ?"
_EVENTS = "SELECT count(*), coalesce(sum(body IS NULL), 0), min(seq) FROM main.events NOT INDEXED WHERE seq <= ?"
_BLOBS = "SELECT count(*), coalesce(sum(data IS NULL), 0) FROM main.blobs NOT INDEXED WHERE id < ?"
_BODY = "SELECT body IS NULL AND salt IS NULL FROM main.events WHERE seq = ?"
_BLOB = "SELECT seq, data IS NULL AND salt IS NULL FROM main.blobs WHERE hash = ?"


@dataclass(frozen=True, slots=True)
class Since:
    """A checkpoint that a given key signed, and the peaks that lie beside it (of one event less)."""

    checkpoint: Checkpoint
    peaks: Peaks


@dataclass(frozen=True, slots=True)
class Start:
    """Where the scan goes on: after event `size`, whose hash is `head`, with the tree of the first `size` lines.

    `first_blob` is the id of the first blob of a later event; the counts are of what is before, as it stands there.
    """

    size: int
    head: bytes
    peaks: Peaks
    first_blob: int
    blobs: int
    withheld_bodies: int
    withheld_blobs: int


def read_since(outside: Outside) -> Since | str:
    """What `outside.since` names, or why it can't be gone by."""
    assert outside.since is not None
    if not outside.keys:
        return "a signed prefix can be trusted only with the key that signed it; give it with --key"
    stored = read_checkpoint(outside.since)
    if stored.signed is None:
        return stored.problem
    _, _, problem = signers(stored, outside.keys)
    if problem:
        return problem
    at = stored.signed.checkpoint
    path = peaks_path(outside.since)
    try:
        size, peaks = read_peaks(read_small(path, MAX_PEAKS))
    except OSError as failure:
        return f"its peaks, {path}, can't be read: {why_unreadable(failure)}"
    except BadProof as failure:
        return f"its peaks, {path}: {failure}"
    if size != at.size:
        return f"its peaks, {path}: expected those of {at.size} events, got those of {size}"
    return Since(at, peaks)


def start_after(connection: sqlite3.Connection, since: Since, findings: Findings) -> Start | str:
    """Hold the checkpoint's last event against it; where to go on from then, or why that isn't possible."""
    size, root = since.checkpoint.size, since.checkpoint.root
    row = connection.execute(_ROW, (size,)).fetchone()
    if row is None:
        return f"the ledger has no event {size}, the last one that it speaks of"
    *columns, stored = row
    try:
        line = LINE % (columns[0], size, *columns[1:])
    except TypeError:
        return f"the columns of event {size} form no line"
    tree = Peaks(since.peaks.size, since.peaks.hashes)
    tree.add(leaf_hash(line))
    if tree.root() != root:
        return f"its peaks and event {size} of this ledger don't lead to the root that was signed"
    # The root is the one that was signed, so the line is the one that was; only the column of its hash isn't in it.
    head = blake3(line).hexdigest().encode()
    if stored != head:
        findings.add(size, "the hash of the line", head, stored)
    events, bodies, lowest = connection.execute(_EVENTS, (size,)).fetchone()
    if events != size:
        findings.add(None, f"the number of events up to event {size}", size, events)
    elif lowest != 1:
        # As many as there should be, none of them twice: one lies outside, so one is missing.
        findings.add(lowest, "the seq of an event", "at least 1", lowest)
    first = first_blob_after(connection, size)
    blobs, withheld = connection.execute(_BLOBS, (first,)).fetchone()
    return Start(size, head, tree, first, blobs, bodies, withheld)


def first_blob_after(connection: sqlite3.Connection, size: int) -> int:
    """The smallest id of a blob of a later event; ids and seqs ascend together, so it is looked for by halves."""
    (most,) = connection.execute("SELECT coalesce(max(id), 0) FROM main.blobs NOT INDEXED").fetchone()
    low, high = 1, most + 1
    while low < high:
        middle = (low + high) // 2
        statement = "SELECT id, seq FROM main.blobs NOT INDEXED WHERE id >= ? ORDER BY id LIMIT 1"
        found = connection.execute(statement, (middle,)).fetchone()
        if found is None or not isinstance(found[1], int) or found[1] > size:
            high = middle
        else:
            low = found[0] + 1
    return low


def check_redacted_before(
    connection: sqlite3.Connection, redactions: Redactions, start: Start, findings: Findings
) -> dict[bytes, int]:
    """What redact events after the start withhold of events before it must be gone. Gives such blobs' owners."""
    for target, by in redactions.bodies.items():
        if by > start.size >= target:
            gone = connection.execute(_BODY, (target,)).fetchone()
            if gone is not None and not gone[0]:
                _present(findings, target, by, "body")
    owners: dict[bytes, int] = {}
    for digest, by in redactions.blobs.items():
        if by <= start.size:
            continue
        found = connection.execute(_BLOB, (digest.decode("ascii", "replace"),)).fetchone()
        if found is not None and isinstance(found[0], int) and found[0] <= start.size:
            owners[digest] = found[0]
            if not found[1]:
                _present(findings, found[0], by, "blob")
    return owners


def _present(findings: Findings, seq: int, by: int, what: str) -> None:
    findings.add(seq, f"the {what} of event {seq} that redact event {by} withholds is present", None, f"a {what}")
