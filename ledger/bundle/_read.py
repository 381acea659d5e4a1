"""Reading an evidence bundle's zip: its members with care, and bundle.json through models that know every field.

Whatever the file is, what is wrong with it is one BadBundle. Nothing is unpacked to disk, and no name in it is a path.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ledger._canonical import load
from ledger._errors import BadBody, BadBundle
from ledger._screen import printable
from ledger.bundle import verify
from ledger.kinds._base import Count, Hex32, Hex64, Seq

__all__ = [
    "About", "Asked", "BundleFile", "CaseRow", "Claim", "EventRow", "Listed", "ListedRun", "Reveal", "ShownBlob",
    "Told", "read_row",
]  # fmt: skip

_LARGEST = {"README.md": 4 << 20, "verify.py": 1 << 20, "bundle.json": 64 << 20, "checkpoint": 256 << 10}
_ORDER = (
    "README.md", "verify.py", "bundle.json", "checkpoint", "timestamps", "lines.txt", "events.jsonl", "cases.jsonl",
    "blobs",
)  # fmt: skip
_NEEDED = frozenset({*_LARGEST, "events.jsonl"})
_TOKEN, _REST = 256 << 10, 16 << 30
_NAME = re.compile(r"(?:timestamps/[A-Za-z0-9._-]{1,100}|blobs/[1-9][0-9]{0,15}-[A-Za-z0-9._%-]{1,400})")
_MOST_RATIO = 1100
"""DEFLATE packs 1,032 bytes into one at best: whatever unpacks to more has members that lie over one another."""
_ROW = 16 << 20
_PIECE = 1 << 16
_ENCRYPTED = 1
_page: Any = verify
"""The page that every bundle carries: how a zip must lie in its file is the same to both readers."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Asked(_Part):
    """What the maker was asked for; `report` is the BLAKE3 of a report's file."""

    runs: list[str]
    events: list[Seq]
    report: Hex64 | None


class DrawnCell(_Part):
    """One cell that the seed drew."""

    run: str
    cell: Seq


class Reveal(_Part):
    """The draw: how many, by which seed, and which, in the order drawn."""

    n: Count
    seed: str
    drawn: list[DrawnCell]


class Claim(_Part):
    """A figure that is claimed, and the seq of the tally that it is of."""

    run: str
    rules: str
    candidate: str
    metric: str
    kind: Literal["rate", "mean"]
    k: Count | None
    total: float | None
    n: Count
    planned: Count
    unmeasured: Count
    primary: bool
    tally: Seq


class ListedRun(_Part):
    """A run on a fixture, as the maker lists it."""

    run: str
    plan: Seq
    cells: Count
    purpose: str | None
    status: str | None
    reports: list[Seq]
    superseded_by: list[Seq]
    tainted_by: list[Seq]


class Listed(_Part):
    """A fixture: every freeze of its file, and every run on it."""

    name: str
    freezes: list[Seq]
    runs: list[ListedRun]


class ToldCandidate(_Part):
    """A candidate of a plan that is hidden. Told, not proved."""

    label: str
    protocol: str
    model: str
    stream: bool | None = None


class Told(_Part):
    """What deriving again needs of a plan that is hidden. Told, not proved."""

    ask: str
    suite: str
    candidates: list[ToldCandidate]


class About(_Part):
    """bundle.json."""

    bundle: Literal[1]
    made_by: str
    asked: Asked
    hide: list[str]
    reveal: Reveal | None
    complete: bool
    claims: list[Claim]
    fixtures: list[Listed]
    told: dict[str, Told] | None


class ShownBlob(_Part):
    """A blob of an event that is shown: where its bytes are, or why they aren't."""

    salt: Hex32 | None
    file: str | None
    why: str = ""


class EventRow(_Part):
    """One line of events.jsonl."""

    line: str
    proof: list[str] = Field(max_length=63)
    body: str | None
    salt: Hex32 | None
    why: str
    blobs: dict[str, ShownBlob]


class CaseRow(_Part):
    """One line of cases.jsonl."""

    fixture: str
    line: str


_Model = TypeVar("_Model", bound=BaseModel)


def read_row(model: type[_Model], data: bytes) -> _Model:
    """A JSON object in the form of a model. Raises BadBundle, naming the field."""
    try:
        return model.model_validate(load(data))
    except BadBody as problem:
        raise BadBundle(printable(str(problem))[:300]) from None
    except ValidationError as problem:
        error = problem.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, error["loc"])) or "the object"
        raise BadBundle(printable(f"{where}: {error['msg']}")[:300]) from None
    except ValueError as problem:
        # A lone surrogate has no UTF-8, and a number of 5,000 digits is none to Python.
        raise BadBundle(printable(str(problem))[:300]) from None


class BundleFile:
    """An open bundle whose members are the right ones, in order, whole, and of sizes that can be borne."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._zip = archive
        infos = archive.infolist()
        self.sizes = {info.filename: info.file_size for info in infos}
        places = [_place(info) for info in infos]
        if places != sorted(places) or len(self.sizes) != len(infos):
            raise BadBundle("a member stands twice, or out of its order")
        missing = sorted(_NEEDED - set(self.sizes))
        if missing:
            raise BadBundle(f"expected the member {missing[0]}, which every bundle has")
        if sum(self.sizes.values()) > min(_REST, _MOST_RATIO * path.stat().st_size):
            raise BadBundle("its members are larger than they can honestly be: it would only fill memory or a disk")
        try:
            _page.check_form(archive, path.stat().st_size)
        except ValueError as problem:
            raise BadBundle(printable(str(problem))[:300]) from None
        self.about = read_row(About, self.whole("bundle.json"))

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Generator[BundleFile]:
        """Open a bundle. Raises BadBundle, also for what is found wrong while it is being read."""
        try:
            with zipfile.ZipFile(path) as archive:
                yield cls(path, archive)
        except OSError as problem:
            raise BadBundle(f"{path} can't be read: {problem.strerror or problem}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as problem:
            raise BadBundle(f"{path} is no zip that can be read: {printable(str(problem))[:200]}") from None
        except BadBundle as problem:
            raise BadBundle(f"{path} is no evidence bundle of version 1: {problem}") from None

    def whole(self, name: str) -> bytes:
        """The bytes of a member."""
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a member, in pieces of 64 KiB."""
        with self._zip.open(name) as file:
            while piece := file.read(_PIECE):
                yield piece

    def rows(self, name: str) -> Iterator[bytes]:
        """The lines of a member, without their newlines. Raises BadBundle for one without, and one of over 16 MiB."""
        with self._zip.open(name) as file:
            yield from _lines(file, name)


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    number = 0
    while row := file.readline(_ROW):
        number += 1
        if not row.endswith(b"\n"):
            raise BadBundle(f"{name}, line {number}: expected a newline within {_ROW} bytes")
        yield row[:-1]


def _place(info: zipfile.ZipInfo) -> int:
    top = info.filename.partition("/")[0]
    named = info.filename in _ORDER[:-1] and top != "timestamps"
    if info.orig_filename != info.filename or not (named or _NAME.fullmatch(info.filename)):
        raise BadBundle(f"the member {printable(info.filename)[:200]} is none that a bundle has")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadBundle(f"the member {info.filename}: expected one that is packed with DEFLATE, and not encrypted")
    if info.file_size > (_TOKEN if top == "timestamps" else _LARGEST.get(top, _REST)):
        raise BadBundle(f"the member {info.filename}: {info.file_size} bytes are more than it can honestly have")
    return _ORDER.index(top)
