"""What a file is that isn't what was expected, by how it begins, and what takes it: the sentence that helps."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ledger._files import read_small

__all__ = ["IS_LEDGER", "IS_PROOF", "beginning", "sort_of"]

IS_PROOF = b"c2sp.org/tlog-proof@"
_ZIP = b"PK\x03\x04"
IS_LEDGER = b"SQLite format 3\x00"
_BEGINNING = 4096
_SIGNED = "\n\n\u2014 ".encode()
_VERIFIER_KEY = re.compile(rb"(?:#[^\n]*\n|\s)*[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{20,}={0,2}\s*(?:\n|\Z)")
_BY_BEGINNING = (
    (IS_LEDGER, "an SQLite file; if that is a ledger, `ledger verify FILE` checks it, and --db takes it as it is"),
    (_ZIP, "a zip (an evidence bundle?); `ledger verify FILE --key VKEY` checks one"),
    (IS_PROOF, "the proof of one event (tlog-proof); `ledger verify FILE --key VKEY` checks it"),
    (b"eval-ledger/peaks@", "a checkpoint's peaks: `ledger verify LEDGER --since` takes the .checkpoint beside them"),
    (b'{"export":"full"', "a full export: `ledger import FILE --db NEW` makes the ledger that it holds"),
    (
        b'{"v":1,"seq":',
        "event lines alone (`ledger export`): `b3sum` checks their chain, as docs/FORMAT.md says, and what `ledger"
        " export --full` writes can be imported",
    ),
    (b"PRIVATE+KEY+", "a signing key (not shown): keep it to yourself; --signing-key takes it"),
    (b"-----BEGIN CERTIFICATE", "a certificate: --tsa-root takes it"),
)  # fmt: skip


def beginning(path: Path) -> bytes:
    """How a file begins; nothing where there is none that can be read."""
    try:
        return read_small(path, _BEGINNING)
    except OSError:
        return b""


def sort_of(data: bytes, name: str = "") -> str:
    """What a file is that begins so, and what takes it; "" for a sort that isn't known here. `name` as it is called."""
    return _sort(data, name).replace("FILE", shlex.quote(name) if name else "FILE")


def _sort(data: bytes, name: str) -> str:
    for start, said in _BY_BEGINNING:
        if data.startswith(start):
            return said
    if _SIGNED in data or name.endswith(".checkpoint"):
        return "a checkpoint (a signed note): `ledger verify LEDGER --checkpoint FILE` holds a ledger against it"
    if _VERIFIER_KEY.match(data):
        return "a verifier key: --key takes it"
    if name.endswith(".tsr"):
        return (
            "a timestamp: beside its checkpoint, under the name that it has, `ledger verify LEDGER --tsa-root PEM`"
            " finds it; `openssl ts -verify` takes it, too"
        )
    return ""
