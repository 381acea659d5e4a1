"""Bundles edited member by member, and both readers of them: ours, and verify.py alone."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import ledger.bundle
from ledger._errors import BadBundle
from ledger.bundle import check_bundle
from ledger.tree import VerifierKey

__all__ = ["READERS", "SCRIPT", "Parts", "Reader", "Said", "alone", "ours"]

SCRIPT = Path(ledger.bundle.__file__).with_name("verify.py")


@dataclass
class Parts:
    """A bundle in pieces. `about` is bundle.json, `rows` are events.jsonl, `cases` cases.jsonl; `members` all else."""

    members: dict[str, bytes]
    about: dict[str, Any]
    rows: list[dict[str, Any]]
    cases: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path) -> Parts:
        with zipfile.ZipFile(path) as archive:
            members = {each.filename: archive.read(each) for each in archive.infolist()}
        rows, cases = (
            [json.loads(line) for line in members.get(name, b"").splitlines()]
            for name in ("events.jsonl", "cases.jsonl")
        )
        return cls(members, json.loads(members["bundle.json"]), rows, cases)

    def write(self, path: Path) -> Path:
        """Write it as the maker does, but for packing, which takes longer than the readers."""
        self.members["bundle.json"] = json.dumps(self.about, indent=1, sort_keys=True).encode() + b"\n"
        self.members["events.jsonl"] = _lines(self.rows)
        if "cases.jsonl" in self.members:
            self.members["cases.jsonl"] = _lines(self.cases)
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in self.members.items():
                archive.writestr(name, data)
        return path

    def at(self, seq: int) -> dict[str, Any]:
        """The row of an event."""
        return next(row for row in self.rows if _line(row)["seq"] == seq)

    def seqs(self, kind: str, run: str | None = None) -> list[int]:
        """The events of a kind, in order."""
        found = [_line(row) for row in self.rows]
        return [each["seq"] for each in found if each["kind"] == kind and run in (None, each["run"])]

    def body(self, seq: int) -> Any:
        return json.loads(self.at(seq)["body"])

    def drop(self, *seqs: int) -> None:
        """Leave events out, with their blobs."""
        self.rows = [row for row in self.rows if _line(row)["seq"] not in seqs]
        starts = tuple(f"blobs/{seq}-" for seq in seqs)
        self.members = {name: data for name, data in self.members.items() if not name.startswith(starts)}

    def hide(self, seq: int, why: str = "hidden: gold") -> None:
        """Take an event's body away, as the maker does."""
        self.at(seq).update(body=None, salt=None, why=why, blobs={})


def _line(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(row["line"])


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()


@dataclass(frozen=True)
class Said:
    """How a reader ended, and what it printed."""

    status: int
    text: str


Reader = Callable[..., Said]


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_alone", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_ALONE = _module()


def alone(path: Path, *keys: VerifierKey | str, seed: str | None = None, own: Path | None = None) -> Said:
    """verify.py, which knows nothing of us. What it raises is a traceback to its user, and fails the test."""
    arguments = [str(path), *(f"--key={key}" for key in keys), *([f"--seed={seed}"] if seed is not None else [])]
    arguments += [f"--checkpoint={own}"] if own is not None else []
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = _ALONE.main(arguments)
    return Said(status, out.getvalue())


def ours(path: Path, *keys: VerifierKey, seed: str | None = None, own: Path | None = None) -> Said:
    """`ledger verify evidence.zip`."""
    try:
        found = check_bundle(path, keys=keys, seed=seed, checkpoints=[own] if own is not None else [])
    except BadBundle as problem:
        return Said(problem.exit_status, str(problem))
    return Said(found.exit_status, "\n".join(found.lines) + "\n")


READERS: dict[str, Reader] = {"ledger verify": ours, "verify.py": alone}
