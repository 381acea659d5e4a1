"""Writing the zip: the same members in the same order with the same times, streamed, one event at a time."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger._errors import Refused
from ledger._event import Event, commits
from ledger._export import export_lines
from ledger._store import Ledger
from ledger.bundle._cover import Cover
from ledger.bundle._decide import Decisions
from ledger.bundle._draw import DrawnCase
from ledger.bundle._select import pages
from ledger.tree import to_base64

__all__ = ["Contents", "blob_file", "write_zip"]

_TIME = (1980, 1, 1, 0, 0, 0)
_PLAIN = re.compile(rb"[A-Za-z0-9._-]")
_UNIX, _MODE = 3, 0o100644 << 16


@dataclass(frozen=True)
class Contents:
    """Everything that goes into a bundle, but for what is streamed out of the ledger."""

    readme: str
    reader: bytes
    bundle: dict[str, Any]
    cover: Cover
    seqs: Sequence[int]
    decisions: Decisions
    cases: Sequence[DrawnCase] | None


def blob_file(seq: int, name: str) -> str:
    """The member that holds a blob."""
    safe = "".join(chr(byte) if _PLAIN.fullmatch(bytes([byte])) else f"%{byte:02X}" for byte in name.encode("utf-8"))
    return f"blobs/{seq}-{safe}"


def _member(name: str) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name, _TIME)
    found.compress_type = zipfile.ZIP_DEFLATED
    found.create_system = _UNIX
    found.external_attr = _MODE
    return found


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def write_zip(ledger: Ledger, contents: Contents, target: Path) -> None:
    """Write the bundle to `target`. Raises OSError, and Refused for what the ledger doesn't commit to."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name: str, data: bytes) -> None:
            archive.writestr(_member(name), data)

        def stream(name: str, pieces: Iterator[bytes]) -> None:
            with archive.open(_member(name), "w", force_zip64=True) as member:
                for piece in pieces:
                    member.write(piece)

        put("README.md", contents.readme.encode("utf-8"))
        put("verify.py", contents.reader)
        told = json.dumps(contents.bundle, ensure_ascii=True, allow_nan=False, indent=1, sort_keys=True)
        put("bundle.json", told.encode("ascii") + b"\n")
        put("checkpoint", contents.cover.note)
        for name, token in contents.cover.timestamps():
            put(f"timestamps/{name}", token)
        if contents.bundle["complete"]:
            stream("lines.txt", _lines(ledger, contents.cover.size))
        stream("events.jsonl", _events(ledger, contents))
        if contents.cases is not None:
            rows = [_text({"fixture": each.fixture, "line": each.line}) + "\n" for each in contents.cases]
            put("cases.jsonl", "".join(rows).encode("ascii"))
        for event in pages(ledger, [seq for seq in contents.seqs if not contents.decisions.why(seq)]):
            for name in sorted(_blobs(event)):
                if not contents.decisions.why_blob(event.seq, name):
                    put(blob_file(event.seq, name), ledger.blob(event, name))


def _lines(ledger: Ledger, size: int) -> Iterator[bytes]:
    for line, _ in zip(export_lines(ledger), range(size), strict=False):
        yield line + b"\n"


def _blobs(event: Event) -> dict[str, Any]:
    return json.loads(event.body).get("blobs", {}) if event.body is not None else {}


def _events(ledger: Ledger, contents: Contents) -> Iterator[bytes]:
    for event in pages(ledger, contents.seqs):
        why = contents.decisions.why(event.seq)
        if not why and (event.body is None or not commits(event.salt, event.body.encode("utf-8"), event.body_hash)):
            raise Refused(
                f"event {event.seq}: its body isn't the one that its line commits to; `ledger verify` says more"
            )
        row = {
            "line": event.line.decode("ascii"),
            "proof": [to_base64(each) for each in contents.cover.tree.inclusion(event.seq - 1, contents.cover.size)],
            "body": None if why else event.body,
            "salt": None if why else event.salt,
            "why": why,
            "blobs": {} if why else _shown_blobs(ledger, event, contents.decisions),
        }
        yield _text(row).encode("ascii") + b"\n"


def _shown_blobs(ledger: Ledger, event: Event, decisions: Decisions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    blobs = _blobs(event)
    if not blobs:
        return found
    salts = {
        str(row["hash"]): row["salt"]
        for row in ledger.rows("SELECT hash, salt FROM main.blobs WHERE seq = ?", (event.seq,))
    }
    for name, reference in sorted(blobs.items()):
        why = decisions.why_blob(event.seq, name)
        if why:
            found[name] = {"salt": None, "file": None, "why": why}
        else:
            found[name] = {"salt": salts[reference["hash"]], "file": blob_file(event.seq, name)}
    return found
