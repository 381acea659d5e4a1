"""What an importer hands over: runs, cells and cases of another project, in plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness._suite import Fixture

__all__ = ["ForeignCell", "ForeignFixture", "ForeignRun", "Grade"]

Grade = Literal["bytes", "parsed", "text"]
"""How near to the wire the evidence is: its bytes, values that somebody parsed, or the text that somebody captured."""


@dataclass(frozen=True)
class ForeignFixture:
    """The cases that were recorded on. `fixture` holds their file as found and the cases in our form, `jsonl` those as
    the lines of a cases.jsonl, None where the file is one; `known_as` are the names that an artifact may call the file
    by, without folder or ending."""

    fixture: Fixture
    jsonl: bytes | None
    known_as: frozenset[str]


@dataclass(frozen=True)
class ForeignCell:
    """What was recorded of one case: the bytes captured, or the failure that their words tell of (its status is error).

    `failure` is (reason, their words); `output` then is what little there was. `well_formed` is their own verdict on
    the text, None where they give none. `claimed` is what the artifact says of the cell, for the record.
    """

    case: str
    output: bytes
    failure: tuple[str, str] | None
    well_formed: bool | None
    claimed: Mapping[str, str]


@dataclass(frozen=True)
class ForeignRun:
    """One engine's cells out of one artifact. `candidate` is the engine's name verbatim, `name` the run's or empty."""

    candidate: str
    name: str
    cells: Mapping[str, ForeignCell]
    claimed: Mapping[str, str]
