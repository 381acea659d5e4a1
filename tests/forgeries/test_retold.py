"""A ledger that is told again as it was is the same ledger: what a forgery makes false is what it changed alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forgeries.bases import BASES, base
from tests.forgeries.lab import rows_of
from tests.forgeries.retold import Retold

TABLES = ("events ORDER BY seq", "edges ORDER BY cause, effect")


@pytest.mark.parametrize("name", BASES)
def test_every_row_is_the_same(name: str, tmp_path: Path) -> None:
    honest, again = base(name) / "ledger.db", tmp_path / "ledger.db"
    Retold(honest).write(again)
    for table in TABLES:
        assert rows_of(again, f"SELECT * FROM {table}") == rows_of(honest, f"SELECT * FROM {table}")
    blobs = "SELECT hash, seq, salt, encoding, data FROM blobs ORDER BY seq, hash"
    assert rows_of(again, blobs) == rows_of(honest, blobs)
