"""The test vectors of docs/FORMAT.md, recomputed with nothing of the package but for the last comparison."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from blake3 import blake3

from ledger._canonical import canonical, load
from ledger._event import commitment, hash_of, make_line, parse_line
from ledger._schema import format_objects
from ledger.kinds import parse_body

FORMAT = Path(__file__).resolve().parents[2] / "docs" / "FORMAT.md"


@pytest.fixture(scope="module")
def text() -> str:
    return FORMAT.read_text("utf-8")


@pytest.fixture(scope="module")
def vectors(text: str) -> dict[str, Any]:
    (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    return json.loads(block)


def b3(*parts: bytes) -> str:
    return blake3(b"".join(parts)).hexdigest()


def test_each_line_hashes_to_its_hash_and_names_the_one_before(vectors: dict[str, Any]) -> None:
    prev = "0" * 64
    for seq, event in enumerate(vectors["events"], start=1):
        line = json.loads(event["line"])
        assert list(line) == ["v", "seq", "prev", "at", "kind", "run", "cell", "causes", "body"]
        assert (line["seq"], line["prev"]) == (seq, prev)
        assert json.dumps(line, separators=(",", ":")) == event["line"]
        prev = b3(event["line"].encode("ascii"))
        assert prev == event["hash"]
    assert len(vectors["events"]) == 3


def test_each_body_is_its_own_canonical_form_and_matches_its_commitment(vectors: dict[str, Any]) -> None:
    for event in vectors["events"]:
        body = event["body"].encode("utf-8")
        assert rfc8785.dumps(json.loads(body)) == body
        assert b3(bytes.fromhex(event["salt"]), body) == json.loads(event["line"])["body"]


def test_the_blob_matches_the_name_in_the_third_body(vectors: dict[str, Any]) -> None:
    blob, data = vectors["blob"], vectors["blob"]["data"].encode("utf-8")
    named = json.loads(vectors["events"][2]["body"])["blobs"]["file"]
    assert named == {"hash": b3(bytes.fromhex(blob["salt"]), data), "size": len(data)}
    assert (blob["hash"], blob["size"]) == (named["hash"], named["size"])


def test_the_package_reads_and_writes_the_vectors_alike(vectors: dict[str, Any]) -> None:
    for event in vectors["events"]:
        line, body = parse_line(event["line"].encode()), event["body"].encode("utf-8")
        assert canonical(load(body)) == body
        assert commitment(bytes.fromhex(event["salt"]), body) == line.body_hash
        causes = f"[{','.join(map(str, line.causes))}]"
        made = make_line(
            v=line.v, seq=line.seq, prev=line.prev, at=line.at, kind=line.kind, run=line.run, cell=line.cell,
            causes=causes, body=line.body_hash,
        )  # fmt: skip
        assert made.decode() == event["line"]
        assert hash_of(made) == event["hash"]
        assert parse_body(line.kind, event["body"]).kind == line.kind


def test_the_page_names_the_digest_of_tables_and_guards(text: str, vectors: dict[str, Any]) -> None:
    rows = sorted(format_objects().rows, key=lambda row: row[:3])
    digest = b3(rfc8785.dumps([list(row) for row in rows]))
    assert f"\n    {digest}\n" in text
    assert json.loads(vectors["events"][0]["body"])["tables"] == digest
