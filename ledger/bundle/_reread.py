"""The last look: a finished bundle is read again, member by member, for what must not be in it."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ledger._errors import Refused
from ledger._event import matches_line
from ledger.bundle._holds import free_texts
from ledger.bundle._known import Known
from ledger.bundle._texts import HiddenTexts, keys_of, leaves

__all__ = ["reread"]

_BASE64 = re.compile(r"[A-Za-z0-9+/]{43}=")
_SALT = re.compile(r"[0-9a-f]{32}")


def reread(
    path: Path,
    known: Known,
    *,
    reader: bytes,
    shown_whole: frozenset[int],
    seed: str | None,
    ours: frozenset[str],
) -> None:
    """Raise Refused if a member of the zip holds one of the texts. What was drawn is passed over: it is to be seen.

    So is what can't hold any: `verify.py`, which is the shipped one, event lines (their grammar leaves no room), the
    note, timestamps, proofs and salts. `ours` are blobs that nobody looks into: those of drawn events.
    """
    texts, freezes = known.texts, set[str]()
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename
            if name in ("checkpoint", "cases.jsonl") or name.startswith("timestamps/") or name in ours:
                continue
            if name == "lines.txt":
                with archive.open(member) as file:
                    bad = any(not matches_line(line.removesuffix(b"\n")) for line in file)
            elif name == "events.jsonl":
                with archive.open(member) as file:
                    bad = any(_event_holds(line, texts, shown_whole, freezes) for line in file)
            else:
                data = archive.read(member)
                if name == "verify.py":
                    bad = data != reader
                elif name == "bundle.json":
                    told = json.loads(data)
                    bad = any(text != seed and texts.held_by(text) for text in (*leaves(told), *keys_of(told)))
                elif name == "README.md":
                    bad = texts.held_by(_without(data.decode("utf-8"), seed))
                else:
                    bad = texts.held_by_bytes(data, known.apart if name in freezes else ())
            if bad:
                raise Refused(
                    f"{name} of the bundle would hold a text that is to be hidden, so nothing was written: a name that"
                    " must be shown (a candidate's, a rule set's, a figure's) holds it; leave its word out of --hide"
                )


def _without(text: str, seed: str | None) -> str:
    return text.replace(seed, "") if seed else text


def _event_holds(line: bytes, texts: HiddenTexts, shown_whole: frozenset[int], freezes: set[str]) -> bool:
    """Whether an event's row holds a text. The blobs of frozen files are added to `freezes`."""
    row = json.loads(line)
    if not matches_line(row["line"].encode("ascii")):
        return True
    if not all(_BASE64.fullmatch(each) for each in row["proof"]):
        return True
    line_of = json.loads(row["line"])
    if line_of["kind"] == "freeze":
        freezes.update(str(each["file"]) for each in row["blobs"].values())
    if int(line_of["seq"]) in shown_whole:
        return False
    return any(texts.held_by(text) for text in _free(row, str(line_of["kind"])))


def _free(row: dict[str, object], kind: str) -> Iterator[str]:
    body = row["body"]
    if isinstance(body, str):
        yield str(free_texts(kind, json.loads(body)))
    salt = row["salt"]
    if isinstance(salt, str) and not _SALT.fullmatch(salt):
        yield salt
    yield from leaves(row["why"])
    yield from (text for text in leaves(row["blobs"]) if not _SALT.fullmatch(text))
