"""A bundle, made and read as plainly as can be: no code of the package looks into it."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.bundle._make import Made, Wanted, make_bundle, words_of
from tests.ledger.bundle.bundled import Bundled

_CHANCE = re.compile(rb"[A-Za-z0-9+/]{43}=|[0-9a-f]{32,64}|[a-z2-7]{16}(?![a-z0-9])")

__all__ = ["Opened", "made", "opened"]


@dataclass(frozen=True)
class Opened:
    """The members of a bundle in their order, and what the maker said of it."""

    path: Path
    made: Made
    members: dict[str, bytes]

    @property
    def bundle(self) -> dict[str, Any]:
        return json.loads(self.members["bundle.json"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.members["events.jsonl"].splitlines()]

    @property
    def events(self) -> dict[int, dict[str, Any]]:
        """Each row by its seq, with its line read."""
        return {row["at"]["seq"]: row for row in ({**row, "at": json.loads(row["line"])} for row in self.rows)}

    def kinds(self, why: str | None = None) -> set[str]:
        """The kinds of the events whose body is shown, or isn't for this reason."""
        return {row["at"]["kind"] for row in self.events.values() if row["why"] == (why or "")}

    def bodies(self, kind: str, run: str | None = None) -> list[dict[str, Any]]:
        """The bodies of a kind that are shown, in order."""
        return [
            json.loads(row["body"])
            for row in self.events.values()
            if row["at"]["kind"] == kind and row["body"] is not None and run in (None, row["at"]["run"])
        ]

    @property
    def everything(self) -> bytes:
        """Every byte of every member, its name too."""
        return b"\n".join(part for name, data in self.members.items() for part in (name.encode(), data))

    @property
    def told(self) -> bytes:
        """Everything, but for proofs, hashes and ids of runs, which can spell four letters by chance."""
        return _CHANCE.sub(b" ", self.everything)


def opened(path: Path, told: Made) -> Opened:
    with zipfile.ZipFile(path) as archive:
        return Opened(path, told, {each.filename: archive.read(each) for each in archive.infolist()})


def made(ledger: Bundled, *targets: str, hide: str = "", name: str = "evidence.zip", **more: Any) -> Opened:
    """Make a bundle of the ledger's `run`, or of these targets, and open it."""
    wanted: Iterable[str] = targets or (() if more.get("report") else (ledger.run,))
    path = ledger.folder / name
    return opened(path, make_bundle(ledger.db, Wanted(tuple(wanted), hide=words_of(hide), **more), path))
