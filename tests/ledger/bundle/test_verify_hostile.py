"""Files made to hurt whoever reads them: each ends in one sentence, within bounds, and says nothing to the terminal."""

from __future__ import annotations

import ast
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.bundle._make import Wanted, make_bundle, words_of
from tests.ledger.bundle.bundled import Bundled, bundled
from tests.ledger.bundle.edited import READERS, SCRIPT, Parts, Said, alone

ESCAPES = "\x1b[2J\x07\u202e\u0085"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    return bundled(tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def small(ledger: Bundled) -> Path:
    """A bundle of one event and genesis."""
    return make_bundle(ledger.db, Wanted(("9",), lines="needed"), ledger.folder / "small.zip").path


@pytest.fixture(scope="module")
def whole(ledger: Bundled) -> Path:
    wanted = Wanted((ledger.run,), hide=words_of("prompts,gold"), lines="needed")
    return make_bundle(ledger.db, wanted, ledger.folder / "whole.zip").path


def read_by_both(path: Path, ledger: Bundled) -> list[str]:
    """Both refuse it in words that a terminal only shows."""
    texts: list[str] = []
    assert len({reader(path, ledger.key.verifier).status for reader in READERS.values()}) == 1
    for name, reader in READERS.items():
        said = reader(path, ledger.key.verifier)
        assert said.status in (1, 2), (name, said.text)
        assert said.text.replace("\n", "").isprintable(), name
        texts.append(said.text)
    return texts


def zipped(path: Path, members: list[tuple[str, bytes]], **how: Any) -> Path:
    with zipfile.ZipFile(path, "w", how.get("packed", zipfile.ZIP_DEFLATED)) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def of(small: Path) -> list[tuple[str, bytes]]:
    return list(Parts.of(small).members.items())


MEMBERS: dict[str, Callable[[list[tuple[str, bytes]]], list[tuple[str, bytes]]]] = {
    "an absolute path": lambda some: [*some, ("/etc/passwd", b"x")],
    "a path that climbs": lambda some: [*some, ("blobs/../../x", b"x")],
    "a path of Windows": lambda some: [*some, ("blobs\\1-x", b"x")],
    "a folder": lambda some: [*some, ("blobs/", b"")],
    "a member nobody knows": lambda some: [*some, ("readme.exe", b"x")],
    "a name that a terminal obeys": lambda some: [*some, (f"blobs/1-{ESCAPES}", b"x")],
    "a member in a member's folder": lambda some: [*some, ("checkpoint/x", b"x")],
    "another order": lambda some: some[::-1],
    "no checkpoint": lambda some: [each for each in some if each[0] != "checkpoint"],
    "no events": lambda some: [each for each in some if each[0] != "events.jsonl"],
    "nothing": lambda _: [],
    "a bundle.json of 80 MB": lambda some: [(n, b" " * 80_000_000 if n == "bundle.json" else d) for n, d in some],
    "a line of 17 MB": lambda some: [(n, b" " * 17_000_000 if n == "events.jsonl" else d) for n, d in some],
    "a line of 40 MB": lambda some: [(n, b" " * 40_000_000 if n == "events.jsonl" else d) for n, d in some],
    "a line that isn't ended": lambda some: [(n, d[:-1] if n == "events.jsonl" else d) for n, d in some],
}


@pytest.mark.parametrize("what", MEMBERS)
def test_members_that_no_bundle_has(small: Path, ledger: Bundled, what: str, tmp_path: Path) -> None:
    read_by_both(zipped(tmp_path / "made.zip", MEMBERS[what](of(small))), ledger)


def test_a_member_twice(small: Path, ledger: Bundled, tmp_path: Path) -> None:
    some = of(small)
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(tmp_path / "made.zip", [*some, some[-1]])
    read_by_both(path, ledger)


def test_members_that_lie_over_one_another(small: Path, ledger: Bundled, tmp_path: Path) -> None:
    """A small file whose directory names one run of bytes many times over."""
    path = zipped(tmp_path / "made.zip", [*of(small), *((f"blobs/{at}-x", bytes(5_000_000)) for at in range(1, 30))])
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    # Each entry's place is that of the first blob's; Python reads that one's name and finds another.
    at, first = directory, None
    while at < end:
        size, extra, comment = struct.unpack("<HHH", data[at + 28 : at + 34])
        if data[at + 46 : at + 46 + size].startswith(b"blobs/"):
            first = first or data[at + 42 : at + 46]
            data[at + 42 : at + 46] = first
        at += 46 + size + extra + comment
    path.write_bytes(data)
    read_by_both(path, ledger)


def test_a_bomb_is_not_unpacked(small: Path, ledger: Bundled, tmp_path: Path) -> None:
    """The directory says 3 GiB of a member that has less: what is declared is refused before anything is read."""
    path = zipped(tmp_path / "made.zip", of(small))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, data.index(b"events.jsonl", at) - 46 + 24, 3 << 30)
    path.write_bytes(data)
    read_by_both(path, ledger)


