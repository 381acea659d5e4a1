"""Blobs that hold the same plain bytes as others, however either is stored: redacting one of two leaves the bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from ledger._packed import unpacked
from ledger._store import Ledger

__all__ = ["copies_of"]

_ANY_PACKED = "SELECT EXISTS (SELECT 1 FROM main.blobs WHERE encoding <> '' AND data IS NOT NULL) AS packed"
_TARGETS = (
    "SELECT hash, encoding, data FROM main.blobs WHERE data IS NOT NULL AND hash IN (SELECT value FROM json_each(?))"
)
_SIZES = "SELECT id, encoding, length(data) AS size FROM main.blobs WHERE length(data) > 0"
_ONE = "SELECT seq, hash, encoding, data FROM main.blobs WHERE id = ?"
_MOST = 64 << 20


def copies_of(ledger: Ledger, hashes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows (seq, hash, target) of blobs outside `hashes` that hold what `target`, one of them, holds."""
    given = json.dumps(list(hashes))
    alike = (files("ledger") / "queries" / "copies.sql").read_text("utf-8")
    found = {str(row["hash"]): row for row in ledger.rows(alike, (given,))}
    yield from found.values()
    if not hashes or not ledger.rows(_ANY_PACKED)[0]["packed"]:
        return
    plain: dict[bytes, str] = {}
    for row in ledger.rows(_TARGETS, (given,)):
        data = _plain(row)
        if data:
            plain.setdefault(data, str(row["hash"]))
    whole = {len(data) for data in plain}
    # Two programs pack the same bytes to about the same size, not to the same bytes.
    packed = [len(zlib.compress(data)) for data in plain]
    for row in ledger.rows(_SIZES):
        size = row["size"]
        near = any(0.7 * each - 32 <= size <= 1.4 * each + 32 for each in packed)
        if not (size in whole if row["encoding"] == "" else near):
            continue
        (other,) = ledger.rows(_ONE, (row["id"],))
        name = str(other["hash"])
        target = None if name in hashes or name in found else plain.get(_plain(other))
        if target is not None:
            yield {"seq": other["seq"], "hash": name, "target": target}


def _plain(row: dict[str, Any]) -> bytes:
    try:
        return unpacked(row["encoding"], row["data"], _MOST)
    except ValueError:
        return b""
