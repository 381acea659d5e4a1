"""Both readers of a bundle end alike: over every row of tests.forgeries, and whatever a zip or a table holds more
than it says."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.bundle._make import Wanted, make_bundle, words_of
from tests.forgeries.all_rows import FORGERIES
from tests.forgeries.bases import base
from tests.forgeries.holders import bundle_of
from tests.forgeries.retold import Retold
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.edited import READERS, Parts, Said

DERIVED = frozenset({
    "accepted-what-never-stood", "accepted-what-nobody-may", "answer-that-no-file-has", "answered-by-another-build",
    "asked-in-other-bytes", "chosen-without-a-word",
    "cheaper-than-the-list", "confirmed-out-of-nothing", "foreign-cases-retold", "lookup-for-nobody",
    "metric-of-no-importance", "notes-of-another-reviewer", "other-weights", "prices-that-are-a-prompt",
    "resumed-for-something-else", "resumed-with-more-accepted", "resumed-without-accepting", "server-told-otherwise",
    "waited-for-another-reason", "waited-for-what-was-asked",
})  # fmt: skip
"""What the package alone can tell, since it derives again: the page that a bundle carries knows no scorer, no rule
file, no price list and no form of imports, nor how bytes of a request are laid out, what a server told of itself, which
earlier answers a run could have taken over, what a person accepted, and which fields are people's. docs/LINKS.md says
of every link who holds it."""


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    made = bundled(tmp_path_factory.mktemp("both"))
    make_bundle(made.db, Wanted((made.run,)), made.folder / "shown.zip")
    drawn = Wanted((made.run,), hide=words_of("gold"), reveal=2, seed="an auditor's")
    make_bundle(made.db, drawn, made.folder / "drawn.zip")
    return made


def read(path: Path, key: Any) -> dict[str, Said]:
    return {name: reader(path, key) for name, reader in READERS.items()}


def statuses(path: Path, of: Bundled) -> set[int]:
    return {each.status for each in read(path, of.key.verifier).values()}


@pytest.mark.parametrize("name", [name for name in FORGERIES if name not in DERIVED])
def test_a_forged_ledger_ends_alike_in_both_readers(name: str, tmp_path: Path) -> None:
    row = FORGERIES[name]
    story = Retold(base(row.base) / "ledger.db")
    try:
        row.forge(story)
    except (IndexError, StopIteration):
        pytest.skip("its base doesn't hold what it forges")
    story.write(tmp_path / "ledger.db")
    made = bundle_of(tmp_path / "ledger.db", tmp_path / "b.zip")
    said = read(made.path, made.key.verifier)
    assert len({each.status for each in said.values()}) == 1, {name: each.text for name, each in said.items()}


# More in the zip than its members


def _members(data: bytes) -> list[tuple[int, bytes]]:
    """Where each entry of the directory stands, and it."""
    found: list[tuple[int, bytes]] = []
    at = data.index(b"PK\x01\x02")
    while data[at : at + 4] == b"PK\x01\x02":
        size = 46 + sum(struct.unpack("<HHH", data[at + 28 : at + 34]))
        found.append((at, data[at : at + size]))
        at += size
    return found


def _moved(data: bytes, place: int, more: bytes) -> bytes:
    """The zip with `more` put in at a place, every offset behind it set right."""
    out = bytearray(data[:place] + more + data[place:])
    for at, entry in _members(data):
        (offset,) = struct.unpack("<I", entry[42:46])
        shift = len(more) if at >= place else 0
        struct.pack_into("<I", out, at + shift + 42, offset + (len(more) if offset >= place else 0))
    end = len(out) - 22
    (start,) = struct.unpack("<I", out[end + 16 : end + 20])
    struct.pack_into("<I", out, end + 16, start + len(more))
    return bytes(out)


def _second(data: bytes) -> int:
    return struct.unpack("<I", _members(data)[1][1][42:46])[0]


def _comment(data: bytes) -> bytes:
    return data[:-2] + struct.pack("<H", 5) + b"hello"


def _in_a_member(data: bytes) -> bytes:
    """Bytes behind the end of a member's DEFLATE stream, counted as packed."""
    at, entry = _members(data)[0]
    packed, name, extra = struct.unpack("<I", entry[20:24])[0], *struct.unpack("<HH", data[26:30])
    out = bytearray(_moved(data, 30 + name + extra + packed, b"hidden"))
    struct.pack_into("<I", out, 18, packed + 6)
    struct.pack_into("<I", out, at + 6 + 20, packed + 6)
    return bytes(out)


def _another_size(data: bytes) -> bytes:
    """A local header that says another size than the directory: a program that streams reads another member."""
    out = bytearray(data)
    struct.pack_into("<I", out, 22, 1)
    return bytes(out)


def _with_extra(data: bytes) -> bytes:
    """A field of no meaning in a local header."""
    name = struct.unpack("<H", data[26:28])[0]
    out = bytearray(_moved(data, 30 + name, struct.pack("<HH", 0x4242, 4) + b"more"))
    struct.pack_into("<H", out, 28, 8)
    return bytes(out)


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "between two members": lambda data: _moved(data, _second(data), b"PK\x03\x04 something else"),
    "before the directory": lambda data: _moved(data, data.index(b"PK\x01\x02"), b"hidden"),
    "before the first": lambda data: _moved(data, 0, b"#!/bin/sh\n"),
    "a comment": _comment,
    "in a member": _in_a_member,
    "another size": _another_size,
    "a field of a header": _with_extra,
    "after the end": lambda data: data + b"\0",
}


@pytest.mark.parametrize("what", FORMS)
def test_whatever_lies_beside_the_members_makes_it_unreadable_to_both(of: Bundled, what: str, tmp_path: Path) -> None:
    path = tmp_path / "edited.zip"
    path.write_bytes(FORMS[what]((of.folder / "shown.zip").read_bytes()))
    assert statuses(path, of) == {2}, read(path, of.key.verifier)


def test_the_zip_as_it_was_made_is_read_by_both(of: Bundled) -> None:
    assert statuses(of.folder / "shown.zip", of) == {0}


# Keys that nobody knows

ABOUT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bundle.json": lambda about: about,
    "asked": lambda about: about["asked"],
    "a claim": lambda about: about["claims"][0],
    "a fixture": lambda about: about["fixtures"][0],
    "a run": lambda about: about["fixtures"][0]["runs"][0],
    "reveal": lambda about: about["reveal"],
    "a drawn cell": lambda about: about["reveal"]["drawn"][0],
}


@pytest.mark.parametrize("what", ABOUT)
def test_an_unknown_key_in_bundle_json_makes_it_unreadable_to_both(of: Bundled, what: str, tmp_path: Path) -> None:
    parts = Parts.of(of.folder / "drawn.zip")
    ABOUT[what](parts.about)["more"] = 1
    assert statuses(parts.write(tmp_path / "edited.zip"), of) == {2}


@pytest.mark.parametrize("what", ["a row", "a blob", "a case"])
def test_an_unknown_key_in_a_row_is_false_to_both(of: Bundled, what: str, tmp_path: Path) -> None:
    parts = Parts.of(of.folder / "drawn.zip")
    row = next(each for each in parts.rows if each["blobs"])
    target = {"a row": row, "a blob": next(iter(row["blobs"].values())), "a case": parts.cases[0]}[what]
    target["more"] = 1
    assert statuses(parts.write(tmp_path / "edited.zip"), of) == {1}