@pytest.mark.parametrize("packed", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_packed_in_another_way(small: Path, ledger: Bundled, packed: int, tmp_path: Path) -> None:
    read_by_both(zipped(tmp_path / "made.zip", of(small), packed=packed), ledger)


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x03\x04" + bytes(60), b"PK\x05\x06" + bytes(18), b"x" * 5000])
def test_what_is_no_zip(ledger: Bundled, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "made.zip"
    path.write_bytes(data)
    read_by_both(path, ledger)


def test_a_file_that_isnt_there_and_a_folder(ledger: Bundled, tmp_path: Path) -> None:
    read_by_both(tmp_path / "none.zip", ledger)
    read_by_both(tmp_path, ledger)


JSON = {
    "deep": b"[" * 200_000,
    "deep in a table": b'{"line":' * 20_000,
    "a number of 10,000 digits": b'{"line":' + b"9" * 10_000 + b"}",
    "a number beyond all": b'{"line":1e999}',
    "NaN": b'{"line":NaN}',
    "half of a pair": b'{"line":"\\ud800"}',
    "no UTF-8": b'{"line":"\xff"}',
    "a key twice": b'{"line":"a","line":"b"}',
    "an array": b"[]",
    "a string": b'"line"',
    "nothing": b"",
    "null": b"null",
    "what a terminal obeys": json.dumps({ESCAPES: ESCAPES}, ensure_ascii=False).encode(),
}


@pytest.mark.parametrize("member", ["bundle.json", "events.jsonl", "checkpoint", "cases.jsonl", "lines.txt"])
@pytest.mark.parametrize("what", JSON)
def test_what_no_json_of_ours_says(small: Path, ledger: Bundled, what: str, member: str, tmp_path: Path) -> None:
    parts = Parts.of(small)
    order = [*list(parts.members)[:4], "lines.txt", "events.jsonl", "cases.jsonl"]
    some = {**parts.members, member: JSON[what] + b"\n"}
    read_by_both(zipped(tmp_path / "made.zip", [(name, some[name]) for name in order if name in some]), ledger)


ODD: list[Any] = [None, True, -1, 1.5, 2**70, "x", ESCAPES, [], [[]], {}, {"a": 1}]


def test_any_field_of_another_type_is_refused(whole: Path, ledger: Bundled, tmp_path: Path) -> None:
    parts = Parts.of(whole)
    tables = [("asked", parts.about["asked"]), ("claim", parts.about["claims"][0]), ("", parts.about)]
    tables += [("fixture", parts.about["fixtures"][0]), ("run", parts.about["fixtures"][0]["runs"][0])]
    silent = {"made_by", "told", "hide", "events", "report", "reveal", "name", "purpose", "status", "cells"}
    for where, fields in tables:
        for name in sorted(set(fields) - silent - {"superseded_by", "tainted_by", "reports"}):
            kept, (odd, *_) = fields[name], [each for each in ODD if type(each) is not type(fields[name])]
            fields[name] = odd
            said = alone(parts.write(tmp_path / "made.zip"), ledger.key.verifier)
            assert said.status in (1, 2), (where, name, said.text)
            fields[name] = kept


@settings(max_examples=20)
@given(data=st.data())
def test_whatever_stands_in_a_row_ends_in_a_sentence(small: Path, ledger: Bundled, data: st.DataObject) -> None:
    parts = Parts.of(small)
    row = parts.rows[data.draw(st.integers(0, len(parts.rows) - 1))]
    name = data.draw(st.sampled_from(sorted(row)))
    odd = st.one_of(st.sampled_from(ODD), st.text(), st.binary().map(lambda some: some.decode("latin-1")))
    row[name] = data.draw(odd.filter(lambda value: value != row[name] and not (value == [] and not row[name])))
    if name == "blobs":
        row[name] = {"x": row[name]}
    read_by_both(parts.write(small.with_name("odd.zip")), ledger)


@cache
def as_it_was(small: Path, ledger: Bundled) -> dict[str, Said]:
    return {name: reader(small, ledger.key.verifier) for name, reader in READERS.items()}


@settings(max_examples=40)
@given(data=st.data())
def test_a_flipped_bit_is_found_or_changes_nothing_that_is_said(
    small: Path, ledger: Bundled, data: st.DataObject
) -> None:
    before = as_it_was(small, ledger)
    whole = bytearray(small.read_bytes())
    # The start and the end of the file are where members' names, sizes and places are told.
    last = len(whole) - 1
    near = st.one_of(st.integers(0, last), st.integers(last - 700, last), st.integers(0, 200))
    at = data.draw(near)
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    path = small.with_name("flipped.zip")
    path.write_bytes(whole)
    for name, reader in READERS.items():
        said = reader(path, ledger.key.verifier)
        assert said.status in (1, 2) or said.text == before[name].text, at


@pytest.mark.parametrize("key", ["", "x", "a+b", "name+00000000+AAAA", "\x1b[2J+00000000+AAAA", "/"])
def test_a_key_that_is_none_is_wrong_usage(small: Path, key: str) -> None:
    said = alone(small, key)
    assert said.status == 2
    assert said.text.replace("\n", "").isprintable()


def test_it_runs_by_itself_in_another_folder(small: Path, ledger: Bundled, tmp_path: Path) -> None:
    script = tmp_path / "verify.py"
    script.write_bytes(SCRIPT.read_bytes())
    (tmp_path / "key").write_text(f"{ledger.key.verifier}\n")
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", script, small, "--key", tmp_path / "key"], capture_output=True, text=True,
        check=False, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii() and "all that is claimed is proved" in done.stdout


def test_it_is_short_and_knows_nothing_of_us() -> None:
    text = SCRIPT.read_text(encoding="ascii")
    assert text.count("\n") <= 800
    found = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Import | ast.ImportFrom)]
    names = {
        name
        for each in found
        for name in ([of.name for of in each.names] if isinstance(each, ast.Import) else [each.module])
    }
    modules = {str(name).partition(".")[0] for name in names}
    assert modules - set(sys.stdlib_module_names) == {"blake3", "cryptography"}
