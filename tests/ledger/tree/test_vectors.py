"""Every vector of tests/vectors, put to our code and to the bundle's verify.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ledger.tree.vectors import VECTORS, Ours, Standalone, Verifier, vectors

BOTH = pytest.mark.parametrize("who", [Ours(), Standalone()], ids=["ledger.tree", "verify.py"])


def asked(name: str, who: Verifier) -> list[dict[str, Any]]:
    """The rows of a file; those that only we refuse ("ours") are put to nobody else."""
    return [row for row in vectors(name) if isinstance(who, Ours) or "ours" not in row]


@BOTH
def test_inclusion_proofs(who: Verifier) -> None:
    rows = asked("inclusion", who)
    found = [who.inclusion(*(row[key] for key in ("data", "index", "size", "proof", "root"))) for row in rows]
    assert [row["name"] for row, ok in zip(rows, found, strict=True) if ok != row["ok"]] == []


def test_consistency_proofs() -> None:
    rows = vectors("consistency")
    keys = ("first", "second", "proof", "first_root", "second_root")
    assert [row["name"] for row in rows if Ours().consistency(*(row[key] for key in keys)) != row["ok"]] == []


@BOTH
def test_keys(who: Verifier) -> None:
    assert [row["name"] for row in asked("keys", who) if who.key(row["key"]) != row["ok"]] == []


@BOTH
def test_notes(who: Verifier) -> None:
    def seen(row: dict[str, object]) -> list[str] | None:
        found = who.note(row["note"], row["keys"])  # type: ignore[arg-type]
        return None if found is None else sorted(found)

    def said(row: dict[str, list[str] | None]) -> list[str] | None:
        return None if row["signed_by"] is None else sorted(row["signed_by"])

    assert [row["name"] for row in asked("notes", who) if seen(row) != said(row)] == []


@BOTH
def test_checkpoints(who: Verifier) -> None:
    def said(row: dict[str, object]) -> object:
        return (row["origin"], row["size"], row["root"]) if row["ok"] else None

    rows = asked("checkpoints", who)
    assert [row["name"] for row in rows if who.checkpoint(row["note"], row["key"]) != said(row)] == []


def test_proofs_that_travel_with_a_checkpoint() -> None:
    rows = vectors("proofs")
    assert [row["name"] for row in rows if Ours().proof(row["proof"], row["data"], row["key"]) != row["ok"]] == []


def test_every_file_of_the_folder_is_run_and_has_rows_that_pass_and_rows_that_fail() -> None:
    names = {each.stem for each in VECTORS.glob("*.json")}
    assert names == {"inclusion", "consistency", "keys", "notes", "checkpoints", "proofs"}
    for name in names:
        rows = json.loads((VECTORS / f"{name}.json").read_text("ascii"))
        good = sum(bool(row["ok"] if "ok" in row else row["signed_by"]) for row in rows)
        assert good >= 4 and len(rows) - good >= 20, name
        assert len({row["name"] for row in rows}) == len(rows)
